/* SPDX-License-Identifier: MIT */
/* A shadow stack: the true stack of a thread, kept by the thread itself, with the return address of each of its
 * functions that has begun and not ended. It lies on the thread's own stack, so a copy of the stack contains the true
 * stack of the same moment. It stays valid if the thread is interrupted between any two instructions:
 *
 *     enter: depth = depth + 1, then the address     leave: address = 0, then depth = depth − 1
 *
 * An entry that is 0 is being entered or left: its function's frame may exist or not. So may a function that was
 * interrupted before it entered or after it left: it adds one frame that the shadow stack lacks, as the innermost one,
 * or the innermost one under a signal. */
#ifndef TESTS_SUPPORT_LINUX_SHADOW_H
#define TESTS_SUPPORT_LINUX_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include <unspool/unspool.h>

#include "arch/host.h"
#include "tests/support/kept.h"

#define SHADOW_MAX  250
#define SHADOW_MARK UINT64_C(0x736861646f773a29)

struct shadow {
    volatile uint64_t mark;      /* SHADOW_MARK, which shows that the copy contains the struct */
    volatile uint64_t low, high; /* code outside the program that also keeps a shadow stack: a loaded library */
    volatile uint64_t loading;   /* not 0 while the stack may contain code that is unloaded soon */
    volatile uint64_t depth;
    volatile uint64_t returns[SHADOW_MAX]; /* outermost first */
};

static inline void shadow_enter(struct shadow *s, void *return_address) {
    uint64_t n = s->depth;
    s->depth = n + 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    s->returns[n] = uspi_host_strip((uintptr_t)return_address);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void shadow_leave(struct shadow *s) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    uint64_t n = s->depth;
    s->returns[n - 1] = 0;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    s->depth = n - 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* For functions whose frames are checked. Their work is between SHADOW_ENTER and SHADOW_LEAVE. */
#define SHADOWED        KEPT
#define SHADOW_ENTER(s) shadow_enter(s, __builtin_return_address(0))
#define SHADOW_LEAVE(s) shadow_leave(s)

/* The bounds of the program's own code (linker symbols). */
extern const char __executable_start, etext;

static inline bool shadow_covers(const struct shadow *s, usp_addr pc) {
    return (pc >= (uintptr_t)&__executable_start && pc < (uintptr_t)&etext) || (pc >= s->low && pc < s->high);
}

enum shadow_verdict {
    SHADOW_WRONG,    /* a frame that the shadow stack lacks, or has in another order */
    SHADOW_PART,     /* all frames are true, some are missing */
    SHADOW_COMPLETE, /* all frames, down to the thread's start */
    SHADOW_UNKNOWN   /* the shadow stack is not in the copy */
};

/* How many of the innermost functions may be absent from the shadow stack. Where code calls a function to get its own
 * address (gcc's __x86.get_pc_thunk for i386) or the address of thread-local variables (__aeabi_read_tp on 32-bit arm),
 * it does so before the calling function can enter. */
static inline unsigned shadow_extra(void) {
    return usp_arch_host() == USP_ARCH_I386 || usp_arch_host() == USP_ARCH_ARMV7 ? 2 : 1;
}

#define SHADOW_SEGMENTS 4u

/* `extra` has two bits for each segment n, which begins at one interrupted pc. They give how many of the segment's
 * innermost return addresses belong to functions that are not in the shadow stack. */
static inline enum shadow_verdict shadow_compare(const struct shadow *s, const struct usp_stack *stack,
                                                 unsigned extra) {
    uint64_t next = s->depth; /* returns[next − 1] is the innermost that is not matched */
    unsigned missing = 0, segment = 0, met = 0;
    for (uint32_t i = 0; i < stack->physical; i++) {
        const struct usp_frame *f = &stack->frames[i];
        if (f->kind == USP_FRAME_KIND_SIGNAL) {
            segment += i > 0;
            met = 0;
        }
        /* An interrupted pc and a signal trampoline are not return addresses. */
        if (f->kind == USP_FRAME_KIND_SIGNAL || f->kind == USP_FRAME_KIND_INTERRUPTED) continue;
        if (!shadow_covers(s, f->pc)) continue;
        if (segment < SHADOW_SEGMENTS && met++ < (extra >> 2 * segment & 3)) continue;
        for (; next > 0 && s->returns[next - 1] != f->pc; next--) missing += shadow_covers(s, s->returns[next - 1]);
        if (next == 0) return SHADOW_WRONG;
        next--;
    }
    for (; next > 0; next--) missing += shadow_covers(s, s->returns[next - 1]);
    return missing == 0 && stack->stop == USP_STOP_ROOT ? SHADOW_COMPLETE : SHADOW_PART;
}

/* Whether the frames in covered code are in the shadow stack, in order, and whether they are complete. */
static inline enum shadow_verdict shadow_judge(const struct shadow *s, const struct usp_stack *stack) {
    enum shadow_verdict best = SHADOW_WRONG;
    if (s->mark != SHADOW_MARK || s->depth > SHADOW_MAX) return SHADOW_UNKNOWN;
    for (unsigned extra = 0; extra < 1u << 2 * SHADOW_SEGMENTS && best != SHADOW_COMPLETE; extra++) {
        bool allowed = true;
        for (unsigned n = 0; n < SHADOW_SEGMENTS; n++) allowed &= (extra >> 2 * n & 3) <= shadow_extra();
        if (!allowed) continue;
        enum shadow_verdict verdict = shadow_compare(s, stack, extra);
        if (verdict > best) best = verdict;
    }
    return best;
}

#endif
