/* SPDX-License-Identifier: MIT */
/* Tests the monitor on real loops and processes: hangs of an epoll loop; a process that is stopped, traced, forked or
 * killed; what a turn costs; the hang file at each moment while it is written; and every system call and allocation
 * failing in turn. Times are compared with what the same run measured. */
#define _GNU_SOURCE 1
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "lib/monitor/watching.h"
#include "lib/profile/profile.h"
#include "tests/support/address_space.h"
#include "tests/support/cgroup.h"
#include "tests/support/each_allocation.h"
#include "tests/support/linux_failing_calls.h"
#include "tests/support/linux_threads.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

#include <fcntl.h>

#define SECOND (1000 * MS)

BOUNDS(culprit);
static _Atomic(uint64_t) work;

/* The function in which every hang of these tests spends its time. */
static BOUNDED(culprit) void culprit(uint64_t length) {
    uint64_t until = usp_clock() + length;
    while (usp_clock() < until) atomic_fetch_add(&work, 1);
}

/* What the monitor reported last. */
static struct {
    _Atomic(unsigned) began, updated, ended, killed, wrong;
    uint64_t id, duration, taken_off, samples;
    unsigned in_culprit; /* frames of the heaviest stack that lie in culprit */
    unsigned first_in_culprit;
    unsigned all_threads; /* hangs whose list has all threads with their stacks */
    unsigned of_monitor;  /* hangs whose report contains the monitor's own thread */
} reported;

/* Threads beside the watched one, which must be in a hang's list of threads. The first one loads the machine; the others
 * sleep, so that they answer soon. */
enum { BESIDE = 3 };
static struct parked beside[BESIDE];

static void begin_beside(void) {
    for (unsigned i = 0; i < BESIDE; i++) {
        beside[i] = (struct parked){.depth = 5, .wait = i > 0 ? wait_asleep : NULL};
        stand_begin(&beside[i]);
    }
}

static void end_beside(void) {
    for (unsigned i = 0; i < BESIDE; i++) stand_end(&beside[i]);
}

struct in_list {
    bool beside[BESIDE], is_main;
    unsigned others;
};

static int find_in_list(void *context, const struct usp_profile_entry *entry) {
    struct in_list *list = context;
    bool is_known = entry->thread->thread.id == (uint64_t)getpid();
    list->is_main = list->is_main || is_known;
    for (unsigned i = 0; i < BESIDE; i++) {
        if (entry->thread->thread.id != beside[i].thread.id) continue;
        is_known = true;
        list->beside[i] = FRAMES_IN(entry->stack, stand_deep) == beside[i].depth + 1;
    }
    list->others += !is_known;
    return 0;
}

/* A hang's report. */
struct report_text {
    size_t used;
    char bytes[1 << 20];
};

static int append(void *context, const char *bytes, size_t n) {
    struct report_text *text = context;
    if (n > sizeof text->bytes - 1 - text->used) return USP_ERROR_FULL;
    memcpy(text->bytes + text->used, bytes, n);
    text->used += n;
    text->bytes[text->used] = '\0';
    return USP_OK;
}

/* Counts whether a hang's list has every thread with its stack except the monitor's own, and whether the report names a
 * function of the monitor. */
static void expect_all_threads(const struct usp_hang *hang) {
    static struct report_text text;
    struct in_list list = {.others = 0};
    text.used = 0;
    (void)usp_profile_visit(hang->threads, find_in_list, &list);
    unsigned with_stack = 0;
    for (unsigned i = 0; i < BESIDE; i++) with_stack += list.beside[i];
    int status = usp_hang_write(hang, NULL, append, &text);
    reported.all_threads += list.is_main && with_stack == BESIDE;
    reported.of_monitor += list.others > 0 || status != USP_OK || strstr(text.bytes, "uspi_watching_look") != NULL;
}

static unsigned heaviest_in_culprit(const struct usp_hang *hang) {
    struct usp_frame frames[128];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, 128);
    int status = usp_profile_heaviest(hang->profile, 0, USP_PROFILE_WALL, &stack, NULL);
    if (status != USP_OK) status = usp_profile_heaviest(hang->profile, 0, USP_PROFILE_SAMPLES, &stack, NULL);
    return status == USP_OK ? FRAMES_IN(&stack, culprit) : 0;
}

static void note_began(void *context, const struct usp_hang *hang) {
    (void)context;
    atomic_fetch_add(&reported.wrong, reported.began != reported.ended || hang->state != USP_HANG_ONGOING);
    reported.id = hang->id;
    atomic_fetch_add(&reported.began, 1);
}

static void note_updated(void *context, const struct usp_hang *hang) {
    (void)context;
    atomic_fetch_add(&reported.wrong, reported.began != reported.ended + 1 || hang->id != reported.id);
    atomic_fetch_add(&reported.updated, 1);
}

static void note_ended(void *context, const struct usp_hang *hang) {
    (void)context;
    atomic_fetch_add(&reported.wrong, reported.began != reported.ended + 1 || hang->id != reported.id);
    reported.duration = hang->duration;
    reported.taken_off = hang->taken_off;
    reported.samples = hang->samples;
    reported.in_culprit = heaviest_in_culprit(hang);
    reported.first_in_culprit = hang->first != NULL ? FRAMES_IN(hang->first, culprit) : 0;
    if (beside[0].depth > 0) expect_all_threads(hang);
    atomic_fetch_add(&reported.ended, 1);
}

static void note_killed(void *context, const struct usp_hang *hang) {
    (void)context;
    atomic_fetch_add(&reported.wrong, hang->state != USP_HANG_KILLED);
    reported.in_culprit = heaviest_in_culprit(hang);
    atomic_fetch_add(&reported.killed, 1);
}

/* A turn is late after `late` ns, and a hang after twice that time; 0: the defaults. */
static struct usp_monitor *make_monitor(const char *file, uint64_t late) {
    struct usp_monitor_options options;
    struct usp_monitor *monitor;
    memset(&reported, 0, sizeof reported);
    usp_monitor_options_init(&options);
    if (late != 0) {
        options.late = late;
        options.hang = 2 * late;
        if (options.idle < late) options.idle = late;
    }
    options.began = note_began;
    options.updated = note_updated;
    options.ended = note_ended;
    options.killed = note_killed;
    options.file = file;
    ck_assert_int_eq(usp_monitor_create(&options, &monitor), USP_OK);
    return monitor;
}

static struct usp_monitor *start_monitor(const char *file) { return make_monitor(file, 0); }

static struct usp_monitor_statistics statistics_of(struct usp_monitor *monitor) {
    struct usp_monitor_statistics statistics;
    usp_monitor_get_statistics(monitor, &statistics);
    return statistics;
}

/* Forks a child that calls `run` and exits with 0. */
static pid_t fork_for(void (*run)(void *context), void *context) {
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child != 0) return child;
    alarm(240);
    run(context);
    _exit(0);
}

static void expect_end(pid_t child) {
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ends with %#x", (unsigned)status);
}

/* Notes that the system does not permit what the test needs, as in some containers. Fails where all tools are
 * required. */
static void not_permitted(const char *what) {
    printf("not tested: %s is not permitted\n", what);
    ck_assert_msg(getenv("USP_REQUIRE_TOOLS") == NULL || is_slowed(), "%s is not permitted", what);
}

static void kill_child(pid_t child) {
    int status;
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

/* ---- an epoll loop ---- */

struct loop {
    int epoll, work, ping; /* ping -1: the loop reports its turns itself */
    struct usp_monitor *monitor;
};

static void loop_begin(struct loop *loop, bool is_pinged, uint64_t late) {
    loop->monitor = make_monitor(NULL, late);
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    loop->work = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    loop->ping = is_pinged ? usp_monitor_open_ping(loop->monitor) : -1;
    ck_assert_int_ge(loop->epoll, 0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = loop->work};
    ck_assert_int_eq(epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->work, &event), 0);
    if (is_pinged) {
        ck_assert_int_ge(loop->ping, 0);
        event.data.fd = loop->ping;
        ck_assert_int_eq(epoll_ctl(loop->epoll, EPOLL_CTL_ADD, loop->ping, &event), 0);
    }
    ck_assert_int_eq(usp_monitor_start(loop->monitor), USP_OK);
}

static void loop_end(struct loop *loop) {
    usp_monitor_free(loop->monitor);
    close(loop->epoll);
    close(loop->work);
}

/* Waits up to `timeout` ms for an event, handles it, and then spends `length` ns in culprit. */
static void loop_turn(struct loop *loop, int timeout, uint64_t length) {
    struct epoll_event events[4];
    uint64_t value;
    bool tells = loop->ping < 0;
    if (tells) usp_monitor_waiting(loop->monitor);
    int n = epoll_wait(loop->epoll, events, 4, timeout);
    if (tells) usp_monitor_turn_begin(loop->monitor);
    for (int i = 0; i < n; i++) {
        if (events[i].data.fd == loop->ping) {
            usp_monitor_answer(loop->monitor);
        } else {
            ssize_t got = read(events[i].data.fd, &value, sizeof value);
            (void)got;
        }
    }
    if (length > 0) culprit(length);
}

static void loop_live(struct loop *loop, uint64_t length) {
    uint64_t until = usp_clock() + length;
    while (usp_clock() < until) loop_turn(loop, 10, 0);
}

/* A hang must be found while other threads load the machine. The culprit is in its heaviest stack and in its first one,
 * and its duration is right. Where the monitor does not get the processor, that time is taken off and the hang may be
 * missed. The watched thread may not answer in time, or wait for the processor outside of culprit. Then the test tries
 * again. */
