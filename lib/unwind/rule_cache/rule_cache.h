/* SPDX-License-Identifier: MIT */
/* Caches unwind rules between walks: the rule that a table has, or that the explorer found, at a pc. The cache has a
 * fixed number of entries in small sets. Any number of threads and signal handlers read and write it without a lock. A
 * rule that does not fit into two words (rule_pack.c) is not cached; a rule that was replaced is found again.
 *
 * It contains rules, not judgements of where they lead. Users judge a return address again, except when the cache
 * states that it is certain (USPI_RULE_CERTAIN). kept_rules.h decides which code a rule is for. */
#ifndef USPI_UNWIND_RULE_CACHE_RULE_CACHE_H
#define USPI_UNWIND_RULE_CACHE_RULE_CACHE_H

#include "arch/frame.h"
#include "lib/unwind/frame/rule.h"

#include <stdatomic.h>

/* Entries in a set. */
#define USPI_RULE_WAYS 4u
/* Maximum number of rules: the size of their memory must fit into 32 bits. */
#define USPI_RULES_MAX (1u << 26)

/* A rule in two words; see rule_pack.c. */
struct uspi_packed_rule {
    uint64_t frame; /* the CFA, return address and fp, and a note of four bits */
    uint64_t saved; /* the other callee-saved registers */
};

/* The part of a rule's key besides the pc and the stamp. */
enum uspi_rule_how {
    USPI_RULE_BY_TABLE = 0,      /* from a table; the note is the method */
    USPI_RULE_EXACT = 1 << 0,    /* the pc is interrupted, not a return address */
    USPI_RULE_THUMB = 1 << 1,    /* the code at the pc is Thumb */
    USPI_RULE_EXPLORED = 1 << 2, /* from the instructions; the note is the doubts */
    /* The code at the pc does not change, and a call precedes it (unless the pc is exact). */
    USPI_RULE_CERTAIN = 1 << 3,
    /* No rule: an exploration has found none. In place of the pc is the key of its question. */
    USPI_RULE_NOTHING = USPI_RULE_EXPLORED | USPI_RULE_CERTAIN,
    /* The pc is a root (usp_target.roots): only walks that go beyond roots use the rule. */
    USPI_RULE_ROOT = 1 << 4,
    /* The first rule of an exploration; the note is its doubts. In place of the pc is the key of its question. */
    USPI_RULE_FIRST = USPI_RULE_NOTHING | USPI_RULE_ROOT
};

/* An entry. Its version is odd while the entry is being written. A reader loads the version before and after all other
 * words, and retries or gives up when the two differ. The version:
 *
 *     | 63 … 32                      | 31 … 6        | 5 … 1 | 0                |
 *     | the stamp it is valid for    | write count   | how   | is being written | */
struct uspi_kept_rule {
    _Atomic(uint64_t) version, pc, frame, saved; /* pc 0: empty */
};

#define USPI_RULE_HOW_SHIFT   1u
#define USPI_RULE_COUNT_SHIFT 6u
#define USPI_RULE_WANTED_BITS (~UINT64_C(0) << 32 | ((UINT64_C(1) << USPI_RULE_COUNT_SHIFT) - 1))

static inline uint64_t uspi_rule_wanted(unsigned how, uint32_t stamp) {
    return (uint64_t)stamp << 32 | (uint64_t)how << USPI_RULE_HOW_SHIFT;
}

struct uspi_rule_cache {
    bool still;      /* the code does not change while the cache is used */
    size_t set_mask; /* mask of a set's offset in bytes */
    struct uspi_kept_rule *entries;
};

/* Makes an empty cache for `rules` rules (at least 1), rounded up to a power of two. *bytes (may be NULL) becomes its
 * size: 32 for each rule and less than 128 more. Returns NULL when memory is exhausted, or beyond USPI_RULES_MAX.
 * free() frees it. Not async-signal-safe. */
struct uspi_rule_cache *uspi_rule_cache_create(uint32_t rules, bool still, size_t *bytes);

/* Returns a cache in given memory, which is all zero.
 *   count  a power of two, at least USPI_RULE_WAYS
 * Async-signal-safe. */
struct uspi_rule_cache uspi_rule_cache_in(struct uspi_kept_rule *entries, size_t count, bool still);

/* Caches the rule for a pc other than 0. Does nothing when another thread is writing to the same entry.
 *   how    enum uspi_rule_how
 *   stamp  identifies what the rule is valid for
 * Async-signal-safe. */
void uspi_rule_cache_keep(struct uspi_rule_cache *cache, usp_addr pc, unsigned how, uint32_t stamp,
                          const struct uspi_packed_rule *rule);

/* Packs a rule with a note of four bits. Returns false when it does not fit. */
bool uspi_rule_pack(const struct uspi_backend *backend, const struct uspi_rule *rule, unsigned note,
                    struct uspi_packed_rule *packed);

/* Unpacks a rule. Returns the note. */
unsigned uspi_rule_unpack(const struct uspi_backend *backend, const struct uspi_packed_rule *packed,
                          struct uspi_rule *rule);

/* Shift of the pc in the hash. Return addresses are multiples of 4 on arm64, and are further apart on x86, so bit 2 is
 * the lowest one that distinguishes sets. A set has 128 bytes. */
#define USPI_RULE_SPREAD 5

static inline struct uspi_kept_rule *uspi_rule_set(const struct uspi_rule_cache *cache, usp_addr pc) {
    size_t offset = (size_t)(pc << USPI_RULE_SPREAD ^ pc >> USPI_RULE_SPREAD) & cache->set_mask;
    return (struct uspi_kept_rule *)((uint8_t *)cache->entries + offset);
}

