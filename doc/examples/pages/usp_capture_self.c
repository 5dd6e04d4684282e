/* SPDX-License-Identifier: MIT */
/* Example on the manual page usp_capture_self(3). */
#include <stdio.h>
#include <unspool/capture.h>

int main(void) {
    struct usp_frame frames[128];
    struct usp_stack stack;

    usp_stack_init(&stack, frames, 128);
    if (usp_capture_self(NULL, &stack) != USP_OK) return 1;
    printf("%u frames; the stack ends: %s\n", (unsigned)stack.count, usp_stop_reason_string(stack.stop));
    return 0;
}