START_TEST(hang_of_a_loop) {
    struct loop loop;
    unsigned found = 0;
    begin_beside();
    loop_begin(&loop, _i == 1, 0);
    for (unsigned i = 0; i < 40 && (found < 3 || reported.all_threads == 0); i++) {
        loop_live(&loop, 300 * MS);
        unsigned before = reported.ended;
        uint64_t began = usp_clock();
        loop_turn(&loop, 0, 700 * MS);
        uint64_t lasted = usp_clock() - began;
        /* The hang ends with the next turn, before which this thread may wait for the processor. */
        loop_turn(&loop, 0, 0);
        uint64_t most = usp_clock() - began;
        loop_live(&loop, 300 * MS);
        if (reported.ended == before) continue;
        ck_assert_uint_eq(reported.ended, before + 1);
        ck_assert_uint_le(reported.duration, most + 150 * MS);
        /* A ping is sent at the second look after the loop has run, so the beginning of a hang up to then is not
         * measured. */
        ck_assert_uint_ge(reported.duration + reported.taken_off + (_i == 1 ? 400 : 150) * MS, lasted);
        if (reported.samples == 0 || lasted > 750 * MS) continue;
        ck_assert_uint_ge(reported.in_culprit, 1);
        ck_assert_uint_ge(reported.first_in_culprit, 1);
        found++;
    }
    ck_assert_uint_ge(found, 3);
    usp_monitor_stop(loop.monitor);
    ck_assert_msg(reported.all_threads >= 1, "of %u hangs, none has each thread with its stack", found);
    ck_assert_msg(reported.of_monitor == 0, "the monitor's own thread is in %u of %u reports", reported.of_monitor,
                  found);
    ck_assert_uint_eq(reported.began, reported.ended);
    ck_assert_uint_eq(reported.wrong, 0);
    loop_end(&loop);
    end_beside();
}
END_TEST

enum { CROWD = 120 };
static struct parked crowd[CROWD];
static _Atomic(unsigned) most_in_list;
static unsigned left_out[2]; /* as the last report stated it: as text, in JSON */

static int find_in_crowd(void *context, const struct usp_profile_entry *entry) {
    for (unsigned i = 0; i < CROWD; i++) {
        *(unsigned *)context +=
            entry->thread->thread.id == crowd[i].thread.id && FRAMES_IN(entry->stack, stand_deep) == crowd[i].depth + 1;
    }
    return 0;
}

/* Returns how many threads a report in a style says are missing. */
static unsigned read_left_out(const struct usp_hang *hang, uint32_t style) {
    static struct report_text text;
    struct usp_hang_write_options options;
    usp_hang_write_options_init(&options);
    options.style = style;
    options.flags = USP_HANG_BRIEF;
    text.used = 0;
    ck_assert_int_eq(usp_hang_write(hang, &options, append, &text), USP_OK);
    const char *found =
        strstr(text.bytes, style == USP_HANG_TEXT ? " more threads did not fit" : "\"threads_left_out\":");
    if (found == NULL) return 0;
    if (style == USP_HANG_JSON) return (unsigned)strtoul(found + strlen("\"threads_left_out\":"), NULL, 10);
    while (found > text.bytes && found[-1] != '\n') found--;
    return (unsigned)strtoul(found, NULL, 10);
}

static void count_crowd(void *context, const struct usp_hang *hang) {
    unsigned count = 0;
    (void)context;
    (void)usp_profile_visit(hang->threads, find_in_crowd, &count);
    if (count > most_in_list) most_in_list = count;
    left_out[0] = read_left_out(hang, USP_HANG_TEXT);
    left_out[1] = read_left_out(hang, USP_HANG_JSON);
}

/* Of a process with more than 70 threads the rest were dropped without a word (sentry-cocoa 2825), among them the one
 * that the main thread waited for. A hang's list must have all 120 threads, each with its stack. With too little memory
 * for them (_i 1), the report must say how many are missing. */
START_TEST(more_than_70_threads) {
    struct usp_monitor_options options;
    struct usp_monitor *monitor;
    for (unsigned i = 0; i < CROWD; i++) {
        crowd[i] = (struct parked){.depth = 4, .wait = wait_asleep};
        stand_begin(&crowd[i]);
    }
    usp_monitor_options_init(&options);
    options.began = count_crowd;
    if (_i == 1) options.memory = 262144;
    ck_assert_int_eq(usp_monitor_create(&options, &monitor), USP_OK);
    ck_assert_int_eq(usp_monitor_start(monitor), USP_OK);
    /* On a busy machine a thread may not answer in time. */
    const unsigned enough = _i == 0 ? CROWD : 1;
    for (unsigned i = 0; i < 100 && most_in_list < enough; i++) {
        usp_monitor_turn_begin(monitor);
        culprit(500 * MS);
        usp_monitor_waiting(monitor);
        usleep(50000);
    }
    usp_monitor_free(monitor);
    ck_assert_msg(most_in_list >= enough, "of %d threads, %u are in the list with their stacks", CROWD, most_in_list);
    ck_assert_uint_eq(left_out[0], left_out[1]);
    if (_i == 0) ck_assert_uint_eq(left_out[0], 0);
    if (_i == 1) ck_assert_uint_ge(left_out[0], 1);
    for (unsigned i = 0; i < CROWD; i++) stand_end(&crowd[i]);
}
END_TEST

static _Atomic(uint64_t) progress[BESIDE];
static _Atomic(bool) progress_ends;

static void *make_progress(void *context) {
    while (!atomic_load(&progress_ends)) atomic_fetch_add((_Atomic(uint64_t) *)context, 1);
    return NULL;
}

static struct {
    struct usp_monitor *other;
    _Atomic(unsigned) reports;
} in_report;

/* Waits until each thread beside the monitor has gone on, and then frees another monitor, whose thread must end for
 * that. If any thread were stopped, this would wait for ever. */
static void wait_for_all_threads(void *context, const struct usp_hang *hang) {
    (void)context;
    (void)hang;
    /* The watched thread makes no progress any more: it stops the monitor. */
    if (atomic_load(&in_report.reports) >= 2) return;
    const uint64_t done = atomic_load(&work);
    while (atomic_load(&work) == done) usleep(1000);
    for (unsigned i = 0; i < BESIDE; i++) {
        const uint64_t seen = atomic_load(&progress[i]);
        while (atomic_load(&progress[i]) == seen) usleep(1000);
    }
    usp_monitor_free(in_report.other);
    in_report.other = NULL;
    atomic_fetch_add(&in_report.reports, 1);
}

/* A report was written, and the monitor was switched off, while all threads were suspended, its own thread too: the app
 * never ended (KSCrash 758). During a report no thread is stopped. */
START_TEST(no_thread_is_stopped_in_a_report) {
    struct usp_monitor_options options;
    struct usp_monitor *monitor;
    pthread_t threads[BESIDE];
    in_report.other = start_monitor(NULL);
    ck_assert_int_eq(usp_monitor_start(in_report.other), USP_OK);
    for (unsigned i = 0; i < BESIDE; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, make_progress, &progress[i]), 0);
    }
    usp_monitor_options_init(&options);
    options.began = options.updated = wait_for_all_threads;
    options.update = 100 * MS;
    ck_assert_int_eq(usp_monitor_create(&options, &monitor), USP_OK);
    ck_assert_int_eq(usp_monitor_start(monitor), USP_OK);
    usp_monitor_turn_begin(monitor);
    while (in_report.reports < 2) culprit(20 * MS);
    usp_monitor_free(monitor);
    atomic_store(&progress_ends, true);
    for (unsigned i = 0; i < BESIDE; i++) pthread_join(threads[i], NULL);
}
END_TEST

/* The results of learning the wait twice from a function that the C library calls. Nothing can be learned if the C
 * library is linked into the program. */
static int learned[2];
static struct usp_monitor *learning;

static int learn_in_comparison(const void *a, const void *b) {
    (void)a;
    (void)b;
    learned[0] = usp_monitor_learn_wait(learning);
    learned[1] = usp_monitor_learn_wait(learning);
    return 0;
}

static bool has_c_library(void) {
    struct usp_images *images;
    bool has = false;
    ck_assert_int_eq(usp_images_create_self(&images), USP_OK);
    for (size_t i = 0; i < usp_images_count(images); i++) {
        const char *image = usp_images_get(images, i)->path;
        has = has || strstr(image, "/libc.so") != NULL || strstr(image, "musl") != NULL;
    }
    usp_images_free(images);
    return has;
}

START_TEST(learns_once) {
    int two[2] = {1, 2};
    ck_assert_int_eq(usp_monitor_learn_wait(NULL), USP_ERROR_ARGUMENT);
    learning = start_monitor(NULL);
    learned[0] = learned[1] = USP_ERROR_SYSTEM;
    qsort(two, 2, sizeof *two, learn_in_comparison);
    ck_assert_msg(learned[0] == (has_c_library() ? USP_OK : USP_ERROR_NOT_FOUND), "%s", usp_status_string(learned[0]));
    ck_assert_int_eq(learned[1], learned[0]);
    /* Another call, from elsewhere, does not change the result. */
    ck_assert_int_eq(usp_monitor_learn_wait(learning), learned[0]);
    usp_monitor_free(learning);
}
END_TEST

/* ---- stopped, traced ---- */

struct turning {
    _Atomic(unsigned) turns, long_turns, hangs, excused;
    _Atomic(unsigned) very_long_turns; /* longer than a stop of stopped_by_a_signal and a hang together */
    _Atomic(int) command;              /* 1: hang once; 2: end */
    _Atomic(int) ready;
    bool is_nice;
    uint64_t length; /* of a hang (ns) */
};

