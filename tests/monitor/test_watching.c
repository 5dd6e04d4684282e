/* SPDX-License-Identifier: MIT */
/* Tests the monitor in a scripted world: failures that monitors had in the field, each as a trace; a thousand hangs; a
 * hundred hangs with a known culprit; what a healthy loop costs; the file of a process that was killed; and allocations
 * that fail. */
#include "tests/monitor/scripted_loop.h"
#include "tests/support/address_space.h"
#include "tests/support/each_allocation.h"
#include "tests/support/suite.h"

#include <sys/resource.h>
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

/* Checks that no hang was reported. */
static void expect_none(void) { ck_assert_uint_eq(loop.count, 0); }

/* Checks that one hang was reported from beginning to end, and that its duration is right up to `error`. */
static void expect_one_within(uint64_t duration, uint64_t error) {
    ck_assert_uint_eq(count_reported('b'), 1);
    ck_assert_uint_eq(count_reported('e'), 1);
    const struct reported *last = &loop.reported[loop.count - 1];
    ck_assert_uint_ge(last->duration + error, duration);
    ck_assert_uint_le(last->duration, duration + error);
    ck_assert_uint_eq(last->state, USP_HANG_RECOVERED);
}

/* As expect_one_within, with an error of at most one tick. */
static void expect_one(uint64_t duration) { expect_one_within(duration, loop.options.interval); }

/* ---- failures from the field, each as a trace ---- */

/* Background delivery keeps the process alive while the main run loop sleeps in its own wait, for 2 to 816 s. Monitors
 * reported hangs with idle stacks (sentry-cocoa 8899, 8317). */
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

/* In a mode without an observer, no call reports that the loop waits, and the wait would be taken for a hang. The stack
 * shows that the loop waits. A real hang in such a mode is found. */
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
    /* The main thread is not captured again and again. */
    ck_assert_uint_le(script_find(&loop.world, MAIN_ID)->captures, 40);
    stand_in(0x300);
    pass(400 * MS);
    ck_assert_uint_eq(count_reported('b'), 1);
    stand_in(LOOP_LEAF);
    pass(10 * SECOND);
    ck_assert_uint_eq(count_reported('e'), 1);
    wait_in_loop();
    pass(SECOND);
    ck_assert_uint_eq(loop.count, 2);
    ck_assert_uint_eq(loop.reported[0].heaviest[0], 0x300);
}
END_TEST

/* A single stack shows where the hang has moved on to rather than what took the time ("stack may be drifting":
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
    const struct reported *end = &loop.reported[loop.count - 1];
    ck_assert_uint_eq(end->heaviest[0], 0x666);
    ck_assert_uint_eq(end->first[0], 0x666);
    ck_assert_uint_ge(end->samples, 40);
}
END_TEST

/* The culprit has already returned when the hang is reported. The first sample, taken when the turn was late, must show
 * it. */
START_TEST(what_it_was_doing_when_it_began) {
    loop_start();
    live(SECOND);
    begin_turn(0x666);
    pass(150 * MS);
    stand_in(0x700);
    pass(2 * SECOND);
    wait_in_loop();
    pass(SECOND);
    ck_assert_uint_eq(loop.reported[0].first[0], 0x666);
    ck_assert_uint_eq(loop.reported[loop.count - 1].first[0], 0x666);
    ck_assert_uint_eq(loop.reported[loop.count - 1].heaviest[0], 0x700);
}
END_TEST

/* The monitor's thread did not run for some time, and the monitor took its own delay for the main thread's
 * (perfsuite-ios 25). A turn of 150 to 250 ms is late but no hang, and the monitor must measure its delay. */
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

/* A turn that ends while the monitor is late would be reported as longer than it was. */
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

/* A monitor that is late at each look must still find hangs. It counts a delay of less than an interval as part of the
 * hang. A longer delay is taken off, and the report states it. */
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
    const struct reported *end = &loop.reported[loop.count - 1];
    expect_one_within(SECOND, 500 * MS);
    ck_assert_uint_ge(end->duration + end->taken_off + loop.options.interval + loop.lateness, 3 * SECOND);
    ck_assert_uint_le(end->duration + end->taken_off, 3 * SECOND + loop.options.interval + loop.lateness);
}
END_TEST

