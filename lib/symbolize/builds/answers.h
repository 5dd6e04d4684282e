/* SPDX-License-Identifier: MIT */
/* A cache of answers with a fixed memory limit: the reports of a fleet repeat the same frames again and again. A new
 * answer replaces the one in its slot. */
#ifndef USPI_SYMBOLIZE_BUILDS_ANSWERS_H
#define USPI_SYMBOLIZE_BUILDS_ANSWERS_H

#include <unspool/places.h>

/* The maximum size of all cached answers in bytes. doc/fleet.md says what they save. */
#define USPI_ANSWERS_LIMIT ((size_t)4 << 20)

/* Identifies an answer. No two builds have the same `build` number, so the answers of a closed build are not found
 * again. */
struct uspi_answer_key {
    uint64_t build, offset;
    uint32_t base, flags; /* of the place; only USP_PLACE_EXACT and _FILL of its flags */
};

/* Returns the number of frames that an answer has room for: its frames, or the line of code without a function. */
static inline uint32_t uspi_answer_frames(const struct usp_answer *answer) {
    return answer->count + ((answer->flags & USP_ANSWER_LINE) != 0 ? 1 : 0);
}

struct uspi_kept_answer {
    struct uspi_answer_key key;
    struct usp_answer answer; /* `frames` is NULL */
    struct usp_source_frame frames[];
};

/* Begin with {0}. */
struct uspi_answers {
    struct uspi_kept_answer **slots; /* NULL: none were cached yet */
    size_t capacity;                 /* number of slots, a power of two */
    size_t count;                    /* number of cached answers */
    size_t bytes;
};

/* Returns the cached answer, or NULL. It is valid until the next answer is kept. */
const struct uspi_kept_answer *uspi_answers_find(const struct uspi_answers *answers, const struct uspi_answer_key *key);

/* Keeps a copy of an answer with its frames, if there is memory for it. */
void uspi_answers_keep(struct uspi_answers *answers, const struct uspi_answer_key *key,
                       const struct usp_answer *answer);

/* Drops all answers. */
void uspi_answers_clear(struct uspi_answers *answers);

#endif
