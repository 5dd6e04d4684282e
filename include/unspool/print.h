/* SPDX-License-Identifier: MIT */
/* Prints symbolicated stacks with one call. format.h has other styles, filters and targets. */
#ifndef UNSPOOL_PRINT_H
#define UNSPOOL_PRINT_H

#include <unspool/base.h>
#include <unspool/snapshot.h>

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

/* Writes all threads of this process at one moment as JSON, an object as doc/schema/stacks.schema.json describes it.
 * Otherwise like usp_print_threads. Thread-safe, not async-signal-safe: it allocates, opens files and takes locks. On a
 * stopped thread: it stops the threads itself. */
USP_API int usp_print_threads_json(int fd);

/* Writes the stacks of a snapshot, such as one of another process or of a core file, as usp_print_threads does. Returns
 * USP_OK, USP_ERROR_ARGUMENT, USP_ERROR_NO_MEMORY, or USP_ERROR_SYSTEM when a write failed. Thread-safe, not
 * async-signal-safe: it allocates, opens files and takes locks. */
USP_API int usp_print_snapshot(int fd, const struct usp_snapshot *snapshot);

/* Captures a thread's stack and writes it as text to a buffer, a line for each frame as usp_print_stack does. The
 * calling thread's stack begins at the caller. Calls usp_prepare with its defaults if necessary, and uses
 * usp_symbolizer_default.
 *   buffer, size  the caller's buffer, which gets a NUL at the end; may be NULL, 0 to learn the length
 *   pthread       a pthread_t of this process, which must be alive
 * The text is cut when `size` is too small. Returns the length of the whole text in bytes without the NUL, as snprintf
 * does, or a status as usp_thread_from_pthread and usp_stack_create return it. Thread-safe, not async-signal-safe: it
 * allocates, opens files and takes locks. On a stopped thread: it stops the thread itself. */
USP_API int usp_format_pthread(char *buffer, size_t size, uintptr_t pthread);

USP_END_DECLS

#endif
