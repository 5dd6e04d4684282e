/* SPDX-License-Identifier: MIT */
/* What makes a walk fast and may be absent: rules that earlier walks have found, and stack that lies in this process.
 * Which code a rule in the cache is for is decided here; how it is kept is rule_cache.h's. */
#ifndef USPI_KEPT_RULES_H
#define USPI_KEPT_RULES_H

#include "lib/os/os.h"
#include "lib/unwind/frame/walk.h"
#include "lib/unwind/rule_cache/rule_cache.h"

/* All zero: the walk does without. */
struct uspi_shortcuts {
    struct uspi_rule_cache *rules;   /* shared between walks of one process */
    const struct usp_images *images; /* that are loaded, unless the cache is still: of code in permanent ones a rule is
                                        valid for ever, of other code as long as */
    uint64_t generation;             /* this number and the code itself are the same */
    struct uspi_copied stack;        /* a part of the stack that can be read directly; size 0: none */
};

/* Two ways lead to what is kept. A frame reader recalls the rule for one frame's pc, or keeps it:
 *   kind  USPI_RULE_BY_TABLE: what a table says, with its method (enum usp_frame_method) as the note; only where the readers
 *         that may be asked are those that such rules are by. USPI_RULE_EXPLORED: what the explorer found first, with its
 *         doubts; only of code that is still
 * False: nothing is kept. shortcuts may be NULL. Async-signal-safe. */
bool uspi_recall_rule(const struct uspi_shortcuts *shortcuts, const struct uspi_walk *walk,
                      const struct uspi_frame_state *frame, enum uspi_rule_how kind, struct uspi_rule *rule,
                      unsigned *note);
void uspi_keep_rule(const struct uspi_shortcuts *shortcuts, const struct uspi_walk *walk,
                    const struct uspi_frame_state *frame, enum uspi_rule_how kind, const struct uspi_rule *rule,
                    unsigned note);

/* What rules that were kept are by. What other readers would have said of the same code was never asked. */
#define USPI_KEPT_READERS (USP_READER_SIGNAL | USP_READER_TABLES)

static inline bool uspi_keeps_table_rules(const struct uspi_shortcuts *shortcuts, uint32_t readers) {
    return shortcuts->rules != NULL && (readers & USPI_KEPT_READERS) == USPI_KEPT_READERS;
}

/* ---- and a walk goes from one certain rule to the next (follow.c) ---- */

/* A walk by certain rules alone, over stack that can be read directly. */
struct uspi_rule_walk {
    struct uspi_rule_cache rules; /* which has the rules elsewhere */
    const struct uspi_backend *backend;
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
    uint32_t stop; /* USP_STOP_ROOT when the last frame of the stack has been given */
};

/* False when there is no such stack. The target and what the shortcuts point to must outlive it. Async-signal-safe. */
bool uspi_rule_walk_init(struct uspi_rule_walk *walk, const struct uspi_backend *backend,
                         const struct usp_target *target, uint64_t strip_mask, const struct uspi_shortcuts *shortcuts);

/* Walks from `at` as long as certain rules lead from one return address to the next: no judging, no readers, and none of what
 * they read. The frames are those that the readers would find.
 * frames, room: where they go. at->pc becomes that of the frame behind them, unless at->stop says that there is none.
 * Returns how many. Async-signal-safe. */
uint32_t uspi_rule_walk_go(const struct uspi_rule_walk *walk, struct uspi_standing *at, struct usp_frame *frames,
                           uint32_t room);

/* The same for a walk that may go on by other means: `state` becomes the frame behind them, unless the room is used up and
 * not goes_on; then only its pc counts. *stop is written when there is none: USP_STOP_ROOT. */
uint32_t uspi_rule_walk_on(const struct uspi_rule_walk *walk, struct uspi_frame_state *state, struct usp_frame *frames,
                           uint32_t room, bool goes_on, uint32_t *stop);

#endif
