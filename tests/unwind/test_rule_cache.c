/* SPDX-License-Identifier: MIT */
/* Tests kept unwind rules: their packed form, the places of a cache and who may see them, threads that write and read
 * the same places, walks from rule to rule against the same rules applied one by one, and which code explorations read
 * again. test_linux_rules.c tests that
 * a rule is used only for its own code. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "lib/unwind/code/explore.h"
#include "lib/unwind/frame/apply.h"
#include "lib/unwind/rule_cache/kept_rules.h"
#include "lib/unwind/unwind.h"
#include "tests/support/golden.h"
#include "tests/support/range.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

static uint64_t seed = 1;

/* xorshift64* (Vigna, 2016). */
static uint64_t next_random(void) {
    seed ^= seed >> 12;
    seed ^= seed << 25;
    seed ^= seed >> 27;
    return seed * UINT64_C(0x2545f4914f6cdd1d);
}

static unsigned below(unsigned n) { return (unsigned)(next_random() >> 33) % n; }

static const uint32_t all_processors[] = {USP_ARCH_ARM64, USP_ARCH_ARM64_32, USP_ARCH_ARMV7, USP_ARCH_X86_64,
                                          USP_ARCH_I386};

static struct uspi_location at_cfa(int32_t offset) {
    return (struct uspi_location){.kind = USPI_MEMORY, .base = USPI_BASE_CFA, .offset = offset};
}

static struct uspi_location in_register(unsigned base, int32_t offset) {
    return (struct uspi_location){.kind = USPI_REGISTER, .base = (uint8_t)base, .offset = offset};
}

/* ---- packing ---- */

static bool same_location(struct uspi_location a, struct uspi_location b) {
    return a.kind == b.kind && (a.kind == USPI_LOST || a.kind == USPI_OUTERMOST ||
                                (a.base == b.base && a.offset == b.offset && a.addend == b.addend));
}

static void expect_same_rule(const struct uspi_backend *b, const struct uspi_rule *a, const struct uspi_rule *c) {
    ck_assert(same_location(a->cfa, c->cfa));
    ck_assert(same_location(a->return_address, c->return_address));
    ck_assert_int_eq(a->signal_frame, c->signal_frame);
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        ck_assert_msg(same_location(uspi_rule_of(a, reg), uspi_rule_of(c, reg)), "%s: register %u", b->name, reg);
    }
}

static bool survives(const struct uspi_backend *b, const struct uspi_rule *rule) {
    struct uspi_packed_rule packed;
    struct uspi_rule unpacked;
    unsigned note = below(16);
    memset(&unpacked, 0xa5, sizeof unpacked);
    if (!uspi_rule_pack(b, rule, note, &packed)) return false;
    ck_assert_uint_eq(uspi_rule_unpack(b, &packed, &unpacked), note);
    expect_same_rule(b, rule, &unpacked);
    return true;
}

/* Makes a rule as compilers write them: slots near the return address's slot. */
static struct uspi_rule usual_rule(const struct uspi_backend *b) {
    struct uspi_rule rule = {.cfa = in_register(below(2) != 0 ? b->sp : b->fp, (int32_t)below(1000) * b->slot)};
    int32_t ra = -(int32_t)below(60) * b->slot;
    rule.return_address = at_cfa(ra);
    if (b->lr != USPI_NO_REGISTER && below(4) == 0) {
        rule.return_address = in_register(b->lr, 0);
        ra = 0;
    }
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        if ((b->callee_saved >> reg & 1) == 0 || below(3) == 0) continue;
        struct uspi_location at = at_cfa(ra + ((int32_t)below(62) - 30) * b->slot);
        if (below(8) == 0 && reg != b->fp) at = (struct uspi_location){.kind = USPI_LOST};
        uspi_rule_add(&rule, reg, at);
    }
    return rule;
}

START_TEST(usual_rules_survive) {
    for (unsigned i = 0; i < sizeof all_processors / sizeof *all_processors; i++) {
        const struct uspi_backend *b = uspi_backend_find(all_processors[i]);
        for (unsigned n = 0; n < 5000; n++) {
            struct uspi_rule rule = usual_rule(b);
            ck_assert(survives(b, &rule));
        }
    }
}
END_TEST

