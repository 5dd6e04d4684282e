/* SPDX-License-Identifier: MIT */
/* Finds where the stack of a process's first thread ends: the return address in the caller of main. No symbol names
 * that place (glibc's __libc_start_call_main is local), but its code is unmistakable: it exits with main's result. */
#ifndef USPI_CAPTURE_MAIN_ROOT_H
#define USPI_CAPTURE_MAIN_ROOT_H

#include <unspool/unwind.h>

/* Searches the stack below the first stack pointer for the outermost return address that
 *   - follows an indirect call (main is called through a pointer), and
 *   - from which the code runs without a branch to a direct call of exit:   exit(main(argc, argv, environ)).
 * Returning to such an address ends the process. So frames beyond it are irrelevant, and a wrong result cannot hide a
 * caller. Leftover values on the stack do not match: their calls would have ended the process.
 *   target     memory and code of the process, arch, pac_mask
 *   stack_top  where the kernel put argc (/proc/PID/stat field 28; in a core: below the vectors that precede the
 *              auxiliary vector)
 *   exit       address of libc's exit, without Thumb bit
 * Returns USP_OK and the address, without signature and Thumb bit, or USP_ERROR_NOT_FOUND. Async-signal-safe. */
int uspi_find_main_root(const struct usp_target *target, usp_addr stack_top, usp_addr exit, usp_addr *root);

#endif
