/* SPDX-License-Identifier: MIT */
/* The true stacks of a stepped thread, kept from what the processor was seen doing. Neither the library's decoder nor an
 * unwind table nor a frame record is asked.
 *
 *     call      arm: the link register became the instruction behind, and the processor went elsewhere
 *               x86: sp fell by a word, that word is the instruction behind, and the processor went elsewhere
 *     return    the processor is at the newest return address, and sp is at least where the call left it
 *     signal    one was delivered, and the processor is in its handler
 *     given up  sp rose above a frame (longjmp, exceptions), or the processor is again, with the same sp, where a call has
 *               returned to before (longjmp in setjmp's caller); the frames below are no more
 *     switch    sp is on another stack (swapcontext, goroutines): the frames of this one wait
 *
 * A tail call is none of these and changes nothing. */
#ifndef USP_TESTS_REAL_SHADOW_H
#define USP_TESTS_REAL_SHADOW_H

#include "guest.h"

enum shadow_kind {
    SHADOW_CALL,
    SHADOW_SIGNAL /* what the handler's return address returns to: the interrupted instruction */
};

/* What a frame keeps for its caller: the return address, and registers that point into the stack, by which callers find
 * their own frames. While the register holds it there is nothing to know; else it lies in the frame, in one of the slots that
 * hold the same. */
#define SHADOW_SLOTS 4u

struct shadow_kept {
    usp_addr value;
    usp_addr slots[SHADOW_SLOTS];
    unsigned slot_count;
    bool is_saved; /* the register was given another value */
    uint8_t reg;
};

#define SHADOW_KEPT 8u

struct shadow_frame {
    usp_addr return_address;              /* into the caller; without Thumb bit */
    usp_addr cfa;                         /* sp when it will have returned */
    uint32_t kind;                        /* enum shadow_kind */
    usp_addr callee;                      /* the function's first instruction, or one behind it */
    unsigned long born;                   /* the observer's clock at the call */
    uint64_t chain;                       /* hash of its return address and of all above */
    struct usp_registers call;            /* before the call */
    struct shadow_kept kept[SHADOW_KEPT]; /* the return address first */
    unsigned kept_count;
    void *notes; /* the observer's */
};

#define SHADOW_DEPTH 1024u

struct shadow_stack {
    struct shadow_frame frames[SHADOW_DEPTH]; /* the oldest first */
    unsigned count;
    bool is_whole; /* the oldest frame's caller is the last of the stack */
    bool
        is_moving; /* frames are being given up, or the stack was just switched: until the next jump that is not known */
    usp_addr left; /* sp when another stack was switched to */
    uint64_t used;
};

#define SHADOW_STACKS 64u

struct shadow {
    struct guest *guest;
    struct shadow_stack *stacks;
    struct shadow_stack *now;
    uint64_t clock;
    unsigned long observed; /* the observer's clock */
    usp_addr *returns;      /* places of returns seen: hashes of (return address, cfa) */
    /* Called for each frame that ends: whether it returned. */
    void (*on_end)(void *context, struct shadow_frame *frame, bool returned);
    void *context;
    const char *error; /* static; NULL */
};

bool shadow_init(struct shadow *shadow, struct guest *guest);
void shadow_free(struct shadow *shadow);

/* The program stands at the beginning of a stack. */
void shadow_begin(struct shadow *shadow);

/* The program has executed one instruction. False: the truth is lost, `error` says why. */
bool shadow_step(struct shadow *shadow, const struct usp_registers *before);

/* The program has run, and stands where the newest frame returns to: takes that for the return. */
bool shadow_has_returned(struct shadow *shadow);

/* Whether all return addresses are still where they were. Where a program has run unseen, an exception or a jump may have
 * ended frames, and others may have come in their place. */
bool shadow_still_holds(struct shadow *shadow);

/* All that is left ends without a return. */
void shadow_end(struct shadow *shadow);

/* Whether what a walk should find is known, and can be found: what the innermost frames keep has not been overwritten, as
 * code that throws an exception does before the jump (libgcc's uw_install_context writes the registers of the frame that
 * catches over those that its own frame has saved). */
bool shadow_is_known(struct shadow *shadow);

static inline struct shadow_frame *shadow_newest(const struct shadow *s) {
    return s->now->count > 0 ? &s->now->frames[s->now->count - 1] : NULL;
}

/* The pcs that a right walk begins with, innermost first; of a whole stack all of them. */
unsigned shadow_pcs(const struct shadow *shadow, usp_addr pcs[SHADOW_DEPTH + 1]);

#endif