/* The explorer's rules have offsets from the stack pointer; packed, they must become offsets from the CFA. */
START_TEST(the_explorers_rules_survive) {
    const struct uspi_backend *b = uspi_backend_find(USP_ARCH_X86_64);
    struct uspi_rule rule = {.cfa = in_register(b->sp, 48)}, same = {.cfa = in_register(b->sp, 48)}, unpacked;
    struct uspi_packed_rule packed;
    rule.return_address = (struct uspi_location){.kind = USPI_MEMORY, .base = b->sp, .offset = 40};
    uspi_rule_add(&rule, b->fp, (struct uspi_location){.kind = USPI_MEMORY, .base = b->sp, .offset = 0});
    same.return_address = at_cfa(-8);
    uspi_rule_add(&same, b->fp, at_cfa(-48));
    ck_assert(uspi_rule_pack(b, &rule, 3, &packed));
    ck_assert_uint_eq(uspi_rule_unpack(b, &packed, &unpacked), 3);
    expect_same_rule(b, &same, &unpacked);
    /* A leaf's slot below the stack pointer cannot be packed. */
    rule.saved[0].at.offset = -8;
    ck_assert(!uspi_rule_pack(b, &rule, 3, &packed));
}
END_TEST

/* Rules that do not fit into two words must not be packed. */
START_TEST(others_are_not_packed) {
    const struct uspi_backend *b = uspi_backend_find(USP_ARCH_X86_64);
    const struct uspi_rule plain = {.cfa = in_register(b->sp, 16), .return_address = at_cfa(-8)};
    struct uspi_packed_rule packed;
    ck_assert(survives(b, &plain));
    ck_assert(!uspi_rule_pack(b, &plain, 16, &packed));
    for (unsigned what = 0; what < 16; what++) {
        struct uspi_rule rule = plain;
        switch (what) {
        case 0: rule.signal_frame = true; break;
        case 1: rule.cfa.kind = USPI_VALUE_EXPRESSION; break;
        case 2: rule.cfa.offset = 12; break;
        case 3: rule.cfa.offset = 8 << 19; break;
        case 4: rule.cfa.offset = -8 - (8 << 19); break;
        case 5: rule.cfa.base = 64; break;
        case 6: rule.return_address.kind = USPI_EXPRESSION; break;
        case 7: rule.return_address.offset = 8 << 16; break;
        case 8: rule.return_address.addend = 1; break;
        case 9: rule.return_address = in_register(2, 0); break;
        case 10: uspi_rule_add(&rule, b->fp, in_register(3, 0)); break;
        case 11: uspi_rule_add(&rule, b->fp, (struct uspi_location){.kind = USPI_LOST}); break;
        case 12: uspi_rule_add(&rule, b->sp, at_cfa(-16)); break;
        case 13: uspi_rule_add(&rule, 0, at_cfa(-16)); break;
        case 14: uspi_rule_add(&rule, 3, at_cfa(-8 + 32 * 8)); break;
        default: uspi_rule_add(&rule, 3, at_cfa(-8 - 31 * 8)); break;
        }
        ck_assert_msg(!uspi_rule_pack(b, &rule, 0, &packed), "case %u was packed", what);
    }
    struct uspi_rule edge = plain;
    edge.cfa.offset = (8 << 19) - 8;
    uspi_rule_add(&edge, 3, at_cfa(-8 + 31 * 8));
    uspi_rule_add(&edge, 12, at_cfa(-8 - 30 * 8));
    ck_assert(survives(b, &edge));
    edge.cfa.offset = -(8 << 19);
    ck_assert(survives(b, &edge));
}
END_TEST

/* ---- places ---- */

#define PC UINT64_C(0x7f0000401000)

static struct uspi_packed_rule numbered(uint64_t n) { return (struct uspi_packed_rule){n, ~n}; }

static usp_addr pc_of(uint64_t n) { return PC + 4 * n; }

static bool finds_as(const struct uspi_rule_cache *cache, usp_addr pc, unsigned how, uint32_t stamp, uint64_t n) {
    struct uspi_packed_rule rule;
    if (!uspi_rule_cache_find(cache, pc, how, stamp, &rule)) return false;
    ck_assert_uint_eq(rule.frame, n);
    ck_assert_uint_eq(rule.saved, ~n);
    return true;
}

static bool finds(const struct uspi_rule_cache *cache, usp_addr pc, uint32_t stamp, uint64_t n) {
    return finds_as(cache, pc, USPI_RULE_CERTAIN, stamp, n);
}

static void keep_as(struct uspi_rule_cache *cache, usp_addr pc, unsigned how, uint32_t stamp, uint64_t n) {
    struct uspi_packed_rule rule = numbered(n);
    uspi_rule_cache_keep(cache, pc, how, stamp, &rule);
}

static void keep(struct uspi_rule_cache *cache, usp_addr pc, uint32_t stamp, uint64_t n) {
    keep_as(cache, pc, USPI_RULE_CERTAIN, stamp, n);
}

