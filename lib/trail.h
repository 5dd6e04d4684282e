/* SPDX-License-Identifier: MIT */
/* The records of a stack as they were when it was last walked: a guess of what they are now, for the fast walk.
 *
 * A chain of frame records is slow for one reason: each load waits for the one before. A trail names the records ahead of
 * their loads, which then have only to agree, and the processor reads on meanwhile. Programs that take stacks often take
 * similar ones: what is innermost differs, what is further out stays.
 *
 *     entries  [0]            [1]            [2]                     the innermost first
 *              ┌────────┬────┬──────────────┬──────────────┬────
 *              │ start  │ 0  │ previous, ra │ previous, ra │ …
 *              └────────┴────┴──────────────┴──────────────┴────
 *               where [1]     where [2]      where [3]
 *               was           was            was
 *
 * An entry is taken where the stack has the same two words. Those of one version name records of one stack, each above the
 * one before, and return addresses that were found behind calls (call_sites.h). A trail is laid while others read it, as
 * they see by its version; two stacks whose ends have the same hash share one, and lose nothing but time. So does everybody
 * for good where the thread that lays it never comes to the end (a handler that jumps away, a fork): it stays odd. */
#ifndef USPI_TRAIL_H
#define USPI_TRAIL_H

#include "arch/host.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where records are of two words of 64 bits; elsewhere it is left out. */
#define USPI_HAS_TRAILS (USPI_HOST_RECORDS && UINTPTR_MAX > UINT32_MAX)

#define USPI_TRAILS        64u
#define USPI_TRAIL_ENTRIES 256u
/* What processors fetch at once, or a multiple of it. */
#define USPI_CACHE_LINE 64
/* Entries that are compared at once. */
#define USPI_TRAIL_STEP 4u
/* A shorter walk is over before a trail is of use. */
#define USPI_TRAIL_LEAST 24u

struct uspi_trail_entry {
    _Alignas(2 * sizeof(uintptr_t)) _Atomic(uintptr_t) previous;
    _Atomic(uintptr_t) return_address; /* as stored: a signature still on it */
};

struct uspi_trail {
    _Alignas(USPI_CACHE_LINE) struct uspi_trail_entry entries[USPI_TRAIL_ENTRIES];
    _Atomic(uint32_t) version; /* odd: being laid */
    _Atomic(uint32_t) count;   /* of entries */
    _Atomic(uintptr_t) high;   /* the end of its stack */
    _Atomic(uint32_t) useless; /* its walks in a row for which it did little */
    /* Walks for which it could have done more: others' too, which should not take the lines above from its own. */
    _Alignas(USPI_CACHE_LINE) _Atomic(uint32_t) strayed;
};

extern struct uspi_trail uspi_trails[USPI_TRAILS];

static inline bool uspi_trail_is_of(const struct uspi_trail *trail, uintptr_t high) {
    return atomic_load_explicit(&trail->high, memory_order_relaxed) == high;
}

/* The trail of the stack that ends at `high`: one of two, and when it is neither's, the first that nobody has. Signal-safe,
 * thread-safe, as everything here. */
static inline struct uspi_trail *uspi_trail_of(uintptr_t high) {
    /* Ends of stacks differ in their middle bits, which 2^32 / golden ratio (Knuth, TAOCP 6.4) brings to the top. */
    uint32_t place = (uint32_t)(high >> 12) * UINT32_C(2654435769) >> 26;
    struct uspi_trail *one = &uspi_trails[place], *other = &uspi_trails[place ^ 1];
    if (uspi_trail_is_of(one, high)) return one;
    return uspi_trail_is_of(other, high) || (!uspi_trail_is_of(one, 0) && uspi_trail_is_of(other, 0)) ? other : one;
}

/* Where a walk is on a trail. */
struct uspi_guide {
    const struct uspi_trail *trail;
    uint32_t version, count;
    uint32_t place; /* the entry that names the next record */
};

/* Whether to try it. One that has not been of use for a while is tried now and then only: where stacks have nothing in
 * common, walks should not pay for it. */
static inline bool uspi_trail_is_promising(const struct uspi_trail *trail, uintptr_t high) {
    uint32_t useless = atomic_load_explicit(&trail->useless, memory_order_relaxed);
    return uspi_trail_is_of(trail, high) && (useless < 8 || useless % 32 < 2);
}

/* At the beginning of a trail: one without entries when it is being laid, or is that of another stack. */
USPI_TEMPLATE struct uspi_guide uspi_trail_begin(const struct uspi_trail *trail, uintptr_t high) {
    uint32_t version = atomic_load_explicit(&trail->version, memory_order_acquire);
    bool is_there = (version & 1) == 0 && uspi_trail_is_of(trail, high);
    uint32_t count = is_there ? atomic_load_explicit(&trail->count, memory_order_relaxed) : 0;
    return (struct uspi_guide){.trail = trail, .version = version, .count = count};
}

/* Goes on to the first record of the trail that does not lie below fp: UINTPTR_MAX when there is none. */
USPI_TEMPLATE uintptr_t uspi_trail_seek(struct uspi_guide *guide, uintptr_t fp) {
    for (; guide->place < guide->count; guide->place++) {
        uintptr_t record = atomic_load_explicit(&guide->trail->entries[guide->place].previous, memory_order_relaxed);
        if (record >= fp) return record;
    }
    return UINTPTR_MAX;
}

/* Takes records to `to` … `end`, the first of them at *record, which lies on the stack and is what the guide found last:
 * USPI_TRAIL_STEP at a time, as long as the trail is right. Returns where `to` is then. *record is the first that was not
 * taken, and the guide behind those that were compared. */
void **uspi_trail_follow(struct uspi_guide *guide, uintptr_t *record, void **to, void **end);

/* Tells of a walk from the record at `start` of the calling thread's own stack: `taken` records, `followed` of them along the
 * trail. Lays it anew where it could have done more, but not each time. */
void uspi_trail_review(struct uspi_trail *trail, uintptr_t start, uintptr_t high, size_t taken, size_t followed);

/* Whether there is something to tell. */
static inline bool uspi_trail_wants_review(const struct uspi_trail *trail, size_t taken, size_t followed) {
    return taken >= USPI_TRAIL_LEAST &&
           (followed + 2 * USPI_TRAIL_STEP < taken || atomic_load_explicit(&trail->useless, memory_order_relaxed) != 0);
}

#endif
