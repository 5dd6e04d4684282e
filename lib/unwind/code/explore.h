/* SPDX-License-Identifier: MIT */
/* Computes unwind rules from code alone. It executes the stack effects of instructions symbolically, along every
 * branch: either from a pc forward to a return, or from a function's start forward to a pc.
 *
 * This relies on a property of compiled code: at each address the stack always has the same layout, whichever path led
 * there. So each address is visited once, and every path that really reaches a return shows where the function
 * restores its registers from.
 *
 * It does not look at memory or registers of a real thread. It gives one rule at a time, the least doubtful first; the
 * caller judges them. */
#ifndef USPI_UNWIND_CODE_EXPLORE_H
#define USPI_UNWIND_CODE_EXPLORE_H

#include "lib/unwind/code/explorer.h"
#include "lib/unwind/frame/rule.h"

void uspi_explore_begin(struct uspi_explorer *explorer, struct uspi_code *code, const struct uspi_question *question);

/* Gives the next rule and the doubts about its path (enum uspi_doubt). Returns false when there is none, or the budget
 * is used up. */
bool uspi_explore_next(struct uspi_explorer *explorer, struct uspi_rule *rule, unsigned *doubts);

/* Finds where a stub of a linkage table, or a linker's veneer, leads: straight code that jumps through a pointer in
 * `data`. Returns false if the code at `at` is not such a stub or the pointer is not known. */
bool uspi_code_past_stub(struct uspi_code *code, const struct usp_memory *data, usp_addr at, uint32_t mode,
                         usp_addr *target, uint32_t *target_mode);

/* Returns a number that identifies a question: other questions have another number, with the chance of 64 random bits.
 * Not 0. */
uint64_t uspi_question_key(const struct uspi_question *question);

#endif