static struct turning *shared_turning(void) {
    struct turning *turning = mmap(NULL, sizeof *turning, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(turning, MAP_FAILED);
    return turning;
}

#define STOP_LENGTH (600 * MS)

/* Makes turns of 20 ms without a wait between them. */
static void turn_on(void *context) {
    struct turning *turning = context;
    struct usp_monitor *monitor = start_monitor(NULL);
    ck_assert_int_eq(usp_monitor_start(monitor), USP_OK);
    int command;
    while ((command = atomic_load(&turning->command)) != 2) {
        uint64_t began = usp_clock();
        usp_monitor_turn_begin(monitor);
        culprit(command == 1 ? 800 * MS : 20 * MS);
        uint64_t lasted = usp_clock() - began;
        if (lasted >= 250 * MS) atomic_fetch_add(&turning->long_turns, 1);
        if (lasted >= STOP_LENGTH + 250 * MS) atomic_fetch_add(&turning->very_long_turns, 1);
        atomic_store(&turning->hangs, reported.ended);
        atomic_store(&turning->excused, (unsigned)statistics_of(monitor).excused);
        atomic_fetch_add(&turning->turns, 1);
        atomic_store(&turning->ready, 1);
        if (command == 1) atomic_store(&turning->command, 0);
    }
    usp_monitor_waiting(monitor);
    usleep(200000);
    atomic_store(&turning->hangs, reported.ended);
    atomic_store(&turning->excused, (unsigned)statistics_of(monitor).excused);
    usp_monitor_free(monitor);
    atomic_store(&turning->ready, 2);
    if (reported.wrong != 0) _exit(4);
}

static void wait_for(_Atomic(int) *value, int wanted) {
    while (atomic_load(value) != wanted) usleep(5000);
}

static void wait_for_turns(struct turning *turning, unsigned more) {
    const unsigned from = turning->turns;
    while (turning->turns - from < more) usleep(5000);
}

/* Waits as a tracer: passes a signal on to the process, also those of captures. */
static void trace(pid_t child) {
    int status;
    if (waitpid(child, &status, WNOHANG) != child) {
        usleep(1000);
        return;
    }
    ck_assert_msg(WIFSTOPPED(status), "the child ends with %#x", (unsigned)status);
    ptrace(PTRACE_CONT, child, NULL, (void *)(uintptr_t)WSTOPSIG(status));
}

/* Lets the process hang once, and then make three turns. */
static void trace_hang(pid_t child, struct turning *turning) {
    atomic_store(&turning->command, 1);
    while (atomic_load(&turning->command) != 0) trace(child);
    const unsigned turns = turning->turns;
    while (turning->turns - turns < 3) trace(child);
}

/* A process that is stopped by a signal would be reported as hanging. Each stop makes one turn long, but no hang. Only
 * a turn that is long for another reason may be reported, or for a stop and another reason. */
START_TEST(stopped_by_a_signal) {
    enum { STOPS = 4 };
    struct turning *turning = shared_turning();
    pid_t child = fork_for(turn_on, turning);
    wait_for(&turning->ready, 1);
    for (unsigned i = 0; i < STOPS; i++) {
        int status;
        /* Each stop must be in another turn. */
        wait_for_turns(turning, 10);
        ck_assert_int_eq(kill(child, SIGSTOP), 0);
        ck_assert_int_eq(waitpid(child, &status, WUNTRACED), child);
        ck_assert(WIFSTOPPED(status));
        usleep(STOP_LENGTH / 1000);
        kill(child, SIGCONT);
    }
    wait_for_turns(turning, 10);
    atomic_store(&turning->command, 2);
    expect_end(child);
    ck_assert_uint_ge(turning->long_turns, STOPS);
    ck_assert_uint_le(turning->hangs, turning->long_turns - STOPS + turning->very_long_turns);
    munmap(turning, sizeof *turning);
}
END_TEST

/* A thread that a person looks at in a debugger would be reported as hanging. With a debugger attached, no hang may be
 * reported; the same hang is reported without it. */
START_TEST(debugger_attached) {
    struct turning *turning = shared_turning();
    pid_t child = fork_for(turn_on, turning);
    wait_for(&turning->ready, 1);
    if (_i == 0 && ptrace(PTRACE_SEIZE, child, NULL, NULL) != 0) {
        kill_child(child);
        not_permitted("ptrace");
        return;
    }
    /* A monitor that does not get the processor takes that time off and may miss a hang. */
    for (unsigned i = 0; i < 3 || (i < 40 && turning->hangs + turning->excused == 0); i++) trace_hang(child, turning);
    atomic_store(&turning->command, 2);
    while (atomic_load(&turning->ready) != 2) trace(child);
    expect_end(child);
    if (_i == 0) {
        ck_assert_uint_eq(turning->hangs, 0);
        ck_assert_uint_ge(turning->excused, 1);
    } else {
        ck_assert_uint_ge(turning->hangs, 1);
        ck_assert_uint_eq(turning->excused, 0);
    }
    munmap(turning, sizeof *turning);
}
END_TEST

/* ---- too little processor time ---- */

static void spin(void *context) {
    (void)context;
    alarm(240);
    for (;;) atomic_fetch_add(&work, 1);
}

/* A loop with short turns that obeys `command` as turn_on does, and whose process may get little processor time. */
static void turn_now_and_then(void *context) {
    struct turning *turning = context;
    struct loop loop;
    int command;
    if (turning->is_nice) ck_assert_int_eq(setpriority(PRIO_PROCESS, 0, 19), 0);
    loop_begin(&loop, false, 0);
    while ((command = atomic_load(&turning->command)) != 2) {
        uint64_t began = usp_clock();
        loop_turn(&loop, 10, command == 1 ? turning->length : 0);
        /* The wait for events counts too. A turn that is long only because of the wait is not a hang. */
        if (usp_clock() - began >= 250 * MS) atomic_fetch_add(&turning->long_turns, 1);
        atomic_store(&turning->hangs, reported.ended);
        atomic_fetch_add(&turning->turns, 1);
        atomic_store(&turning->ready, 1);
        if (command == 1) atomic_store(&turning->command, 0);
    }
    usp_monitor_waiting(loop.monitor);
    usleep(300000);
    atomic_store(&turning->hangs, reported.ended);
    loop_end(&loop);
    atomic_store(&turning->ready, 2);
    if (reported.wrong != 0) _exit(4);
}

/* Gives the child a tenth of the time: all of its threads run, or none. */
static void throttle_until(pid_t child, uint64_t end) {
    while (usp_clock() < end) {
        kill(child, SIGSTOP);
        usleep(90000);
        kill(child, SIGCONT);
        usleep(10000);
    }
}

static void let_run(pid_t child, bool is_throttled, uint64_t length) {
    if (is_throttled) {
        throttle_until(child, usp_clock() + length);
    } else {
        usleep((useconds_t)(length / 1000));
    }
}

/* A process that gets too little processor time would be reported as hanging. It has the lowest priority beside two
 * busy processes, or a tenth of the processor, by signals or by a control group's quota. Only turns that were long may
 * be reported. Real hangs are found if the process runs enough: the test makes hangs until one is found, at least
 * three. */
START_TEST(starved) {
    enum { HANGS = 3, MOST_HANGS = 15, NICE = 0, STOPPED, QUOTA };
    static const char *const ways[] = {"lowest priority", "stopped for nine tenths of the time",
                                       "a quota of a tenth of the processor"};
    struct turning *turning = shared_turning();
    pid_t busy[2] = {0};
    const bool is_stopped = _i == STOPPED;
    turning->is_nice = _i == NICE;
    turning->length = 2 * SECOND;
    for (unsigned i = 0; i < 2 && turning->is_nice; i++) busy[i] = fork_for(spin, NULL);
    pid_t child = fork_for(turn_now_and_then, turning);
    wait_for(&turning->ready, 1);
    if (_i == QUOTA && !begin_cgroup(child, 10000)) {
        /* Most containers do not let programs make groups, so this is not a failure even where all tools are
         * required. */
        kill_child(child);
        printf("not tested: a control group is not permitted\n");
        return;
    }
    let_run(child, is_stopped, 3 * SECOND);
    unsigned falsely = turning->long_turns;
    unsigned made = 0;
    for (; made < HANGS || (made < MOST_HANGS && turning->hangs == 0); made++) {
        atomic_store(&turning->command, 1);
        while (atomic_load(&turning->command) != 0) let_run(child, is_stopped, 100 * MS);
        let_run(child, is_stopped, 400 * MS);
    }
    atomic_store(&turning->command, 2);
    expect_end(child);
    if (_i == QUOTA) ck_assert(end_cgroup());
    for (unsigned i = 0; i < 2 && turning->is_nice; i++) kill_child(busy[i]);
    unsigned most = turning->long_turns;
    if (getenv("USP_TEST_VERBOSE") != NULL) {
        printf("%s: %u long turns before the hangs, %u in all; %u hangs reported, of %u\n", ways[_i], falsely, most,
               turning->hangs, made);
    }
    ck_assert_msg(turning->hangs <= most, "%u hangs in %u long turns", turning->hangs, most);
    ck_assert_uint_ge(turning->hangs, 1);
    munmap(turning, sizeof *turning);
}
END_TEST

/* ---- killed ---- */

static char folder[64], path[96];

static void begin_file(void) {
    snprintf(folder, sizeof folder, "/tmp/unspool-hang-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/hang", folder);
}

static void end_file(void) {
    unlink(path);
    rmdir(folder);
}

static void copy_file(const char *from, const char *to) {
    FILE *in = fopen(from, "rb"), *out = fopen(to, "wb");
    static char bytes[65536];
    ck_assert(in != NULL && out != NULL);
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, in)) > 0;) ck_assert_uint_eq(fwrite(bytes, 1, n, out), n);
    fclose(in);
    ck_assert_int_eq(fclose(out), 0);
}

static void hang_for_ever(void *context) {
    struct usp_monitor *monitor = start_monitor(context);
    ck_assert_int_eq(usp_monitor_start(monitor), USP_OK);
    usp_monitor_turn_begin(monitor);
    for (;;) culprit(SECOND);
}

/* A hang must not be lost when the process is killed. While the process hangs, the file contains a whole report or
 * none. After kill -9 the last report is there, and the next monitor reports it once. */
