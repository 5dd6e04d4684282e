/* SPDX-License-Identifier: MIT */
/* What makes a walk fast and may be absent: rules that earlier walks have found, and stack that lies in this process.
 * Which code a rule in the cache is for is decided here; how it is kept is rule_cache.h's. */
#ifndef USPI_KEPT_RULES_H
#define USPI_KEPT_RULES_H

#include "lib/os.h"
#include "lib/unwind/rule_cache.h"

struct uspi_walk;
struct uspi_frame_state;

/* All zero: the walk does without. */
struct uspi_shortcuts {
    struct uspi_rule_cache *rules;   /* shared between walks of one process */
    const struct usp_images *images; /* that are loaded, unless the cache is still: of code in permanent ones a rule is
                                        valid for ever, of other code as long as */
    uint64_t generation;             /* this number and the code itself are the same */
    struct uspi_copied stack;        /* a part of the stack that can be read directly; size 0: none */
};

/* What a table was found to say of a frame's pc, and by which method (enum usp_method). False: nothing is kept. */
bool uspi_recall_table_rule(const struct uspi_walk *walk, const struct uspi_frame_state *frame, struct uspi_rule *rule,
                            uint32_t *method);

/* Keeps what a table said, after it has led to a caller. */
void uspi_keep_table_rule(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                          const struct uspi_rule *rule, uint32_t method);

/* The same for what the explorer found first, and with which doubts. Only of code that is still. */
bool uspi_recall_explored(const struct uspi_walk *walk, const struct uspi_frame_state *frame, struct uspi_rule *rule,
                          unsigned *doubts);
void uspi_keep_explored(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                        const struct uspi_rule *rule, unsigned doubts);

/* Walks from `state`, a frame that was not given yet, as long as certain rules lead from one return address to the next
 * over the stack that can be read directly: no judging, no readers, and none of what they read. The frames are those that
 * the readers would find.
 *   frames, room  where they go
 *   goes_on       the walk will go on from `state` when the room is used up; otherwise only its pc counts then
 *   stop          USP_STOP_ROOT when the last frame of the stack is among them; else it is untouched, and `state` becomes
 *                 the frame behind them
 * Returns how many. Any time. (lib/unwind/follow.c) */
uint32_t uspi_follow_rules(const struct uspi_walk *walk, struct uspi_frame_state *state, struct usp_frame *frames,
                           uint32_t room, bool goes_on, uint32_t *stop);

#endif
