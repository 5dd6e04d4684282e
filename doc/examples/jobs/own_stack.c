/* SPDX-License-Identifier: MIT */
/* Prints the stack of the calling thread. */
#include <unspool/unspool.h>

int main(void) { return usp_print_stack(1) == USP_OK ? 0 : 1; }
