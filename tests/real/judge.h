/* SPDX-License-Identifier: MIT */
/* Compares the stacks that the library finds with the true ones, and counts.
 *
 * Each pair of a pc and a true stack is compared once, in two ways: with unwind tables and without.
 *
 *     judged      with tables: the true stack is known, and a table describes the code of each of its frames but
 *                 that of the last, which has no caller
 *                 partly: the same, but the code of some frame has no table
 *                 without: the true stack is known, and the instruction's function returned later on
 *     right       all pcs of the stack, from the innermost to the outermost that is known; of a stack that is known as a
 *                 whole there are no more. Partly and without: where the walk ends or goes wrong in a frame that never
 *                 returned, so that no way to a return has been seen from there, what is below that frame counts */
#ifndef USP_TESTS_REAL_JUDGE_H
#define USP_TESTS_REAL_JUDGE_H

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
    uint64_t *seen; /* hashes of what was compared */
    size_t seen_count, seen_room;
    struct judge_counts counts[VIEWS];
    unsigned long compared, unknown;
    unsigned long registers,
        registers_wrong;         /* callers found whose registers were compared, and those with wrong ones */
    struct described *described; /* what is known of pcs: whether a table describes them */
    struct miss *misses;
    size_t miss_count, miss_room;
    bool always_whole; /* walks each stack to its end, however often the same caller was walked from */
};

bool judge_init(struct judge *judge, struct shadow *shadow);
void judge_free(struct judge *judge);

/* Looks at the stack where the program stands. Returns whether it was one that had not been compared before. */
bool judge_look(struct judge *judge);

/* Has the shape of shadow.on_end; context is the judge. */
void judge_end_frame(void *judge, struct shadow_frame *frame, bool returned);

/* Lines of tab-separated words: `count` for each view, `miss` for each place where a walk went wrong. */
void judge_print(const struct judge *judge, FILE *out);

#endif
