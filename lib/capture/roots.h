/* SPDX-License-Identifier: MIT */
/* The return addresses at which stacks end: in the caller of main, and in what calls a thread's start routine. Learned once
 * for this process; they hold for another process that runs the same libc, too. */
#ifndef USPI_ROOTS_H
#define USPI_ROOTS_H

#include <unspool/images.h>

/* Learns those of this process, for uspi_os_describe_self. Starts and joins threads; while another thread learns, this one
 * goes on without. Not async-signal-safe. */
void uspi_roots_learn(void);

/* Where stacks of another process end, as far as it has the images in which ours do: writes up to `capacity` return
 * addresses, returns how many. Known after uspi_roots_learn. Async-signal-safe. */
uint32_t uspi_roots_in(const struct usp_images *images, usp_addr *roots, uint32_t capacity);

#endif