/* Finds the two words of the rule for a pc, with the key of uspi_rule_wanted. *frame and *saved may be written even on
 * failure. saved may be NULL. Async-signal-safe. */
USPI_TEMPLATE bool uspi_rule_cache_find_words(const struct uspi_rule_cache *cache, usp_addr pc, uint64_t wanted,
                                              uint64_t *frame, uint64_t *saved) {
    struct uspi_kept_rule *entry = uspi_rule_set(cache, pc);
    for (unsigned i = 0; i < USPI_RULE_WAYS; i++, entry++) {
        uint64_t version = atomic_load_explicit(&entry->version, memory_order_acquire);
        if (atomic_load_explicit(&entry->pc, memory_order_acquire) != pc) continue;
        *frame = atomic_load_explicit(&entry->frame, memory_order_acquire);
        if (saved != NULL) *saved = atomic_load_explicit(&entry->saved, memory_order_acquire);
        bool is_unchanged = atomic_load_explicit(&entry->version, memory_order_relaxed) == version;
        if (is_unchanged && (version & USPI_RULE_WANTED_BITS) == wanted) return true;
    }
    return false;
}

static inline bool uspi_rule_cache_find(const struct uspi_rule_cache *cache, usp_addr pc, unsigned how, uint32_t stamp,
                                        struct uspi_packed_rule *rule) {
    return uspi_rule_cache_find_words(cache, pc, uspi_rule_wanted(how, stamp), &rule->frame, &rule->saved);
}

/* ---- the fields of a packed rule ----
 *
 *     | 63 … 44     | 43 … 27 | 26 … 10        | 9 … 6 | 5 … 0              |
 *     | CFA, signed | fp      | return address | note  | the CFA's register |
 *
 * Offsets are in slots of the processor's stack. Offsets of places are stored with half of their range added. A walk
 * needs the CFA first, so it is where one instruction can extract it. */

#define USPI_PACKED_BASE_BITS  6u
#define USPI_PACKED_NOTE_SHIFT 6u
#define USPI_PACKED_NOTE_BITS  4u
#define USPI_PACKED_RA_SHIFT   10u
#define USPI_PACKED_FP_SHIFT   27u
#define USPI_PACKED_PLACE_BITS 17u /* of the return address, and of fp; from the CFA */
#define USPI_PACKED_CFA_SHIFT  44u
#define USPI_PACKED_CFA_BITS   20u
#define USPI_PACKED_SAVED_BITS 6u /* of each other register; from the return address's slot */

/* Values in place of an offset. All those for return addresses are lower than any place. */
#define USPI_PACKED_RA_OUTERMOST 0 /* there is no return address */
#define USPI_PACKED_RA_LINK      1 /* it is in the link register */
#define USPI_PACKED_FP_SAME      0
#define USPI_PACKED_SAVED_SAME   0
#define USPI_PACKED_SAVED_LOST   1

#define USPI_PACKED_MIDDLE(bits)             (1 << ((bits) - 1))
#define USPI_PACKED_FIELD(word, shift, bits) ((int32_t)((word) >> (shift) & ((UINT64_C(1) << (bits)) - 1)))

/* Value in place of a register. The CFA is relative to the stack pointer and above it, the return address is right
 * below the CFA, and fp is unchanged or below the return address. Then nothing can be misaligned or outside the stack
 * if the CFA is inside. */
#define USPI_PACKED_BASE_PUSHED 63u

/* Returns the CFA's register as it is stored. */
static inline unsigned uspi_packed_stored_base(uint64_t frame) {
    return (unsigned)USPI_PACKED_FIELD(frame, 0, USPI_PACKED_BASE_BITS);
}

static inline unsigned uspi_packed_base(uint64_t frame, unsigned sp) {
    unsigned base = uspi_packed_stored_base(frame);
    return base == USPI_PACKED_BASE_PUSHED ? sp : base;
}

/* Compilers use an arithmetic shift (GCC manual, "Integers implementation"; clang does the same). */
static inline int64_t uspi_packed_cfa(uint64_t frame) { return (int64_t)frame >> USPI_PACKED_CFA_SHIFT; }

/* Return the places of the return address and of fp as they are stored. */
static inline int32_t uspi_packed_ra(uint64_t frame) {
    return USPI_PACKED_FIELD(frame, USPI_PACKED_RA_SHIFT, USPI_PACKED_PLACE_BITS);
}

static inline int32_t uspi_packed_fp(uint64_t frame) {
    return USPI_PACKED_FIELD(frame, USPI_PACKED_FP_SHIFT, USPI_PACKED_PLACE_BITS);
}

static inline int32_t uspi_packed_place(int32_t stored) { return stored - USPI_PACKED_MIDDLE(USPI_PACKED_PLACE_BITS); }

/* Returns the place of the i-th callee-saved register other than fp, as it is stored. */
static inline int32_t uspi_packed_saved(uint64_t saved, unsigned i) {
    return USPI_PACKED_FIELD(saved, i * USPI_PACKED_SAVED_BITS, USPI_PACKED_SAVED_BITS);
}

/* Returns the slot of such a register, from the CFA. A return address without a slot counts as being at the CFA. */
static inline int32_t uspi_packed_saved_place(int32_t ra, int32_t stored) {
    int32_t from = ra == USPI_PACKED_RA_LINK || ra == USPI_PACKED_RA_OUTERMOST ? 0 : uspi_packed_place(ra);
    return from + stored - USPI_PACKED_MIDDLE(USPI_PACKED_SAVED_BITS);
}

static inline unsigned uspi_packed_note(uint64_t frame) {
    return (unsigned)USPI_PACKED_FIELD(frame, USPI_PACKED_NOTE_SHIFT, USPI_PACKED_NOTE_BITS);
}

#endif
