/* SPDX-License-Identifier: MIT */
/* Compares the stacks that the library finds with the true ones, and counts.
 *
 * Each pair of a pc and a true stack is compared once, in two ways: with unwind tables and without.
 *
 *     judged      with tables: the true stack is known, and a table describes the code of each frame except the last,
 *                 which has no caller
 *                 partly: the same, but the code of some frame has no table
 *                 without: the true stack is known, and the instruction's function returned later
 *     right       the walk has all pcs of the stack, from the innermost to the outermost known one, and no more if the
 *                 whole stack is known. Partly and without: a walk also counts as right that ends or goes wrong in a
 *                 frame that never returned, because no way to a return was seen there */
#ifndef TESTS_REAL_JUDGE_H
#define TESTS_REAL_JUDGE_H

#include <stdio.h>

#include "shadow.h"

enum view { VIEW_TABLES, VIEW_PARTLY, VIEW_ALONE, VIEWS };

struct judge_counts {
    unsigned long right, wrong, no_return;
};

struct miss;

struct judge {
    struct shadow *shadow;
    struct guest *guest;
    uint64_t *seen; /* hashes of the pairs that were compared */
    size_t seen_count, seen_capacity;
    struct judge_counts counts[VIEWS];
    unsigned long compared, unknown;
    unsigned long registers, registers_wrong; /* callers whose registers were compared; callers with wrong registers */
    struct described *described;              /* for each pc, whether a table describes it */
    struct miss *misses;
    size_t miss_count, miss_capacity;
    bool always_whole; /* walks each stack to its end, even from a caller that was walked from before */
};

bool judge_init(struct judge *judge, struct shadow *shadow);
void judge_free(struct judge *judge);

/* Compares the stack at the program's current instruction. Returns whether the pair is new. */
bool judge_look(struct judge *judge);

/* A shadow.on_end function; context is the judge. */
void judge_end_frame(void *judge, struct shadow_frame *frame, bool returned);

/* Prints lines of tab-separated words: `count` for each view, `miss` for each place where a walk went wrong. */
void judge_print(const struct judge *judge, FILE *out);

#endif
