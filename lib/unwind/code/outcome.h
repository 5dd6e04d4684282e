/* SPDX-License-Identifier: MIT */
/* Makes unwind rules of states: at a return, at a tail call, and at a goal. */
#ifndef USPI_UNWIND_CODE_OUTCOME_H
#define USPI_UNWIND_CODE_OUTCOME_H

#include "lib/unwind/code/state.h"
#include "lib/unwind/frame/rule.h"

/* Makes the rule at a return to return_address, with the stack pointer sp: the caller's registers are the current
 * ones. Returns false when the state does not show where the caller is. It does not consider that the link register of
 * a frame after a call has no valid value. */
bool uspi_rule_at_return(const struct uspi_log *log, const struct uspi_path *path, struct uspi_value return_address,
                         struct uspi_value sp, struct uspi_rule *rule);

/* Makes the rule at a jump out of the function, as if the callee's return were here. */
bool uspi_rule_at_tail_call(const struct uspi_log *log, const struct uspi_path *path, struct uspi_rule *rule);

/* Makes the rule at the end of a path from a function's start. The state is relative to the stack pointer at the
 * start; the rule inverts that. */
bool uspi_rule_at_goal(const struct uspi_log *log, const struct uspi_path *path, struct uspi_rule *rule);

#endif
