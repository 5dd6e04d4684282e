/* SPDX-License-Identifier: MIT */
/* Prints every field of stacks and other results as text. Compiled for the emulated process and for this system, so
 * that equal results give equal texts. */
#ifndef TESTS_APPLE_EMULATED_STACK_TEXT_H
#define TESTS_APPLE_EMULATED_STACK_TEXT_H

#include <unspool/unspool.h>

void text_string(usp_write_function write, void *context, const char *text);
void text_number(usp_write_function write, void *context, const char *name, uint64_t value);

void text_stack(usp_write_function write, void *context, const struct usp_stack *stack);
void text_registers(usp_write_function write, void *context, const struct usp_registers *registers);
void text_thread(usp_write_function write, void *context, const struct usp_thread_info *info);
void text_images(usp_write_function write, void *context, const struct usp_images *images);

/* Prints every function that the images name. */
void text_symbols(usp_write_function write, void *context, struct usp_symbolizer *symbolizer,
                  const struct usp_images *images);

/* Prints the function of each frame. */
void text_names(usp_write_function write, void *context, const struct usp_stack *stack,
                struct usp_symbolizer *symbolizer);

/* Prints a stack in each style. */
void text_styles(usp_write_function write, void *context, const struct usp_stack *stack,
                 const struct usp_thread_info *info, struct usp_symbolizer *symbolizer);

#endif
