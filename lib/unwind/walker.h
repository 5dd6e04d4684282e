/* SPDX-License-Identifier: MIT */
/* The walk itself: from frame to frame, with the checks that hold whichever reader found the caller. What usp_cursor and
 * usp_unwind are made of; the readers it asks are behind lib/unwind/readers/decide.h. */
#ifndef USPI_WALKER_H
#define USPI_WALKER_H

#include "lib/unwind/frame/step.h"
#include "lib/unwind/rule_cache/kept_rules.h"

struct uspi_walker {
    struct uspi_walk walk;
    uint32_t readers_first;          /* enum usp_frame_readers: those that come before the others */
    struct uspi_shortcuts shortcuts; /* all zero: none */
    struct uspi_frame_state frame;   /* the one given last */
    struct uspi_frame_state next;    /* valid while stop is USP_STOP_NONE */
    uint32_t stop;                   /* enum usp_stop_reason */
    uint32_t started;
    uint64_t steps, step_limit, deadline;
    usp_addr stop_address;
    /* Brent's cycle detection: the walk is compared with a frame that stays put for twice as long each time. */
    usp_addr watched_pc, watched_low;
    uint64_t watch_until;
    struct uspi_extended extended; /* of the frame given last */
}
#if defined(__GNUC__)
/* usp_cursor's opaque words are seen through it. */
__attribute__((may_alias))
#endif
;

/* A target and options as later versions know them, whatever size the caller's had. False when they make no sense. */
bool uspi_complete_target(const struct usp_target *given, struct usp_target *target);
bool uspi_complete_options(const struct usp_unwind_options *given, struct usp_unwind_options *options);

/* The bits of a pointer to code that are an address, by what the target says and by where a thread stands (0: not known). */
uint64_t uspi_choose_strip_mask(const struct usp_target *target, const struct uspi_backend *backend, usp_addr pc,
                                usp_addr sp, usp_addr fp);

int uspi_walker_init(struct uspi_walker *walker, const struct usp_target *target, const struct usp_registers *registers,
                     const struct usp_unwind_options *options);

/* The next frame; false at the end. */
bool uspi_walker_step(struct uspi_walker *walker, struct usp_frame *frame);

/* Lets a walk that begins use what earlier ones have found. What the shortcuts point to must outlive it. */
void uspi_walker_take_shortcuts(struct uspi_walker *walker, const struct uspi_shortcuts *shortcuts);

/* The next frames, as many as shortcuts lead to and there is room for: those that steps would give. 0: a step is needed.
 * goes_on as for uspi_rule_walk_on: without, nothing may follow a leap that used up its room. */
uint32_t uspi_walker_leap(struct uspi_walker *walker, struct usp_frame *frames, uint32_t room, bool goes_on);

/* Makes the walk begin at a frame that is not interrupted but stands behind a call. */
void uspi_walker_begin_at_return(struct uspi_walker *walker);

#endif