START_TEST(sizes) {
    static const uint32_t wanted[] = {0, 1, 3, 4, 5, 7, 8, 1000, 4096, 4097};
    for (unsigned i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        size_t bytes;
        struct uspi_rule_cache *cache = uspi_rule_cache_create(wanted[i], false, &bytes);
        ck_assert_ptr_nonnull(cache);
        size_t places = cache->set_mask / sizeof(struct uspi_kept_rule) + USPI_RULE_WAYS;
        ck_assert_uint_ge(places, wanted[i]);
        ck_assert(places < 2 * (size_t)wanted[i] || places == USPI_RULE_WAYS);
        ck_assert_uint_eq(places & (places - 1), 0);
        ck_assert_uint_ge(bytes, 32 * places);
        ck_assert_uint_lt(bytes, 32 * places + 128);
        /* As many rules as the cache has places: each rule that is found must be complete, and most must be found. */
        unsigned found = 0;
        for (uint64_t n = 0; n < places; n++) keep(cache, pc_of(n), 5, n);
        for (uint64_t n = 0; n < places; n++) found += finds(cache, pc_of(n), 5, n);
        ck_assert_uint_ge(found, places * 3 / 4);
        free(cache);
    }
    ck_assert_ptr_null(uspi_rule_cache_create(USPI_RULES_MAX + 1, false, NULL));
}
END_TEST

START_TEST(what_a_rule_is_kept_under) {
    struct uspi_rule_cache *cache = uspi_rule_cache_create(64, false, NULL);
    ck_assert(!finds(cache, PC, 0, 1));
    keep(cache, PC, 5, 1);
    ck_assert(finds(cache, PC, 5, 1));
    ck_assert(!finds(cache, PC, 6, 1));
    ck_assert(!finds_as(cache, PC, 0, 5, 1));
    ck_assert(!finds_as(cache, PC, USPI_RULE_CERTAIN | USPI_RULE_EXACT, 5, 1));
    /* Addresses outside the address space that differ only in high bits must count as different. */
    ck_assert(!finds(cache, PC | UINT64_C(1) << 48, 5, 1));
    ck_assert(!finds(cache, PC | UINT64_C(1) << 63, 5, 1));
    /* The new stamp takes the place of the old one. */
    keep(cache, PC, 6, 2);
    ck_assert(finds(cache, PC, 6, 2));
    ck_assert(!finds(cache, PC, 5, 1));
    /* Each kind of use has a rule of its own. */
    for (unsigned how = 0; how < 3; how++) keep_as(cache, PC, how, 7, how);
    for (unsigned how = 0; how < 3; how++) ck_assert(finds_as(cache, PC, how, 7, how));
    /* The lowest and the highest stamp. */
    keep(cache, PC, 0, 3);
    ck_assert(finds(cache, PC, 0, 3));
    keep(cache, PC, UINT32_MAX, 4);
    ck_assert(finds(cache, PC, UINT32_MAX, 4));
    ck_assert(!finds(cache, PC, 0, 3));
    /* Address 0 is never kept. */
    keep(cache, 0, 0, 3);
    ck_assert(!finds_as(cache, 0, USPI_RULE_CERTAIN, 0, 3));
    free(cache);
}
END_TEST

/* A place counts its writes; the count must not overflow into its other fields. */
START_TEST(a_place_that_is_written_for_ever) {
    struct uspi_rule_cache *cache = uspi_rule_cache_create(1, false, NULL);
    keep(cache, PC, 5, 0);
    struct uspi_kept_rule *entry = &uspi_rule_set(cache, PC)[0];
    uint64_t version = atomic_load(&entry->version);
    atomic_store(&entry->version, version | (UINT32_MAX >> USPI_RULE_COUNT_SHIFT) << USPI_RULE_COUNT_SHIFT);
    ck_assert(finds(cache, PC, 5, 0));
    keep(cache, PC, 5, 1);
    ck_assert(finds(cache, PC, 5, 1));
    ck_assert_uint_eq(uspi_rule_set(cache, PC)[1].pc, 0);
    free(cache);
}
END_TEST

