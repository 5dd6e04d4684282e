/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: thread states of the target's processor (xnu osfmk/mach/arm/thread_status.h,
 * osfmk/mach/i386/thread_status.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACHINE_THREAD_STATUS_H
#define TESTS_APPLE_SDK_USR_INCLUDE_MACH_MACHINE_THREAD_STATUS_H

#include <mach/machine/vm_types.h>
#include <mach/port.h>

#if defined(__i386__) || defined(__x86_64__)

#define x86_THREAD_STATE32 1
#define x86_THREAD_STATE64 4
#define x86_THREAD_STATE   7

/* xnu osfmk/mach/i386/_structs.h */
typedef struct {
    unsigned int __eax, __ebx, __ecx, __edx, __edi, __esi, __ebp, __esp, __ss, __eflags, __eip, __cs, __ds, __es, __fs,
        __gs;
} x86_thread_state32_t;
typedef struct {
    uint64_t __rax, __rbx, __rcx, __rdx, __rdi, __rsi, __rbp, __rsp, __r8, __r9, __r10, __r11, __r12, __r13, __r14,
        __r15, __rip, __rflags, __cs, __fs, __gs;
} x86_thread_state64_t;

#define x86_THREAD_STATE32_COUNT ((mach_msg_type_number_t)(sizeof(x86_thread_state32_t) / sizeof(int)))
#define x86_THREAD_STATE64_COUNT ((mach_msg_type_number_t)(sizeof(x86_thread_state64_t) / sizeof(int)))

#define THREAD_STATE_MAX     614
#define MACHINE_THREAD_STATE x86_THREAD_STATE

#else

#define ARM_THREAD_STATE   1
#define ARM_THREAD_STATE64 6
#define ARM_THREAD_STATE32 9

/* xnu osfmk/mach/arm/_structs.h. With arm64e, the last fields of the first struct are opaque pointers of the same
 * size. */
typedef struct {
    uint64_t __x[29], __fp, __lr, __sp, __pc;
    uint32_t __cpsr, __pad;
} arm_thread_state64_t;
typedef struct {
    uint32_t __r[13], __sp, __lr, __pc, __cpsr;
} arm_thread_state32_t;

#define ARM_THREAD_STATE64_COUNT ((mach_msg_type_number_t)(sizeof(arm_thread_state64_t) / sizeof(uint32_t)))
#define ARM_THREAD_STATE32_COUNT ((mach_msg_type_number_t)(sizeof(arm_thread_state32_t) / sizeof(uint32_t)))

#define THREAD_STATE_MAX     1296
#define MACHINE_THREAD_STATE ARM_THREAD_STATE

#endif

#endif
