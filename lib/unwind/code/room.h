/* SPDX-License-Identifier: MIT */
/* Makes room in the log and among the pending paths of an exploration. In a function with many branches, most entries
 * and many pending paths are needed no more when one of the two is full. */
#ifndef USPI_UNWIND_CODE_ROOM_H
#define USPI_UNWIND_CODE_ROOM_H

#include "lib/unwind/code/explorer.h"

/* Returns whether the next instruction may find the log or the pending paths full. */
static inline bool uspi_needs_room(const struct uspi_explorer *x) {
    const bool is_full = x->log.count + USPI_EFFECTS_MAX > USPI_LOG_MAX || x->pending_count == USPI_PENDING_MAX;
    return is_full && x->budget <= x->room_budget;
}

/* Finds which log entries also belong to paths other than the current one: log.shared. */
void uspi_find_shared(struct uspi_explorer *explorer);

/* Removes the pending paths that would end at once, and the log entries that no path can see. The results of the other
 * paths stay the same. `current` is the path that is being followed. */
void uspi_make_room(struct uspi_explorer *explorer, struct uspi_way *current);

#endif
