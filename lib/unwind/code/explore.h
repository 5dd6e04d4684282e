/* SPDX-License-Identifier: MIT */
/* Unwind rules out of code alone: carries out the stack effects of instructions symbolically, along every branch, either
 * from a pc forward to a return or from a function's start forward to a pc.
 *
 * Compiled code keeps one promise on which this rests: at one address the stack always has the same shape, whichever way
 * led there. So each address is visited once, and any way that really can be taken to a return tells what the function
 * will restore from where.
 *
 * Decides nothing about memory or registers of an actual thread: it gives rules one by one, the least doubtful first, and
 * the caller judges them. */
#ifndef USPI_EXPLORE_H
#define USPI_EXPLORE_H

#include "lib/unwind/code/explorer.h"
#include "lib/unwind/frame/rule.h"

void uspi_explore_begin(struct uspi_explorer *explorer, struct uspi_code *code, const struct uspi_question *question);

/* The next rule, with the doubts about the way to it (enum uspi_doubt). False: there is none, or the budget is spent. */
bool uspi_explore_next(struct uspi_explorer *explorer, struct uspi_rule *rule, unsigned *doubts);

#endif