/* A set gets more rules than it has room for: the newest must be found, and as many others as there is room for. */
START_TEST(a_full_set) {
    struct uspi_rule_cache *cache = uspi_rule_cache_create(1, false, NULL);
    for (uint64_t n = 0; n < 1000; n++) {
        unsigned found = 0;
        keep(cache, pc_of(n), 5, n);
        ck_assert(finds(cache, pc_of(n), 5, n));
        for (uint64_t k = 0; k <= n; k++) found += finds(cache, pc_of(k), 5, k);
        ck_assert_uint_eq(found, n + 1 < USPI_RULE_WAYS ? n + 1 : USPI_RULE_WAYS);
    }
    /* Keys used in turn must find some of the rules kept before. */
    unsigned found = 0;
    for (unsigned round = 0; round < 100; round++) {
        for (uint64_t n = 0; n < USPI_RULE_WAYS + 1; n++) {
            bool was_there = finds(cache, pc_of(n), 5, n);
            found += was_there;
            if (!was_there) keep(cache, pc_of(n), 5, n);
        }
    }
    ck_assert_uint_gt(found, 100);
    free(cache);
}
END_TEST

/* A writer was interrupted and never continues: no reader may see what it left, and no reader may wait for it. */
START_TEST(half_written) {
    struct uspi_rule_cache *cache = uspi_rule_cache_create(1, false, NULL);
    keep(cache, pc_of(0), 5, 0);
    struct uspi_kept_rule *entry = &uspi_rule_set(cache, PC)[0];
    atomic_fetch_add(&entry->version, 1);
    ck_assert(!finds(cache, pc_of(0), 5, 0));
    keep(cache, pc_of(0), 5, 0);
    ck_assert(!finds(cache, pc_of(0), 5, 0));
    for (uint64_t n = 1; n < 200; n++) keep(cache, pc_of(n), 5, n);
    unsigned found = 0;
    for (uint64_t n = 1; n < 200; n++) found += finds(cache, pc_of(n), 5, n);
    ck_assert_uint_eq(found, USPI_RULE_WAYS - 1);
    free(cache);
}
END_TEST

/* ---- threads ---- */

#define THREADS 4u
#define KEYS    12u
#define TIMES   100000u
#define STAMPS  4u

static struct uspi_rule_cache *shared;
static _Atomic(unsigned) seen_whole, seen_torn;

/* Computes the value that is kept under a key and a stamp, so that a mixture of two values is recognized. */
static uint64_t written_for(usp_addr pc, uint32_t stamp, uint64_t extra) {
    return pc << 20 ^ (uint64_t)stamp << 8 ^ extra;
}

static void *write_and_read(void *context) {
    uint64_t state = (uint64_t)(uintptr_t)context * UINT64_C(0x9e3779b97f4a7c15) | 1;
    unsigned whole = 0, torn = 0;
    for (unsigned i = 0; i < TIMES / stride(); i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
        usp_addr pc = pc_of((state >> 33) % KEYS), extra = state >> 56;
        uint32_t stamp = (uint32_t)(state >> 40) % STAMPS;
        struct uspi_packed_rule rule = {written_for(pc, stamp, extra), ~written_for(pc, stamp, extra)};
        if ((state >> 50 & 3) == 0) {
            uspi_rule_cache_keep(shared, pc, 0, stamp, &rule);
        } else if (uspi_rule_cache_find(shared, pc, 0, stamp, &rule)) {
            bool is_own = (rule.frame ^ written_for(pc, stamp, 0)) < 256 && rule.saved == ~rule.frame;
            whole += is_own;
            torn += !is_own;
        }
    }
    atomic_fetch_add(&seen_whole, whole);
    atomic_fetch_add(&seen_torn, torn);
    return NULL;
}

START_TEST(threads_never_see_half_a_rule) {
    pthread_t threads[THREADS];
    shared = uspi_rule_cache_create(8, false, NULL);
    for (uintptr_t i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, write_and_read, (void *)(i + 1)), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    ck_assert_uint_eq(seen_torn, 0);
    ck_assert_uint_gt(seen_whole, 1000);
    free(shared);
}
END_TEST

/* ---- from rule to rule ---- */

#define STACK     UINT64_C(0x70000000)
#define WORDS_MAX 4096u
#define FUNCTIONS 40u
#define CHAIN_MAX 50u
#define UNKNOWN   UINT64_C(0x410000) /* code without a kept rule */

struct function {
    usp_addr pc;
    bool by_fp, saves_fp;
    int32_t size; /* of its frame, in slots */
    struct uspi_rule rule;
};

struct world {
    const struct uspi_backend *b;
    struct function functions[FUNCTIONS];
    uint8_t stack[WORDS_MAX * 8];
    usp_addr stack_size;
    struct uspi_rule_cache *cache;
    struct uspi_walk walk;
    struct uspi_shortcuts shortcuts;
    struct uspi_frame_state first;
    const struct function *chain[CHAIN_MAX];
    unsigned length;
};

static int read_stack(void *context, usp_addr from, void *to, size_t n) {
    const struct world *w = context;
    return read_range(STACK, w->stack, w->stack_size, from, to, n);
}

