/* SPDX-License-Identifier: MIT */
/* See answers.h: a hash table in which each answer has one slot. When the limit is reached, all answers are dropped. */
#include "lib/symbolize/builds/answers.h"

#include <stdlib.h>
#include <string.h>

/* The minimum and maximum number of slots. The maximum is more than the answers of two frames that fit within the
 * limit. */
#define FIRST_SLOTS ((size_t)1 << 8)
#define MOST_SLOTS  ((size_t)1 << 15)

static bool is_same(const struct uspi_answer_key *a, const struct uspi_answer_key *b) {
    return a->offset == b->offset && a->build == b->build && a->base == b->base && a->flags == b->flags;
}

/* Returns the slot of a key. 2^64 divided by the golden ratio spreads neighbours; the highest bits depend on all
 * others. */
static size_t slot_of(const struct uspi_answer_key *key, size_t capacity) {
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t hash = ((key->build * factor ^ key->offset) * factor + key->base * 2 + key->flags) * factor;
    return (size_t)(hash >> 32) & (capacity - 1);
}

const struct uspi_kept_answer *uspi_answers_find(const struct uspi_answers *answers,
                                                 const struct uspi_answer_key *key) {
    if (answers->slots == NULL) return NULL;
    const struct uspi_kept_answer *kept = answers->slots[slot_of(key, answers->capacity)];
    return kept != NULL && is_same(&kept->key, key) ? kept : NULL;
}

static size_t size_of(uint32_t frames) {
    return sizeof(struct uspi_kept_answer) + frames * sizeof(struct usp_source_frame);
}

/* Puts an answer into its slot, and drops the answer there. */
static void put(struct uspi_answers *answers, struct uspi_kept_answer *kept) {
    struct uspi_kept_answer **slot = &answers->slots[slot_of(&kept->key, answers->capacity)];
    if (*slot != NULL) {
        answers->bytes -= size_of(uspi_answer_frames(&(*slot)->answer));
        answers->count--;
        free(*slot);
    }
    *slot = kept;
    answers->bytes += size_of(uspi_answer_frames(&kept->answer));
    answers->count++;
}

/* Makes more slots when half of them are used. Returns false when there are no slots at all. */
static bool make_room(struct uspi_answers *answers) {
    const struct uspi_answers old = *answers;
    if (old.capacity == MOST_SLOTS || 2 * old.count < old.capacity) return true;
    const size_t capacity = old.capacity > 0 ? 2 * old.capacity : FIRST_SLOTS;
    struct uspi_kept_answer **slots = calloc(capacity, sizeof *slots);
    if (slots == NULL) return old.slots != NULL;
    *answers = (struct uspi_answers){.slots = slots, .capacity = capacity, .bytes = capacity * sizeof *slots};
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.slots[i] != NULL) put(answers, old.slots[i]);
    }
    free(old.slots);
    return true;
}

void uspi_answers_keep(struct uspi_answers *answers, const struct uspi_answer_key *key,
                       const struct usp_answer *answer) {
    const uint32_t frames = uspi_answer_frames(answer);
    const size_t size = size_of(frames);
    if (!make_room(answers)) return;
    if (answers->bytes + size > USPI_ANSWERS_LIMIT) {
        uspi_answers_clear(answers);
        if (!make_room(answers)) return;
    }
    struct uspi_kept_answer *kept = malloc(size);
    if (kept == NULL) return;
    kept->key = *key;
    kept->answer = *answer;
    kept->answer.frames = NULL;
    if (frames > 0) memcpy(kept->frames, answer->frames, frames * sizeof *answer->frames);
    put(answers, kept);
}

void uspi_answers_clear(struct uspi_answers *answers) {
    for (size_t i = 0; i < answers->capacity; i++) free(answers->slots[i]);
    free(answers->slots);
    *answers = (struct uspi_answers){.slots = NULL};
}
