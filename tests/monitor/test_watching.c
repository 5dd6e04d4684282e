/* SPDX-License-Identifier: MIT */
/* The monitor in a scripted world: the failures that monitors had in the field, each as a trace; a thousand hangs; a hundred with a
 * culprit; what a healthy loop costs; the file of a process that was killed; and that each allocation may fail. */
#include "tests/monitor/scripted_loop.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/suite.h"

#include <unistd.h>

static uint64_t seed;

static uint64_t random_below(uint64_t n) {
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (seed >> 20) % n;
}

static void begin_script(void) {
    seed = 1;
    loop_init();
}

static void end_script(void) {
    loop_end();
    check_pairs();
}

/* Not one hang. */
static void expect_none(void) { ck_assert_uint_eq(loop.count, 0); }

/* One hang from its beginning to its end, of that duration, but for an error of so much. */
static void expect_one_within(uint64_t duration, uint64_t error) {
    ck_assert_uint_eq(count_told('b'), 1);
    ck_assert_uint_eq(count_told('e'), 1);
    const struct told *last = &loop.told[loop.count - 1];
    ck_assert_uint_ge(last->duration + error, duration);
    ck_assert_uint_le(last->duration, duration + error);
    ck_assert_uint_eq(last->state, USP_HANG_RECOVERED);
}

/* An error of less than a tick. */
static void expect_one(uint64_t duration) { expect_one_within(duration, loop.options.interval); }

/* ---- the traces: each a report from the field ---- */

/* A background delivery keeps the process alive while the main run loop sleeps in its own wait, for 2 to 816 s: "hangs" with idle
 * stacks (sentry-cocoa 8899, 8317). */
START_TEST(background_delivery_while_the_loop_waits) {
    loop_start();
    live(2 * SECOND);
    pass(816 * SECOND);
    live(SECOND);
    for (unsigned i = 0; i < 20; i++) {
        pass(2 * SECOND + i * SECOND);
        turn(0x100, MS);
    }
    expect_none();
}
END_TEST

static bool stands_in_loop(void *context, const struct usp_stack *stack) {
    (void)context;
    return stack->frames[0].pc == LOOP_LEAF;
}

/* The same where no call says that the loop waits: a mode without an observer. The stack tells. A hang in such a mode is found. */
START_TEST(waiting_in_a_mode_without_an_observer) {
    loop.options.is_waiting = stands_in_loop;
    loop_start();
    live(SECOND);
    begin_turn(0x100);
    pass(10 * MS);
    stand_in(LOOP_LEAF);
    pass(600 * SECOND);
    expect_none();
    ck_assert_uint_gt(statistics().excused, 0);
    /* It is not disturbed again and again. */
    ck_assert_uint_le(script_find(&loop.world, MAIN_ID)->captures, 40);
    stand_in(0x300);
    pass(400 * MS);
    ck_assert_uint_eq(count_told('b'), 1);
    stand_in(LOOP_LEAF);
    pass(10 * SECOND);
    ck_assert_uint_eq(count_told('e'), 1);
    wait_in_loop();
    pass(SECOND);
    ck_assert_uint_eq(loop.count, 2);
    ck_assert_uint_eq(loop.told[0].heaviest[0], 0x300);
}
END_TEST

/* The one stack of the report shows where the hang has moved on to, not what took the time ("stack may be drifting":
 * sentry-dart 1284, bugsnag-cocoa 1424). */
START_TEST(stack_taken_too_late) {
    loop_start();
    live(SECOND);
    begin_turn(0x666);
    pass(900 * MS);
    stand_in(0x700);
    pass(100 * MS);
    wait_in_loop();
    pass(SECOND);
    expect_one(SECOND);
    const struct told *end = &loop.told[loop.count - 1];
    ck_assert_uint_eq(end->heaviest[0], 0x666);
    ck_assert_uint_eq(end->first[0], 0x666);
    ck_assert_uint_ge(end->samples, 40);
}
END_TEST

/* The culprit has already gone when the hang is noticed: the first sample, taken when the turn was late, has it. */
START_TEST(what_it_was_doing_when_it_began) {
    loop_start();
    live(SECOND);
    begin_turn(0x666);
    pass(150 * MS);
    stand_in(0x700);
    pass(2 * SECOND);
    wait_in_loop();
    pass(SECOND);
    ck_assert_uint_eq(loop.told[0].first[0], 0x666);
    ck_assert_uint_eq(loop.told[loop.count - 1].first[0], 0x666);
    ck_assert_uint_eq(loop.told[loop.count - 1].heaviest[0], 0x700);
}
END_TEST

/* The monitor's thread does not run for some time, and a monitor that did not notice would take its own delay for the main thread's
 * (perfsuite-ios 25). The turn of 150 to 250 ms is late, but no hang; the delay is measured. */
START_TEST(monitor_is_late) {
    uint64_t delays = 0;
    loop_start();
    for (unsigned i = 0; i < 50; i++) {
        live(100 * MS);
        begin_turn(0x100);
        pass(150 * MS);
        uint64_t delay = 300 * MS + random_below(20 * SECOND);
        delays += delay;
        suspend(delay);
        pass(random_below(60 * MS));
        wait_in_loop();
        pass(500 * MS);
    }
    expect_none();
    ck_assert_uint_eq(statistics().late, 50);
    ck_assert_msg(statistics().taken_off + 50 * loop.options.interval >= delays,
                  "delays of %llu ms, taken off: %llu ms", (unsigned long long)(delays / MS),
                  (unsigned long long)(statistics().taken_off / MS));
}
END_TEST

