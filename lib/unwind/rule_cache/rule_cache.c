/* SPDX-License-Identifier: MIT */
/* See rule_cache.h. Creates a cache and stores rules in it. */
#include "lib/unwind/rule_cache/rule_cache.h"

#include <stdlib.h>

/* Size of a line of the processor's cache. A set fills whole lines. */
#define LINE 64u
/* 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming, volume 3, 6.4). */
#define SPREAD UINT64_C(0x9e3779b97f4a7c15)

struct uspi_rule_cache uspi_rule_cache_in(struct uspi_kept_rule *entries, size_t count, bool still) {
    return (struct uspi_rule_cache){
        .still = still,
        .set_mask = (count / USPI_RULE_WAYS - 1) * USPI_RULE_WAYS * sizeof *entries,
        .entries = entries,
    };
}

struct uspi_rule_cache *uspi_rule_cache_create(uint32_t rules, bool still, size_t *bytes) {
    size_t count = USPI_RULE_WAYS;
    if (rules > USPI_RULES_MAX) return NULL;
    while (count < rules) count *= 2;
    size_t needed = sizeof(struct uspi_rule_cache) + LINE + count * sizeof(struct uspi_kept_rule);
    struct uspi_rule_cache *cache = calloc(1, needed);
    if (cache == NULL) return NULL;
    uintptr_t end = (uintptr_t)(cache + 1);
    *cache = uspi_rule_cache_in((struct uspi_kept_rule *)((end + LINE - 1) & ~(uintptr_t)(LINE - 1)), count, still);
    if (bytes != NULL) *bytes = needed;
    return cache;
}

/* Returns the entry for a rule: the one that has the rule's key, else an empty one, else a pseudorandom one. If the
 * oldest were replaced, a walk through more pcs than fit would find none of its rules again the next time. */
static struct uspi_kept_rule *choose_place(const struct uspi_rule_cache *cache, usp_addr pc, unsigned how) {
    const uint64_t how_bits = uspi_rule_wanted(~0u, 0) & USPI_RULE_WANTED_BITS & UINT32_MAX;
    struct uspi_kept_rule *set = uspi_rule_set(cache, pc), *empty = NULL;
    uint64_t versions = 0;
    for (unsigned i = 0; i < USPI_RULE_WAYS; i++) {
        uint64_t kept = atomic_load_explicit(&set[i].pc, memory_order_relaxed);
        uint64_t version = atomic_load_explicit(&set[i].version, memory_order_relaxed);
        if (kept == pc && (version & how_bits) == uspi_rule_wanted(how, 0)) return &set[i];
        if (kept == 0 && empty == NULL) empty = &set[i];
        versions += version;
    }
    if (empty != NULL) return empty;
    return &set[((pc ^ versions) * SPREAD >> 32) % USPI_RULE_WAYS];
}

void uspi_rule_cache_keep(struct uspi_rule_cache *cache, usp_addr pc, unsigned how, uint32_t stamp,
                          const struct uspi_packed_rule *rule) {
    if (pc == 0) return;
    struct uspi_kept_rule *entry = choose_place(cache, pc, how);
    uint64_t version = atomic_load_explicit(&entry->version, memory_order_relaxed);
    /* A writer that never finishes makes one entry unusable: its signal handler was left by a jump, or its process was
     * forked. */
    if ((version & 1) != 0 || !atomic_compare_exchange_strong_explicit(&entry->version, &version, version | 1,
                                                                       memory_order_acquire, memory_order_relaxed)) {
        return;
    }
    /* A reader that sees one of these stores also sees the odd version. */
    atomic_store_explicit(&entry->pc, pc, memory_order_release);
    atomic_store_explicit(&entry->frame, rule->frame, memory_order_release);
    atomic_store_explicit(&entry->saved, rule->saved, memory_order_release);
    uint32_t count = ((uint32_t)version >> USPI_RULE_COUNT_SHIFT) + 1;
    uint64_t next = uspi_rule_wanted(how, stamp) | (uint32_t)(count << USPI_RULE_COUNT_SHIFT);
    atomic_store_explicit(&entry->version, next, memory_order_release);
}
