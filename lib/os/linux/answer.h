/* SPDX-License-Identifier: MIT */
/* What a thread does in our signal handler when it is asked for its registers and its stack (request.h). */
#ifndef USPI_LINUX_ANSWER_H
#define USPI_LINUX_ANSWER_H

#include "lib/os/linux/request.h"

/* The bytes of stack that a handler needs below its own frame: doc/signal-safety.md says how it is measured. Where a thread
 * has less left, it does not answer, and the capture ends with USP_ERROR_STACK_FULL. */
#define USPI_ANSWER_STACK 1536u

/* Whether the calling thread, in a handler with this third argument, has so much. Async-signal-safe. */
bool uspi_has_answer_room(const void *context);

/* Answers all requests for the calling thread, and waits as long as one of them holds it.
 *   context  the third argument of the handler
 * Nothing that it calls is bound when it is first called: see uspi_answer_prepare. Async-signal-safe. */
void uspi_answer_requests(const void *context);

/* Calls every function of other libraries once that uspi_answer_requests calls. A program that links this library statically
 * may bind them when they are first called, and the linker needs some 3 KB of stack for that. */
void uspi_answer_prepare(void);

/* Copies an extent of a stopped thread. Returns how many bytes there were. Async-signal-safe. */
size_t uspi_extent_copy(const struct uspi_extent *extent, uint8_t *to, size_t room);

#endif
