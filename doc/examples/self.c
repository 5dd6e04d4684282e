/* SPDX-License-Identifier: MIT */
/* Prints the calling thread's own stack in the style of +[NSThread callStackSymbols]. */
#include <stdio.h>
#include <unspool/unspool.h>

static void print_stack(void) {
    struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_symbolizer *symbolizer;

    usp_stack_init(&stack, frames, 64);
    if (usp_capture_self(NULL, &stack) != USP_OK) return;
    if (usp_symbolizer_create(NULL, NULL, &symbolizer) != USP_OK) return;
    for (uint32_t i = 0; i < stack.count; i++) {
        struct usp_symbol symbol;
        char line[512];

        usp_symbolize_frame(symbolizer, stack.arch, &frames[i], &symbol);
        usp_format_frame(line, sizeof line, USP_FORMAT_CALL_STACK_SYMBOLS, &stack, i, &symbol);
        puts(line);
    }
    printf("ends: %s\n", usp_stop_reason_string(stack.stop));
    usp_symbolizer_free(symbolizer);
}

int main(void) {
    print_stack();
    return 0;
}