/* The turn ends while the monitor is late: its end is known, however late the monitor is. */
START_TEST(turn_ends_while_the_monitor_is_late) {
    loop_start();
    for (unsigned i = 0; i < 50; i++) {
        live(100 * MS);
        begin_turn(0x100);
        pass(random_below(99 * MS));
        uint64_t delay = 300 * MS + random_below(20 * SECOND);
        script_pass(&loop.world, 3 * MS);
        wait_in_loop();
        script_pass(&loop.world, delay);
        look(false);
        begin_turn(0x100);
        pass(5 * MS);
        wait_in_loop();
    }
    expect_none();
}
END_TEST

/* A monitor that is late at each look still finds hangs. Less than an interval is counted; more is taken off, and told. */
START_TEST(monitor_on_a_busy_machine) {
    loop.lateness = _i == 0 ? 15 * MS : 45 * MS;
    loop_start();
    live(SECOND);
    turn(0x666, 3 * SECOND);
    pass(SECOND);
    if (_i == 0) {
        expect_one(3 * SECOND);
        return;
    }
    const struct told *end = &loop.told[loop.count - 1];
    expect_one_within(SECOND, 500 * MS);
    ck_assert_uint_ge(end->duration + end->taken_off + loop.options.interval + loop.lateness, 3 * SECOND);
    ck_assert_uint_le(end->duration + end->taken_off, 3 * SECOND + loop.options.interval + loop.lateness);
}
END_TEST

/* Breakpoints: everything stops, or the main thread alone, for as long as a person thinks (sentry-cocoa 8234). */
START_TEST(debugger_attached) {
    loop_start();
    live(SECOND);
    loop.world.is_traced = true;
    begin_turn(0x100);
    pass(20 * MS);
    suspend(300 * SECOND);
    pass(20 * MS);
    wait_in_loop();
    live(SECOND);
    expect_none();
    /* Only the main thread is held. */
    turn(0x100, 60 * SECOND);
    live(SECOND);
    expect_none();
    ck_assert_uint_gt(statistics().excused, 0);
    /* The debugger detaches: hangs are hangs again. */
    loop.world.is_traced = false;
    turn(0x666, SECOND);
    pass(SECOND);
    expect_one(SECOND);
}
END_TEST

START_TEST(debugger_attached_but_hangs_wanted) {
    loop.options.flags = USP_MONITOR_WHILE_TRACED;
    loop_start();
    live(SECOND);
    loop.world.is_traced = true;
    turn(0x666, SECOND);
    pass(SECOND);
    expect_one(SECOND);
}
END_TEST

/* A modal loop inside a turn, which tracks a finger for a minute: it waits and turns by itself. */
START_TEST(nested_run_loops_and_modes) {
    loop_start();
    live(SECOND);
    begin_turn(0x100);
    pass(20 * MS);
    for (unsigned i = 0; i < 600; i++) {
        end_turn_(USPI_WAITING);
        pass(50 * MS);
        begin_turn(0x200);
        pass(50 * MS);
    }
    /* The inner loop has ended: the outer turn goes on. */
    begin_turn(0x100);
    pass(20 * MS);
    wait_in_loop();
    live(SECOND);
    expect_none();
    /* A hang inside the inner loop is one. */
    begin_turn(0x100);
    end_turn_(USPI_WAITING);
    pass(SECOND);
    begin_turn(0x666);
    pass(700 * MS);
    end_turn_(USPI_WAITING);
    pass(SECOND);
    begin_turn(0x100);
    pass(MS);
    wait_in_loop();
    pass(SECOND);
    expect_one(700 * MS);
    ck_assert_uint_eq(loop.told[0].heaviest[0], 0x666);
}
END_TEST

static unsigned pings_received;
static bool loop_is_stuck;

/* The loop gets the ping as soon as it gets round to it: a millisecond later. */
static void receive_ping(void *context) {
    (void)context;
    pings_received++;
    if (loop_is_stuck) return;
    script_find(&loop.world, MAIN_ID)->cpu += 20000;
    uspi_watching_answer(&loop.watching);
}

/* No run loop on the main thread: a server's loop, a command's, the main queue alone. It is asked, and not while it is idle. */
START_TEST(no_run_loop_at_all) {
    loop.options.ping = receive_ping;
    pings_received = 0;
    loop_is_stuck = false;
    loop_start();
    pass(SECOND);
    unsigned before = pings_received;
    ck_assert_uint_ge(before, 1);
    ck_assert_uint_le(before, 4);
    /* An hour of idleness does not wake the main thread. */
    pass(3600 * SECOND);
    ck_assert_uint_eq(pings_received, before);
    /* It works in between. */
    for (unsigned i = 0; i < 100; i++) {
        script_find(&loop.world, MAIN_ID)->cpu += MS;
        pass(200 * MS);
    }
    ck_assert_uint_ge(pings_received, before + 50);
    expect_none();
    /* It is stuck. */
    loop_is_stuck = true;
    stand_in(0x666);
    pass(2 * SECOND);
    stand_in(LOOP_LEAF);
    loop_is_stuck = false;
    uspi_watching_answer(&loop.watching);
    pass(SECOND);
    ck_assert_uint_eq(count_told('b'), 1);
    const struct told *end = &loop.told[loop.count - 1];
    ck_assert_int_eq(end->kind, 'e');
    /* From the ping on, which comes at the next look. */
    ck_assert_uint_ge(end->duration, 2 * SECOND - loop.options.late);
    ck_assert_uint_le(end->duration, 2 * SECOND);
    ck_assert_uint_eq(end->heaviest[0], 0x666);
}
END_TEST

