/* SPDX-License-Identifier: MIT */
/* `unspool stack`: what its parts hand to each other. */
#ifndef TOOL_STACK_H
#define TOOL_STACK_H

#include <unspool/unspool.h>

#include <stdio.h>

struct stack_report {
    const struct usp_snapshot *snapshot;
    const struct usp_tasks *tasks;    /* NULL: none were looked for */
    struct usp_format_options format; /* the style of the lines, and what names and filters them */
};

/* Writes the report for people. An enum usp_status. */
int stack_write_text(const struct stack_report *report, FILE *out);

/* Writes one call tree of all threads, with how many stand where. An enum usp_status. */
int stack_write_merged(const struct stack_report *report, FILE *out);

#endif