static void put_word(struct world *w, usp_addr at, uint64_t value) {
    for (unsigned i = 0; i < w->b->slot; i++) w->stack[at - STACK + i] = (uint8_t)(value >> 8 * i);
}

static uint64_t random_word(const struct world *w) {
    uint64_t v = next_random() >> 8;
    /* Bits above a pointer's width are ignored; a processor on which fp can carry a mark has no mark here. */
    return w->b->has_async ? v & ~USPI_FP_TAG_MASK : v;
}

static void make_function(struct world *w, struct function *f, usp_addr pc) {
    const struct uspi_backend *b = w->b;
    unsigned saved = 0;
    *f =
        (struct function){.pc = pc, .by_fp = below(3) == 0, .saves_fp = below(2) == 0, .size = 16 + (int32_t)below(30)};
    f->rule.cfa =
        f->by_fp ? in_register(b->fp, (2 + (int32_t)below(4)) * b->slot) : in_register(b->sp, f->size * b->slot);
    f->rule.return_address = at_cfa(-b->slot);
    if (f->saves_fp) uspi_rule_add(&f->rule, b->fp, at_cfa(-2 * b->slot));
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        if ((b->callee_saved >> reg & 1) == 0 || reg == b->fp || below(3) != 0) continue;
        struct uspi_location at = at_cfa(-(3 + (int32_t)saved++) * b->slot);
        if (below(10) == 0) at = (struct uspi_location){.kind = USPI_LOST};
        uspi_rule_add(&f->rule, reg, at);
    }
    struct uspi_packed_rule packed;
    ck_assert(uspi_rule_pack(b, &f->rule, USP_FRAME_METHOD_CFI, &packed));
    uspi_rule_cache_keep(w->cache, pc, USPI_RULE_CERTAIN, 1, &packed);
    uspi_rule_cache_keep(w->cache, pc, USPI_RULE_CERTAIN | USPI_RULE_EXACT, 1, &packed);
}

/* Calls functions from the innermost outwards, and writes the stack that they would leave. The last return address is
 * `end`. */
static void make_stack(struct world *w, usp_addr end) {
    const struct uspi_backend *b = w->b;
    usp_addr sp = STACK;
    uint64_t fp = random_word(w) & b->word_mask;
    for (usp_addr at = 0; at < sizeof w->stack; at++) w->stack[at] = (uint8_t)next_random();
    w->length = 2 + below(CHAIN_MAX - 2);
    for (unsigned i = 0; i < w->length; i++) {
        const struct function *f = &w->functions[below(FUNCTIONS)];
        /* A function whose rule counts from fp needs a callee that saved fp. */
        while (f->by_fp && i > 0 && !w->chain[i - 1]->saves_fp) f = &w->functions[below(FUNCTIONS)];
        w->chain[i] = f;
    }
    for (unsigned i = 0; i < w->length; i++) {
        const struct function *f = w->chain[i];
        usp_addr cfa = sp + (usp_addr)(f->size * b->slot);
        if (f->by_fp && i == 0) fp = cfa - (usp_addr)f->rule.cfa.offset;
        put_word(w, cfa - b->slot, i + 1 < w->length ? w->chain[i + 1]->pc : end);
        if (i == 0) {
            usp_registers_init(&w->first.registers, b->arch);
            for (unsigned reg = 0; reg < b->register_count; reg++) {
                uspi_set(&w->first.registers, reg, next_random() & b->word_mask);
            }
            uspi_set(&w->first.registers, b->pc, f->pc);
            uspi_set(&w->first.registers, b->sp, sp);
            uspi_set(&w->first.registers, b->fp, fp);
        }
        if (f->saves_fp) {
            uint64_t value = random_word(w);
            const struct function *caller = i + 1 < w->length ? w->chain[i + 1] : NULL;
            if (caller != NULL && caller->by_fp) {
                value = cfa + (usp_addr)(caller->size * b->slot) - (usp_addr)caller->rule.cfa.offset;
            }
            put_word(w, cfa - 2u * b->slot, value);
        }
        sp = cfa;
    }
    w->stack_size = sp - STACK + below(4) * b->slot;
    w->first.exact = below(2) == 0;
    w->first.sp_known = true;
    w->first.kind = w->first.exact ? USP_FRAME_KIND_INTERRUPTED : USP_FRAME_KIND_RETURN_ADDRESS;
    w->first.method = USP_FRAME_METHOD_CONTEXT;
    w->shortcuts.stack = (struct uspi_copied){w->stack, STACK, (size_t)w->stack_size};
}