START_TEST(killed_in_a_hang) {
    pid_t child = fork_for(hang_for_ever, path);
    struct usp_hang *hang = NULL;
    uint64_t samples = 0;
    bool is_new = true;
    for (unsigned i = 0; i < 20000 && samples < 10; i++) {
        int status = usp_hang_open(path, &hang);
        is_new = is_new && status != USP_OK;
        /* When the file is new, it is written byte by byte. */
        bool is_fine = status == USP_OK || status == USP_ERROR_NOT_FOUND || is_new;
        ck_assert_msg(is_fine, "%s", usp_status_string(status));
        if (status == USP_OK) {
            ck_assert_uint_ge(hang->samples, samples);
            samples = hang->samples;
            usp_hang_free(hang);
        }
        usleep(1000);
    }
    ck_assert_uint_ge(samples, 10);
    kill_child(child);
    ck_assert_int_eq(usp_hang_open(path, &hang), USP_OK);
    ck_assert_uint_eq(hang->state, USP_HANG_KILLED);
    ck_assert_int_eq(hang->pid, child);
    ck_assert_uint_eq(hang->id, 1);
    ck_assert_uint_ge(heaviest_in_culprit(hang), 1);
    ck_assert_ptr_nonnull(hang->first);
    ck_assert_uint_ge(FRAMES_IN(hang->first, culprit), 1);
    usp_hang_free(hang);
    struct usp_monitor *next = start_monitor(path);
    ck_assert_int_eq(usp_monitor_start(next), USP_OK);
    for (unsigned i = 0; i < PATIENT_LOOKS && reported.killed == 0; i++) usleep(1000);
    ck_assert_int_eq(usp_monitor_stop(next), USP_OK);
    ck_assert_int_eq(usp_monitor_start(next), USP_OK);
    usp_monitor_free(next);
    ck_assert_uint_eq(reported.killed, 1);
    ck_assert_uint_ge(reported.in_culprit, 1);
    ck_assert_uint_eq(reported.wrong, 0);
    ck_assert_int_eq(usp_hang_open(path, &hang), USP_ERROR_NOT_FOUND);
}
END_TEST

/* ---- a thread that does not answer ---- */

static pthread_mutex_t held;
static struct parked silent, waiting;
static _Atomic(unsigned) silent_reports, owner_reports;

/* Blocks every signal, and takes the lock. */
static void hold_silently(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    prctl(PR_SET_NAME, "silent");
    pthread_mutex_lock(&held);
}

static void release_lock(void) { pthread_mutex_unlock(&held); }

static void wait_for_lock(struct parked *s) {
    (void)s;
    pthread_mutex_lock(&held);
    pthread_mutex_unlock(&held);
}

/* Expects the silent thread in a form of a report, and why it has no stack. Returns whether the report says that it
 * holds the lock. */
static bool expect_silent(const struct usp_hang *hang, uint32_t style) {
    static struct report_text text;
    const char *const listed[] = {
        "\nThread %u \"silent\", sleeping:\n    no stack: the thread did not answer in time\n",
        "      \"id\": %u,\n      \"name\": \"silent\",\n      \"main\": false,\n      \"state\": \"sleeping\",\n"
        "      \"no_stack\": \"the thread did not answer in time\"\n    }"};
    const char *const holds[] = {
        "    waits for a mutex that thread %u \"silent\" holds\n",
        "\"kind\": \"mutex\",\n        \"held_by\": %u,\n        \"held_by_name\": \"silent\"\n"};
    struct usp_hang_write_options options;
    char wanted[256];
    usp_hang_write_options_init(&options);
    options.style = style;
    options.flags = USP_HANG_BRIEF;
    text.used = 0;
    ck_assert_int_eq(usp_hang_write(hang, &options, append, &text), USP_OK);
    snprintf(wanted, sizeof wanted, listed[style], (unsigned)silent.thread.id);
    ck_assert_msg(strstr(text.bytes, wanted) != NULL, "%s is not in %s", wanted, text.bytes);
    snprintf(wanted, sizeof wanted, holds[style], (unsigned)silent.thread.id);
    return strstr(text.bytes, wanted) != NULL;
}

/* Expects the silent thread in each form of the report, of the hang in the file, and of a copy. */
static void expect_silent_in_all(void *context, const struct usp_hang *hang) {
    struct usp_hang *saved, copied = *hang;
    struct usp_profile_info infos[2];
    unsigned with_owner = 0;
    (void)context;
    ck_assert_int_eq(usp_hang_open(path, &saved), USP_OK);
    ck_assert_int_eq(usp_profile_copy(hang->threads, 0, UINT64_MAX, 0, &copied.threads), USP_OK);
    const struct usp_hang *const all[] = {hang, saved, &copied};
    for (unsigned i = 0; i < 3; i++) {
        for (uint32_t style = USP_HANG_TEXT; style <= USP_HANG_JSON; style++)
            with_owner += expect_silent(all[i], style);
    }
    ck_assert(with_owner == 0 || with_owner == 6);
    /* It has no sample. */
    usp_profile_get_info(hang->threads, &infos[0]);
    usp_profile_get_info(copied.threads, &infos[1]);
    ck_assert_uint_eq(infos[0].threads, infos[0].samples);
    ck_assert_uint_eq(infos[1].threads, infos[0].samples);
    usp_profile_free(copied.threads);
    usp_hang_free(saved);
    atomic_fetch_add(&owner_reports, with_owner > 0);
    atomic_fetch_add(&silent_reports, 1);
}

/* A thread that does not answer was missing from a hang's report, although it held the lock for which another one
 * waited. The report must list it, with its state and the reason, and name it as the owner. */
START_TEST(thread_that_does_not_answer) {
    struct usp_monitor_options options;
    struct usp_monitor *monitor;
    pthread_mutexattr_t kind;
    /* In every C library, this kind has its owner's id. */
    ck_assert_int_eq(pthread_mutexattr_init(&kind), 0);
    ck_assert_int_eq(pthread_mutexattr_settype(&kind, PTHREAD_MUTEX_ERRORCHECK), 0);
    ck_assert_int_eq(pthread_mutex_init(&held, &kind), 0);
    silent = (struct parked){.prepare = hold_silently, .wait = wait_asleep, .after = release_lock};
    waiting = (struct parked){.wait = wait_for_lock};
    stand_begin(&silent);
    stand_begin(&waiting);
    wait_for_state(&silent, 'S');
    wait_for_state(&waiting, 'S');
    usp_monitor_options_init(&options);
    options.late = 20 * MS;
    options.hang = 40 * MS;
    options.file = path;
    options.began = expect_silent_in_all;
    ck_assert_int_eq(usp_monitor_create(&options, &monitor), USP_OK);
    ck_assert_int_eq(usp_monitor_start(monitor), USP_OK);
    /* On a busy machine the waiting thread may not answer in time either. */
    for (unsigned i = 0; i < 100 && owner_reports == 0; i++) {
        const unsigned before = silent_reports;
        usp_monitor_turn_begin(monitor);
        while (silent_reports == before) usleep(1000);
        usp_monitor_waiting(monitor);
    }
    usp_monitor_free(monitor);
    ck_assert_uint_ge(owner_reports, 1);
    stand_end(&silent);
    stand_end(&waiting);
}
END_TEST

/* ---- the watched thread holds a lock that reports need ---- */

static void hang_with_file(void) {
    struct usp_monitor *monitor = start_monitor(path);
    ck_assert_int_eq(usp_monitor_start(monitor), USP_OK);
    usp_monitor_turn_begin(monitor);
}

/* Hangs in a library's constructor, which runs while the loader holds its lock. */
static void hang_in_constructor(void *context) {
    hang_with_file();
    if (dlopen(context, RTLD_NOW) == NULL) fprintf(stderr, "%s\n", dlerror());
    _exit(3);
}

#ifdef __GLIBC__
static void spin_in_handler(int signal) {
    (void)signal;
    for (;;) culprit(SECOND);
}

/* Hangs in the allocator: it reads unreadable memory while it holds the lock of its only arena. */
static void hang_in_allocator(void *context) {
    (void)context;
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    /* 32 MiB is the largest threshold that mallopt accepts. */
    ck_assert(mallopt(M_ARENA_MAX, 1) == 1 && mallopt(M_MMAP_THRESHOLD, 32 << 20) == 1);
    hang_with_file();
    signal(SIGSEGV, spin_in_handler);
    /* Large blocks surround the page, so that no other thread uses it. */
    void *volatile before = malloc(1 << 20), *volatile freed = malloc(1 << 20), *volatile after = malloc(1 << 20);
    void *first = (void *)((uintptr_t)freed & ~(page - 1));
    free(freed);
    ck_assert_int_eq(mprotect(first, page, PROT_NONE), 0);
    after = malloc(1 << 19);
    _exit(before != NULL && after != NULL ? 3 : 4);
}
#endif

/* The monitor hung too, because the watched thread held the loader's or the allocator's lock. The report must be in the
 * file all the same. */
static void expect_report_with_lock(void (*run)(void *context), void *context) {
    pid_t child = fork_for(run, context);
    struct usp_hang *hang = NULL;
    int status = USP_ERROR_NOT_FOUND, ended;
    for (unsigned i = 0; i < 20000 && status != USP_OK; i++) {
        ck_assert_msg(waitpid(child, &ended, WNOHANG) == 0, "the child did not hang: %#x", (unsigned)ended);
        usleep(1000);
        status = usp_hang_open(path, &hang);
        if (status != USP_OK || hang->samples > 0) continue;
        /* The thread did not answer in time. */
        usp_hang_free(hang);
        status = USP_ERROR_NOT_FOUND;
    }
    kill_child(child);
    ck_assert_msg(status == USP_OK, "no report with a sample: %s", usp_status_string(status));
    ck_assert_uint_ge(hang->samples, 1);
    ck_assert_ptr_nonnull(hang->first);
    usp_hang_free(hang);
}

START_TEST(hang_in_a_constructor) {
    static char plugin[] = "tests/monitor/.libs/hang_plugin.so";
    expect_report_with_lock(hang_in_constructor, plugin);
}
END_TEST

START_TEST(hang_in_the_allocator) {
#ifdef __GLIBC__
    /* A sanitizer replaces the allocator. */
    if (USP_SANITIZED || is_slowed()) return;
    expect_report_with_lock(hang_in_allocator, NULL);
#endif
}
END_TEST

struct writer {
    struct uspi_hang_file file;
    struct usp_hang hang;
};

static void add_stack(struct usp_profile *profile, usp_addr leaf) {
    const struct usp_thread_info info = {.thread = {1, 0}, .name = "main"};
    struct usp_frame frames[] = {{.pc = leaf}, {.pc = 0x2000}, {.pc = 0x1000}};
    struct usp_stack stack;
    usp_stack_init(&stack, frames, 3);
    stack.count = 3;
    const struct usp_profile_sample sample = {.thread = &info, .stack = &stack, .time = 1, .wall = 1000};
    ck_assert_int_eq(usp_profile_add(profile, &sample), USP_OK);
}

