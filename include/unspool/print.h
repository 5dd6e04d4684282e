/* SPDX-License-Identifier: MIT */
/* Prints symbolicated stacks with one call. format.h has other styles, filters and targets. */
#ifndef UNSPOOL_PRINT_H
#define UNSPOOL_PRINT_H

#include <unspool/base.h>

USP_BEGIN_DECLS

/* Writes the calling thread's stack to an open file, beginning with the caller of this function. Each frame takes a
 * line with its number, image, address, demangled function and offset, as in +[NSThread callStackSymbols]. With debug
 * information, file and line follow, and each inlined call takes a line (USP_FORMAT_LINES). Of a stack deeper than 4096
 * frames the middle is left out, and a line says so.
 *   fd  an open file descriptor
 * Returns USP_OK, USP_ERROR_UNSUPPORTED, USP_ERROR_NO_MEMORY, or USP_ERROR_SYSTEM when a write failed. Thread-safe, not
 * async-signal-safe: it allocates, opens files and takes locks. */
USP_API int usp_print_stack(int fd);

/* Writes the stacks of all threads of this process at one moment, each below a line with the thread's id, name and
 * dispatch queue. The calling thread's stack begins at the caller. Calls usp_prepare with the defaults if the library
 * is not prepared.
 *   fd  an open file descriptor
 * Returns as usp_print_stack, usp_prepare and usp_snapshot_create_self do. Thread-safe, not async-signal-safe: it
 * allocates, opens files and takes locks. On a stopped thread: it stops the threads itself. */
USP_API int usp_print_threads(int fd);

USP_END_DECLS

#endif
