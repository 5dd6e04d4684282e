/* SPDX-License-Identifier: MIT */
/* `unspool stack`: the reading of symbols before the report, with a progress line. */
#ifndef TOOL_STACK_NAMES_H
#define TOOL_STACK_NAMES_H

#include "tools/stack.h"

#include <stdio.h>

/* Has the symbols of each image read in which a frame of the report lies, and shows the progress on `terminal`. Without a
 * terminal, or with nothing to name, nothing is done: the report reads them itself, one after the other. */
void stack_read_symbols(const struct stack_report *report, FILE *terminal);

#endif
