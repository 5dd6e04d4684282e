/* SPDX-License-Identifier: MIT */
/* A scripted run loop and its monitor. The test decides what the main thread does, for how long, and when the whole
 * process does not run; the monitor looks when it asked to. Every report is recorded. Include it once in a program. */
#ifndef TESTS_MONITOR_SCRIPTED_LOOP_H
#define TESTS_MONITOR_SCRIPTED_LOOP_H

#include "lib/monitor/watching.h"
#include "tests/sampler/scripted_world.h"

#include <check.h>
#include <stdlib.h>

#define MAIN_ID   1u
#define LOOP_LEAF 0x10 /* where the main thread waits in its loop */

struct reported {
    char kind; /* 'b'egan, 'u'pdated, 'e'nded, 'k'illed */
    uint64_t id, duration, taken_off, samples, wall_start, at;
    uint32_t state, flags;
    usp_addr heaviest[4], first[4]; /* innermost first */
};

struct scripted_loop {
    struct scripted world;
    struct uspi_watching watching;
    struct usp_monitor_options options;
    uint64_t due;      /* the time of the monitor's next look; USPI_FOR_EVER: it sleeps */
    uint64_t lateness; /* by how much each look comes too late */
    bool is_watched;   /* false: the monitor is stopped */
    struct reported reported[512];
    unsigned count; /* of `reported`; counts on beyond its size */
    unsigned wakes; /* number of turns that had to wake the monitor */
    void (*in_callback)(struct scripted_loop *loop, char kind);
};

static struct scripted_loop loop;

static void note(char kind, const struct usp_hang *hang) {
    struct reported reported = {.kind = kind,
                                .id = hang->id,
                                .duration = hang->duration,
                                .taken_off = hang->taken_off,
                                .samples = hang->samples,
                                .wall_start = hang->wall_start,
                                .at = loop.world.now,
                                .state = hang->state,
                                .flags = hang->flags};
    struct usp_frame frames[16];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, 16);
    if (usp_profile_heaviest(hang->profile, 0, USP_PROFILE_WALL, &stack, NULL) == USP_OK) {
        for (unsigned i = 0; i < 4 && i < stack.count; i++) reported.heaviest[i] = frames[i].pc;
    }
    for (unsigned i = 0; hang->first != NULL && i < 4 && i < hang->first->count; i++) {
        reported.first[i] = hang->first->frames[i].pc;
    }
    if (loop.count < sizeof loop.reported / sizeof *loop.reported) loop.reported[loop.count] = reported;
    loop.count++;
    if (loop.in_callback != NULL) loop.in_callback(&loop, kind);
}

static void note_began(void *context, const struct usp_hang *hang) {
    (void)context;
    note('b', hang);
}
static void note_updated(void *context, const struct usp_hang *hang) {
    (void)context;
    note('u', hang);
}
static void note_ended(void *context, const struct usp_hang *hang) {
    (void)context;
    note('e', hang);
}
static void note_killed(void *context, const struct usp_hang *hang) {
    (void)context;
    note('k', hang);
}

static void loop_init(void) {
    memset(&loop, 0, sizeof loop);
    loop.world.now = 5000 * SECOND;
    loop.world.wall = UINT64_C(1700000000) * SECOND;
    usp_monitor_options_init(&loop.options);
    loop.options.began = note_began;
    loop.options.updated = note_updated;
    loop.options.ended = note_ended;
    loop.options.killed = note_killed;
    script_add(&loop.world, MAIN_ID, "main", LOOP_LEAF);
    script_add(&loop.world, 2, "worker", 0x900);
}

static void loop_start(void) {
    const struct uspi_world world = script_world(&loop.world);
    ck_assert_int_eq(uspi_watching_init(&loop.watching, &loop.options, &world), USP_OK);
    ck_assert_int_eq(uspi_watching_begin(&loop.watching), USP_OK);
    loop.is_watched = true;
    loop.due = loop.world.now;
}

static void loop_stop(void) {
    if (loop.is_watched) uspi_watching_end(&loop.watching);
    loop.is_watched = false;
}

static void loop_end(void) {
    loop_stop();
    uspi_watching_free(&loop.watching);
    ck_assert_uint_eq(loop.world.released, loop.world.listed);
}

static void look(bool woken) {
    if (loop.is_watched) loop.due = uspi_watching_look(&loop.watching, woken);
}

/* Lets time pass. The monitor looks whenever it is due. */
static void pass(uint64_t ns) {
    uint64_t end = loop.world.now + ns;
    while (loop.is_watched && loop.due != USPI_FOR_EVER && loop.due + loop.lateness <= end) {
        script_pass_to(&loop.world, loop.due + loop.lateness);
        look(false);
    }
    script_pass_to(&loop.world, end);
}

/* Lets time pass in which no thread runs: the process is suspended, or a debugger holds it. */
static void suspend(uint64_t ns) {
    loop.world.now += ns;
    loop.world.wall += ns;
}

/* Lets the machine sleep: the monotonic clock stands still, the time of day goes on. */
static void sleep_machine(uint64_t ns) { loop.world.wall += ns; }

/* Puts the main thread into a function, below two callers that every turn has. */
static void stand_in(usp_addr leaf) {
    const usp_addr frames[] = {leaf, 0x2000, 0x1000};
    struct scripted_thread *main_thread = script_find(&loop.world, MAIN_ID);
    script_stand(main_thread, frames, 3);
    /* The thread cannot get there without using the processor. */
    main_thread->cpu += 60000;
}

static void begin_turn(usp_addr leaf) {
    stand_in(leaf);
    if (!uspi_activity_begin(&loop.watching.activity, loop.world.now)) return;
    loop.wakes++;
    look(true);
}

static void end_turn_(enum uspi_doing doing) {
    stand_in(LOOP_LEAF);
    uspi_activity_end(&loop.watching.activity, loop.world.now, doing);
}

static void wait_in_loop(void) { end_turn_(USPI_WAITING); }

/* Makes a turn that spends `ns` in one function. */
static void turn(usp_addr leaf, uint64_t ns) {
    begin_turn(leaf);
    pass(ns);
    wait_in_loop();
}

/* Makes ordinary turns of 5 ms, 60 in a second. */
static void live(uint64_t ns) {
    uint64_t end = loop.world.now + ns;
    while (loop.world.now < end) {
        turn(0x100, 5 * MS);
        pass(11666667);
    }
}

static unsigned count_reported(char kind) {
    unsigned n = 0;
    for (unsigned i = 0; i < loop.count; i++) n += loop.reported[i].kind == kind;
    return n;
}

/* Checks that each hang begins once and ends once, with its updates in between, and that no other hang has its id. */
static void check_pairs(void) {
    uint64_t open = 0, last = 0;
    ck_assert_uint_le(loop.count, sizeof loop.reported / sizeof *loop.reported);
    for (unsigned i = 0; i < loop.count; i++) {
        const struct reported *reported = &loop.reported[i];
        if (reported->kind == 'k') continue;
        if (reported->kind == 'b') {
            ck_assert_uint_eq(open, 0);
            ck_assert_uint_gt(reported->id, last);
            open = last = reported->id;
            ck_assert_uint_eq(reported->state, USP_HANG_ONGOING);
        } else {
            ck_assert_uint_eq(reported->id, open);
            ck_assert_uint_ge(reported->duration, loop.reported[i - 1].duration);
            if (reported->kind == 'e') open = 0;
        }
    }
    ck_assert_uint_eq(open, 0);
}

static struct usp_monitor_statistics statistics(void) {
    struct usp_monitor_statistics s;
    uspi_watching_get_statistics(&loop.watching, &s);
    return s;
}

#endif