/* The same by what was learned of the run loop: it waits in 0x10, which 0x2000 calls, and that is called by 0x1000. */
START_TEST(waiting_as_was_learned) {
    loop_start();
    loop.watching.loop_wait.system = (struct uspi_text_range){0x10, 0x11};
    loop.watching.loop_wait.loop = (struct uspi_text_range){0x1000, 0x3000};
    loop.watching.loop_wait.callers[0] = 0x1000;
    loop.watching.loop_wait.count = 1;
    loop.watching.loop_wait.is_learned = true;
    live(SECOND);
    begin_turn(0x100);
    pass(10 * MS);
    stand_in(LOOP_LEAF);
    pass(600 * SECOND);
    expect_none();
    ck_assert_uint_ge(statistics().excused, 1);
    wait_in_loop();
    turn(0x666, 500 * MS);
    pass(SECOND);
    ck_assert_uint_eq(count_told('b'), 1);
}
END_TEST

/* Nothing serves the main queue, or not yet: a ping that was never answered is no hang. */
START_TEST(no_answer_yet) {
    loop.options.ping = receive_ping;
    pings_received = 0;
    loop_is_stuck = true;
    loop_start();
    pass(100 * SECOND);
    ck_assert_uint_eq(pings_received, 1);
    expect_none();
    uspi_watching_answer(&loop.watching);
    loop_is_stuck = false;
    pass(SECOND);
    expect_none();
}
END_TEST

/* A queue whose work runs on any thread: it is asked although the main thread never runs, and its hangs have no samples. */
START_TEST(queue_without_a_thread) {
    loop.options.ping = receive_ping;
    loop.options.flags = USP_MONITOR_QUEUE;
    pings_received = 0;
    loop_is_stuck = false;
    loop_start();
    pass(10 * SECOND);
    ck_assert_uint_ge(pings_received, 90);
    ck_assert_uint_le(pings_received, 101);
    expect_none();
    loop_is_stuck = true;
    pass(2 * SECOND);
    loop_is_stuck = false;
    uspi_watching_answer(&loop.watching);
    pass(SECOND);
    ck_assert_uint_eq(count_told('b'), 1);
    const struct told *end = &loop.told[loop.count - 1];
    ck_assert_int_eq(end->kind, 'e');
    ck_assert_uint_ge(end->duration, 2 * SECOND - loop.options.late);
    ck_assert_uint_le(end->duration, 2 * SECOND);
    ck_assert_uint_eq(end->samples, 0);
    ck_assert_uint_eq(script_find(&loop.world, MAIN_ID)->captures, 0);
}
END_TEST

/* The launch of an app takes 20 s before its loop runs for the first time; the monitor is started early. */
START_TEST(app_launch_before_the_first_turn) {
    loop_start();
    stand_in(0x100);
    pass(20 * SECOND);
    expect_none();
    turn(0x100, 5 * MS);
    live(SECOND);
    expect_none();
    turn(0x666, SECOND);
    pass(SECOND);
    expect_one(SECOND);
}
END_TEST

/* The clock of the day is set, or the machine sleeps for a night, in the middle of a turn and between turns: no decision is made by
 * that clock. */
START_TEST(clock_changes_and_sleep) {
    loop_start();
    for (unsigned i = 0; i < 40; i++) {
        live(50 * MS);
        if (i % 2 == 0) begin_turn(0x100);
        pass(random_below(60 * MS));
        if (i % 4 < 2) loop.world.wall = random_below(UINT64_MAX / 2);
        if (i % 4 >= 2) sleep_machine(30000 * SECOND);
        pass(random_below(20 * MS));
        wait_in_loop();
    }
    expect_none();
    loop.world.wall = UINT64_C(1800000000) * SECOND;
    uint64_t wall = loop.world.wall;
    begin_turn(0x666);
    pass(SECOND);
    /* Set back by an hour in the hang: neither its duration nor its beginning changes. */
    loop.world.wall -= 3600 * SECOND;
    pass(SECOND);
    wait_in_loop();
    pass(SECOND);
    expect_one(2 * SECOND);
    ck_assert_uint_eq(loop.told[loop.count - 1].wall_start, wall);
}
END_TEST

/* What the program's function does with a report while the watched thread goes on. */
static void report_takes_300_ms(struct scripted_loop *l, char kind) {
    if (kind == 'b') script_pass(&l->world, 300 * MS);
}

