/* SPDX-License-Identifier: MIT */
/* Prints the stacks of all threads of this process as JSON. */
#include <unspool/unspool.h>

int main(void) { return usp_print_threads_json(1) == USP_OK ? 0 : 1; }
