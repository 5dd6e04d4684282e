/* SPDX-License-Identifier: MIT */
/* Compares both instances of the walk template: on random stacks the fast local walk and the walk over a callback must
 * find the same frames. The random chains follow the caller's real frame record, so that all of usp_backtrace is
 * tested. */
#include <check.h>
#include <stdlib.h>
#include <unspool/unspool.h>

#include "arch/host.h"
#include "tests/support/suite.h"

#define WORDS  512
#define SITES  8
#define ROUNDS 20000

/* xorshift64: reproducible on every host. */
static uint64_t random_state = 0x2545f4914f6cdd1d;

static uint64_t random_bits(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Real return addresses, which the records of a plausible chain hold. */
static uintptr_t sites[SITES];

static __attribute__((noinline)) void learn_site(int i) {
    sites[i] = uspi_host_strip((uintptr_t)__builtin_return_address(0)) |
               ((uintptr_t)__builtin_return_address(0) & (USPI_HOST_ARCH == USP_ARCH_ARMV7));
    __asm__ volatile("");
}

static void learn_sites(void) {
    learn_site(0);
    learn_site(1);
    learn_site(2);
    learn_site(3);
    learn_site(4);
    learn_site(5);
    learn_site(6);
    learn_site(7);
}

/* Fills the words with records that mostly lead upwards. Some are misaligned, lead backwards or out of the stack, are
 * zero, or hold an address that is not a return address. Returns the first record. */
static uintptr_t random_chain(uintptr_t *words) {
    for (unsigned i = 0; i < WORDS; i++) words[i] = (uintptr_t)random_bits();
    unsigned at = (unsigned)(random_bits() % 32), first = at;
    for (;;) {
        unsigned next = at + 2 + (unsigned)(random_bits() % 12);
        words[at + 1] = sites[random_bits() % SITES];
        if (next + 2 > WORDS) {
            words[at] = 0;
            break;
        }
        words[at] = (uintptr_t)&words[next];
        switch (random_bits() % 200) {
        case 0: words[at] += (uintptr_t)(1 + random_bits() % (sizeof *words - 1)); break;
        case 1: words[at] = (uintptr_t)&words[random_bits() % (at + 1)]; break;
        case 2: words[at] = (uintptr_t)random_bits(); break;
        case 3: words[at + 1] = (uintptr_t)&words[0]; break;
        case 4: words[at + 1] = 0; break;
        case 5: words[at + 1] += 2; break;
        default: break;
        }
        at = next;
    }
    return (uintptr_t)&words[first];
}

struct outcome {
    int fast_count;
    void *fast[WORDS];
    struct usp_stack stack;
    struct usp_frame frames[WORDS];
};

/* Walks both ways from the same frame. Its record leads to the chain during both walks. */
static __attribute__((noinline)) void walk_both(uintptr_t first, struct outcome *o, int size) {
    uintptr_t *record = __builtin_frame_address(0);
    const uintptr_t kept = record[0];
    struct usp_unwind_options options;
    usp_unwind_options_init(&options);
    options.readers = USP_READER_FRAME_RECORD;
    usp_stack_init(&o->stack, o->frames, (uint32_t)size);
    __atomic_store_n(&record[0], first, __ATOMIC_SEQ_CST);
    o->fast_count = usp_backtrace(o->fast, size);
    usp_capture_self(&options, &o->stack);
    __atomic_store_n(&record[0], kept, __ATOMIC_SEQ_CST);
}

START_TEST(same_frames) {
    static struct outcome o;
    unsigned longest = 0;
    learn_sites();
    uint32_t sizes[] = {WORDS, 1, 2, 7};
    for (unsigned round = 0; round < ROUNDS; round++) {
        uintptr_t words[WORDS];
        uintptr_t first = random_chain(words);
        walk_both(first, &o, (int)sizes[round % 4]);
        ck_assert_int_ge(o.fast_count, 1);
        ck_assert_uint_eq(o.stack.count, (unsigned)o.fast_count);
        /* Element 0 lies in the caller: the same function, but after two different calls. */
        for (int i = 1; i < o.fast_count; i++) {
            ck_assert_msg(o.frames[i].pc == (uintptr_t)o.fast[i], "round %u, frame %d: %#llx, %p", round, i,
                          (unsigned long long)o.frames[i].pc, o.fast[i]);
        }
        if (o.stack.count > longest) longest = o.stack.count;
    }
    /* The chains must be long enough for a useful comparison. */
    ck_assert_uint_gt(longest, 40);
}
END_TEST

int main(void) {
    TCase *all = tcase_create("random stacks");
    if (USPI_HOST_RECORDS && usp_capture_self(NULL, &(struct usp_stack){0}) != USP_ERROR_UNSUPPORTED) {
        tcase_add_test(all, same_frames);
    }
    return run_suite("equivalence", all);
}