/* A function that symbolicates for long: its time is time of the hang, and nothing is taken off. The hang becomes severe in time. */
START_TEST(report_takes_long) {
    loop.in_callback = report_takes_300_ms;
    loop.options.severe = 700 * MS;
    loop_start();
    live(SECOND);
    turn(0x666, 800 * MS);
    pass(SECOND);
    expect_one(800 * MS);
    ck_assert_msg(loop.told[loop.count - 1].taken_off == 0, "the monitor took its own work off the hang");
    ck_assert_msg(count_told('u') == 1 && loop.told[1].duration <= 720 * MS,
                  "the hang was not reported as severe in time");
}
END_TEST

static void turn_ends_in_report(struct scripted_loop *l, char kind) {
    if (kind != 'b') return;
    script_pass(&l->world, 700 * MS);
    wait_in_loop();
    script_pass(&l->world, 100 * MS);
    begin_turn(0x100);
    script_pass(&l->world, 20 * MS);
}

/* The turn ends while the report is made, and another one begins: each is as long as it was. */
START_TEST(turn_ends_while_it_is_reported) {
    loop.in_callback = turn_ends_in_report;
    loop_start();
    live(SECOND);
    begin_turn(0x666);
    pass(250 * MS);
    loop.in_callback = NULL;
    pass(20 * MS);
    wait_in_loop();
    live(SECOND);
    expect_one(950 * MS);
    ck_assert_uint_eq(statistics().late, 1);
}
END_TEST

static void turn_begins_in_last_report(struct scripted_loop *l, char kind) {
    if (kind != 'e' || count_told('e') > 1) return;
    begin_turn(0x667);
    script_pass(&l->world, 300 * MS);
}

/* The function takes long over the end of a hang, and the next hang begins meanwhile. */
START_TEST(hang_begins_while_another_is_reported) {
    loop.in_callback = turn_begins_in_last_report;
    loop_start();
    live(SECOND);
    turn(0x666, 400 * MS);
    pass(20 * MS + 300 * MS);
    wait_in_loop();
    pass(SECOND);
    ck_assert_uint_eq(count_told('e'), 2);
    const struct told *end = &loop.told[loop.count - 1];
    ck_assert_msg(end->duration >= 300 * MS - loop.options.interval && end->duration <= 320 * MS,
                  "the second hang is told as %llu ms long", (unsigned long long)(end->duration / MS));
}
END_TEST

static void suspended_in_report(struct scripted_loop *l, char kind) {
    if (kind == 'b') suspend(1000 * SECOND);
    (void)l;
}

/* The process is suspended while the program's function runs: no more than `update` of that is counted. */
START_TEST(suspended_while_it_is_reported) {
    loop.in_callback = suspended_in_report;
    loop_start();
    live(SECOND);
    turn(0x666, 500 * MS);
    pass(2 * SECOND);
    expect_one_within(500 * MS, loop.options.update + loop.options.interval);
    ck_assert_uint_ge(loop.told[loop.count - 1].taken_off, 998 * SECOND);
}
END_TEST

static void killed_takes_400_ms(struct scripted_loop *l, char kind) {
    if (kind != 'k') return;
    begin_turn(0x667);
    script_pass(&l->world, 400 * MS);
}

/* Where threads cannot be captured (watchOS, Rosetta): the duration alone. */
START_TEST(no_thread_state) {
    script_find(&loop.world, MAIN_ID)->status = USP_ERROR_UNSUPPORTED;
    loop_start();
    live(SECOND);
    turn(0x666, 700 * MS);
    pass(SECOND);
    expect_one(700 * MS);
    ck_assert_uint_eq(loop.told[0].samples, 0);
}
END_TEST

/* An extension without a run loop never reports a turn. */
START_TEST(extension_without_a_run_loop) {
    loop_start();
    for (unsigned i = 0; i < 100; i++) {
        stand_in(0x100 + i);
        pass(10 * SECOND);
    }
    expect_none();
    ck_assert_uint_le(statistics().looks, 20);
    ck_assert_uint_eq(script_find(&loop.world, MAIN_ID)->captures, 0);
}
END_TEST

/* One hang, many reports: duplicates. */
START_TEST(one_hang_one_id) {
    loop_start();
    live(SECOND);
    turn(0x666, 30 * SECOND);
    live(SECOND);
    turn(0x667, 400 * MS);
    live(SECOND);
    ck_assert_uint_eq(count_told('b'), 2);
    ck_assert_uint_eq(count_told('e'), 2);
    /* Once a second, and when it became severe. */
    ck_assert_uint_ge(count_told('u'), 28);
    ck_assert_uint_le(count_told('u'), 32);
    for (unsigned i = 0; i < loop.count; i++) {
        ck_assert_uint_eq(loop.told[i].id, i + 2 < loop.count ? 1 : 2);
        bool is_severe = (loop.told[i].flags & USP_HANG_SEVERE) != 0;
        ck_assert_int_eq(is_severe, loop.told[i].duration >= 2 * SECOND);
    }
}
END_TEST

/* The app was suspended by the system in the middle of a turn, between turns, before the monitor woke up, several times, and
 * for up to 25 hours (sentry-cocoa 2643, 4947; matrix 288; OneSignal 2676). */
