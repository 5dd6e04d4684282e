/* SPDX-License-Identifier: MIT */
/* Functions that the stops of one thread and of all threads of this process share. */
#ifndef USPI_OS_LINUX_STOP_H
#define USPI_OS_LINUX_STOP_H

#include "lib/os/linux/ask.h"

/* Limit of repetitions of a stop for more memory; afterwards the innermost parts of the stacks are used. */
#define USPI_STOP_ATTEMPTS 4u

/* Returns a time in ns that is longer than a living requester needs to wait for the threads and copy. */
uint64_t uspi_stop_hold_limit(uint64_t timeout);

/* Returns the bytes that a thread's stack needs. */
size_t uspi_slot_need(const struct uspi_request *request, const struct uspi_slot *slot);

/* Describes an answer as a copy. `arena` is the request's arena, or a copy of it. */
void uspi_slot_to_copy(const struct uspi_slot *slot, const uint8_t *arena, struct uspi_thread_copy *copy);

#endif