/* A breakpoint was reported as a hang: it stops all threads, or only the main thread, for as long as a person thinks
 * (sentry-cocoa 8234). */
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
    /* The debugger holds the main thread only. */
    turn(0x100, 60 * SECOND);
    live(SECOND);
    expect_none();
    ck_assert_uint_gt(statistics().excused, 0);
    /* When the debugger has detached, hangs are reported again. */
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

/* A modal loop inside a turn, which follows a finger for a minute, was reported as a hang. It waits and has turns of
 * its own. */
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
    /* The inner loop has ended, and the outer turn goes on. */
    begin_turn(0x100);
    pass(20 * MS);
    wait_in_loop();
    live(SECOND);
    expect_none();
    /* A hang inside the inner loop is reported. */
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
    ck_assert_uint_eq(loop.reported[0].heaviest[0], 0x666);
}
END_TEST

static unsigned pings_received;
static bool loop_is_stuck;

/* Answers a ping, unless the loop is stuck. The answer takes 20 us of the main thread's processor time. */
static void receive_ping(void *context) {
    (void)context;
    pings_received++;
    if (loop_is_stuck) return;
    script_find(&loop.world, MAIN_ID)->cpu += 20000;
    uspi_watching_answer(&loop.watching);
}

/* A main thread without a run loop would not be watched: a server's own loop, a command, the main queue alone. The
 * monitor pings it, but not while it is idle. */
START_TEST(no_run_loop_at_all) {
    loop.options.ping = receive_ping;
    pings_received = 0;
    loop_is_stuck = false;
    loop_start();
    pass(SECOND);
    unsigned before = pings_received;
    ck_assert_uint_ge(before, 1);
    ck_assert_uint_le(before, 4);
    /* An hour without work does not wake the main thread. */
    pass(3600 * SECOND);
    ck_assert_uint_eq(pings_received, before);
    /* The main thread works now and then. */
    for (unsigned i = 0; i < 100; i++) {
        script_find(&loop.world, MAIN_ID)->cpu += MS;
        pass(200 * MS);
    }
    ck_assert_uint_ge(pings_received, before + 50);
    expect_none();
    /* The main thread is stuck. */
    loop_is_stuck = true;
    stand_in(0x666);
    pass(2 * SECOND);
    stand_in(LOOP_LEAF);
    loop_is_stuck = false;
    uspi_watching_answer(&loop.watching);
    pass(SECOND);
    ck_assert_uint_eq(count_reported('b'), 1);
    const struct reported *end = &loop.reported[loop.count - 1];
    ck_assert_int_eq(end->kind, 'e');
    /* The duration counts from the ping, which is sent at the next look. */
    ck_assert_uint_ge(end->duration, 2 * SECOND - loop.options.late);
    ck_assert_uint_le(end->duration, 2 * SECOND);
    ck_assert_uint_eq(end->heaviest[0], 0x666);
}
END_TEST

/* The learned position of the loop's wait excuses a waiting main thread: it waits at 0x10, called by 0x2000, which is
 * called by 0x1000. */
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
    ck_assert_uint_eq(count_reported('b'), 1);
}
END_TEST

/* Where the main queue is not served, or not yet, a hang would be reported. A ping that was never answered is no
 * hang. */
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

/* The work of some queues runs on any thread. Such a queue is pinged although the main thread never runs, and its hangs
 * have no samples. */
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
    ck_assert_uint_eq(count_reported('b'), 1);
    const struct reported *end = &loop.reported[loop.count - 1];
    ck_assert_int_eq(end->kind, 'e');
    ck_assert_uint_ge(end->duration, 2 * SECOND - loop.options.late);
    ck_assert_uint_le(end->duration, 2 * SECOND);
    ck_assert_uint_eq(end->samples, 0);
    ck_assert_uint_eq(script_find(&loop.world, MAIN_ID)->captures, 0);
}
END_TEST

/* An app's launch takes 20 s before its loop runs for the first time. The monitor starts early, and must not report the
 * launch. */
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

/* The time of day is set, or the machine sleeps for a night, during a turn and between turns. Monitors that used that
 * clock reported hangs. */
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
    /* The clock is set back by an hour during the hang: neither the hang's duration nor its beginning changes. */
    loop.world.wall -= 3600 * SECOND;
    pass(SECOND);
    wait_in_loop();
    pass(SECOND);
    expect_one(2 * SECOND);
    ck_assert_uint_eq(loop.reported[loop.count - 1].wall_start, wall);
}
END_TEST

