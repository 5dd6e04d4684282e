/* SPDX-License-Identifier: MIT */
/* What stopping one thread and stopping all threads of this process have in common. */
#ifndef USPI_LINUX_STOP_H
#define USPI_LINUX_STOP_H

#include "lib/os/linux/request.h"

/* A stop is repeated for more memory so often; then the innermost parts have to do. */
#define USPI_STOP_ATTEMPTS 4u

/* Longer than a requester takes that is alive: it waits for the threads, and copies. */
uint64_t uspi_stop_patience(uint64_t timeout);

/* The bytes that a thread's stack needs. */
size_t uspi_slot_need(const struct uspi_slot *slot);

/* Describes an answer as a copy. `arena` is where the request's arena is, or a copy of it. */
void uspi_slot_to_copy(const struct uspi_slot *slot, const uint8_t *arena, struct uspi_thread_copy *copy);

#endif
