/* SPDX-License-Identifier: MIT */
/* Decides what a frame's caller is. */
#ifndef USPI_UNWIND_READERS_DECIDE_H
#define USPI_UNWIND_READERS_DECIDE_H

#include "lib/unwind/frame/step.h"
#include "lib/unwind/rule_cache/kept_rules.h"

/* Finds a frame's caller.
 *   shortcuts  the cache of rules; NULL: none
 *   readers    enum usp_frame_readers: the readers that are used
 *   step       written completely
 * Returns whether the caller was found. If not, step->stop says why; USP_STOP_NONE: no reader had a reason. Needs
 * about 20 KB of stack. Allocates nothing and takes no lock. Async-signal-safe if the target's memory readers are. */
bool uspi_find_caller(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                      const struct uspi_shortcuts *shortcuts, uint32_t readers, struct uspi_step *step);

#endif
