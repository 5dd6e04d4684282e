/* SPDX-License-Identifier: MIT */
/* The decision about a frame's caller. */
#ifndef USPI_DECIDE_H
#define USPI_DECIDE_H

#include "lib/unwind/frame/step.h"
#include "lib/unwind/rule_cache/kept_rules.h"

/* Finds a frame's caller.
 *   shortcuts  where rules are kept and recalled; NULL: nowhere
 *   readers    enum usp_frame_readers: those that are asked
 *   step       written completely
 * Whether it was found; step->stop says otherwise why not, USP_STOP_NONE when no reader had a reason. Needs about 20 KB of
 * stack; allocates nothing, takes no lock, and is async-signal-safe as the target's readers of memory are. */
bool uspi_find_caller(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                      const struct uspi_shortcuts *shortcuts, uint32_t readers, struct uspi_step *step);

#endif
