/* SPDX-License-Identifier: MIT */
/* See answers.h: a table in which an answer has one slot. When the limit is reached, all are forgotten. */
#include "lib/symbolize/builds/answers.h"

#include <stdlib.h>
#include <string.h>

/* More than there are answers of two frames within the limit. */
#define SLOTS ((size_t)1 << 15)

static bool is_same(const struct uspi_answer_key *a, const struct uspi_answer_key *b) {
    return a->offset == b->offset && a->build == b->build && a->base == b->base && a->flags == b->flags;
}

/* 2^64 over the golden ratio spreads neighbours; the highest bits depend on all others. */
static size_t slot_of(const struct uspi_answer_key *key) {
    const uint64_t factor = UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(((key->build * factor ^ key->offset) * factor + key->base * 2 + key->flags) * factor >> 49);
}

_Static_assert(SLOTS == (size_t)1 << (64 - 49), "a slot is the highest bits of a hash");

const struct uspi_kept_answer *uspi_answers_find(const struct uspi_answers *answers,
                                                 const struct uspi_answer_key *key) {
    if (answers->slots == NULL) return NULL;
    const struct uspi_kept_answer *kept = answers->slots[slot_of(key)];
    return kept != NULL && is_same(&kept->key, key) ? kept : NULL;
}

static size_t size_of(uint32_t frames) {
    return sizeof(struct uspi_kept_answer) + frames * sizeof(struct usp_source_frame);
}

void uspi_answers_keep(struct uspi_answers *answers, const struct uspi_answer_key *key,
                       const struct usp_answer *answer) {
    const size_t size = size_of(answer->count);
    if (answers->bytes + size > USPI_ANSWERS_LIMIT) uspi_answers_clear(answers);
    if (answers->slots == NULL) {
        answers->slots = calloc(SLOTS, sizeof *answers->slots);
        if (answers->slots == NULL) return;
        answers->bytes = SLOTS * sizeof *answers->slots;
    }
    struct uspi_kept_answer *kept = malloc(size), **slot = &answers->slots[slot_of(key)];
    if (kept == NULL) return;
    kept->key = *key;
    kept->answer = *answer;
    kept->answer.frames = NULL;
    if (answer->count > 0) memcpy(kept->frames, answer->frames, answer->count * sizeof *answer->frames);
    if (*slot != NULL) answers->bytes -= size_of((*slot)->answer.count);
    free(*slot);
    *slot = kept;
    answers->bytes += size;
}

void uspi_answers_clear(struct uspi_answers *answers) {
    for (size_t i = 0; answers->slots != NULL && i < SLOTS; i++) free(answers->slots[i]);
    free(answers->slots);
    *answers = (struct uspi_answers){.slots = NULL};
}
