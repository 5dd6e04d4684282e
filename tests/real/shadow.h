/* SPDX-License-Identifier: MIT */
/* The true stacks of a stepped thread, derived from what the processor did, without the library's decoder, unwind
 * tables or frame records.
 *
 *     call      arm: the link register became the address of the next instruction, and the processor went elsewhere
 *               x86: sp fell by a word, that word is the address of the next instruction, and the processor went
 *               elsewhere
 *     return    the processor is at the newest return address, and sp is at least where the call left it
 *     signal    a signal was delivered, and the processor is in its handler
 *     given up  sp rose above a frame (longjmp, exceptions), or the processor is again, with the same sp, where a call
 *               returned to before (longjmp in setjmp's caller); the frames below have ended
 *     switch    sp is on another stack (swapcontext, goroutines): the frames of this one wait
 *
 * A tail call is none of these and changes nothing. */
#ifndef TESTS_REAL_SHADOW_H
#define TESTS_REAL_SHADOW_H

#include "guest.h"

enum shadow_kind {
    SHADOW_CALL,
    SHADOW_SIGNAL /* a handler; the return address is the interrupted instruction */
};

/* A value that a frame keeps for its caller: the return address, or a register that points into the stack, by which
 * callers find their own frames. Either the register still has the value, or the frame has it in one of the slots with
 * that value. */
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
    usp_addr return_address;              /* into the caller, without Thumb bit */
    usp_addr cfa;                         /* sp after its return */
    uint32_t kind;                        /* enum shadow_kind */
    usp_addr callee;                      /* the function's first instruction, or one after it */
    unsigned long born;                   /* observer's clock at the call */
    uint64_t chain;                       /* hash of its return address and those of all frames above */
    struct usp_registers call;            /* registers before the call */
    struct shadow_kept kept[SHADOW_KEPT]; /* the return address first */
    unsigned kept_count;
    void *notes; /* owned by the observer */
};

#define SHADOW_DEPTH 1024u

struct shadow_stack {
    struct shadow_frame frames[SHADOW_DEPTH]; /* the oldest first */
    unsigned count;
    bool is_whole;  /* the oldest frame's caller is the last of the stack */
    bool is_moving; /* frames are being given up, or the stack was just switched: until the next call or jump */
    usp_addr left;  /* sp when the program switched to another stack */
    uint64_t used;
};

#define SHADOW_STACKS 64u

struct shadow {
    struct guest *guest;
    struct shadow_stack *stacks;
    struct shadow_stack *now;
    uint64_t clock;
    unsigned long observed; /* the observer's clock */
    usp_addr *returns;      /* returns that were seen: hashes of (return address, cfa) */
    /* Called for each frame that ends. returned: whether it ended by a return. */
    void (*on_end)(void *context, struct shadow_frame *frame, bool returned);
    void *context;
    const char *error; /* a static string; NULL: no error */
};

bool shadow_init(struct shadow *shadow, struct guest *guest);
void shadow_free(struct shadow *shadow);

/* Must be called when the program is at the beginning of a stack. */
void shadow_begin(struct shadow *shadow);

/* Follows one instruction that the program has executed. Returns false if the true stack is lost; `error` has the
 * reason. */
bool shadow_step(struct shadow *shadow, const struct usp_registers *before);

/* Whether the program, after it has run, is at the newest frame's return address; that counts as the return. */
bool shadow_has_returned(struct shadow *shadow);

/* Whether all return addresses are still in their places. While a program ran unobserved, an exception or a jump may
 * have ended frames, and others may have replaced them. */
bool shadow_still_holds(struct shadow *shadow);

/* Ends all remaining frames without a return. */
void shadow_end(struct shadow *shadow);

/* Whether the true stack is known and a walk can find it: the values that the innermost frames keep must not be
 * overwritten. Code that throws an exception overwrites them before its jump (libgcc's uw_install_context writes the
 * registers of the frame that catches over those that its own frame has saved). */
bool shadow_is_known(struct shadow *shadow);

static inline struct shadow_frame *shadow_newest(const struct shadow *s) {
    return s->now->count > 0 ? &s->now->frames[s->now->count - 1] : NULL;
}

/* Gets the pcs with which a right walk begins, innermost first; if the whole stack is known, all of them. Returns their
 * number. */
unsigned shadow_pcs(const struct shadow *shadow, usp_addr pcs[SHADOW_DEPTH + 1]);

#endif