START_TEST(suspended) {
    loop_start();
    for (unsigned i = 0; i < 300; i++) {
        uint64_t away = 300 * MS + random_below((i % 10 == 0 ? 90000 : 30) * SECOND);
        switch (i % 5) {
        case 0: /* in a turn */
            begin_turn(0x100);
            pass(random_below(90 * MS));
            suspend(away);
            pass(random_below(9 * MS));
            wait_in_loop();
            break;
        case 1: /* while it waits */
            live(20 * MS);
            suspend(away);
            live(20 * MS);
            break;
        case 2: /* after the monitor went to sleep */
            pass(3 * SECOND);
            suspend(away);
            turn(0x100, 50 * MS);
            break;
        case 3: /* between the beginning of the turn that wakes the monitor and the monitor's look */
            pass(3 * SECOND);
            stand_in(0x100);
            ck_assert(uspi_activity_begin(&loop.watching.activity, loop.world.now));
            suspend(away);
            look(true);
            pass(50 * MS);
            wait_in_loop();
            break;
        default: /* in pieces */
            begin_turn(0x100);
            for (unsigned k = 0; k < 4; k++) {
                pass(random_below(20 * MS));
                suspend(away / 4 + 100 * MS);
            }
            pass(MS);
            wait_in_loop();
        }
        pass(random_below(300 * MS));
    }
    expect_none();
}
END_TEST

/* A hang during which the process was suspended: the time in between is taken off, and the report says so. */
START_TEST(suspended_in_a_hang) {
    loop_start();
    live(SECOND);
    begin_turn(0x666);
    pass(400 * MS);
    suspend(1000 * SECOND);
    pass(400 * MS);
    suspend(500 * SECOND);
    pass(200 * MS);
    wait_in_loop();
    pass(SECOND);
    /* The moment between two looks at which a suspension began is not known: each adds an error of a tick. */
    expect_one_within(SECOND, 2 * loop.options.interval);
    const struct told *end = &loop.told[loop.count - 1];
    ck_assert_uint_ge(end->taken_off, 1499 * SECOND);
    ck_assert_uint_le(end->taken_off, 1501 * SECOND);
    /* Not severe: it did not take so long. */
    ck_assert_uint_eq(end->flags, 0);
}
END_TEST

/* The monitor switches itself off, or is switched off, in the middle of a hang. */
START_TEST(stopped_in_a_hang) {
    loop_start();
    live(SECOND);
    begin_turn(0x666);
    pass(600 * MS);
    loop_stop();
    ck_assert_int_eq(loop.told[loop.count - 1].kind, 'e');
    ck_assert_uint_eq(loop.told[loop.count - 1].state, USP_HANG_ABANDONED);
    pass(SECOND);
    /* Started again, still in the same turn, which is not this run's. */
    ck_assert_int_eq(uspi_watching_begin(&loop.watching), USP_OK);
    loop.is_watched = true;
    loop.due = loop.world.now;
    pass(5 * SECOND);
    ck_assert_uint_eq(loop.count, 2);
    wait_in_loop();
    turn(0x667, 300 * MS);
    pass(SECOND);
    ck_assert_uint_eq(loop.count, 4);
    ck_assert_uint_eq(loop.told[3].id, 2);
}
END_TEST

/* Turns that follow each other without a wait, none of them long: a busy loop is no hang. */
START_TEST(busy_loop_without_waits) {
    loop_start();
    for (unsigned i = 0; i < 2000; i++) {
        begin_turn(0x100);
        pass(99 * MS);
    }
    wait_in_loop();
    pass(SECOND);
    expect_none();
    ck_assert_uint_eq(statistics().late, 0);
}
END_TEST

START_TEST(late_turns_are_no_hangs) {
    loop_start();
    for (unsigned i = 0; i < 100; i++) {
        turn(0x100, 110 * MS + i * MS);
        pass(300 * MS);
    }
    expect_none();
    ck_assert_uint_eq(statistics().late, 100);
    ck_assert_uint_eq(statistics().hangs, 0);
}
END_TEST

/* ---- numbers ---- */

/* A thousand hangs of 250 ms to 30 s among ordinary turns: all are found, each as long as it was but for a tick, none besides. */
START_TEST(a_thousand_hangs) {
    loop_start();
    seed = 42;
    for (unsigned i = 0; i < 1000; i++) {
        uint64_t length = 250 * MS + random_below(i % 3 == 0 ? 29750 * MS : 500 * MS);
        loop.lateness = random_below(2 * MS);
        live(random_below(400 * MS));
        pass(random_below(3 * SECOND));
        loop.count = 0;
        uint64_t began = loop.world.now;
        turn(0x666, length);
        /* It ends at the next look. */
        pass(loop.options.interval + loop.options.update + 10 * MS);
        check_pairs();
        expect_one(length);
        ck_assert_uint_eq(loop.told[loop.count - 1].heaviest[0], 0x666);
        /* It is found within 250 ms and a tenth. */
        ck_assert_uint_le(loop.told[0].at, began + 275 * MS);
        ck_assert_uint_le(loop.told[0].duration, 275 * MS);
    }
    struct usp_monitor_statistics s = statistics();
    ck_assert_uint_eq(s.hangs, 1000);
    ck_assert_uint_eq(s.late, 1000);
}
END_TEST

/* A hundred hangs in which one function takes most of the time, at the beginning, in the middle or at the end, in pieces, among a
 * dozen others: at least 95 times it is in the heaviest stack. */