enum { STATES = 4, SLOT = 16384, FILE_SIZE = USPI_HANG_FILE_HEAD + 2 * SLOT };

/* Makes the file, with a first state. */
static void begin_writer(struct writer *w) {
    struct usp_profile_options options;
    usp_profile_options_init(&options);
    options.memory = 65536;
    memset(w, 0, sizeof *w);
    w->hang.pid = 1;
    w->hang.program = "";
    ck_assert_int_eq(usp_profile_create(&options, &w->hang.profile), USP_OK);
    ck_assert_int_eq(usp_profile_create(&options, &w->hang.threads), USP_OK);
    add_stack(w->hang.profile, 0x666);
    uspi_profile_mark(w->hang.profile, 1);
    add_stack(w->hang.threads, 0x777);
    ck_assert_int_eq(uspi_hang_file_make(&w->file, path, SLOT), USP_OK);
    w->hang.id = 1;
    uspi_hang_file_write(&w->file, &w->hang, 1);
}

static void end_writer(struct writer *w) {
    uspi_hang_file_close(&w->file);
    usp_profile_free(w->hang.profile);
    usp_profile_free(w->hang.threads);
}

static void expect_state(uint64_t id, const char *when) {
    struct usp_hang *found;
    int status = usp_hang_open(path, &found);
    ck_assert_msg(status == USP_OK, "%s: %s", when, usp_status_string(status));
    ck_assert_msg(found->id == id, "%s: state %u instead of %u", when, (unsigned)found->id, (unsigned)id);
    ck_assert_uint_eq(found->first->frames[0].pc, 0x666);
    usp_hang_free(found);
}

/* Writes one state of the file after the other. Stops before the first and after each. */
static void write_states(void *context) {
    struct writer *w = context;
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(3);
    raise(SIGSTOP);
    for (unsigned i = 2; i <= STATES; i++) {
        w->hang.id = i;
        add_stack(w->hang.profile, 0x666000 * (usp_addr)i);
        uspi_hang_file_write(&w->file, &w->hang, i);
    }
    uspi_hang_file_end(&w->file);
    syscall(SYS_exit_group, 0);
}

/* The contents of the hang file, before and after a change. */
struct contents {
    uint8_t before[FILE_SIZE], after[FILE_SIZE];
};

static void read_contents(uint8_t *to) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pread(fd, to, FILE_SIZE, 0), FILE_SIZE);
    close(fd);
}

/* Opens the file with only the first bytes of a change, as a process that is killed in a write could leave it. Each
 * time it has the state of before or of after. `id` is the state before, STATES + 1: the hang has ended. Returns the
 * state after. */
static uint64_t open_torn(const struct contents *contents, uint64_t id) {
    struct usp_hang *found;
    size_t from = 0, to = FILE_SIZE;
    uint64_t last = id;
    char copy[sizeof path + 8];
    while (contents->before[from] == contents->after[from]) from++;
    while (contents->before[to - 1] == contents->after[to - 1]) to--;
    snprintf(copy, sizeof copy, "%s.torn", path);
    int fd = open(copy, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, contents->before, FILE_SIZE, 0), FILE_SIZE);
    for (size_t at = from; at < to; at++) {
        ck_assert_int_eq(pwrite(fd, &contents->after[at], 1, (off_t)at), 1);
        int status = usp_hang_open(copy, &found);
        uint64_t now = status == USP_OK ? found->id : STATES + 1;
        ck_assert_msg(status == USP_OK || status == USP_ERROR_NOT_FOUND, "%u of %u bytes: %s",
                      (unsigned)(at + 1 - from), (unsigned)(to - from), usp_status_string(status));
        ck_assert_msg(now == last || now == id + 1, "state %u after state %u", (unsigned)now, (unsigned)last);
        if (status == USP_OK) ck_assert_uint_eq(found->first->frames[0].pc, 0x666);
        usp_hang_free(found);
        last = now;
    }
    close(fd);
    unlink(copy);
    return last;
}

/* A file would be unreadable if the process is killed while it writes. The writer is stopped at each system call, and
 * each change is done byte by byte: the file must contain the state before or the state after. */
START_TEST(file_at_each_moment) {
    static struct contents contents;
    struct writer w;
    begin_writer(&w);
    expect_state(1, "at first");
    pid_t child = fork_for(write_states, &w);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    uint64_t id = 1;
    unsigned changes = 0;
    read_contents(contents.before);
    while (WIFSTOPPED(status)) {
        if (ptrace(PTRACE_SYSCALL, child, NULL, NULL) != 0) break;
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        read_contents(contents.after);
        if (memcmp(contents.before, contents.after, FILE_SIZE) == 0) continue;
        changes++;
        id = open_torn(&contents, id);
        memcpy(contents.before, contents.after, FILE_SIZE);
    }
    if (!WIFEXITED(status)) kill_child(child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 3) {
        not_permitted("ptrace");
    } else {
        ck_assert_uint_eq(id, STATES + 1);
        /* A state and a header for each, and the header of the end. */
        ck_assert_uint_eq(changes, 2 * (STATES - 1) + 1);
    }
    end_writer(&w);
}
END_TEST

/* The file's owner can shorten it at any moment. The process must go on, and the next state is in the file again. */
START_TEST(file_that_is_shortened) {
    struct writer w;
    struct usp_hang *found;
    begin_writer(&w);
    static const off_t sizes[] = {0, 1, 100, USPI_HANG_FILE_HEAD, USPI_HANG_FILE_HEAD + SLOT, FILE_SIZE - 1};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        ck_assert_int_eq(truncate(path, sizes[i]), 0);
        w.hang.id = i + 2;
        uspi_hang_file_touch(&w.file, 5 * SECOND);
        uspi_hang_file_write(&w.file, &w.hang, i);
        expect_state(i + 2, "after the file was shortened");
    }
    ck_assert_int_eq(truncate(path, 0), 0);
    uspi_hang_file_end(&w.file);
    ck_assert_int_eq(usp_hang_open(path, &found), USP_ERROR_NOT_FOUND);
    end_writer(&w);
}
END_TEST

/* The same in a process that hangs for ever, while its monitor writes. */
START_TEST(killed_after_the_file_was_shortened) {
    pid_t child = fork_for(hang_for_ever, path);
    struct usp_hang *hang = NULL;
    int status = USP_ERROR_NOT_FOUND, ended;
    for (unsigned i = 0; i < 20000 && status != USP_OK; i++) {
        usleep(1000);
        status = usp_hang_open(path, &hang);
    }
    ck_assert_int_eq(status, USP_OK);
    const uint64_t samples = hang->samples;
    usp_hang_free(hang);
    for (unsigned i = 0; i < 1000; i++) {
        ck_assert_int_eq(truncate(path, (off_t)(i % 7) * 100), 0);
        usleep(300);
        ck_assert_msg(waitpid(child, &ended, WNOHANG) == 0, "the process has ended: %#x", (unsigned)ended);
    }
    /* A report may be written again before the next sample. */
    uint64_t more = 0;
    for (unsigned i = 0; i < 20000 && more <= samples; i++) {
        usleep(1000);
        if (usp_hang_open(path, &hang) != USP_OK) continue;
        more = hang->samples;
        usp_hang_free(hang);
    }
    kill_child(child);
    ck_assert_uint_gt(more, samples);
}
END_TEST

/* A program can close descriptors that it has not opened, and open others with their numbers. The monitor must not
 * write into those. It opens its file again, unless something else is in its place. */
START_TEST(descriptor_of_another_file) {
    struct writer w;
    struct stat status;
    char other[sizeof path + 8];
    begin_writer(&w);
    snprintf(other, sizeof other, "%s.other", path);
    int fd = open(other, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ck_assert_int_ge(fd, 0);
    int number = w.file.file.descriptor;
    ck_assert_int_eq(close(number), 0);
    w.hang.id = 2;
    uspi_hang_file_write(&w.file, &w.hang, 2);
    expect_state(2, "after its descriptor was closed");
    number = w.file.file.descriptor;
    ck_assert_int_eq(dup2(fd, number), number);
    w.hang.id = 3;
    uspi_hang_file_write(&w.file, &w.hang, 3);
    expect_state(3, "after another file has its descriptor");
    ck_assert(stat(other, &status) == 0 && status.st_size == 0);
    /* The program's descriptor is still the other file's. */
    ck_assert(fstat(number, &status) == 0 && status.st_size == 0);
    for (unsigned i = 0; i < 2; i++) {
        unlink(path);
        ck_assert_int_eq(i == 0 ? symlink(other, path) : link(other, path), 0);
        int again = w.file.file.descriptor;
        if (again >= 0) close(again);
        w.hang.id = 4;
        uspi_hang_file_write(&w.file, &w.hang, 4);
        uspi_hang_file_touch(&w.file, SECOND);
        ck_assert(stat(other, &status) == 0 && status.st_size == 0);
    }
    close(fd);
    close(number);
    unlink(other);
    end_writer(&w);
}
END_TEST

/* Another user can have put something in the place of the file. It is replaced: a link's target stays, a pipe is not
 * waited for, and a setuid bit or another name of the file does not last. */
START_TEST(file_replaces_what_is_there) {
    static const char *const kinds[] = {"link", "pipe", "setuid"};
    char other[sizeof path + 8];
    struct uspi_hang_file file;
    struct stat found;
    snprintf(other, sizeof other, "%s.other", path);
    const int made = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    ck_assert_int_ge(made, 0);
    ck_assert_int_eq(write(made, "secret", 6), 6);
    close(made);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        unlink(path);
        ck_assert_int_eq(i == 0 ? symlink(other, path) : i == 1 ? mkfifo(path, 0666) : link(other, path), 0);
        if (i == 2) ck_assert_int_eq(chmod(path, 04755), 0);
        ck_assert_msg(uspi_hang_file_make(&file, path, SLOT) == USP_OK, "%s", kinds[i]);
        uspi_hang_file_close(&file);
        ck_assert_msg(lstat(path, &found) == 0 && found.st_mode == (S_IFREG | 0600) && found.st_nlink == 1,
                      "%s: mode %o", kinds[i], (unsigned)found.st_mode);
        ck_assert_msg(stat(other, &found) == 0 && found.st_size == 6, "%s: the other file was written", kinds[i]);
    }
    unlink(other);
    unlink(path);
}
END_TEST

