/* SPDX-License-Identifier: MIT */
/* Registers of any of the five processors, and how they are made from the bytes of a thread state. Reading them from a
 * live thread is in capture.h, stepping from one frame's registers to its caller's in unwind.h. */
#ifndef UNSPOOL_REGISTERS_H
#define UNSPOOL_REGISTERS_H

#include <unspool/base.h>

USP_BEGIN_DECLS

/* Room for the registers of any processor. */
#define USP_REGISTERS_MAX 48

/* The integer registers, indexed by the processor's DWARF numbers, which unwind tables use:
 *   arm64, arm64_32   x0…x30 = 0…30, sp 31, pc 32          (Arm "DWARF for the Arm 64-bit Architecture")
 *   armv7             r0…r15 = 0…15 (sp 13, lr 14, pc 15)  (Arm "DWARF for the Arm Architecture")
 *   x86_64            rax rdx rcx rbx rsi rdi rbp rsp = 0…7, r8…r15 = 8…15, rip 16   (System V psABI)
 *   i386              eax ecx edx ebx esp ebp esi edi = 0…7, eip 8                   (System V psABI)
 * A value is meaningful only when the register's bit in `known` is set. Plain data, which may be copied. */
struct usp_registers {
    uint32_t arch;  /* enum usp_arch */
    uint32_t flags; /* cpsr, rflags or eflags; 0 where unknown. cpsr bit 5 is the Thumb state */
    uint64_t known; /* bit n: value[n] is known */
    usp_addr value[USP_REGISTERS_MAX];
    /* USP_THREAD_STATE_LINUX_PRSTATUS on x86: 1 + the number of the system call in which the thread was stopped or that
     * it last made, since the register of the number then has the result; 0: none. */
    uint32_t system_call;
    uint32_t reserved0;
    uint64_t reserved[3];
};

/* The format of the bytes for usp_registers_from_state. A Mach flavor is USP_THREAD_STATE_MACH + flavor. */
enum usp_thread_state {
    USP_THREAD_STATE_LINUX_PRSTATUS =
        1, /* The register set of NT_PRSTATUS, as ptrace gives it (not the whole core note). */
    USP_THREAD_STATE_LINUX_UCONTEXT = 2,   /* a ucontext_t as a Linux kernel passes it to an SA_SIGINFO handler */
    USP_THREAD_STATE_LINUX_SIGCONTEXT = 3, /* The sigcontext on the stack of an i386 handler without SA_SIGINFO. */
    USP_THREAD_STATE_DARWIN_MCONTEXT = 4,  /* what uc_mcontext points to: exception state, then thread state */
    USP_THREAD_STATE_MACH = 0x100          /* + the flavor of thread_get_state or LC_THREAD */
};

/* Makes registers from the bytes of a thread state, of any processor and on any host. The bytes are little-endian, as
 * all five processors store them.
 *   registers  written completely; on failure its `known` is 0
 *   arch       enum usp_arch
 *   state      enum usp_thread_state, or USP_THREAD_STATE_MACH + flavor; unified flavors are resolved by their header
 *   bytes, n   the state and its size in bytes; extra bytes are ignored
 * Signed pointers stay signed: usp_unwind strips them according to the target's description. Returns USP_OK,
 * USP_ERROR_ARGUMENT for an unknown processor or state, USP_ERROR_TRUNCATED when n is too small, USP_ERROR_FORMAT when
 * a unified header contradicts the processor. Async-signal-safe, thread-safe. Source of the layouts: xnu
 * osfmk/mach/{arm,i386}/_structs.h, thread_status.h; Linux asm/ptrace.h, asm/sigcontext.h. */
USP_API int usp_registers_from_state(struct usp_registers *registers, uint32_t arch, uint32_t state, const void *bytes,
                                     size_t n);

/* Clears the registers for a processor: none is known. Returns USP_OK or USP_ERROR_ARGUMENT. Async-signal-safe. */
USP_API int usp_registers_init(struct usp_registers *registers, uint32_t arch);

/* The processor's pc, stack pointer, frame pointer and link register; 0 when unknown (x86 has no link register). The
 * Thumb bit is removed from pc. Signatures and the async mark are not, since their position depends on the target.
 * Async-signal-safe, thread-safe. */
USP_API usp_addr usp_registers_pc(const struct usp_registers *registers);
USP_API usp_addr usp_registers_sp(const struct usp_registers *registers);
USP_API usp_addr usp_registers_fp(const struct usp_registers *registers);
USP_API usp_addr usp_registers_lr(const struct usp_registers *registers);

/* Set one register and its `known` bit. On armv7, bit 0 of a pc becomes the Thumb flag. usp_registers_set_lr does
 * nothing on x86. Async-signal-safe. */
USP_API void usp_registers_set_pc(struct usp_registers *registers, usp_addr value);
USP_API void usp_registers_set_sp(struct usp_registers *registers, usp_addr value);
USP_API void usp_registers_set_fp(struct usp_registers *registers, usp_addr value);
USP_API void usp_registers_set_lr(struct usp_registers *registers, usp_addr value);

/* Returns the name of a processor's register n ("x29", "rbp"), or NULL. Static lifetime. Async-signal-safe. */
USP_API const char *usp_register_name(uint32_t arch, unsigned n);

USP_END_DECLS

#endif