START_TEST(a_hundred_culprits) {
    unsigned right = 0;
    loop_start();
    seed = 7;
    for (unsigned i = 0; i < 100; i++) {
        const usp_addr culprit = 0x50000 + i * 0x100;
        uint64_t length = 300 * MS + random_below(3 * SECOND), guilty = length * (55 + random_below(40)) / 100;
        uint64_t before = random_below(length - guilty), after = length - guilty - before;
        live(200 * MS);
        loop.count = 0;
        begin_turn(0x100);
        for (uint64_t left = before; left > 0;) {
            uint64_t part = left < 30 * MS ? left : 10 * MS + random_below(20 * MS);
            stand_in(0x1000 + random_below(12) * 0x10);
            pass(part);
            left -= part;
        }
        /* It runs, calls helpers of its own now and then, and comes back. */
        for (uint64_t left = guilty; left > 0;) {
            uint64_t part = left < 60 * MS ? left : 20 * MS + random_below(40 * MS);
            const usp_addr frames[] = {0x9000 + random_below(5), culprit, 0x2000, 0x1000};
            stand_in(culprit);
            if (random_below(3) == 0) script_stand(script_find(&loop.world, MAIN_ID), frames, 4);
            pass(part);
            left -= part;
        }
        for (uint64_t left = after; left > 0;) {
            uint64_t part = left < 30 * MS ? left : 10 * MS + random_below(20 * MS);
            stand_in(0x1000 + random_below(12) * 0x10);
            pass(part);
            left -= part;
        }
        wait_in_loop();
        pass(SECOND);
        ck_assert_uint_eq(count_told('e'), 1);
        const struct told *end = &loop.told[loop.count - 1];
        right += end->heaviest[0] == culprit || end->heaviest[1] == culprit;
    }
    ck_assert_uint_ge(right, 95);
}
END_TEST

/* Healthy: the main thread is never stopped, the monitor sleeps after a second, and one turn wakes it. */
START_TEST(healthy_costs_nothing) {
    loop_start();
    live(600 * SECOND);
    ck_assert_uint_eq(script_find(&loop.world, MAIN_ID)->captures, 0);
    ck_assert_uint_le(loop.wakes, 1);
    uint64_t looks = statistics().looks;
    ck_assert_uint_le(looks, 10 * 600 + 20);
    for (unsigned i = 0; i < 100; i++) {
        pass(60 * SECOND);
        ck_assert(loop.due == USPI_FOR_EVER);
        unsigned wakes = loop.wakes;
        live(100 * MS);
        ck_assert_uint_eq(loop.wakes, wakes + 1);
    }
    ck_assert_uint_le(statistics().looks, looks + 100 * 15);
    ck_assert_uint_ge(statistics().sleeps, 100);
    expect_none();
}
END_TEST

/* A hang of ten hours: memory stays, samples become rare, and reports say that it goes on. */
START_TEST(hang_of_hours) {
    loop.options.update = 100 * SECOND;
    loop_start();
    live(SECOND);
    begin_turn(0x666);
    pass(SECOND);
    const long held = allocations_held();
    pass(36000 * SECOND - SECOND);
    ck_assert_int_eq(allocations_held(), held);
    wait_in_loop();
    pass(101 * SECOND);
    expect_one(36000 * SECOND);
    const struct told *end = &loop.told[loop.count - 1];
    ck_assert_uint_ge(count_told('u'), 280);
    ck_assert_uint_le(count_told('u'), 362);
    ck_assert_uint_ge(end->samples, 2000);
    ck_assert_uint_le(end->samples, 6000);
    ck_assert_msg(loop.watching.watch.interval <= loop.options.update, "samples are further apart than reports");
    /* Captured a few times: it did not run. */
    ck_assert_uint_le(script_find(&loop.world, MAIN_ID)->captures, 20);
}
END_TEST

/* ---- the file ---- */

static char folder[64], path[96];

static void begin_file(void) {
    begin_script();
    snprintf(folder, sizeof folder, "/tmp/unspool-monitor-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/hang", folder);
    loop.options.file = path;
}

static void end_file(void) {
    loop_end();
    unlink(path);
    rmdir(folder);
}

/* The process ends here: what the file holds at this moment is what the next one finds. */
static struct usp_hang *read_file(int expected) {
    struct usp_hang *hang;
    ck_assert_int_eq(usp_hang_open(path, &hang), expected);
    if (hang != NULL) ck_assert_uint_eq(hang->state, USP_HANG_KILLED);
    return hang;
}

