/* SPDX-License-Identifier: MIT */
/* The walk from frame to frame, with the checks that hold for every frame reader. usp_cursor and usp_unwind are built
 * on it. It uses the frame readers through lib/unwind/readers/decide.h. */
#ifndef USPI_UNWIND_WALKER_H
#define USPI_UNWIND_WALKER_H

#include "lib/unwind/frame/step.h"
#include "lib/unwind/rule_cache/kept_rules.h"

struct uspi_walker {
    struct uspi_walk walk;
    uint32_t readers_first;          /* enum usp_frame_readers: readers that are tried before the others */
    struct uspi_shortcuts shortcuts; /* all zero: none */
    struct uspi_frame_state frame;   /* the frame that was given last */
    struct uspi_frame_state next;    /* valid while stop is USP_STOP_NONE */
    uint32_t stop;                   /* enum usp_stop_reason */
    uint32_t started;
    bool is_resumed; /* the walk was resumed (resume.h), which happens once */
    uint64_t steps, step_limit, deadline;
    usp_addr stop_address;
    /* Brent's cycle detection: each frame is compared with a saved one, which is replaced after twice as many steps
     * each time. */
    usp_addr watched_pc, watched_low;
    uint64_t watch_until;
    struct uspi_extended extended; /* the extended record of the frame that was given last */
}
#if defined(__GNUC__)
/* usp_cursor's opaque words are accessed through this struct. */
__attribute__((may_alias))
#endif
;

/* Complete a target and options of any struct size to those of this version. False when they are invalid. */
bool uspi_complete_target(const struct usp_target *given, struct usp_target *target);
bool uspi_complete_options(const struct usp_unwind_options *given, struct usp_unwind_options *options);

/* Returns the mask of address bits in a code pointer, by the target's fields and by the innermost frame's pc, sp and
 * fp (0: not known). */
uint64_t uspi_choose_strip_mask(const struct usp_target *target, const struct uspi_backend *backend, usp_addr pc,
                                usp_addr sp, usp_addr fp);

int uspi_walker_init(struct uspi_walker *walker, const struct usp_target *target, const struct usp_registers *registers,
                     const struct usp_unwind_options *options);

/* Gives the next frame. Returns false at the end. */
bool uspi_walker_step(struct uspi_walker *walker, struct usp_frame *frame);

/* Lets a new walk use results of earlier ones. What the shortcuts point to must outlive the walk. */
void uspi_walker_take_shortcuts(struct uspi_walker *walker, const struct uspi_shortcuts *shortcuts);

/* Gives as many of the next frames as cached rules lead to and `capacity` allows. They equal those of uspi_walker_step.
 * 0: a step is needed. goes_on as for uspi_rule_walk_on: if it is false, no further call may follow after `capacity` is
 * used up. */
uint32_t uspi_walker_run(struct uspi_walker *walker, struct usp_frame *frames, uint32_t capacity, bool goes_on);

/* Makes the walk begin at a frame after a call instead of an interrupted one. */
void uspi_walker_begin_at_return(struct uspi_walker *walker);

#endif
