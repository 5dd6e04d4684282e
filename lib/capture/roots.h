/* SPDX-License-Identifier: MIT */
/* The return addresses at which stacks end: in the caller of main, and in the caller of a thread's start routine. They
 * are found once for this process, and are also valid in another process that runs the same libc. */
#ifndef USPI_CAPTURE_ROOTS_H
#define USPI_CAPTURE_ROOTS_H

#include <unspool/images.h>
#include <unspool/unwind.h>

/* Finds the roots of this process, if they are not known. Starts and joins threads. If another thread is doing it,
 * returns without waiting. Not async-signal-safe. */
void uspi_roots_learn(void);

/* Forgets the roots. */
void uspi_roots_forget(void);

/* Gives a target for a stack of this process the roots that are known. Async-signal-safe. */
void uspi_roots_describe(struct usp_target *target);

/* Copies the known roots of this process: up to `capacity`, returns how many. Async-signal-safe. */
uint32_t uspi_roots_own(usp_addr *roots, uint32_t capacity);

/* Finds roots of another process, if it has the images that contain ours: writes up to `capacity` return addresses,
 * returns how many. Requires uspi_roots_learn. Async-signal-safe. */
uint32_t uspi_roots_in(const struct usp_images *images, usp_addr *roots, uint32_t capacity);

#endif