/* A report function that takes 300 ms while the watched thread goes on. */
static void report_takes_300_ms(struct scripted_loop *l, char kind) {
    if (kind == 'b') script_pass(&l->world, 300 * MS);
}

/* A report function symbolicates for long. Its time belongs to the hang: nothing may be taken off, and the hang becomes
 * severe in time. */
START_TEST(report_takes_long) {
    loop.in_callback = report_takes_300_ms;
    loop.options.severe = 700 * MS;
    loop_start();
    live(SECOND);
    turn(0x666, 800 * MS);
    pass(SECOND);
    expect_one(800 * MS);
    ck_assert_msg(loop.reported[loop.count - 1].taken_off == 0, "the monitor took its own work off the hang");
    ck_assert_msg(count_reported('u') == 1 && loop.reported[1].duration <= 720 * MS,
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

/* The turn ends while its hang is reported, and another one begins. Both must have the right duration. */
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
    if (kind != 'e' || count_reported('e') > 1) return;
    begin_turn(0x667);
    script_pass(&l->world, 300 * MS);
}

/* The function that reports the end of a hang takes long, and the next hang begins meanwhile. Its duration would be too
 * short. */
START_TEST(hang_begins_while_another_is_reported) {
    loop.in_callback = turn_begins_in_last_report;
    loop_start();
    live(SECOND);
    turn(0x666, 400 * MS);
    pass(20 * MS + 300 * MS);
    wait_in_loop();
    pass(SECOND);
    ck_assert_uint_eq(count_reported('e'), 2);
    const struct reported *end = &loop.reported[loop.count - 1];
    ck_assert_msg(end->duration >= 300 * MS - loop.options.interval && end->duration <= 320 * MS,
                  "the second hang is told as %llu ms long", (unsigned long long)(end->duration / MS));
}
END_TEST

static void suspended_in_report(struct scripted_loop *l, char kind) {
    if (kind == 'b') suspend(1000 * SECOND);
    (void)l;
}

/* The process is suspended while the report function runs. At most `update` of that time may count as part of the
 * hang. */
START_TEST(suspended_while_it_is_reported) {
    loop.in_callback = suspended_in_report;
    loop_start();
    live(SECOND);
    turn(0x666, 500 * MS);
    pass(2 * SECOND);
    expect_one_within(500 * MS, loop.options.update + loop.options.interval);
    ck_assert_uint_ge(loop.reported[loop.count - 1].taken_off, 998 * SECOND);
}
END_TEST

static void killed_takes_400_ms(struct scripted_loop *l, char kind) {
    if (kind != 'k') return;
    begin_turn(0x667);
    script_pass(&l->world, 400 * MS);
}

/* Where threads cannot be captured (watchOS, Rosetta), a hang is reported with its duration only. */
START_TEST(no_thread_state) {
    script_find(&loop.world, MAIN_ID)->status = USP_ERROR_UNSUPPORTED;
    loop_start();
    live(SECOND);
    turn(0x666, 700 * MS);
    pass(SECOND);
    expect_one(700 * MS);
    ck_assert_uint_eq(loop.reported[0].samples, 0);
}
END_TEST

/* An extension without a run loop never begins a turn, and must not be reported as hanging. */
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

/* One hang was reported many times under different ids. */
START_TEST(one_hang_one_id) {
    loop_start();
    live(SECOND);
    turn(0x666, 30 * SECOND);
    live(SECOND);
    turn(0x667, 400 * MS);
    live(SECOND);
    ck_assert_uint_eq(count_reported('b'), 2);
    ck_assert_uint_eq(count_reported('e'), 2);
    /* An update comes once a second, and one when the hang becomes severe. */
    ck_assert_uint_ge(count_reported('u'), 28);
    ck_assert_uint_le(count_reported('u'), 32);
    for (unsigned i = 0; i < loop.count; i++) {
        ck_assert_uint_eq(loop.reported[i].id, i + 2 < loop.count ? 1 : 2);
        bool is_severe = (loop.reported[i].flags & USP_HANG_SEVERE) != 0;
        ck_assert_int_eq(is_severe, loop.reported[i].duration >= 2 * SECOND);
    }
}
END_TEST

/* The system suspended the app, and the time was reported as a hang: in the middle of a turn, between turns, before the
 * monitor woke up, several times, and for up to 25 hours (sentry-cocoa 2643, 4947; matrix 288; OneSignal 2676). */
START_TEST(suspended) {
    loop_start();
    for (unsigned i = 0; i < 300; i++) {
        uint64_t away = 300 * MS + random_below((i % 10 == 0 ? 90000 : 30) * SECOND);
        switch (i % 5) {
        case 0: /* during a turn */
            begin_turn(0x100);
            pass(random_below(90 * MS));
            suspend(away);
            pass(random_below(9 * MS));
            wait_in_loop();
            break;
        case 1: /* while the loop waits */
            live(20 * MS);
            suspend(away);
            live(20 * MS);
            break;
        case 2: /* after the monitor went to sleep */
            pass(3 * SECOND);
            suspend(away);
            turn(0x100, 50 * MS);
            break;
        case 3: /* after the turn has woken the monitor, before the monitor's look */
            pass(3 * SECOND);
            stand_in(0x100);
            ck_assert(uspi_activity_begin(&loop.watching.activity, loop.world.now));
            suspend(away);
            look(true);
            pass(50 * MS);
            wait_in_loop();
            break;
        default: /* several times during one turn */
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

/* A process is suspended during a hang. That time is taken off, and the report states it. */
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
    /* Each suspension adds an error of one tick, because the moment between two looks at which it began is unknown. */
    expect_one_within(SECOND, 2 * loop.options.interval);
    const struct reported *end = &loop.reported[loop.count - 1];
    ck_assert_uint_ge(end->taken_off, 1499 * SECOND);
    ck_assert_uint_le(end->taken_off, 1501 * SECOND);
    /* The hang is not severe: without the suspension it was short. */
    ck_assert_uint_eq(end->flags, 0);
}
END_TEST

/* The monitor is stopped in the middle of a hang. */
START_TEST(stopped_in_a_hang) {
    loop_start();
    live(SECOND);
    begin_turn(0x666);
    pass(600 * MS);
    loop_stop();
    ck_assert_int_eq(loop.reported[loop.count - 1].kind, 'e');
    ck_assert_uint_eq(loop.reported[loop.count - 1].state, USP_HANG_ABANDONED);
    pass(SECOND);
    /* It is started again during the same turn, which does not count for this run. */
    ck_assert_int_eq(uspi_watching_begin(&loop.watching), USP_OK);
    loop.is_watched = true;
    loop.due = loop.world.now;
    pass(5 * SECOND);
    ck_assert_uint_eq(loop.count, 2);
    wait_in_loop();
    turn(0x667, 300 * MS);
    pass(SECOND);
    ck_assert_uint_eq(loop.count, 4);
    ck_assert_uint_eq(loop.reported[3].id, 2);
}
END_TEST

/* Short turns that follow each other without a wait would be reported as one hang. */
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

/* A thousand hangs of 250 ms to 30 s among ordinary turns. All must be found, each with its duration up to one tick,
 * and no other hang. */
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
        /* The end of the hang is reported at the next look. */
        pass(loop.options.interval + loop.options.update + 10 * MS);
        check_pairs();
        expect_one(length);
        ck_assert_uint_eq(loop.reported[loop.count - 1].heaviest[0], 0x666);
        /* A hang is reported within 250 ms and a tenth. */
        ck_assert_uint_le(loop.reported[0].at, began + 275 * MS);
        ck_assert_uint_le(loop.reported[0].duration, 275 * MS);
    }
    struct usp_monitor_statistics s = statistics();
    ck_assert_uint_eq(s.hangs, 1000);
    ck_assert_uint_eq(s.late, 1000);
}
END_TEST

/* In each of a hundred hangs one function takes most of the time: at the beginning, in the middle or at the end, in
 * pieces, among a dozen others. It must be in the heaviest stack at least 95 times. */
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
        /* The culprit runs, now and then calls helpers, and continues. */
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
        ck_assert_uint_eq(count_reported('e'), 1);
        const struct reported *end = &loop.reported[loop.count - 1];
        right += end->heaviest[0] == culprit || end->heaviest[1] == culprit;
    }
    ck_assert_uint_ge(right, 95);
}
END_TEST