static void make_world(struct world *w, uint32_t arch) {
    static const usp_addr root = 0x420000;
    memset(w, 0, sizeof *w);
    w->b = uspi_backend_find(arch);
    w->cache = uspi_rule_cache_create(1024, true, NULL);
    usp_target_init(&w->walk.target, arch);
    w->walk.backend = w->b;
    w->walk.target.memory = (struct usp_memory){read_stack, w};
    w->walk.target.roots = &root;
    w->walk.target.root_count = 1;
    w->walk.strip_mask = UINT64_MAX;
    w->walk.readers = USP_READER_ALL;
    w->shortcuts.rules = w->cache;
    for (unsigned i = 0; i < FUNCTIONS; i++) make_function(w, &w->functions[i], UINT64_C(0x401000) + 20 * i);
}

/* Steps to the frame after `state` by the rule as it was written. */
static void reference_step(struct world *w, struct uspi_frame_state *state, const struct uspi_rule *rule) {
    struct uspi_applied applied;
    ck_assert(uspi_apply_rule(&w->walk, state, rule, &applied));
    *state = (struct uspi_frame_state){.registers = applied.caller, .sp_known = true};
    uspi_set(&state->registers, w->b->pc, applied.return_address & w->b->word_mask);
}

static uint32_t follow(const struct world *w, struct uspi_frame_state *state, struct usp_frame *frames,
                       uint32_t capacity, bool goes_on, uint32_t *stop) {
    struct uspi_rule_walk rules;
    if (!uspi_rule_walk_init(&rules, w->b, &w->walk.target, w->walk.strip_mask, &w->shortcuts)) return 0;
    return uspi_rule_walk_on(&rules, state, frames, capacity, goes_on, stop);
}

static void expect_registers(const struct world *w, const struct usp_registers *got,
                             const struct usp_registers *expected) {
    ck_assert_uint_eq(got->known, expected->known);
    for (unsigned reg = 0; reg < w->b->register_count; reg++) {
        if (uspi_known(expected, reg)) ck_assert_uint_eq(got->value[reg], expected->value[reg]);
    }
}

/* Follows the kept rules and compares each frame with the rules applied one by one. */
static void follow_and_compare(struct world *w, uint32_t capacity, bool goes_on, usp_addr end) {
    struct usp_frame frames[CHAIN_MAX + 2];
    struct uspi_frame_state state = w->first, expected = w->first;
    uint32_t stop = USP_STOP_NONE, n = follow(w, &state, frames, capacity, goes_on, &stop);
    /* If the last return address is not a root, no rule confirms it. */
    uint32_t all = end == UNKNOWN ? w->length - 1 : w->length + 1;
    ck_assert_uint_eq(n, all < capacity ? all : capacity);
    ck_assert_uint_eq(stop, end != UNKNOWN && n == all ? USP_STOP_ROOT : USP_STOP_NONE);
    for (uint32_t i = 0; i < n; i++) {
        const struct usp_registers *r = &expected.registers;
        bool is_last = i == w->length;
        ck_assert_uint_eq(frames[i].pc, r->value[w->b->pc]);
        ck_assert_uint_eq(frames[i].fp, r->value[w->b->fp]);
        ck_assert_uint_eq(frames[i].kind, i == 0 ? w->first.kind : (uint32_t)USP_FRAME_KIND_RETURN_ADDRESS);
        ck_assert_uint_eq(frames[i].method,
                          i == 0 ? (uint32_t)USP_FRAME_METHOD_CONTEXT : (uint32_t)USP_FRAME_METHOD_CFI);
        if (!is_last) reference_step(w, &expected, &w->chain[i]->rule);
        ck_assert_uint_eq(frames[i].cfa, is_last ? 0 : expected.registers.value[w->b->sp]);
    }
    if (stop != USP_STOP_NONE || n == 0) return;
    ck_assert_uint_eq(state.registers.value[w->b->pc], expected.registers.value[w->b->pc]);
    if (n == capacity && !goes_on) return;
    expect_registers(w, &state.registers, &expected.registers);
    ck_assert(!state.exact && state.sp_known);
    ck_assert_uint_eq(state.low, state.registers.value[w->b->sp]);
}

START_TEST(from_rule_to_rule) {
    static struct world w;
    for (unsigned i = 0; i < sizeof all_processors / sizeof *all_processors; i++) {
        /* The readers treat Thumb bits, not the rules. */
        if (uspi_backend_find(all_processors[i])->has_thumb) continue;
        make_world(&w, all_processors[i]);
        for (unsigned n = 0; n < 1000 / stride(); n++) {
            usp_addr end = below(2) == 0 ? UNKNOWN : *w.walk.target.roots;
            make_stack(&w, end);
            follow_and_compare(&w, below(4) == 0 ? below(CHAIN_MAX) : CHAIN_MAX + 2, below(2) == 0, end);
        }
        free(w.cache);
    }
}
END_TEST

