/* SPDX-License-Identifier: MIT */
/* Optional data that makes a walk faster: cached rules of earlier walks, and stack memory in this process. This file
 * decides which code a cached rule is for; rule_cache.h stores the rules. */
#ifndef USPI_UNWIND_RULE_CACHE_KEPT_RULES_H
#define USPI_UNWIND_RULE_CACHE_KEPT_RULES_H

#include "lib/os/os.h"
#include "lib/unwind/frame/walk.h"
#include "lib/unwind/rule_cache/rule_cache.h"

struct uspi_image_tables; /* lib/unwind/tables/image_tables.h */

/* All zero: the walk does not use any of these. */
struct uspi_shortcuts {
    struct uspi_rule_cache *rules; /* shared between walks of one process */
    /* The loaded images, unless the cache is still (rule_cache.h). A rule for code in a permanent image is valid for
     * ever; a rule for other code is valid while `generation` and the code itself stay the same. */
    const struct usp_images *images;
    uint64_t generation;      /* number that changes when images are loaded or unloaded */
    struct uspi_copied stack; /* a part of the stack that can be read directly; size 0: none */
    /* The copied parts of stacks (struct uspi_thread_copy), where a walk that cannot go on is resumed; NULL: it is
     * not. */
    const struct uspi_copied *parts;
    /* Where .debug_frame is found for code that no other table describes (uspi_image_tables_beside); NULL: nowhere. A
     * walk with it is not async-signal-safe. */
    struct uspi_image_tables *beside;
    /* The target's code, as explorations read it: their results are cached, so its owner notes what they read. Judging a
     * word reads the target's code itself, because the word may point to data, which changes. `read` NULL: nothing is
     * noted. */
    struct usp_memory explored;
    bool lacks_registers; /* the registers are not all known: they are those that a system call shows */
    bool stack_continues; /* `stack` is the beginning of a stack, and the rest cannot be read */
};

/* Recall or cache a rule for one frame's pc. kind is
 *   USPI_RULE_BY_TABLE  a table's rule; the note is its method (enum usp_frame_method). Only if the walk allows all
 *                       readers that make such rules
 *   USPI_RULE_EXPLORED  the explorer's first rule; the note is its doubts. Only for code that does not change
 * uspi_recall_rule returns false when there is no rule. shortcuts may be NULL. Async-signal-safe. */
bool uspi_recall_rule(const struct uspi_shortcuts *shortcuts, const struct uspi_walk *walk,
                      const struct uspi_frame_state *frame, enum uspi_rule_how kind, struct uspi_rule *rule,
                      unsigned *note);
void uspi_keep_rule(const struct uspi_shortcuts *shortcuts, const struct uspi_walk *walk,
                    const struct uspi_frame_state *frame, enum uspi_rule_how kind, const struct uspi_rule *rule,
                    unsigned note);

/* Recall or cache that an exploration has found no rule. Only for code that does not change.
 *   key   of its question (uspi_question_key)
 *   note  four bits
 * shortcuts may be NULL. Async-signal-safe. */
bool uspi_recall_nothing(const struct uspi_shortcuts *shortcuts, uint64_t key, unsigned *note);
void uspi_keep_nothing(const struct uspi_shortcuts *shortcuts, uint64_t key, unsigned note);

/* Recall or cache the first rule that an exploration from a function's start has found; the note is its doubts. Under
 * the same conditions as above. */
bool uspi_recall_first(const struct uspi_shortcuts *shortcuts, const struct uspi_backend *backend, uint64_t key,
                       struct uspi_rule *rule, unsigned *note);
void uspi_keep_first(const struct uspi_shortcuts *shortcuts, const struct uspi_backend *backend, uint64_t key,
                     const struct uspi_rule *rule, unsigned note);

/* The readers that cached rules come from. Other readers were not asked about the same code. */
#define USPI_KEPT_READERS (USP_READER_SIGNAL | USP_READER_TABLES)

static inline bool uspi_keeps_table_rules(const struct uspi_shortcuts *shortcuts, uint32_t readers) {
    return shortcuts->rules != NULL && (readers & USPI_KEPT_READERS) == USPI_KEPT_READERS;
}

/* ---- walks along certain rules (follow.c) ---- */

/* A walk that uses only certain rules, over stack that can be read directly. */
struct uspi_rule_walk {
    struct uspi_rule_cache rules; /* a copy of the cache's header; it refers to the same entries */
    const struct uspi_backend *backend;
    const struct usp_target *target; /* for its roots */
    uint32_t stamp;                  /* stamp of the rules: the number of roots */
    const uint8_t *origin;           /* of the stack: where the byte at target address 0 would be */
    usp_addr from, size;
    uint64_t code_mask, word_mask, tag_mask;
    uint8_t slot, sp, fp;
};

/* A frame of such a walk that has not been given yet. */
struct uspi_rule_position {
    usp_addr pc, sp, fp;
    bool exact; /* as in struct uspi_frame_state */
    uint32_t kind, method, flags;
    uint32_t stop; /* USP_STOP_ROOT after the last frame of the stack was given */
};

/* Returns false when there is no such stack. The target and what the shortcuts point to must outlive the walk.
 * Async-signal-safe. */
bool uspi_rule_walk_init(struct uspi_rule_walk *walk, const struct uspi_backend *backend,
                         const struct usp_target *target, uint64_t strip_mask, const struct uspi_shortcuts *shortcuts);

/* Walks from `at` as long as certain rules lead from one return address to the next. Nothing is judged, and no reader
 * is used. The frames are those that the readers would find.
 *   frames, capacity  array for the frames
 *   at                its pc, sp and fp become those of the frame after the last one given, unless at->stop says that
 *                     there is none
 * Returns the number of frames. Async-signal-safe. */
uint32_t uspi_rule_walk_go(const struct uspi_rule_walk *walk, struct uspi_rule_position *at, struct usp_frame *frames,
                           uint32_t capacity);

/* Does the same for a walk that may continue by other means. `state` becomes the frame after the last one given. If
 * the capacity is used up and goes_on is false, only the pc of `state` is valid. When there is no further frame, *stop
 * becomes USP_STOP_ROOT. */
uint32_t uspi_rule_walk_on(const struct uspi_rule_walk *walk, struct uspi_frame_state *state, struct usp_frame *frames,
                           uint32_t capacity, bool goes_on, uint32_t *stop);

#endif