/* ---- failures ---- */

static unsigned open_descriptors(void) {
    unsigned count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (directory != NULL && readdir(directory) != NULL) count++;
    if (directory != NULL) closedir(directory);
    return count;
}

/* Creates a monitor with a file and an eventfd for pings, starts it and lets it run. Returns the first error. */
static int use_files(void) {
    struct usp_monitor_options options;
    struct usp_monitor *monitor;
    usp_monitor_options_init(&options);
    options.file = path;
    int status = usp_monitor_create(&options, &monitor);
    if (status != USP_OK) return status;
    int descriptor = usp_monitor_open_ping(monitor);
    status = descriptor < 0 ? descriptor : usp_monitor_start(monitor);
    usp_monitor_free(monitor);
    return status;
}

/* The limit of open files rises from zero, so that each call that opens something fails once. The monitor must return
 * the error and leak nothing. */
START_TEST(each_descriptor_lacks) {
    struct rlimit whole, limit;
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    ck_assert_int_eq(use_files(), USP_OK);
    unsigned before = open_descriptors(), failures = 0;
    int highest = dup(0);
    close(highest);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &whole), 0);
    limit = whole;
    for (rlim_t more = 0;; more++) {
        limit.rlim_cur = (rlim_t)highest + more;
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
        int status = use_files();
        ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &whole), 0);
        ck_assert_uint_eq(open_descriptors(), before);
        if (status == USP_OK) break;
        ck_assert_msg(status == USP_ERROR_SYSTEM, "with room for %u files: %s", (unsigned)more,
                      usp_status_string(status));
        failures++;
    }
    ck_assert_uint_ge(failures, 2);
}
END_TEST

/* The limit of file sizes keeps the hang file from becoming large enough. SIGXFSZ does not end the process, also when
 * the limit is set later. */
START_TEST(file_has_no_room) {
    struct rlimit whole, limit;
    struct usp_hang *hang;
    struct writer w;
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &whole), 0);
    limit = whole;
    limit.rlim_cur = 8192;
    begin_writer(&w);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    w.hang.id = 2;
    uspi_hang_file_write(&w.file, &w.hang, 2);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &whole), 0);
    expect_state(2, "below a limit");
    /* An assertion writes a file, too. */
    limit.rlim_cur = USPI_HANG_FILE_HEAD;
    w.hang.id = 3;
    const int lowered = setrlimit(RLIMIT_FSIZE, &limit);
    uspi_hang_file_write(&w.file, &w.hang, 3);
    const int raised = setrlimit(RLIMIT_FSIZE, &whole);
    ck_assert_int_eq(lowered, 0);
    ck_assert_int_eq(raised, 0);
    expect_state(2, "with a limit");
    end_writer(&w);
    limit.rlim_cur = 8192;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    int status = use_files();
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &whole), 0);
    ck_assert_int_eq(status, USP_ERROR_SYSTEM);
    ck_assert_int_eq(usp_hang_open(path, &hang), USP_ERROR_NOT_FOUND);
}
END_TEST

/* Watches a turn that becomes a hang, step by step. Sets the first error. Returns whether the hang was reported. */
static bool watch_a_turn(int *status) {
    static struct uspi_watching watching;
    struct usp_monitor_options options;
    struct uspi_own_world own;
    struct uspi_world world;
    usp_monitor_options_init(&options);
    options.late = MS;
    options.hang = 2 * MS;
    options.interval = MS;
    options.update = 2 * MS;
    options.file = path;
    *status = uspi_own_world_begin(&own, &world);
    if (*status != USP_OK) return false;
    *status = uspi_watching_init(&watching, &options, &world);
    if (*status == USP_OK) *status = uspi_watching_begin(&watching);
    bool is_reported = false;
    if (*status == USP_OK) {
        (void)uspi_activity_begin(&watching.activity, uspi_os_clock());
        /* The time by which a look is late is taken off. */
        for (unsigned i = 0; i < 8 || (i < 400 && watching.statistics.hangs == 0); i++) {
            (void)uspi_watching_look(&watching, false);
            usleep(1500);
        }
        is_reported = watching.statistics.hangs == 1;
        uspi_watching_end(&watching);
    }
    uspi_watching_free(&watching);
    uspi_own_world_end(&own);
    return is_reported;
}

/* One system call of the monitor fails, or all from one on. A user would get a monitor that silently finds nothing:
 * either the hang is reported, or creating the monitor has returned an error. */
START_TEST(each_call_fails) {
    static struct uspi_linux_calls table;
    ck_assert_int_eq(usp_prepare(NULL), USP_OK);
    table = uspi_linux_real;
    fail_calls_of_captures(&table);
    uspi_linux = &table;
    for (script.failing = 1;; script.failing++) {
        int status;
        fail_from_now(EMFILE, _i == 1);
        long opened = script.opened;
        bool is_reported = watch_a_turn(&status);
        ck_assert_int_eq(script.opened, opened);
        ck_assert_msg(is_reported == (status == USP_OK), "call %u: %s, reported: %d", script.failing,
                      usp_status_string(status), is_reported);
        if (!script.failed) break;
    }
    ck_assert_uint_gt(script.failing, 5);
    uspi_linux = &uspi_linux_real;
}
END_TEST

static int count_bytes(void *context, const char *bytes, size_t n) {
    (void)bytes;
    *(_Atomic(size_t) *)context += n;
    return USP_OK;
}

static void write_in_report(void *context, const struct usp_hang *hang) {
    struct usp_hang_write_options brief;
    usp_hang_write_options_init(&brief);
    brief.flags = USP_HANG_BRIEF;
    (void)usp_hang_write(hang, &brief, count_bytes, context);
}

/* Watches with the monitor's own thread until it has found a hang, and writes the reports. Returns the first error. */
static int use_monitor(void *written) {
    struct usp_monitor_options options;
    struct usp_monitor *monitor;
    usp_monitor_options_init(&options);
    options.late = MS;
    options.hang = 2 * MS;
    options.interval = MS;
    options.update = 2 * MS;
    options.file = path;
    options.began = options.ended = write_in_report;
    options.context = written;
    int status = usp_monitor_create(&options, &monitor);
    if (status != USP_OK) return status;
    (void)usp_monitor_learn_wait(monitor);
    status = usp_monitor_start(monitor);
    usp_monitor_turn_begin(monitor);
    while (status == USP_OK && statistics_of(monitor).hangs == 0) usleep(200);
    usp_monitor_waiting(monitor);
    usp_monitor_free(monitor);
    return status;
}

/* The app would crash, or its hang would be lost, when memory is short. The monitor must find the hang or have returned
 * a status, and leak nothing, whichever allocation fails. */
START_TEST(each_allocation_fails) {
    _Atomic(size_t) written = 0;
    ck_assert_int_eq(use_monitor(&written), USP_OK);
    ck_assert_uint_gt(written, 0);
    const unsigned descriptors = open_descriptors();
    fail_each_allocation(use_monitor, &written, 30, 100);
    ck_assert_uint_eq(open_descriptors(), descriptors);
}
END_TEST

/* The process has no room for another thread. usp_monitor_start must say so, and succeed later. */
START_TEST(no_room_for_its_thread) {
    struct usp_monitor *monitor = start_monitor(NULL);
    if (!forbid_mappings()) {
        usp_monitor_free(monitor);
        return;
    }
    int status = usp_monitor_start(monitor);
    allow_mappings();
    ck_assert_msg(status == USP_ERROR_SYSTEM, "%s", usp_status_string(status));
    ck_assert_int_eq(usp_monitor_stop(monitor), USP_OK);
    ck_assert_int_eq(usp_monitor_start(monitor), USP_OK);
    usp_monitor_free(monitor);
}
END_TEST

/* ---- what the monitor costs ---- */

/* An idle app must not use the battery: between two turns the monitor does not wake the watched thread, and goes to
 * sleep itself. */
START_TEST(idle_loop_is_not_woken) {
    struct loop loop;
    struct rusage before, after;
    /* On a busy machine a short turn takes long, but it is not late. */
    loop_begin(&loop, false, SECOND);
    loop_live(&loop, 200 * MS);
    usp_monitor_waiting(loop.monitor);
    struct epoll_event event;
    getrusage(RUSAGE_THREAD, &before);
    epoll_wait(loop.epoll, &event, 1, 3000);
    getrusage(RUSAGE_THREAD, &after);
    for (unsigned i = 0; i < 6000 && statistics_of(loop.monitor).sleeps == 0; i++) usleep(10000);
    struct usp_monitor_statistics asleep = statistics_of(loop.monitor);
    epoll_wait(loop.epoll, &event, 1, 1000);
    struct usp_monitor_statistics still = statistics_of(loop.monitor);
    ck_assert_uint_ge(asleep.sleeps, 1);
    ck_assert_uint_eq(still.looks, asleep.looks);
    ck_assert_uint_eq(asleep.captures, 0);
    /* The watched thread went to sleep once. */
    ck_assert_int_le(after.ru_nvcsw - before.ru_nvcsw, 1);
    if (getenv("USP_TEST_VERBOSE") != NULL) {
        printf("4 s without a turn: %ld wake-ups of the watched thread, %llu looks\n",
               after.ru_nvcsw - before.ru_nvcsw - 1, (unsigned long long)asleep.looks);
    }
    loop_end(&loop);
}
END_TEST

static int by_number(const void *a, const void *b) {
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Forbids the calling thread all system calls but write and exit; any other ends the process. SECCOMP_MODE_STRICT would
 * take away the time stamp counter too (Linux kernel/seccomp.c, disable_TSC). */
static void forbid_calls(void) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_write, 2, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(3);
}