/* The walk must not follow rules beyond the end, downwards, or to an address without a rule. */
START_TEST(where_it_ends) {
    static struct world w;
    struct usp_frame frames[CHAIN_MAX + 2];
    make_world(&w, USP_ARCH_X86_64);
    for (unsigned what = 0; what < 8; what++) {
        uint32_t stop = USP_STOP_NONE;
        make_stack(&w, UNKNOWN);
        w.first.exact = false;
        const struct function *f = w.chain[0];
        struct uspi_frame_state state = w.first;
        usp_addr cfa = STACK + (usp_addr)(f->size * 8);
        switch (what) {
        case 0: w.shortcuts.stack.size = 0; break;
        case 1: w.shortcuts.stack.size = (size_t)(cfa - STACK) - 8; break;
        case 2: state.sp_known = false; break;
        case 3: uspi_forget(&state.registers, w.b->fp); break;
        case 4: w.walk.target.root_count = 0; break;
        case 5: w.shortcuts.rules = NULL; break;
        case 6: put_word(&w, cfa - 8, w.chain[1]->pc + 1); break;
        default: uspi_set(&state.registers, f->by_fp ? w.b->fp : w.b->sp, STACK - 4096); break;
        }
        ck_assert_msg(follow(&w, &state, frames, CHAIN_MAX, true, &stop) == 0, "case %u", what);
        ck_assert_uint_eq(stop, USP_STOP_NONE);
        w.walk.target.root_count = 1;
        w.shortcuts.rules = w.cache;
    }
    free(w.cache);
}
END_TEST

/* A saved fp that carries the mark of an async frame must be left to the readers, with all frames after it. */
START_TEST(a_mark_in_fp) {
    static struct world w;
    struct usp_frame frames[CHAIN_MAX + 2];
    make_world(&w, USP_ARCH_ARM64);
    do make_stack(&w, UNKNOWN);
    while (!w.chain[0]->saves_fp || w.length < 4);
    uint32_t stop = USP_STOP_NONE;
    struct uspi_frame_state state = w.first;
    ck_assert_uint_eq(follow(&w, &state, frames, CHAIN_MAX, true, &stop), w.length - 1);
    usp_addr fp_at = STACK + (usp_addr)(w.chain[0]->size * 8) - 16;
    uint64_t value;
    ck_assert(uspi_read_slot(&w.walk, fp_at, &value));
    put_word(&w, fp_at, value | USPI_FP_TAG_ASYNC);
    state = w.first;
    ck_assert_uint_eq(follow(&w, &state, frames, CHAIN_MAX, true, &stop), 0);
    free(w.cache);
}
END_TEST

/* A table marks the outermost frame: the stack must end there. */
START_TEST(an_outermost_rule) {
    static struct world w;
    struct usp_frame frames[CHAIN_MAX + 2];
    struct uspi_packed_rule packed;
    make_world(&w, USP_ARCH_X86_64);
    make_stack(&w, UNKNOWN);
    struct uspi_rule rule = {.cfa = in_register(w.b->sp, 8), .return_address = {.kind = USPI_OUTERMOST}};
    ck_assert(uspi_rule_pack(w.b, &rule, USP_FRAME_METHOD_CFI, &packed));
    uspi_rule_cache_keep(w.cache, UNKNOWN, USPI_RULE_CERTAIN, 1, &packed);
    uint32_t stop = USP_STOP_NONE;
    struct uspi_frame_state state = w.first;
    ck_assert_uint_eq(follow(&w, &state, frames, CHAIN_MAX + 2, true, &stop), w.length + 1);
    ck_assert_uint_eq(stop, USP_STOP_ROOT);
    ck_assert_uint_eq(frames[w.length].pc, UNKNOWN);
    ck_assert_uint_eq(frames[w.length].cfa, 0);
    free(w.cache);
}
END_TEST

