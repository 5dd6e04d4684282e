/* SPDX-License-Identifier: MIT */
/* The truth about a thread's stack, kept by the thread itself: the return address of each of its functions that has begun
 * and not ended. It lies on the thread's own stack, so that a copy of the stack holds the truth of that moment with
 * it; and it is kept so that an interruption between any two instructions leaves it true:
 *
 *     enter: depth = depth + 1, then the address     leave: address = 0, then depth = depth − 1
 *
 * A place that is 0 is one that is being entered or left: its function's frame may be there or not. The same holds for
 * the function that was interrupted before it could enter or after it had left: one frame more than the truth knows, the
 * innermost, or the innermost under a signal. */
#ifndef TESTS_LINUX_SHADOW_H
#define TESTS_LINUX_SHADOW_H

#include <stdbool.h>
#include <stdint.h>

#include <unspool/unspool.h>

#include "arch/host.h"
#include "tests/support/kept.h"

#define SHADOW_MAX  250
#define SHADOW_MARK UINT64_C(0x736861646f773a29)

struct shadow {
    volatile uint64_t mark;      /* SHADOW_MARK; tells that it was found in the copy */
    volatile uint64_t low, high; /* code that keeps the truth as well, besides the program: a loaded library */
    volatile uint64_t loading;   /* not 0 while there may be code on the stack that soon is unloaded */
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

/* For the functions whose frames are checked: their work stands between the two. */
#define SHADOWED        KEPT
#define SHADOW_ENTER(s) shadow_enter(s, __builtin_return_address(0))
#define SHADOW_LEAVE(s) shadow_leave(s)

/* The program's own code (linker symbols). */
extern const char __executable_start, etext;

static inline bool shadow_covers(const struct shadow *s, usp_addr pc) {
    return (pc >= (uintptr_t)&__executable_start && pc < (uintptr_t)&etext) || (pc >= s->low && pc < s->high);
}

enum shadow_verdict {
    SHADOW_WRONG,    /* a frame that is not in the truth, or in another order */
    SHADOW_PART,     /* all frames are true, some are missing */
    SHADOW_COMPLETE, /* all, down to the thread's start */
    SHADOW_UNKNOWN   /* there is no truth to compare with */
};

/* How many functions that the truth does not know may stand innermost. Where code calls one to learn where it is itself
 * (gcc's __x86.get_pc_thunk for i386) or where its thread's variables are (__aeabi_read_tp on 32-bit arm), it does so before
 * the calling function could enter. */
static inline unsigned shadow_extra(void) {
    return usp_arch_host() == USP_ARCH_I386 || usp_arch_host() == USP_ARCH_ARMV7 ? 2 : 1;
}

#define SHADOW_SEGMENTS 4u

/* `extra`: the two bits n say how many of the innermost return addresses of segment n (what one interrupted pc leads to)
 * belong to functions that the truth does not know at that moment. */
static inline enum shadow_verdict shadow_compare(const struct shadow *s, const struct usp_stack *stack,
                                                 unsigned extra) {
    uint64_t next = s->depth; /* returns[next − 1] is the innermost that is not matched */
    unsigned missing = 0, segment = 0, met = 0;
    for (uint32_t i = 0; i < stack->physical; i++) {
        const struct usp_frame *f = &stack->frames[i];
        if (f->kind == USP_FRAME_KIND_SIGNAL || f->kind == USP_FRAME_KIND_INTERRUPTED) {
            segment += i > 0;
            met = 0;
            continue;
        }
        if (!shadow_covers(s, f->pc)) continue;
        if (segment < SHADOW_SEGMENTS && met++ < (extra >> 2 * segment & 3)) continue;
        for (; next > 0 && s->returns[next - 1] != f->pc; next--) missing += shadow_covers(s, s->returns[next - 1]);
        if (next == 0) return SHADOW_WRONG;
        next--;
    }
    for (; next > 0; next--) missing += shadow_covers(s, s->returns[next - 1]);
    return missing == 0 && stack->stop == USP_STOP_ROOT ? SHADOW_COMPLETE : SHADOW_PART;
}

/* Whether the frames that stand in covered code are in the truth, in order; and whether they are all of it. */
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