static void turn_without_calls(void *context) {
    enum { ROUNDS = 101, TURNS = 1000 };
    static uint64_t costs[ROUNDS], clocks[ROUNDS];
    int fd = *(int *)context;
    /* No turn is late: a capture's signal handler makes system calls. */
    struct usp_monitor *monitor = make_monitor(NULL, 60 * SECOND);
    ck_assert_int_eq(usp_monitor_start(monitor), USP_OK);
    usp_monitor_turn_begin(monitor);
    usp_monitor_waiting(monitor);
    forbid_calls();
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t began = usp_clock();
        for (unsigned k = 0; k < TURNS; k++) {
            usp_monitor_turn_begin(monitor);
            usp_monitor_waiting(monitor);
        }
        uint64_t middle = usp_clock();
        for (unsigned k = 0; k < 2 * TURNS; k++) (void)usp_clock();
        costs[i] = middle - began;
        clocks[i] = usp_clock() - middle;
    }
    qsort(costs, ROUNDS, sizeof *costs, by_number);
    qsort(clocks, ROUNDS, sizeof *clocks, by_number);
    const uint64_t medians[] = {costs[ROUNDS / 2] / TURNS, clocks[ROUNDS / 2] / TURNS};
    ssize_t written = write(fd, medians, sizeof medians);
    (void)written;
    for (;;) usp_monitor_waiting(monitor);
}

static void ask_clock(void *context) {
    (void)context;
    forbid_calls();
    for (unsigned i = 0; i < 100; i++) (void)usp_clock();
    syscall(SYS_exit, 0);
}

START_TEST(turns_make_no_system_call) {
    uint64_t medians[2];
    int fds[2], status;
    /* Where reading the clock is a system call, a turn makes one too. */
    pid_t child = fork_for(ask_clock, NULL);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        not_permitted(WIFEXITED(status) ? "a filter of system calls" : "a clock without system calls");
        return;
    }
    ck_assert_int_eq(pipe(fds), 0);
    child = fork_for(turn_without_calls, &fds[1]);
    close(fds[1]);
    ck_assert_int_eq(read(fds[0], medians, sizeof medians), sizeof medians);
    close(fds[0]);
    kill_child(child);
    if (getenv("USP_TEST_VERBOSE") != NULL) {
        printf("a turn, begun and ended: %llu ns, of which its two clocks take %llu\n", (unsigned long long)medians[0],
               (unsigned long long)medians[1]);
    }
}
END_TEST

static volatile sig_atomic_t calls_made;
static volatile int last_call;

static void count_call(int signal, siginfo_t *info, void *context) {
    (void)signal;
    (void)context;
    calls_made++;
    last_call = info->si_syscall;
}

/* From now on the calling thread's system calls are counted instead of made. */
static void count_calls(void) {
    struct sigaction action = {.sa_sigaction = count_call, .sa_flags = SA_SIGINFO};
    struct sock_filter code[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 2, 0),
                                 BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 1, 0),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
                                 BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog program = {sizeof code / sizeof *code, code};
    if (sigaction(SIGSYS, &action, NULL) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(3);
    }
}

static void wake_monitor(void *context) {
    (void)context;
    struct usp_monitor *monitor = make_monitor(NULL, SECOND);
    ck_assert_int_eq(usp_monitor_start(monitor), USP_OK);
    usp_monitor_turn_begin(monitor);
    usp_monitor_waiting(monitor);
    while (statistics_of(monitor).sleeps == 0) usleep(10000);
    /* Where reading the clock is a system call, each turn makes two more. */
    count_calls();
    (void)usp_clock();
    int clock_calls = calls_made;
    usp_monitor_turn_begin(monitor);
    usp_monitor_waiting(monitor);
    int first = calls_made - 3 * clock_calls;
    bool is_futex = last_call == SYS_futex || clock_calls > 0;
    usp_monitor_turn_begin(monitor);
    usp_monitor_waiting(monitor);
    int both = calls_made - 5 * clock_calls;
    _exit(first == 1 && both == 1 && is_futex ? 0 : 4 + both);
}

/* Turns must stay cheap: the turn that wakes the monitor's thread makes one system call, the next one none. */
START_TEST(one_call_wakes_the_monitor) {
    /* Sanitizers make system calls of their own, inside the handler too. */
    if (USP_SANITIZED) return;
    int status = -1;
    /* The monitor falls asleep again if a busy machine lets the thread wait between the two turns. */
    for (unsigned i = 0; i < 10 && status != 0; i++) {
        pid_t child = fork_for(wake_monitor, NULL);
        ck_assert_int_eq(waitpid(child, &status, 0), child);
        ck_assert_msg(WIFEXITED(status), "the child ends with %#x", (unsigned)status);
        if (WEXITSTATUS(status) == 3) break;
    }
    if (WEXITSTATUS(status) == 3) {
        not_permitted("a filter of system calls");
        return;
    }
    ck_assert_msg(WEXITSTATUS(status) == 0, "two turns made %d system calls", WEXITSTATUS(status) - 4);
}
END_TEST

/* ---- starts, stops, several monitors, forks ---- */

static struct usp_monitor *shared;
static _Atomic(bool) is_over;

static void *start_and_stop(void *context) {
    (void)context;
    while (!atomic_load(&is_over)) {
        ck_assert_int_eq(usp_monitor_start(shared), USP_OK);
        ck_assert_int_eq(usp_monitor_stop(shared), USP_OK);
    }
    return NULL;
}

START_TEST(races) {
    pthread_t threads[3];
    shared = start_monitor(NULL);
    struct usp_monitor *other = start_monitor(NULL);
    ck_assert_int_eq(usp_monitor_start(other), USP_OK);
    atomic_store(&is_over, false);
    for (unsigned i = 0; i < 3; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, start_and_stop, NULL), 0);
    uint64_t end = usp_clock() + SECOND;
    unsigned turns = 0;
    while (usp_clock() < end) {
        usp_monitor_turn_begin(shared);
        usp_monitor_turn_begin(other);
        struct usp_monitor *brief = start_monitor(NULL);
        ck_assert_int_eq(usp_monitor_start(brief), USP_OK);
        usp_monitor_turn_begin(brief);
        usp_monitor_free(brief);
        /* An emulator's own locks are not usable in children of programs with threads. */
        if (turns++ % 8 != 0 || is_user_emulated()) continue;
        pid_t child = fork();
        /* Another thread of the parent may have held Check's lock, so the child uses no assertions. */
        if (child == 0) {
            alarm(240);
            usp_monitor_turn_begin(other);
            usp_monitor_waiting(other);
            usp_monitor_free(other);
            struct usp_monitor *own;
            if (usp_monitor_create(NULL, &own) != USP_OK || usp_monitor_start(own) != USP_OK) _exit(2);
            usp_monitor_free(own);
            _exit(0);
        }
        ck_assert_int_gt(child, 0);
        expect_end(child);
    }
    atomic_store(&is_over, true);
    for (unsigned i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    usp_monitor_free(shared);
    usp_monitor_free(other);
    ck_assert_uint_gt(turns, 0);
}
END_TEST

static void free_inside(void *context, const struct usp_hang *hang) {
    struct usp_monitor **monitor = context;
    (void)hang;
    ck_assert_int_eq(usp_monitor_stop(*monitor), USP_ERROR_BUSY);
    usp_monitor_free(*monitor);
    atomic_store(&is_over, true);
}

/* A function that the monitor calls frees the monitor. */
START_TEST(freed_by_its_own_report) {
    struct usp_monitor_options options;
    static struct usp_monitor *monitor;
    usp_monitor_options_init(&options);
    options.began = free_inside;
    options.context = &monitor;
    ck_assert_int_eq(usp_monitor_create(&options, &monitor), USP_OK);
    ck_assert_int_eq(usp_monitor_start(monitor), USP_OK);
    atomic_store(&is_over, false);
    usp_monitor_turn_begin(monitor);
    while (!atomic_load(&is_over)) culprit(20 * MS);
    usleep(100000);
}
END_TEST

/* ---- functions of the options that call the monitor ---- */

static struct usp_monitor *in_use;
static _Atomic(int) stage;

static struct usp_monitor *monitor_that_calls(void (*began)(void *context, const struct usp_hang *hang)) {
    struct usp_monitor_options options;
    usp_monitor_options_init(&options);
    options.began = began;
    ck_assert_int_eq(usp_monitor_create(&options, &in_use), USP_OK);
    ck_assert_int_eq(usp_monitor_start(in_use), USP_OK);
    atomic_store(&stage, 0);
    return in_use;
}

/* Starts the monitor until another thread has begun to stop it: then both calls return USP_ERROR_BUSY. */
static void start_until_busy(void *context, const struct usp_hang *hang) {
    (void)context;
    (void)hang;
    if (atomic_exchange(&stage, 1) != 0) return;
    while (usp_monitor_start(in_use) == USP_OK) usleep(1000);
    ck_assert_int_eq(usp_monitor_start(in_use), USP_ERROR_BUSY);
    ck_assert_int_eq(usp_monitor_stop(in_use), USP_ERROR_BUSY);
    (void)statistics_of(in_use);
    atomic_store(&stage, 2);
}

/* A function of the options starts the monitor while the watched thread stops it. Neither may wait for the other for
 * ever. */
START_TEST(started_by_its_report_while_stopped) {
    struct usp_monitor *monitor = monitor_that_calls(start_until_busy);
    while (atomic_load(&stage) == 0) {
        usp_monitor_turn_begin(monitor);
        for (unsigned i = 0; i < 100 && atomic_load(&stage) == 0; i++) culprit(10 * MS);
    }
    ck_assert_int_eq(usp_monitor_stop(monitor), USP_OK);
    ck_assert_int_eq(atomic_load(&stage), 2);
    ck_assert_int_eq(usp_monitor_start(monitor), USP_OK);
    usp_monitor_free(monitor);
}
END_TEST

/* Waits for the watched thread's next turn; gives up after a while if that thread waits for this function. */
static void wait_for_next_turn(void *context, const struct usp_hang *hang) {
    (void)context;
    (void)hang;
    atomic_store(&stage, 1);
    for (unsigned i = 0; i < PATIENT_LOOKS && atomic_load(&stage) == 1; i++) usleep(1000);
    if (atomic_load(&stage) != 1) atomic_store(&stage, 3);
}

