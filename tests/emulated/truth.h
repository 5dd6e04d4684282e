/* SPDX-License-Identifier: MIT */
/* The true stack, kept from what the processor was seen doing: calls and returns. It asks neither the library's decoder
 * nor any frame record.
 *
 *     a call     arm: lr = the instruction behind, and the processor went elsewhere
 *                x86: sp fell by a word, that word is the instruction behind, and the processor went elsewhere
 *     a return   the processor is at the newest return address, and sp is at least where the call left it
 *
 * A tail call is neither and changes nothing. */
#ifndef USP_TESTS_TRUTH_H
#define USP_TESTS_TRUTH_H

#include "machine.h"

#define TRUTH_DEPTH 512

struct truth_frame {
    usp_addr return_address;             /* into the caller; without Thumb bit and signature */
    usp_addr cfa;                        /* sp before the call */
    usp_addr caller_fp;                  /* the frame pointer register at the call */
    const struct image_symbol *function; /* where the frame began, or to which a tail call led it; NULL: no symbol */
    usp_addr context;                    /* in an async function's frame: the context that it was handed */
    bool async;
};

struct truth {
    const struct machine *machine;
    struct truth_frame frames[TRUTH_DEPTH]; /* the oldest first */
    unsigned depth;
    bool called;       /* the newest instruction was reached by a call */
    const char *error; /* static */
};

/* The entry's frame: it returns to the machine's root. */
void truth_begin(struct truth *truth, const struct machine *machine);

/* before: the moment before; NULL for the first. False when calls and returns no longer make sense. */
bool truth_step(struct truth *truth, const struct moment *before, const struct moment *now);

/* The pcs that a right walk gives at this moment, innermost first, ending with the root; returns how many. */
unsigned truth_pcs(const struct truth *truth, const struct moment *now, usp_addr pcs[TRUTH_DEPTH + 1]);

/* Whether frame 0 has made its record: fp points into it. */
bool truth_has_record(const struct truth *truth, const struct moment *now);

/* The resume addresses of the async chain of the innermost async function; returns how many. early: also of one that has
 * not made its record or has undone it. */
unsigned truth_async(const struct truth *truth, const struct moment *now, bool early, uint64_t address_mask,
                     usp_addr *pcs, unsigned room);

#endif
