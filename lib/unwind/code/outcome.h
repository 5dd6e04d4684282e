/* SPDX-License-Identifier: MIT */
/* From a state to an unwind rule: at a return, at a tail call, and at a goal. */
#ifndef USPI_OUTCOME_H
#define USPI_OUTCOME_H

#include "lib/unwind/code/state.h"
#include "lib/unwind/frame/rule.h"

/* At a return to an address, with a stack pointer: the caller's registers are what the registers are now. False: the
 * state does not say where the caller is. The link register of a frame behind a call holds nothing: that is for
 * others to know. */
bool uspi_rule_at_return(const struct uspi_log *log, const struct uspi_way *way, struct uspi_value return_address,
                         struct uspi_value sp, struct uspi_rule *rule);

/* The same at a jump out of the function: as if the callee's return were here. */
bool uspi_rule_at_tail_call(const struct uspi_log *log, const struct uspi_way *way, struct uspi_rule *rule);

/* Behind the way from a function's start, where everything is expressed from the stack pointer there: turns it
 * round. */
bool uspi_rule_at_goal(const struct uspi_log *log, const struct uspi_way *way, struct uspi_rule *rule);

#endif