/* On a healthy main thread the monitor must cost nothing: it never stops the thread, sleeps after a second, and one
 * turn wakes it. */
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

/* During a hang of ten hours memory does not grow, samples become rare, and updates report that the hang is ongoing. */
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
    const struct reported *end = &loop.reported[loop.count - 1];
    ck_assert_uint_ge(count_reported('u'), 280);
    ck_assert_uint_le(count_reported('u'), 362);
    ck_assert_uint_ge(end->samples, 2000);
    ck_assert_uint_le(end->samples, 6000);
    ck_assert_msg(loop.watching.watch.interval <= loop.options.update, "samples are further apart than reports");
    /* The thread is captured a few times only, because it did not run. */
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

/* Reads the file as it is now. The process could end here, and the next one would find this. */
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
    /* The turn is late but not yet a hang. */
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
    /* Another hang is written to the same file. */
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

/* A file that was made much longer takes no more memory to read. */
START_TEST(large_empty_file) {
    const struct rlimit limit = {(rlim_t)512 << 20, (rlim_t)512 << 20};
    loop_start();
    begin_turn(0x666);
    pass(400 * MS);
    ck_assert_int_eq(truncate(path, (off_t)1 << 30), 0);
    if (!needs_address_space()) ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    struct usp_hang *hang = read_file(USP_OK);
    ck_assert_uint_eq(hang->first->frames[0].pc, 0x666);
    usp_hang_free(hang);
}
END_TEST