START_TEST(killed_in_a_hang) {
    ck_assert_ptr_null(read_file(USP_ERROR_NOT_FOUND));
    loop_start();
    live(SECOND);
    ck_assert_ptr_null(read_file(USP_ERROR_NOT_FOUND));
    begin_turn(0x666);
    pass(200 * MS);
    /* Late only. */
    ck_assert_ptr_null(read_file(USP_ERROR_NOT_FOUND));
    for (uint64_t lasted = 300 * MS; lasted < 5 * SECOND; lasted += 100 * MS) {
        pass(100 * MS);
        struct usp_hang *hang = read_file(USP_OK);
        ck_assert_uint_eq(hang->id, 1);
        ck_assert_uint_eq(hang->thread.id, MAIN_ID);
        ck_assert_uint_ge(hang->duration + loop.options.interval, lasted);
        ck_assert_uint_le(hang->duration, lasted);
        ck_assert_ptr_nonnull(hang->first);
        ck_assert_uint_eq(hang->first->count, 3);
        ck_assert_uint_eq(hang->first->frames[0].pc, 0x666);
        struct usp_frame frames[8];
        struct usp_stack stack;
        usp_stack_init(&stack, frames, 8);
        ck_assert_int_eq(usp_profile_heaviest(hang->profile, MAIN_ID, USP_PROFILE_WALL, &stack, NULL), USP_OK);
        ck_assert_uint_eq(frames[0].pc, 0x666);
        ck_assert_uint_eq(stack.count, 3);
        usp_hang_free(hang);
    }
    wait_in_loop();
    pass(50 * MS);
    ck_assert_ptr_null(read_file(USP_ERROR_NOT_FOUND));
    /* Another one, in the same file. */
    turn(0x667, 400 * MS);
    pass(100 * MS);
    begin_turn(0x668);
    pass(400 * MS);
    struct usp_hang *hang = read_file(USP_OK);
    ck_assert_uint_eq(hang->id, 3);
    ck_assert_uint_eq(hang->first->frames[0].pc, 0x668);
    ck_assert_uint_lt(hang->duration, 500 * MS);
    usp_hang_free(hang);
}
END_TEST

/* The next start reports it, once. */
START_TEST(next_start_finds_it) {
    loop_start();
    begin_turn(0x100);
    wait_in_loop();
    begin_turn(0x666);
    pass(3 * SECOND);
    /* Killed: nothing is ended. The same struct stands for the process that was. */
    struct scripted_loop was = loop;
    begin_script();
    loop.options.file = path;
    loop_start();
    pass(SECOND);
    ck_assert_uint_eq(loop.count, 1);
    ck_assert_int_eq(loop.told[0].kind, 'k');
    ck_assert_uint_ge(loop.told[0].duration, 2980 * MS);
    ck_assert_uint_eq(loop.told[0].first[0], 0x666);
    ck_assert_uint_eq(loop.told[0].flags, USP_HANG_SEVERE);
    live(10 * SECOND);
    ck_assert_uint_eq(loop.count, 1);
    ck_assert_ptr_null(read_file(USP_ERROR_NOT_FOUND));
    was.watching.world.context = &was.world;
    uspi_watching_free(&was.watching);
    ck_assert_uint_eq(was.world.released, was.world.listed);
}
END_TEST

/* The function that gets the killed hang takes long, and the first turn hangs meanwhile: that hang is as long as it was. */
START_TEST(hang_begins_while_a_killed_one_is_reported) {
    loop_start();
    begin_turn(0x100);
    wait_in_loop();
    begin_turn(0x666);
    pass(3 * SECOND);
    struct scripted_loop was = loop;
    begin_script();
    loop.options.file = path;
    loop.in_callback = killed_takes_400_ms;
    loop_start();
    pass(10 * MS);
    wait_in_loop();
    pass(SECOND);
    const struct told *end = &loop.told[loop.count - 1];
    ck_assert_int_eq(end->kind, 'e');
    ck_assert_msg(end->duration >= 390 * MS && end->duration <= 430 * MS, "told as %llu ms",
                  (unsigned long long)(end->duration / MS));
    was.watching.world.context = &was.world;
    uspi_watching_free(&was.watching);
}
END_TEST

