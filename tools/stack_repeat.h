/* SPDX-License-Identifier: MIT */
/* `unspool stack` for people: the lines of a stack, formatted once where many threads stand in the same place, as those of
 * a pool do. */
#ifndef TOOL_STACK_REPEAT_H
#define TOOL_STACK_REPEAT_H

#include <unspool/unspool.h>

#include <stdio.h>

/* So many different stacks are remembered, the last ones. */
#define STACK_REPEAT 16

/* All zero at first. The stacks that were written with it have to stay until it is freed. */
struct stack_repeat {
    struct stack_lines {
        const struct usp_stack *stack; /* NULL: none yet */
        char *text;
        size_t size;
    } known[STACK_REPEAT];
    unsigned oldest;
};

/* Writes what usp_format_stack does, with the same options each time. An enum usp_status. */
int stack_repeat_write(struct stack_repeat *repeat, const struct usp_stack *stack,
                       const struct usp_format_options *options, FILE *out);

void stack_repeat_free(struct stack_repeat *repeat);

#endif
