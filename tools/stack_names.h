/* SPDX-License-Identifier: MIT */
/* Reads symbols for `unspool stack` before the report, with a progress line. */
#ifndef TOOLS_STACK_NAMES_H
#define TOOLS_STACK_NAMES_H

#include "tools/stack.h"

#include <stdio.h>

/* Reads the symbols of each image that contains a frame of the report, and shows the progress on `terminal`. Does
 * nothing without a terminal or without a symbolizer: the report then reads them itself. */
void stack_read_symbols(const struct stack_report *report, FILE *terminal);

#endif
