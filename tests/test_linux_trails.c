/* SPDX-License-Identifier: MIT */
/* The fast walk along the trail of earlier ones (lib/trail.h): on stacks made by hand, that only what agrees is taken; on
 * real ones that differ each time, in many threads and in signal handlers, that the frames are those of a loop without it.
 */
#define _GNU_SOURCE 1
#include "lib/call_sites.h"
#include "lib/trail.h"
#include "tests/linux_threads.h"
#include "tests/sanitized.h"
#include "tests/suite.h"

#include <errno.h>
#include <signal.h>
#include <sys/time.h>

#if USPI_HAS_TRAILS

/* ---- a stack made by hand: record r at word 4 · r, its return address `site(r)` ---- */

#define RECORDS 40u

static _Alignas(16) uintptr_t stack[4 * RECORDS + 2];
static void *taken[RECORDS];
static struct uspi_trail trail;

static uintptr_t record(size_t r) { return (uintptr_t)&stack[4 * r]; }

static uintptr_t high(void) { return (uintptr_t)(stack + 4 * RECORDS); }

static uintptr_t site(size_t r) { return UINT64_C(0x10000) + 16 * r; }

static void make_stack(void) {
    memset(&trail, 0, sizeof trail);
    memset(taken, 0, sizeof taken);
    for (size_t r = 0; r < RECORDS; r++) {
        stack[4 * r] = r + 1 < RECORDS ? record(r + 1) : 0;
        stack[4 * r + 1] = site(r);
        if (!uspi_call_site_cached(site(r))) uspi_call_site_remember(site(r), false);
    }
    uspi_trail_review(&trail, record(0), high(), RECORDS, 0);
    ck_assert_uint_eq(atomic_load(&trail.version), 2);
}

/* Follows the trail from record r. Returns the number taken, which are the right ones, and where that ended. */
static size_t follow(size_t r, size_t room, uintptr_t *next) {
    struct uspi_guide guide = uspi_trail_begin(&trail, high());
    *next = uspi_trail_seek(&guide, record(r));
    if (*next != record(r)) return 0;
    size_t n = (size_t)(uspi_trail_follow(&guide, next, taken, taken + room) - taken);
    for (size_t i = 0; i < n; i++) ck_assert_uint_eq((uintptr_t)taken[i], site(r + i));
    for (size_t i = n; i < RECORDS; i++) ck_assert_ptr_null(taken[i]);
    ck_assert_uint_eq(*next, record(r + n));
    return n;
}

START_TEST(what_agrees_is_taken) {
    uintptr_t next;
    make_stack();
    /* The last record leads nowhere, so that the trail has none for it; what is left of a step is not taken. */
    ck_assert_uint_eq(follow(0, RECORDS, &next), (RECORDS - 1) / USPI_TRAIL_STEP * USPI_TRAIL_STEP);
    make_stack();
    ck_assert_uint_eq(follow(7, RECORDS, &next), (RECORDS - 8) / USPI_TRAIL_STEP * USPI_TRAIL_STEP);
    for (size_t room = 0; room < 10; room++) {
        make_stack();
        ck_assert_uint_eq(follow(3, room, &next), room / USPI_TRAIL_STEP * USPI_TRAIL_STEP);
    }
}
END_TEST

/* _i: the word of the stack that is another one now. */
START_TEST(what_differs_is_not) {
    uintptr_t next;
    size_t word = (size_t)_i % 2, r = (size_t)_i / 2;
    make_stack();
    stack[4 * r + word] += word == 0 ? 4 * sizeof stack[0] : 16;
    size_t n = follow(0, RECORDS, &next);
    ck_assert_uint_eq(n, r / USPI_TRAIL_STEP * USPI_TRAIL_STEP);
}
END_TEST

/* While it is laid, when it has been laid anew since, and for another stack. */
START_TEST(another_version_is_not_followed) {
    uintptr_t next;
    make_stack();
    atomic_store(&trail.version, 3);
    ck_assert_uint_eq(follow(0, RECORDS, &next), 0);
    atomic_store(&trail.version, 2);
    struct uspi_guide guide = uspi_trail_begin(&trail, high());
    ck_assert_uint_eq(uspi_trail_seek(&guide, record(0)), record(0));
    atomic_store(&trail.version, 4);
    next = record(0);
    ck_assert_ptr_eq(uspi_trail_follow(&guide, &next, taken, taken + RECORDS), taken);
    ck_assert_uint_eq(next, record(0));
    guide = uspi_trail_begin(&trail, high() + 4096);
    ck_assert_uint_eq(uspi_trail_seek(&guide, 0), UINTPTR_MAX);
}
END_TEST

/* What no trail may name: a record that does not lie above the one before, out of the stack, or at no multiple of a slot, and
 * one whose return address is none. */
