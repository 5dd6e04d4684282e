/* SPDX-License-Identifier: MIT */
/* Formats the lines of equal stacks once, for the report of `unspool stack`: the threads of a pool often have the same
 * stack. */
#ifndef TOOLS_STACK_REPEAT_H
#define TOOLS_STACK_REPEAT_H

#include <unspool/unspool.h>

#include <stdio.h>

/* Number of different stacks that are remembered, the latest ones. */
#define STACK_REPEAT 16

/* Initially all zero. Stacks that were written with it must stay valid until it is freed. */
struct stack_repeat {
    struct stack_lines {
        const struct usp_stack *stack; /* NULL: unused */
        char *text;
        size_t size;
    } known[STACK_REPEAT];
    unsigned oldest;
};

/* Writes the output of usp_format_stack. The options must be the same each time. Returns an enum usp_status. */
int stack_repeat_write(struct stack_repeat *repeat, const struct usp_stack *stack,
                       const struct usp_format_options *options, FILE *out);

void stack_repeat_free(struct stack_repeat *repeat);

#endif