/* That an exploration found nothing is kept for its question alone, and only where code does not change. */
START_TEST(what_was_not_found) {
    const struct uspi_question asked = {.purpose = USPI_TO_GOAL, .from = 0x1000, .goal = 0x1080, .budget = 64};
    const uint64_t key = uspi_question_key(&asked);
    for (unsigned still = 0; still < 2; still++) {
        unsigned note = 0;
        struct uspi_rule_cache *cache = uspi_rule_cache_create(64, still, NULL);
        const struct uspi_shortcuts shortcuts = {.rules = cache};
        ck_assert(!uspi_recall_nothing(&shortcuts, key, &note));
        uspi_keep_nothing(&shortcuts, key, 9);
        ck_assert_int_eq(uspi_recall_nothing(&shortcuts, key, &note), still);
        ck_assert_uint_eq(note, still ? 9 : 0);
        ck_assert(!uspi_recall_nothing(&shortcuts, key + 2, &note));
        free(cache);
    }
    ck_assert(!uspi_recall_nothing(NULL, key, NULL));
    struct uspi_question others[11];
    for (unsigned i = 0; i < 11; i++) others[i] = asked;
    others[0].purpose = USPI_REACH;
    others[1].from++;
    others[2].goal++;
    others[3].low++;
    others[4].high++;
    others[5].mode++;
    others[6].unknown++;
    others[7].is_interrupted = true;
    others[8].all_cases = true;
    others[9].oldest_first = true;
    others[10].allowed++;
    for (unsigned i = 0; i < 11; i++) {
        ck_assert_uint_ne(uspi_question_key(&others[i]), key);
        for (unsigned k = 0; k < i; k++) {
            ck_assert_uint_ne(uspi_question_key(&others[i]), uspi_question_key(&others[k]));
        }
    }
}
END_TEST

/* ---- explorations ---- */

#define FUNCTION UINT64_C(0x40001000)
#define INSIDE   (FUNCTION + 0x200) /* where the function is interrupted */
#define CALLED   (FUNCTION + 0x405) /* after its call */
#define HEAP     UINT64_C(0x50000100)

/* Reads code for explorations, and counts what was read at the function's start and in the heap. */
struct explored {
    struct target_image *memory;
    unsigned at_start, in_heap;
};

static int read_explored(void *context, usp_addr from, void *to, size_t n) {
    struct explored *explored = context;
    if (from <= FUNCTION && FUNCTION - from < n) explored->at_start++;
    if (from <= HEAP && from + n > HEAP - 16) explored->in_heap++;
    return image_read(explored->memory, from, to, n);
}

/* A function was interrupted after a jump, at an instruction from which no path returns. Its caller proves itself: from
 * the start of the function that it calls, a path leads to the pc. That path is explored once. The word at sp points to
 * a heap, to something that looks like a call: explorations must not read it, or each change of the heap would empty
 * the cache. */
START_TEST(explored_once) {
    struct fixture *f = begin(USP_ARCH_X86_64, USP_OS_LINUX);
    struct explored explored = {.memory = &f->memory};
    const struct uspi_shortcuts shortcuts = {.rules = uspi_rule_cache_create(64, true, NULL),
                                             .explored = {read_explored, &explored}};
    ck_assert_ptr_nonnull(shortcuts.rules);
    CODE8(&f->memory, FUNCTION, /* sub rsp, 24; jmp INSIDE */ 0x48, 0x83, 0xec, 0x18, 0xe9, 0xf7, 1, 0, 0);
    CODE8(&f->memory, INSIDE, /* ud2 */ 0x0f, 0x0b);
    CODE8(&f->memory, CALLED - 5, /* call FUNCTION; ud2 */ 0xe8, 0xfb, 0xfb, 0xff, 0xff, 0x0f, 0x0b);
    CODE8(&f->memory, HEAP - 2, /* call rax */ 0xff, 0xd0, 0x90, 0x90);
    WORDS(&f->memory, STACK, 8, HEAP, 0, 0, CALLED, 0, 0, 0, 0);
    set_registers(f, INSIDE, STACK, 0);
    for (unsigned i = 0; i < 2; i++) {
        explored.at_start = 0;
        ck_assert_int_eq(uspi_unwind(&f->target, &f->registers, false, &shortcuts, &f->options, &f->stack), USP_OK);
        ck_assert_uint_ge(f->stack.count, 2);
        ck_assert_uint_eq(f->frames[1].pc, CALLED);
        ck_assert_uint_eq(f->frames[0].cfa, STACK + 32);
        ck_assert_int_eq(explored.at_start == 0, i > 0);
        ck_assert_uint_eq(explored.in_heap, 0);
    }
    free(shortcuts.rules);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("rules");
    add_tests(tests, usual_rules_survive, the_explorers_rules_survive, others_are_not_packed, sizes,
              what_a_rule_is_kept_under, a_place_that_is_written_for_ever, a_full_set, half_written,
              threads_never_see_half_a_rule, from_rule_to_rule, where_it_ends, a_mark_in_fp, an_outermost_rule,
              what_was_not_found, explored_once);
    return run_suite("rule_cache", tests);
}
