/* SPDX-License-Identifier: MIT */
/* Example on the manual page usp_print_threads(3). */
#include <unspool/print.h>

int main(void) { return usp_print_threads(1) == USP_OK ? 0 : 1; }