/* A report function that uses the main thread waits for it. If the main thread waited for the monitor, neither would
 * continue: the watched thread must never wait for the monitor. */
START_TEST(report_waits_for_the_watched_thread) {
    struct usp_monitor *monitor = monitor_that_calls(wait_for_next_turn);
    while (atomic_load(&stage) == 0) {
        usp_monitor_turn_begin(monitor);
        for (unsigned i = 0; i < 100 && atomic_load(&stage) == 0; i++) culprit(10 * MS);
    }
    for (unsigned i = 0; i < 100; i++) {
        usp_monitor_waiting(monitor);
        usp_monitor_turn_begin(monitor);
    }
    (void)statistics_of(monitor);
    usp_monitor_waiting(monitor);
    ck_assert_msg(atomic_load(&stage) == 1, "the function did not wait");
    atomic_store(&stage, 2);
    while (atomic_load(&stage) == 2) usleep(1000);
    usp_monitor_free(monitor);
}
END_TEST

static void free_when_killed(void *context, const struct usp_hang *hang) {
    struct usp_monitor *monitor = *(struct usp_monitor **)context;
    (void)hang;
    ck_assert_int_eq(usp_monitor_start(monitor), USP_OK);
    ck_assert_int_eq(usp_monitor_stop(monitor), USP_ERROR_BUSY);
    usp_monitor_free(monitor);
    atomic_store(&is_over, true);
}

/* The function for a killed process's hang is the first that a monitor calls, before usp_monitor_start has returned. It
 * frees the monitor. */
START_TEST(freed_by_the_first_report) {
    static struct usp_monitor *monitor;
    char kept[112];
    snprintf(kept, sizeof kept, "%s/kept", folder);
    pid_t child = fork_for(hang_for_ever, kept);
    struct usp_hang *hang = NULL;
    for (unsigned i = 0; i < PATIENT_LOOKS && usp_hang_open(kept, &hang) != USP_OK; i++) usleep(1000);
    kill_child(child);
    ck_assert_ptr_nonnull(hang);
    usp_hang_free(hang);
    for (unsigned i = 0; i < 200; i++) {
        struct usp_monitor_options options;
        usp_monitor_options_init(&options);
        options.killed = free_when_killed;
        options.context = &monitor;
        options.file = path;
        unlink(path);
        copy_file(kept, path);
        atomic_store(&is_over, false);
        ck_assert_int_eq(usp_monitor_create(&options, &monitor), USP_OK);
        ck_assert_int_eq(usp_monitor_start(monitor), USP_OK);
        while (!atomic_load(&is_over)) usleep(100);
    }
    unlink(kept);
}
END_TEST

/* ---- two monitors ---- */

BOUNDS(other_culprit);

static BOUNDED(other_culprit) void other_culprit(uint64_t length) {
    uint64_t until = usp_clock() + length;
    while (usp_clock() < until) atomic_fetch_add(&work, 1);
}

struct watched {
    struct usp_monitor *monitor;
    void (*hang)(uint64_t length);
    _Atomic(unsigned) ended, in_own, in_other;
    _Atomic(bool) was_delayed; /* the thread waited for the processor outside of `hang` */
    uintptr_t low, high, other_low, other_high;
};

static void note_watched(void *context, const struct usp_hang *hang) {
    struct watched *watched = context;
    struct usp_frame frames[128];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, 128);
    if (usp_profile_heaviest(hang->profile, 0, USP_PROFILE_WALL, &stack, NULL) != USP_OK || watched->was_delayed)
        return;
    atomic_fetch_add(&watched->in_own, count_frames(&stack, watched->low, watched->high) > 0);
    atomic_fetch_add(&watched->in_other, count_frames(&stack, watched->other_low, watched->other_high) > 0);
    atomic_fetch_add(&watched->ended, 1);
}

/* Hangs for 600 ms again and again until one is found that has a sample. */
static void *hang_and_wait(void *context) {
    struct watched *watched = context;
    struct usp_monitor_options options;
    struct usp_thread self;
    ck_assert_int_eq(usp_thread_self(&self), USP_OK);
    usp_monitor_options_init(&options);
    options.thread = self;
    options.ended = note_watched;
    options.context = watched;
    ck_assert_int_eq(usp_monitor_create(&options, &watched->monitor), USP_OK);
    ck_assert_int_eq(usp_monitor_start(watched->monitor), USP_OK);
    for (unsigned i = 0; i < 40 && watched->ended == 0; i++) {
        uint64_t began = usp_clock();
        usp_monitor_turn_begin(watched->monitor);
        watched->hang(600 * MS);
        watched->was_delayed = usp_clock() - began > 650 * MS;
        usp_monitor_waiting(watched->monitor);
        usleep(300000);
    }
    usp_monitor_free(watched->monitor);
    return NULL;
}

/* Two threads hang at the same time, each with its own monitor. Each monitor must find the hang of its own thread
 * only. */
START_TEST(two_monitors_find_their_own) {
    struct watched one = {.hang = culprit,
                          .low = LOW(culprit),
                          .high = HIGH(culprit),
                          .other_low = LOW(other_culprit),
                          .other_high = HIGH(other_culprit)};
    struct watched two = {.hang = other_culprit,
                          .low = LOW(other_culprit),
                          .high = HIGH(other_culprit),
                          .other_low = LOW(culprit),
                          .other_high = HIGH(culprit)};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, hang_and_wait, &two), 0);
    hang_and_wait(&one);
    pthread_join(thread, NULL);
    ck_assert_msg(one.ended > 0 && two.ended > 0, "%u and %u hangs found", one.ended, two.ended);
    ck_assert_msg(one.in_own == one.ended && two.in_own == two.ended, "a heaviest stack lacks its culprit");
    ck_assert_msg(one.in_other == 0 && two.in_other == 0, "a heaviest stack has the other thread's culprit");
}
END_TEST

/* A hang's duration would be wrong after the time of day has been set. The clock for durations is not set with it, and
 * stands still while the machine sleeps. */
START_TEST(clock_is_monotonic) {
    struct timespec before, after;
    for (unsigned i = 0; i < 1000; i++) {
        clock_gettime(CLOCK_MONOTONIC, &before);
        uint64_t now = usp_clock();
        clock_gettime(CLOCK_MONOTONIC, &after);
        ck_assert_uint_ge(now, (uint64_t)before.tv_sec * SECOND + (uint64_t)before.tv_nsec);
        ck_assert_uint_le(now, (uint64_t)after.tv_sec * SECOND + (uint64_t)after.tv_nsec);
    }
}
END_TEST

START_TEST(arguments) {
    struct usp_monitor_options options;
    struct usp_monitor *monitor;
    ck_assert_int_eq(usp_monitor_create(NULL, NULL), USP_ERROR_ARGUMENT);
    static const struct {
        size_t at;
        uint64_t value;
    } wrong[] = {{offsetof(struct usp_monitor_options, late), 999999},
                 {offsetof(struct usp_monitor_options, hang), 100000000},
                 {offsetof(struct usp_monitor_options, interval), 999999},
                 {offsetof(struct usp_monitor_options, update), 1},
                 {offsetof(struct usp_monitor_options, idle), 1},
                 {offsetof(struct usp_monitor_options, memory), 262143}};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        usp_monitor_options_init(&options);
        memcpy((char *)&options + wrong[i].at, &wrong[i].value, sizeof wrong[i].value);
        ck_assert_int_eq(usp_monitor_create(&options, &monitor), USP_ERROR_ARGUMENT);
        ck_assert_ptr_null(monitor);
    }
    usp_monitor_options_init(&options);
    options.file = "/nowhere/at/all";
    ck_assert_int_eq(usp_monitor_create(&options, &monitor), USP_OK);
    ck_assert_int_eq(usp_monitor_start(monitor), USP_ERROR_NOT_FOUND);
    usp_monitor_free(monitor);
    usp_monitor_options_init(&options);
    options.thread.id = INT32_MAX;
    ck_assert_int_eq(usp_monitor_create(&options, &monitor), USP_ERROR_NO_THREAD);
    ck_assert_int_eq(usp_monitor_start(NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_monitor_stop(NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_monitor_open_ping(NULL), USP_ERROR_ARGUMENT);
    usp_monitor_turn_begin(NULL);
    usp_monitor_turn_end(NULL);
    usp_monitor_waiting(NULL);
    usp_monitor_answer(NULL);
    usp_monitor_free(NULL);
    usp_hang_free(NULL);
    ck_assert_str_eq(usp_hang_state_string(USP_HANG_KILLED), "killed");
    ck_assert_str_eq(usp_hang_state_string(99), "unknown");
}
END_TEST

int main(void) {
    TCase *loops = tcase_create("loops"), *races_ = tcase_create("races"), *processes = tcase_create("processes"),
          *file = tcase_create("file"), *cost = tcase_create("cost");
    tcase_add_checked_fixture(races_, begin_file, end_file);
    tcase_add_checked_fixture(file, begin_file, end_file);
    add_loop_tests(loops, 0, 2, hang_of_a_loop, more_than_70_threads);
    add_tests(loops, no_thread_is_stopped_in_a_report, learns_once, two_monitors_find_their_own, clock_is_monotonic,
              arguments);
    add_tests(races_, races, freed_by_its_own_report, freed_by_the_first_report, started_by_its_report_while_stopped,
              report_waits_for_the_watched_thread);
    add_tests(processes, stopped_by_a_signal);
    add_loop_tests(processes, 0, 2, debugger_attached);
    add_loop_tests(processes, 0, 3, starved);
    add_tests(file, killed_in_a_hang, thread_that_does_not_answer, hang_in_a_constructor, hang_in_the_allocator,
              file_at_each_moment, file_that_is_shortened, killed_after_the_file_was_shortened,
              descriptor_of_another_file, file_replaces_what_is_there, each_descriptor_lacks, file_has_no_room,
              each_allocation_fails, no_room_for_its_thread);
    add_loop_tests(file, 0, 2, each_call_fails);
    add_tests(cost, idle_loop_is_not_woken, turns_make_no_system_call, one_call_wakes_the_monitor);
    return run_suite("monitor", loops, races_, processes, file, cost);
}
