/* SPDX-License-Identifier: MIT */
/* The true stack, kept from the processor's observed calls and returns. It uses neither the library's decoder nor frame
 * records.
 *
 *     a call     arm: lr = the next instruction, and the processor went elsewhere
 *                x86: sp fell by a word, that word is the next instruction, and the processor went elsewhere
 *     a return   the processor is at the newest return address, and sp is at least its value after the call
 *
 * A tail call is neither and changes nothing. */
#ifndef TESTS_EMULATED_TRUTH_H
#define TESTS_EMULATED_TRUTH_H

#include "machine.h"

#define TRUTH_DEPTH 512

struct truth_frame {
    usp_addr return_address;             /* into the caller; without Thumb bit and signature */
    usp_addr cfa;                        /* sp before the call */
    usp_addr caller_fp;                  /* the frame pointer register at the call */
    const struct image_symbol *function; /* in which the frame began, or to which a tail call led; NULL: no symbol */
    usp_addr context;                    /* in an async function's frame: the context passed to it */
    bool async;
};

struct truth {
    const struct machine *machine;
    struct truth_frame frames[TRUTH_DEPTH]; /* the oldest first */
    unsigned depth;
    bool called;       /* a call led to the newest instruction */
    const char *error; /* static */
};

/* Begins with the entry's frame, which returns to the machine's root. */
void truth_begin(struct truth *truth, const struct machine *machine);

/* Follows one step. before: the previous moment; NULL for the first one. Returns false if calls and returns are no
 * longer consistent. */
bool truth_step(struct truth *truth, const struct moment *before, const struct moment *now);

/* Writes the pcs of a right walk at this moment, innermost first, ending with the root. Returns their number. */
unsigned truth_pcs(const struct truth *truth, const struct moment *now, usp_addr pcs[TRUTH_DEPTH + 1]);

/* Whether the newest frame has made its record: fp points to it. */
bool truth_has_record(const struct truth *truth, const struct moment *now);

/* Writes the resume addresses of the async chain of the innermost async function. Returns their number. early: also
 * count a function that has not yet made its record, or has undone it. */
unsigned truth_async(const struct truth *truth, const struct moment *now, bool early, uint64_t address_mask,
                     usp_addr *pcs, unsigned capacity);

#endif