/* Whatever bytes are cut off or changed: a status, or the report before; never anything else. */
START_TEST(damaged_file) {
    loop.options.memory = 262144;
    loop_start();
    live(200 * MS);
    begin_turn(0x666);
    pass(2500 * MS);
    FILE *file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    size_t size = 1 << 20, read = 0;
    uint8_t *bytes = calloc(1, size);
    read = fread(bytes, 1, size, file);
    fclose(file);
    ck_assert_uint_gt(read, 262144);
    char copy[128];
    snprintf(copy, sizeof copy, "%s/copy", folder);
    seed = 99;
    unsigned statuses[20] = {0};
    for (unsigned i = 0; i < 3000; i++) {
        uint8_t *changed = malloc(read);
        size_t n = i % 10 == 0 ? (size_t)random_below(read) : read;
        memcpy(changed, bytes, read);
        /* Mostly where something stands. */
        for (unsigned k = 0; k < 1 + i % 3; k++) {
            changed[random_below(i % 2 == 0 ? 256 : 4096)] = (uint8_t)random_below(256);
        }
        if (i % 4 == 3) {
            /* With checksums that fit, so that what is inside is looked at. */
            for (unsigned h = 0; h < 2; h++) {
                uint8_t *header = changed + 64 + h * 64;
                uint64_t slot = 0, used = 0, at;
                memcpy(&used, header + 16, 8);
                memcpy(&slot, changed + 16, 8);
                at = 256 + (header[12] & 1) * slot;
                if (slot > read || used > read || at + used > read) continue;
                changed[at + 104 + random_below(300)] = (uint8_t)random_below(256);
                uint32_t crc = ~UINT32_C(0);
                for (size_t b = 0; b < used; b++) {
                    crc ^= changed[at + b];
                    for (unsigned bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (UINT32_C(0xedb88320) & (0u - (crc & 1)));
                }
                crc = ~crc;
                memcpy(header + 24, &crc, 4);
                crc = ~UINT32_C(0);
                for (size_t b = 0; b < 28; b++) {
                    crc ^= header[b];
                    for (unsigned bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (UINT32_C(0xedb88320) & (0u - (crc & 1)));
                }
                crc = ~crc;
                memcpy(header + 28, &crc, 4);
            }
        }
        file = fopen(copy, "wb");
        fwrite(changed, 1, n, file);
        fclose(file);
        struct usp_hang *hang;
        int status = usp_hang_open(copy, &hang);
        ck_assert_int_le(status, 0);
        ck_assert_int_gt(status, -20);
        statuses[-status]++;
        if (status == USP_OK) {
            struct usp_frame frames[64];
            struct usp_stack stack;
            usp_stack_init(&stack, frames, 64);
            (void)usp_profile_heaviest(hang->profile, 0, USP_PROFILE_WALL, &stack, NULL);
        }
        usp_hang_free(hang);
        free(changed);
    }
    ck_assert_uint_gt(statuses[0], 100);
    ck_assert_uint_gt(statuses[-USP_ERROR_FORMAT], 100);
    ck_assert_uint_gt(statuses[-USP_ERROR_TRUNCATED], 10);
    unlink(copy);
    free(bytes);
    wait_in_loop();
}
END_TEST

/* ---- what goes wrong ---- */

static int write_nothing(void *context, const char *bytes, size_t n) {
    (void)bytes;
    *(size_t *)context += n;
    return USP_OK;
}

static int use_monitor(void) {
    struct uspi_watching watching;
    struct usp_hang *hang = NULL;
    const struct uspi_world world = script_world(&loop.world);
    int status = uspi_watching_init(&watching, &loop.options, &world);
    if (status == USP_OK) status = uspi_watching_begin(&watching);
    if (status == USP_OK) {
        uint64_t due = loop.world.now;
        (void)uspi_activity_begin(&watching.activity, loop.world.now);
        for (unsigned i = 0; i < 60; i++) {
            script_pass_to(&loop.world, due);
            due = uspi_watching_look(&watching, false);
        }
        struct usp_hang_write_options options;
        size_t written = 0;
        usp_hang_write_options_init(&options);
        status = usp_hang_open(path, &hang);
        options.style = USP_HANG_JSON;
        if (status == USP_OK) status = usp_hang_write(hang, &options, write_nothing, &written);
        options.style = USP_HANG_TEXT;
        if (status == USP_OK) status = usp_hang_write(hang, &options, write_nothing, &written);
        usp_hang_free(hang);
        uspi_watching_end(&watching);
    }
    uspi_watching_free(&watching);
    return status;
}

START_TEST(each_allocation_fails) {
    loop.options.began = loop.options.updated = loop.options.ended = loop.options.killed = NULL;
    const long held = allocations_held();
    for (long n = 1;; n++) {
        fail_allocation(n);
        int status = use_monitor();
        bool has_failed = !allocation_still_to_fail();
        fail_allocation(0);
        ck_assert_int_eq(allocations_held(), held);
        ck_assert_uint_eq(loop.world.released, loop.world.listed);
        if (!has_failed) {
            ck_assert_int_eq(status, USP_OK);
            ck_assert_int_gt(n, 30);
            break;
        }
        /* A hang of an earlier process that cannot be read is not reported. */
        ck_assert_msg(status == USP_ERROR_NO_MEMORY || status == USP_OK, "allocation %ld: %s", n,
                      usp_status_string(status));
    }
    loop_start();
}
END_TEST

int main(void) {
    TCase *field = tcase_create("failures from the field"), *numbers = tcase_create("numbers"),
          *file = tcase_create("file");
    tcase_add_checked_fixture(field, begin_script, end_script);
    tcase_add_checked_fixture(numbers, begin_script, end_script);
    tcase_add_checked_fixture(file, begin_file, end_file);
    add_tests(field, background_delivery_while_the_loop_waits, waiting_in_a_mode_without_an_observer,
              stack_taken_too_late, what_it_was_doing_when_it_began, monitor_is_late,
              turn_ends_while_the_monitor_is_late, debugger_attached, debugger_attached_but_hangs_wanted,
              nested_run_loops_and_modes, no_run_loop_at_all, waiting_as_was_learned, no_answer_yet,
              queue_without_a_thread, app_launch_before_the_first_turn, clock_changes_and_sleep, report_takes_long,
              turn_ends_while_it_is_reported, hang_begins_while_another_is_reported, suspended_while_it_is_reported,
              no_thread_state, extension_without_a_run_loop, one_hang_one_id, suspended, suspended_in_a_hang,
              stopped_in_a_hang, busy_loop_without_waits, late_turns_are_no_hangs);
    add_loop_tests(field, 0, 2, monitor_on_a_busy_machine);
    add_tests(numbers, a_thousand_hangs, a_hundred_culprits, healthy_costs_nothing, hang_of_hours);
    add_tests(file, killed_in_a_hang, next_start_finds_it, hang_begins_while_a_killed_one_is_reported, damaged_file,
              each_allocation_fails);
    tcase_set_timeout(field, 60);
    tcase_set_timeout(numbers, 120);
    tcase_set_timeout(file, 120);
    return run_suite("watching", field, numbers, file);
}
