/* SPDX-License-Identifier: MIT */
/* `unspool stack`: what its parts hand to each other. */
#ifndef TOOL_STACK_H
#define TOOL_STACK_H

#include <unspool/unspool.h>

#include <stdbool.h>
#include <stdio.h>

/* A snapshot and what names it. */
struct stack_report {
    const struct usp_snapshot *snapshot;
    struct usp_symbolizer *symbolizer; /* NULL: no names are wanted */
};

/* The image and the symbol of a frame, looked up at its call site. Without a symbolizer the image alone. */
void stack_name_frame(const struct stack_report *report, const struct usp_frame *frame, struct usp_symbol *symbol);

/* The run state in words; NULL when it is not known. */
const char *stack_run_state(const struct usp_snapshot_info *info, const struct usp_thread_info *thread);

/* Writes the report for people. False when memory lacks. */
bool stack_write_text(const struct stack_report *report, FILE *out);

/* Writes it as JSON, as unspool(1) describes it. */
void stack_write_json(const struct stack_report *report, FILE *out);

#endif
