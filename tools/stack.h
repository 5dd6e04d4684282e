/* SPDX-License-Identifier: MIT */
/* Declarations that the parts of `unspool stack` share. */
#ifndef TOOLS_STACK_H
#define TOOLS_STACK_H

#include <unspool/unspool.h>

#include <stdio.h>

/* How many of the outermost frames are kept by default where a stack has more than --max. */
#define DEFAULT_TAIL 64u

struct stack_report {
    const struct usp_snapshot *snapshot;
    const struct usp_tasks *tasks;    /* NULL: not requested */
    struct usp_format_options format; /* style of the lines, symbolizer, demangler and filter */
};

/* Writes the report for people. Returns an enum usp_status. */
int stack_write_text(const struct stack_report *report, FILE *out);

/* Writes one call tree of all threads, with the number of threads at each function. Returns an enum usp_status. */
int stack_write_merged(const struct stack_report *report, FILE *out);

#endif