/* The process is killed in a hang, and the hang would never be reported. The next process must report it, once. */
START_TEST(next_start_finds_it) {
    loop_start();
    begin_turn(0x100);
    wait_in_loop();
    begin_turn(0x666);
    pass(3 * SECOND);
    /* The process is killed, so nothing is ended. The same struct then stands for the next process. */
    struct scripted_loop was = loop;
    begin_script();
    loop.options.file = path;
    loop_start();
    pass(SECOND);
    ck_assert_uint_eq(loop.count, 1);
    ck_assert_int_eq(loop.reported[0].kind, 'k');
    ck_assert_uint_ge(loop.reported[0].duration, 2980 * MS);
    ck_assert_uint_eq(loop.reported[0].first[0], 0x666);
    ck_assert_uint_eq(loop.reported[0].flags, USP_HANG_SEVERE);
    live(10 * SECOND);
    ck_assert_uint_eq(loop.count, 1);
    ck_assert_ptr_null(read_file(USP_ERROR_NOT_FOUND));
    was.watching.world.context = &was.world;
    uspi_watching_free(&was.watching);
    ck_assert_uint_eq(was.world.released, was.world.listed);
}
END_TEST

/* The function that gets the killed process's hang takes long, and the first turn hangs meanwhile. That hang's duration
 * must be right. */
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
    const struct reported *end = &loop.reported[loop.count - 1];
    ck_assert_int_eq(end->kind, 'e');
    ck_assert_msg(end->duration >= 390 * MS && end->duration <= 430 * MS, "told as %llu ms",
                  (unsigned long long)(end->duration / MS));
    was.watching.world.context = &was.world;
    uspi_watching_free(&was.watching);
}
END_TEST

/* A damaged file, cut off or with changed bytes, must give an error status or an intact report, and never anything
 * else. */
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
        /* Most changes hit the used part of the file. */
        for (unsigned k = 0; k < 1 + i % 3; k++) {
            changed[random_below(i % 2 == 0 ? 256 : 4096)] = (uint8_t)random_below(256);
        }
        if (i % 4 == 3) {
            /* The checksums are made to fit, so that the reader looks at the contents. */
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

/* ---- failures ---- */

static int write_nothing(void *context, const char *bytes, size_t n) {
    (void)bytes;
    *(size_t *)context += n;
    return USP_OK;
}

static int use_monitor(void *context) {
    (void)context;
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
    /* A hang of an earlier process that cannot be read for lack of memory is not reported. */
    fail_each_allocation(use_monitor, NULL, 30, 0);
    ck_assert_uint_eq(loop.world.released, loop.world.listed);
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
    add_tests(file, killed_in_a_hang, large_empty_file, next_start_finds_it, hang_begins_while_a_killed_one_is_reported,
              damaged_file, each_allocation_fails);
    return run_suite("watching", field, numbers, file);
}
