/* SPDX-License-Identifier: MIT */
/* Finding where the stack of a process's first thread ends: the return address in the caller of main. No symbol names
 * that place (glibc's __libc_start_call_main is local), but what it does is unmistakable: it exits with main's result. */
#ifndef USPI_MAIN_ROOT_H
#define USPI_MAIN_ROOT_H

#include <unspool/unwind.h>

/* Looks below the first stack pointer for the outermost return address that
 *   – stands behind an indirect call (main is called through a pointer), and
 *   – from which the code runs, without a branch, into a direct call of exit:   exit(main(argc, argv, environ)).
 * What returns there ends the process, whatever it is: no frame beyond it is of interest, so a wrong answer cannot hide
 * a caller. Values left over on the stack do not pass: their calls would have ended the process.
 *   target     memory and code of the process, arch, pac_mask
 *   stack_top  where the kernel put argc (/proc/PID/stat field 28; a core: below the vectors that the auxiliary vector
 *              stands behind)
 *   exit       address of libc's exit, without Thumb bit
 * Returns USP_OK and the address, without signature and Thumb bit, or USP_ERROR_NOT_FOUND. Async-signal-safe. */
int uspi_find_main_root(const struct usp_target *target, usp_addr stack_top, usp_addr exit, usp_addr *root);

#endif