START_TEST(a_trail_ends_where_the_chain_does) {
    const uintptr_t bad[] = {
        record(9), record(10),  record(10) + sizeof stack[0],  high() - sizeof stack[0], high(), record(12) + 4, 1,
        0,         UINTPTR_MAX, record(12) | UINT64_C(1) << 60};
    for (size_t i = 0; i <= ELEMENTS(bad); i++) {
        make_stack();
        if (i < ELEMENTS(bad)) {
            stack[4 * 10] = bad[i];
        } else {
            stack[4 * 10 + 1] = (uintptr_t)stack;
        }
        atomic_store(&trail.strayed, 0);
        uspi_trail_review(&trail, record(0), high(), RECORDS, 0);
        ck_assert_uint_eq(atomic_load(&trail.count), 11);
        ck_assert_uint_eq(atomic_load(&trail.entries[10].previous), record(10));
    }
}
END_TEST

/* A trail that is of no use is left alone but for a walk now and then, and taken up again when it is of use. */
START_TEST(a_useless_trail_is_left_alone) {
    unsigned promising = 0;
    make_stack();
    for (unsigned i = 0; i < 320; i++) {
        promising += uspi_trail_is_promising(&trail, high());
        uspi_trail_review(&trail, record(0), high(), RECORDS, 0);
    }
    ck_assert_uint_ge(promising, 20);
    ck_assert_uint_le(promising, 40);
    /* It was laid anew five times. */
    ck_assert_uint_eq(atomic_load(&trail.version), 2 * (1 + 320 / 64));
    uspi_trail_review(&trail, record(0), high(), RECORDS, RECORDS);
    ck_assert(uspi_trail_is_promising(&trail, high()));
    ck_assert(!uspi_trail_is_promising(&trail, high() + 4096));
}
END_TEST

START_TEST(stacks_with_one_hash_have_two_trails) {
    const uintptr_t first = 0x7f0000001000;
    uintptr_t second = first, third;
    struct uspi_trail *one = uspi_trail_of(first);
    do second += 4096;
    while (uspi_trail_of(second) != one);
    third = second;
    do third += 4096;
    while (uspi_trail_of(third) != one);
    atomic_store(&one->high, first);
    struct uspi_trail *other = uspi_trail_of(second);
    ck_assert_ptr_ne(other, one);
    atomic_store(&other->high, second);
    ck_assert_ptr_eq(uspi_trail_of(first), one);
    ck_assert_ptr_eq(uspi_trail_of(second), other);
    /* It may take what another one had. */
    ck_assert_ptr_eq(uspi_trail_of(third), one);
}
END_TEST

#endif

/* ---- real stacks that differ each time ---- */

#define FRAMES  512
#define THREADS 100u /* more than there are trails */
#define WALKS   (USP_SANITIZED ? 300u : 3000u)

struct wanderer {
    uint32_t path;
    uintptr_t top; /* the record of the function that calls the first `wander` */
    unsigned walks;
};

static _Thread_local struct wanderer *volatile me;
static _Atomic(unsigned) walks_in_handlers;

/* The chain by hand, up to the record that every walk has. */
static int walk_by_hand(uintptr_t at, uintptr_t top, void **to) {
    int n = 0;
    for (; at <= top; at = *(const uintptr_t *)at) {
        to[n++] = (void *)uspi_host_strip(((const uintptr_t *)at)[1]);
        if (at == top) return n;
    }
    ck_abort_msg("the test's own chain is broken");
}

KEPT static void expect_the_chain(uintptr_t top) {
    void *fast[FRAMES], *slow[FRAMES];
    int n = usp_backtrace(fast, FRAMES);
    int m = walk_by_hand((uintptr_t)__builtin_frame_address(0), top, slow);
    ck_assert_int_gt(n, m);
    ck_assert_int_eq(memcmp(fast + 1, slow, (size_t)m * sizeof slow[0]), 0);
    /* With less room than there are frames. */
    int room = 1 + (int)(me->path >> 8) % n;
    void *last = fast[room - 1];
    ck_assert_int_eq(usp_backtrace(fast, room), room);
    if (room > 1) ck_assert_ptr_eq(fast[room - 1], last);
}

static unsigned next(struct wanderer *w, unsigned below) {
    w->path = w->path * 1664525u + 1013904223u;
    return (w->path >> 16) % below;
}

/* Frames of three sizes and several call sites, in an order that is mostly the last one's far out and another one further in.
 */
KEPT static void wander(unsigned depth) {
    volatile char wide[48];
    wide[0] = 0;
    if (depth == 0) {
        expect_the_chain(me->top);
    } else if (next(me, 3) == 0) {
        volatile char wider[96];
        wider[next(me, 96)] = 1;
        wander(depth - 1);
        wide[0] = wider[0];
    } else if (next(me, 2) == 0) {
        wander(depth - 1);
    } else {
        wander(depth - 1);
        wide[1] = 1;
    }
    atomic_fetch_add(&standing_sink, (unsigned char)wide[0]);
}

