/* SPDX-License-Identifier: MIT */
/* Answers that were given, in memory of a fixed limit: the reports of a fleet repeat the same frames again and again. A new answer
 * takes the place of another one with the same slot. */
#ifndef USPI_ANSWERS_H
#define USPI_ANSWERS_H

#include <unspool/places.h>

/* Bytes of all answers that are kept at most. doc/fleet.md has what they save. */
#define USPI_ANSWERS_LIMIT ((size_t)4 << 20)

/* What an answer is of. `build` is a number that no other build ever gets, so that the answers of a build that was closed are
 * not found again. */
struct uspi_answer_key {
    uint64_t build, offset;
    uint32_t base, flags; /* of the place; USP_PLACE_EXACT alone */
};

struct uspi_kept_answer {
    struct uspi_answer_key key;
    struct usp_answer answer; /* `frames` is NULL */
    struct usp_source_frame frames[];
};

/* Clear it with {0}. */
struct uspi_answers {
    struct uspi_kept_answer **slots; /* NULL: none were kept yet */
    size_t room;                     /* slots; a power of two */
    size_t count;                    /* of answers that are kept */
    size_t bytes;
};

/* NULL when there is none. It is valid until the next answer is kept. */
const struct uspi_kept_answer *uspi_answers_find(const struct uspi_answers *answers, const struct uspi_answer_key *key);

/* Keeps a copy of an answer with its frames, if there is memory for it. */
void uspi_answers_keep(struct uspi_answers *answers, const struct uspi_answer_key *key,
                       const struct usp_answer *answer);

/* Forgets all of them. */
void uspi_answers_clear(struct uspi_answers *answers);

#endif
