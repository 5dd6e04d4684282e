/* SPDX-License-Identifier: MIT */
/* Example on the manual page usp_stack_create(3). */
#include <stdio.h>
#include <unspool/capture.h>

int main(void) {
    struct usp_stack *stack;
    int status = usp_stack_create(NULL, NULL, &stack);

    if (status != USP_OK) {
        fprintf(stderr, "%s\n", usp_status_string(status));
        return 1;
    }
    printf("%u frames\n", (unsigned)stack->count);
    usp_stack_free(stack);
    return 0;
}
