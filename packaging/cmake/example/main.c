/* SPDX-License-Identifier: MIT */
/* Prints the version of the library and the stack of this thread. */
#include <stdio.h>
#include <unspool/unspool.h>

int main(void) {
    printf("unspool %s\n", usp_version_string());
    fflush(stdout);
    return usp_print_stack(1) == USP_OK ? 0 : 1;
}
