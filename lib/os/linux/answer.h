/* SPDX-License-Identifier: MIT */
/* Our signal handler's part of a request (request.h): a thread reports its registers and its stack. */
#ifndef USPI_OS_LINUX_ANSWER_H
#define USPI_OS_LINUX_ANSWER_H

#include "lib/os/linux/request.h"

/* Bytes of stack that a handler needs below its own frame; doc/signal-safety.md describes the measurement. A thread
 * that has less left does not answer, and the capture ends with USP_ERROR_STACK_FULL. */
#define USPI_ANSWER_STACK 1536u

/* Returns whether the calling thread, in a handler with this third argument, has that many bytes left.
 * Async-signal-safe. */
bool uspi_has_answer_room(const void *context);

/* Answers all requests for the calling thread, and waits as long as one of them holds it.
 *   context  the third argument of the handler
 * It calls no function that is bound lazily: see uspi_answer_prepare. Async-signal-safe. */
void uspi_answer_requests(const void *context);

/* Calls every function of other libraries once that uspi_answer_requests calls. A program that links this library
 * statically may bind them at the first call, for which the linker needs about 3 KB of stack. */
void uspi_answer_prepare(void);

/* Copies an extent of a stopped thread: its first bytes, and of a large stack the outermost ones directly after them
 * (*outer bytes). Returns how many of the first bytes it copied. Async-signal-safe. */
size_t uspi_extent_copy(const struct uspi_request *request, const struct uspi_extent *extent, uint8_t *to,
                        size_t capacity, size_t *outer);

#endif