KEPT static void wander_far_out(unsigned depth, unsigned further) {
    if (depth > 0) {
        wander_far_out(depth - 1, further);
    } else {
        wander(further);
    }
    atomic_fetch_add(&standing_sink, 1);
}

static void *walk_often(void *context) {
    struct wanderer *w = context;
    w->top = (uintptr_t)__builtin_frame_address(0);
    me = w;
    ck_assert_int_eq(usp_thread_prepare(), USP_OK);
    for (unsigned i = 0; i < w->walks; i++) {
        /* Sometimes the very same stack again and again. */
        uint32_t path = w->path;
        unsigned far_out = next(w, 60), further = next(w, 60), times = next(w, 4) == 0 ? 80 : 1;
        for (unsigned k = 0; k < times; k++) {
            if (times > 1) w->path = path;
            wander_far_out(far_out, further);
        }
        if (times > 1) w->path = path + 12345;
    }
    me = NULL;
    return NULL;
}

static void walk_in_handler(int signal) {
    void *fast[FRAMES];
    (void)signal;
    int error = errno;
    /* Whatever was interrupted, a walk that lays a trail too. */
    if (me != NULL && usp_backtrace(fast, FRAMES) > 2) atomic_fetch_add(&walks_in_handlers, 1);
    errno = error;
}

#if USPI_HAS_TRAILS
static unsigned times_laid(void) {
    unsigned n = 0;
    for (unsigned i = 0; i < USPI_TRAILS; i++) n += atomic_load(&uspi_trails[i].version) / 2;
    return n;
}
#else
static unsigned times_laid(void) { return THREADS; }
#endif

/* _i: whether handlers walk meanwhile. */
START_TEST(stacks_that_differ_each_time) {
    pthread_t threads[THREADS];
    static struct wanderer wanderers[THREADS];
    unsigned count = _i == 2 ? THREADS : 1, walks = WALKS / (_i == 2 ? 10 : 1);
    struct sigaction action = {.sa_handler = walk_in_handler, .sa_flags = SA_RESTART};
    struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
    if (_i > 0) {
        ck_assert_int_eq(sigaction(SIGPROF, &action, NULL), 0);
        ck_assert_int_eq(setitimer(ITIMER_PROF, &often, NULL), 0);
    }
    for (unsigned i = 0; i < count; i++) {
        wanderers[i] = (struct wanderer){.path = i * 7919 + (unsigned)_i, .walks = walks};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, walk_often, &wanderers[i]), 0);
    }
    for (unsigned i = 0; i < count; i++) ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
    setitimer(ITIMER_PROF, &never, NULL);
    ck_assert_uint_gt(times_laid(), count / 4);
    /* ThreadSanitizer puts signals off until a system call. */
    if (_i > 0 && !USP_SANITIZED) ck_assert_uint_gt(atomic_load(&walks_in_handlers), 0);
}
END_TEST

#if USPI_HAS_TRAILS

/* A walk along a trail that is wrong in each of its words: the frames are right. */
START_TEST(a_wrong_trail_changes_nothing) {
    static struct wanderer w = {.path = 1, .walks = 1};
    w.top = (uintptr_t)__builtin_frame_address(0);
    me = &w;
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    for (unsigned i = 0; i < 2 * 64 * 2; i++) {
        w.path = 1;
        wander_far_out(50, 20);
        struct uspi_trail *own = NULL;
        for (unsigned k = 0; k < USPI_TRAILS; k++) {
            if (atomic_load(&uspi_trails[k].version) != 0) own = &uspi_trails[k];
        }
        ck_assert_ptr_nonnull(own);
        ck_assert_uint_gt(atomic_load(&own->count), 64);
        struct uspi_trail_entry *entry = &own->entries[1 + i % 64];
        _Atomic(uintptr_t) *word = i / 64 % 2 == 0 ? &entry->previous : &entry->return_address;
        uintptr_t right = atomic_load(word);
        /* Another record of this stack, or another call site: nothing that has to be noticed but for being wrong. */
        atomic_store(word, i / 64 % 2 == 0 ? atomic_load(&own->entries[2 + i % 64].previous) : site(1));
        w.path = 1;
        wander_far_out(50, 20);
        atomic_store(word, right);
    }
    me = NULL;
}
END_TEST

#endif

int main(void) {
    TCase *by_hand = tcase_create("by hand"), *real = tcase_create("real stacks");
    tcase_set_timeout(real, 240);
#if USPI_HAS_TRAILS
    add_tests(by_hand, what_agrees_is_taken, another_version_is_not_followed, a_trail_ends_where_the_chain_does,
              a_useless_trail_is_left_alone, stacks_with_one_hash_have_two_trails);
    add_loop_tests(by_hand, 0, (int)(2 * RECORDS), what_differs_is_not);
    add_tests(real, a_wrong_trail_changes_nothing);
#endif
    if (USPI_HOST_RECORDS) add_loop_tests(real, 0, 3, stacks_that_differ_each_time);
    return run_suite("linux_trails", by_hand, real);
}
