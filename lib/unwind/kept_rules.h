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

/* What rules that were kept are by. What other readers would have said of the same code was never asked. */
#define USPI_KEPT_READERS (USP_READER_SIGNAL | USP_READER_TABLES)

static inline bool uspi_keeps_table_rules(const struct uspi_shortcuts *shortcuts, uint32_t readers) {
    return shortcuts->rules != NULL && (readers & USPI_KEPT_READERS) == USPI_KEPT_READERS;
}

/* ---- from one certain rule to the next (lib/unwind/follow.c) ---- */

/* Stack on which rules can be followed. */
struct uspi_trail {
    struct uspi_rule_cache rules;    /* which has the rules elsewhere */
    const struct usp_target *target; /* for its roots */
    uint32_t stamp;                  /* of the rules: how many roots there are */
    const uint8_t *origin;           /* of the stack: where the byte at target address 0 would be */
    usp_addr from, size;
    uint64_t code_mask, word_mask, tag_mask;
    uint8_t slot, sp, fp;
};

/* A frame on it, not given yet. */
struct uspi_standing {
    usp_addr pc, sp, fp;
    bool exact; /* as in struct uspi_frame_state, */
    uint32_t kind, method, flags;
};

/* False when there is none. The target and what the shortcuts point to must outlive it. Any time. */
bool uspi_trail_init(struct uspi_trail *trail, const struct uspi_backend *backend, const struct usp_target *target,
                     uint64_t strip_mask, const struct uspi_shortcuts *shortcuts);

/* Walks from `at` as long as certain rules lead from one return address to the next over the stack that can be read
 * directly: no judging, no readers, and none of what they read. The frames are those that the readers would find.
 *   frames, room  where they go
 *   stop          USP_STOP_ROOT when the last frame of the stack is among them; else it is untouched, and at->pc becomes
 *                 that of the frame behind them
 * Returns how many. Any time. */
uint32_t uspi_follow_trail(const struct uspi_trail *trail, struct uspi_standing *at, struct usp_frame *frames,
                           uint32_t room, uint32_t *stop);

/* The same for a walk that may go on by other means: `state` becomes the frame behind them, unless the room is used up and
 * not goes_on; then only its pc counts. */
uint32_t uspi_follow_rules(const struct uspi_walk *walk, struct uspi_frame_state *state, struct usp_frame *frames,
                           uint32_t room, bool goes_on, uint32_t *stop);

#endif
