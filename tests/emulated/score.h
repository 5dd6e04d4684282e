/* SPDX-License-Identifier: MIT */
/* Counts how well walked stacks agree with true ones, and keeps each kind of difference with its place. Prints lines of
 * tab-separated words, which report.py reads. */
#ifndef TESTS_EMULATED_SCORE_H
#define TESTS_EMULATED_SCORE_H

#include "image.h"

/* How a stack differs from the true one. */
enum verdict {
    VERDICT_EXACT,
    VERDICT_MISSING, /* the true stack with frames left out */
    VERDICT_EXTRA,   /* the true stack with frames added */
    VERDICT_WRONG,   /* any other difference */
    VERDICTS
};

struct miss {
    usp_addr pc;
    const char *why; /* static */
    char *detail;    /* of the first difference of this kind at this pc */
    unsigned long count;
};

struct score {
    const char *name;
    unsigned long verdicts[VERDICTS];
    struct miss *misses;
    size_t miss_count, miss_capacity;
};

enum verdict score_compare(const usp_addr *expected, unsigned expected_count, const usp_addr *got, unsigned got_count);

const char *score_verdict_name(enum verdict verdict);

/* Counts a difference at pc. Returns where its detail is to be stored if it is the first of its kind there, NULL
 * otherwise. */
char **score_miss(struct score *score, usp_addr pc, const char *why);

/* Writes "symbol+offset" or the plain address, for a detail. */
void score_place(const struct image *image, usp_addr pc, char *out, size_t size);

/* Returns a stack as one line, its innermost `most` frames. The caller frees it. */
char *score_stack(const struct image *image, const usp_addr *pcs, unsigned count, unsigned most);

/* Prints one line for each place and kind of difference, the most frequent first:
 *     miss  score's name  count  pc  symbol+offset  why  detail */
void score_print_misses(const struct score *score, const struct image *image);

void score_free(struct score *score);

#endif
