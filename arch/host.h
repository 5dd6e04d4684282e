/* SPDX-License-Identifier: MIT */
/* Tells which processor the library is compiled for; no other file asks. Provides constants for the fast local walk.
 * All other code uses the table of backends. */
#ifndef USPI_ARCH_HOST_H
#define USPI_ARCH_HOST_H

#include "arch/backend.h"
#include "arch/frame.h"

/* USPI_HOST_RECORDS: 1 if compilers keep frame records on this processor and __builtin_frame_address(0) points to
 * one. */
#if defined(__aarch64__) && defined(__LP64__)
#define USPI_HOST_ARCH    USP_ARCH_ARM64
#define USPI_HOST_RECORDS 1
#elif defined(__aarch64__)
#define USPI_HOST_ARCH    USP_ARCH_ARM64_32
#define USPI_HOST_RECORDS 1
#elif defined(__arm__)
#define USPI_HOST_ARCH USP_ARCH_ARMV7
/* GCC's frame pointer points to the locals in Thumb state, and past the record in ARM state. */
#if defined(__clang__)
#define USPI_HOST_RECORDS 1
#else
#define USPI_HOST_RECORDS 0
#endif
#elif defined(__x86_64__) && defined(__LP64__)
#define USPI_HOST_ARCH    USP_ARCH_X86_64
#define USPI_HOST_RECORDS 1
#elif defined(__i386__)
#define USPI_HOST_ARCH    USP_ARCH_I386
#define USPI_HOST_RECORDS 1
#else
#define USPI_HOST_ARCH    USP_ARCH_NONE
#define USPI_HOST_RECORDS 0
#endif

/* Whether threads of this host may run code of an ARM processor. */
#define USPI_HOST_IS_ARM                                                                                               \
    (USPI_HOST_ARCH == USP_ARCH_ARM64 || USPI_HOST_ARCH == USP_ARCH_ARM64_32 || USPI_HOST_ARCH == USP_ARCH_ARMV7)

#if defined(__aarch64__)
#define USPI_HOST_SLOT  8u
#define USPI_HOST_ALIGN 8u
#define USPI_HOST_ASYNC true
#elif defined(__x86_64__)
#define USPI_HOST_SLOT  8u
#define USPI_HOST_ALIGN 8u
#define USPI_HOST_ASYNC true
#else
#define USPI_HOST_SLOT  4u
#define USPI_HOST_ALIGN 4u
#define USPI_HOST_ASYNC false
#endif

/* The number of low bits that are 0 in every code address. */
#if defined(__aarch64__)
#define USPI_HOST_CODE_SHIFT 2
#elif defined(__arm__)
#define USPI_HOST_CODE_SHIFT 1
#else
#define USPI_HOST_CODE_SHIFT 0
#endif

static inline struct uspi_record_shape uspi_host_record_shape(void) {
    struct uspi_record_shape shape = {USPI_HOST_SLOT, USPI_HOST_ALIGN, USPI_HOST_ASYNC, UINTPTR_MAX};
    return shape;
}

/* Returns a return address of this process without its signature and Thumb bit. */
static inline uintptr_t uspi_host_strip(uintptr_t address) {
#if defined(__aarch64__) && defined(__LP64__)
    /* xpaclri (hint #7) works on x30 and is a no-op on processors without the feature. */
    register uintptr_t x30 __asm__("x30") = address;
    __asm__("hint #7" : "+r"(x30));
    return x30;
#elif defined(__arm__)
    return address & ~(uintptr_t)1;
#else
    return address;
#endif
}

/* Returns the bits of a pointer that a signature fills in this process: the bits that stripping clears in a user
 * address (bit 55 is 0) with every other bit set. 0 if the processor signs no pointers. */
static inline uint64_t uspi_host_signature_bits(void) {
    const uint64_t all = ~(UINT64_C(1) << 55);
    return sizeof(uintptr_t) == 8 ? all & ~(uint64_t)uspi_host_strip((uintptr_t)all) : 0;
}

/* Returns the stack pointer of the function that this is inlined into. */
USPI_TEMPLATE uintptr_t uspi_host_sp(void) {
    uintptr_t sp;
#if defined(__aarch64__)
    /* sp has 64 bits, even with 32-bit pointers. */
    uint64_t wide;
    __asm__("mov %0, sp" : "=r"(wide));
    sp = (uintptr_t)wide;
#elif defined(__arm__)
    __asm__("mov %0, sp" : "=r"(sp));
#elif defined(__x86_64__)
    __asm__("mov %%rsp, %0" : "=r"(sp));
#elif defined(__i386__)
    __asm__("mov %%esp, %0" : "=r"(sp));
#else
    sp = (uintptr_t)__builtin_frame_address(0);
#endif
    return sp;
}

/* Reads the registers of the function that this is inlined into, at one of its own instructions: those that its unwind
 * table needs to find the caller's. Returns false on processors where this is not implemented. */
USPI_TEMPLATE bool uspi_host_registers(struct usp_registers *registers) {
#if defined(__x86_64__) && defined(__LP64__) && (defined(__GNUC__) || defined(__clang__))
    /* DWARF numbers of rbx, rbp, rsp, r12 … r15, and of the pc, which is 16. */
    static const uint8_t numbers[8] = {3, 6, 7, 12, 13, 14, 15, 16};
    uint64_t values[8];
    uint64_t pc;
    __asm__ volatile("leaq 0f(%%rip), %[pc]\n"
                     "0:\n\t"
                     "movq %%rbx, 0(%[to])\n\t"
                     "movq %%rbp, 8(%[to])\n\t"
                     "movq %%rsp, 16(%[to])\n\t"
                     "movq %%r12, 24(%[to])\n\t"
                     "movq %%r13, 32(%[to])\n\t"
                     "movq %%r14, 40(%[to])\n\t"
                     "movq %%r15, 48(%[to])\n\t"
                     "movq %[pc], 56(%[to])"
                     : [pc] "=&r"(pc)
                     : [to] "r"(values)
                     : "memory");
    memset(registers, 0, sizeof *registers);
    registers->arch = USPI_HOST_ARCH;
    for (unsigned i = 0; i < sizeof numbers; i++) {
        registers->value[numbers[i]] = values[i];
        registers->known |= UINT64_C(1) << numbers[i];
    }
    return true;
#else
    (void)registers;
    return false;
#endif
}

#endif
