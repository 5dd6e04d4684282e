/* SPDX-License-Identifier: MIT */
/* What the explorer found at a pc, kept from one frame to the next and from one thread's walk to the next: threads of one
 * process stand in the same functions. Only for code that does not change meanwhile (a snapshot's); whoever keeps a memo
 * gives it to the walks of one process and forgets it with them.
 *
 * It holds rules, never judgements: a rule that is recalled is judged again, with the frame's own registers and memory. */
#ifndef USPI_MEMO_H
#define USPI_MEMO_H

#include "lib/unwind/rule.h"

/* Places; a power of two. */
#define USPI_MEMO_PLACES 512u

struct uspi_memo_entry {
    usp_addr pc; /* 0: empty; nobody asks for a rule at address 0 */
    uint32_t mode;
    uint32_t exact;
    unsigned doubts;
    struct uspi_rule rule;
};

/* All zero is empty. */
struct uspi_memo {
    struct uspi_memo_entry entries[USPI_MEMO_PLACES];
};

/* The place of a pc, whatever it holds. */
static inline struct uspi_memo_entry *uspi_memo_place(struct uspi_memo *memo, usp_addr pc) {
    return &memo->entries[(pc ^ pc >> 9) & (USPI_MEMO_PLACES - 1)];
}

#endif
