/* SPDX-License-Identifier: MIT */
/* Tests the sampler on another process: shares of processor time compared with what that process measured; threads that
 * sleep, come and go; a main thread that ends first; a process that ends; processes that cannot be sampled; and every
 * system call and allocation failing in turn; generated code that is replaced. No result depends on the machine's
 * speed: times are compared within one run, and waits end only by the suite's timeout. */
#define _GNU_SOURCE 1
#include "lib/os/linux/calls.h"
#include "lib/sampler/sampling.h"
#include "tests/support/each_allocation.h"
#include "tests/support/linux_child.h"
#include "tests/support/linux_failing_calls.h"
#include "tests/support/suite.h"

#include <sys/mman.h>

#define SECOND (1000 * MS)

/* ---- the other process ---- */

struct other {
    pid_t pid;
    int output;
};

static void say(int to, const void *bytes, size_t n) {
    if (write(to, bytes, n) != (ssize_t)n) _exit(1);
}

/* Forks a process that calls `run`, and waits until `run` has written a byte. After a fork, functions have the same
 * addresses as here. */
static struct other start_other(void (*run)(int output)) {
    int ends[2];
    char ready;
    ck_assert_int_eq(pipe(ends), 0);
    struct other other = {.pid = fork(), .output = ends[0]};
    ck_assert_int_ge(other.pid, 0);
    if (other.pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        close(ends[0]);
        run(ends[1]);
        _exit(0);
    }
    close(ends[1]);
    ck_assert_int_eq(read(other.output, &ready, 1), 1);
    return other;
}

static void end_other(struct other *other) {
    kill(other->pid, SIGKILL);
    ck_assert_int_eq(waitpid(other->pid, NULL, 0), other->pid);
    close(other->output);
}

static struct usp_sampler *sampler_of(pid_t pid, uint32_t which, uint64_t interval) {
    struct usp_sampler_options options;
    struct usp_sampler *sampler;
    char error[512];
    usp_sampler_options_init(&options);
    options.process = pid;
    options.which = which;
    options.interval = interval;
    options.budget_cpu = options.budget_stopped = 0;
    options.flags = USP_SAMPLER_KEEP;
    int status = usp_sampler_create(&options, &sampler, error, sizeof error);
    ck_assert_msg(status == USP_OK, "status %d: %s", status, error);
    return sampler;
}

static struct usp_profile *profile_of(struct usp_sampler *sampler) {
    struct usp_profile *profile;
    ck_assert_int_eq(usp_sampler_read(sampler, 0, UINT64_MAX, 0, &profile), USP_OK);
    return profile;
}

static struct usp_profile_run run_of(struct usp_sampler *sampler) {
    struct usp_profile_run run;
    usp_sampler_get_run(sampler, &run);
    return run;
}

static void wait_for_captures(struct usp_sampler *sampler, uint64_t captures) {
    while (run_of(sampler).captures < captures) usleep(2000);
}

/* ---- shares of time ---- */

enum { COUNTING, SORTING, FUNCTIONS };
struct shares {
    uint64_t cpu[FUNCTIONS];
};

BOUNDS(count_up);
BOUNDS(sort_down);
static _Atomic(uint64_t) work;

static uint64_t own_cpu(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * SECOND + (uint64_t)t.tv_nsec;
}

static BOUNDED(count_up) void count_up(uint64_t until) {
    while (own_cpu() < until) {
        for (unsigned i = 0; i < 10000; i++) atomic_fetch_add(&work, 1);
    }
}

static BOUNDED(sort_down) void sort_down(uint64_t until) {
    while (own_cpu() < until) {
        for (unsigned i = 0; i < 10000; i++) atomic_fetch_sub(&work, 1);
    }
}

/* Spends three parts of 2 s in one function and one part in another. */
static void share_time(int output) {
    struct shares truth = {{0, 0}};
    say(output, "r", 1);
    for (unsigned i = 0; i < 20; i++) {
        uint64_t begun = own_cpu();
        count_up(begun + 75 * MS);
        uint64_t between = own_cpu();
        sort_down(between + 25 * MS);
        truth.cpu[COUNTING] += between - begun;
        truth.cpu[SORTING] += own_cpu() - between;
    }
    say(output, &truth, sizeof truth);
    for (;;) pause();
}

static int note_share(void *context, const struct usp_profile_entry *entry) {
    struct shares *shares = context;
    if (FRAMES_IN(entry->stack, count_up) > 0) shares->cpu[COUNTING] += entry->cpu;
    if (FRAMES_IN(entry->stack, sort_down) > 0) shares->cpu[SORTING] += entry->cpu;
    return USP_OK;
}

static double part(const struct shares *shares) {
    return (double)shares->cpu[COUNTING] * 100 / (double)(shares->cpu[COUNTING] + shares->cpu[SORTING]);
}

START_TEST(shares_against_truth) {
    struct shares truth, sampled = {{0, 0}};
    struct usp_profile_info info;
    struct other other = start_other(share_time);
    struct usp_sampler *sampler = sampler_of(other.pid, USP_SAMPLER_MAIN, 5 * MS);
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    ck_assert_int_eq(read(other.output, &truth, sizeof truth), sizeof truth);
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    struct usp_profile *profile = profile_of(sampler);
    ck_assert_int_eq(usp_profile_visit(profile, note_share, &sampled), USP_OK);
    usp_profile_get_info(profile, &info);
    ck_assert_uint_gt(sampled.cpu[COUNTING] + sampled.cpu[SORTING], 0);
    /* The sampler does not know what happened while it did not run, so the error may be larger by that share. */
    double unseen = (double)info.run.missed_ticks * 100 / (double)(info.run.ticks + info.run.missed_ticks);
    if (getenv("USP_TEST_VERBOSE") != NULL) {
        printf("%.2f %%, sampled %.2f %%, unseen %.2f %%\n", part(&truth), part(&sampled), unseen);
    }
    ck_assert_double_le(part(&truth) - part(&sampled), 5 + unseen);
    ck_assert_double_le(part(&sampled) - part(&truth), 5 + unseen);
    ck_assert_int_eq((int)info.run.threads_appeared, 0);
    usp_profile_free(profile);
    usp_sampler_free(sampler);
    end_other(&other);
}
END_TEST

/* ---- threads ---- */

#define IDLE 30u

static void stand_idle(int output) {
    static struct parked idle[IDLE];
    for (unsigned i = 0; i < IDLE; i++) {
        idle[i] = (struct parked){.depth = 4, .wait = wait_asleep};
        stand_begin(&idle[i]);
    }
    say(output, "r", 1);
    for (;;) pause();
}

static int note_idle(void *context, const struct usp_profile_entry *entry) {
    unsigned *seen = context;
    if ((entry->thread->flags & USP_THREAD_MAIN) != 0) return USP_OK;
    ck_assert_uint_eq(FRAMES_IN(entry->stack, stand_deep), 5);
    ck_assert_uint_eq(entry->stack->stop, USP_STOP_ROOT);
    ++*seen;
    return USP_OK;
}

/* Sleeping threads would be stopped at each tick. They must be captured a few times only, however many ticks there are,
 * and all of their time must be counted. */
START_TEST(idle_threads_are_left_alone) {
    struct other other = start_other(stand_idle);
    struct usp_sampler *sampler = sampler_of(other.pid, USP_SAMPLER_ALL, 2 * MS);
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    while (run_of(sampler).ticks < 200) usleep(2000);
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    struct usp_profile_run run = run_of(sampler);
    struct usp_profile *profile = profile_of(sampler);
    struct usp_profile_info info;
    unsigned seen = 0;
    usp_profile_get_info(profile, &info);
    ck_assert_int_eq(usp_profile_visit(profile, note_idle, &seen), USP_OK);
    ck_assert_uint_eq(seen, IDLE);
    ck_assert_uint_eq(info.threads, IDLE + 1);
    /* Captures of a thread come 1, 2, 4, 8 … ticks apart. */
    ck_assert_uint_le(run.captures, (uint64_t)(IDLE + 1) * 20);
    ck_assert_uint_ge(info.samples, (uint64_t)(IDLE + 1) * (run.ticks - 10));
    ck_assert_uint_eq(run.threads_ended, 0);
    usp_profile_free(profile);
    usp_sampler_free(sampler);
    end_other(&other);
}
END_TEST

static void *live_shortly(void *context) {
    uint64_t until = own_cpu() + 3 * MS;
    count_up(until);
    return context;
}

static void churn(int output) {
    say(output, "r", 1);
    for (;;) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, live_shortly, NULL) == 0) pthread_join(thread, NULL);
    }
}

START_TEST(threads_come_and_go) {
    unsigned before = count_open_files();
    struct other other = start_other(churn);
    struct usp_sampler *sampler = sampler_of(other.pid, USP_SAMPLER_ALL, MS);
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    struct usp_profile_run run;
    do {
        usleep(5000);
        run = run_of(sampler);
    } while (run.threads_appeared < 30 || run.threads_ended < 30);
    ck_assert(usp_sampler_is_alive(sampler));
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    run = run_of(sampler);
    ck_assert_uint_le(run.threads_ended, run.threads_appeared + 2);
    usp_sampler_free(sampler);
    end_other(&other);
    ck_assert_uint_eq(count_open_files(), before);
}
END_TEST

static void *stay_busy(void *context) {
    for (;;) count_up(own_cpu() + SECOND);
    return context;
}

/* The main thread ends at SIGUSR1. */
static void end_main_first(int output) {
    pthread_t thread;
    sigset_t awaited;
    int number;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGUSR1);
    if (pthread_sigmask(SIG_BLOCK, &awaited, NULL) != 0) _exit(1);
    if (pthread_create(&thread, NULL, stay_busy, NULL) != 0) _exit(1);
    say(output, "r", 1);
    if (sigwait(&awaited, &number) != 0) _exit(1);
    syscall(SYS_exit, 0);
}

START_TEST(main_thread_ends_first) {
    struct other other = start_other(end_main_first);
    struct usp_sampler *sampler = sampler_of(other.pid, USP_SAMPLER_ALL, 2 * MS);
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    while (run_of(sampler).ticks < 5) usleep(1000);
    kill(other.pid, SIGUSR1);
    /* A sampler that took the main thread's remaining entry for a thread would count it again and again. */
    while (run_of(sampler).threads_ended == 0) usleep(2000);
    wait_for_captures(sampler, run_of(sampler).captures + 20);
    ck_assert(usp_sampler_is_alive(sampler));
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    ck_assert_uint_eq(run_of(sampler).threads_ended, 1);
    ck_assert_uint_eq(run_of(sampler).threads_appeared, 0);
    usp_sampler_free(sampler);
    /* A sampler that starts after the main thread's end. */
    sampler = sampler_of(other.pid, USP_SAMPLER_ALL, 2 * MS);
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    wait_for_captures(sampler, 10);
    usp_sampler_free(sampler);
    end_other(&other);
}
END_TEST

/* ---- the process ---- */

static void be_busy(int output) {
    say(output, "r", 1);
    (void)stay_busy(NULL);
}

/* The process ends, and is waited for or not. What was sampled before must stay. */
START_TEST(process_ends) {
    struct other other = start_other(_i < 2 ? be_busy : stand_idle);
    struct usp_sampler *sampler = sampler_of(other.pid, _i == 3 ? USP_SAMPLER_MAIN : USP_SAMPLER_ALL, 2 * MS);
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    wait_for_captures(sampler, 1);
    kill(other.pid, SIGKILL);
    if (_i % 2 == 0) ck_assert_int_eq(waitpid(other.pid, NULL, 0), other.pid);
    while (usp_sampler_is_alive(sampler)) usleep(2000);
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    struct usp_profile *profile = profile_of(sampler);
    struct usp_profile_info info;
    usp_profile_get_info(profile, &info);
    ck_assert_uint_ge(info.samples, 1);
    usp_profile_free(profile);
    usp_sampler_free(sampler);
    if (_i % 2 != 0) ck_assert_int_eq(waitpid(other.pid, NULL, 0), other.pid);
    close(other.output);
}
END_TEST

/* The process must go on undisturbed, even if samplers are started and stopped again and again. */
START_TEST(process_runs_on) {
    struct other other = start_other(share_time);
    struct shares truth;
    unsigned before = count_open_files();
    for (unsigned i = 0; i < 20; i++) {
        struct usp_sampler *sampler = sampler_of(other.pid, USP_SAMPLER_ALL, MS);
        ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
        wait_for_captures(sampler, 3);
        if (i % 2 == 0) ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
        if (i % 4 == 0) ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
        usp_sampler_free(sampler);
    }
    ck_assert_uint_eq(count_open_files(), before);
    ck_assert_int_eq(read(other.output, &truth, sizeof truth), sizeof truth);
    end_other(&other);
}
END_TEST

static void expect_refusal(int64_t pid, int expected, const char *text) {
    struct usp_sampler_options options;
    struct usp_sampler *sampler = (struct usp_sampler *)&options;
    char error[512] = "";
    usp_sampler_options_init(&options);
    options.process = pid;
    ck_assert_int_eq(usp_sampler_create(&options, &sampler, error, sizeof error), expected);
    ck_assert_ptr_null(sampler);
    ck_assert_msg(strstr(error, text) != NULL, "\"%s\" lacks \"%s\"", error, text);
    ck_assert_int_eq(usp_sampler_create(&options, &sampler, NULL, 0), expected);
}

static void be_undumpable(int output) {
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    say(output, "r", 1);
    for (;;) pause();
}

START_TEST(refusals) {
    struct parked parked = {.depth = 2, .wait = wait_asleep};
    unsigned before = count_open_files();
    expect_refusal(-5, USP_ERROR_NO_THREAD, "not a process id");
    expect_refusal(INT64_C(1) << 40, USP_ERROR_NO_THREAD, "not a process id");
    stand_begin(&parked);
    expect_refusal((int64_t)parked.thread.id, USP_ERROR_NO_THREAD, "is a thread of process");
    stand_end(&parked);
    struct other other = start_other(be_busy);
    kill(other.pid, SIGKILL);
    siginfo_t info;
    ck_assert_int_eq(waitid(P_PID, (id_t)other.pid, &info, WEXITED | WNOWAIT), 0);
    expect_refusal(other.pid, USP_ERROR_NO_THREAD, "has ended");
    end_other(&other);
    expect_refusal(other.pid, USP_ERROR_NO_THREAD, "there is no process");
    /* For such a process the same user id is not enough. */
    other = start_other(be_undumpable);
    pid_t child = fork();
    if (child == 0) {
        if (getuid() == 0 && (setgid(OTHER_USER) != 0 || setuid(OTHER_USER) != 0)) _exit(1);
        expect_refusal(other.pid, USP_ERROR_PERMISSION, "process");
        _exit(0);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    end_other(&other);
    ck_assert_uint_eq(count_open_files(), before);
}
END_TEST

/* ---- every call and every allocation fails in turn ---- */

static long s_trace(long request, pid_t tid, void *address, void *data) {
    UNLESS(uspi_linux_real.trace(request, tid, address, data));
}

static int64_t s_clock(pid_t pid) { UNLESS((long)uspi_linux_real.process_cpu_time(pid)); }

static struct usp_profile_run sample_some(pid_t pid, int *status) {
    struct uspi_process_world process;
    struct uspi_world world;
    struct usp_sampler_options options;
    struct uspi_sampling *sampling;
    struct usp_profile_run run;
    memset(&run, 0, sizeof run);
    usp_sampler_options_init(&options);
    options.which = USP_SAMPLER_ALL;
    options.process = pid;
    *status = uspi_process_world_begin(&process, pid, &world, NULL, 0);
    if (*status != USP_OK) return run;
    *status = uspi_sampling_create(&options, &world, &sampling);
    if (*status == USP_OK) {
        uspi_sampling_begin(sampling);
        for (unsigned i = 0; i < 3; i++) {
            usleep(1000);
            uspi_sampling_tick(sampling);
        }
        uspi_sampling_end(sampling);
        uspi_sampling_get_run(sampling, &run);
        uspi_sampling_free(sampling);
    }
    uspi_process_world_end(&process);
    return run;
}

START_TEST(each_call_fails) {
    static const int reasons[] = {EMFILE, EINVAL, ESRCH};
    static struct uspi_linux_calls table;
    struct other other = start_other(be_busy);
    int status;
    table = uspi_linux_real;
    fail_calls_of_captures(&table);
    table.trace = s_trace;
    table.process_cpu_time = s_clock;
    /* The first run learns what is learned once per process. */
    (void)sample_some(other.pid, &status);
    uspi_linux = &table;
    /* Most calls read memory and fail in the same way, so later positions are tried in steps. */
    for (script.failing = 1;; script.failing += script.failing < 200 ? 1 : 17) {
        fail_from_now(reasons[_i % 3], _i >= 3);
        long opened = script.opened, mapped = script.mapped;
        struct usp_profile_run run = sample_some(other.pid, &status);
        ck_assert_int_eq(script.opened, opened);
        ck_assert_int_eq(script.mapped, mapped);
        if (!script.failed) {
            ck_assert_int_eq(status, USP_OK);
            ck_assert_uint_ge(run.captures, 1);
            break;
        }
        ck_assert_int_le(status, USP_OK);
        ck_assert_uint_eq(run.ticks, status == USP_OK ? 3 : run.ticks);
    }
    ck_assert_uint_gt(script.failing, 30);
    uspi_linux = &uspi_linux_real;
    /* No tracer is left on the process. */
    expect_running(other.pid);
    end_other(&other);
}
END_TEST

/* Samples with the sampler's own thread. Returns the first error. */
static int use_sampler(void *pid) {
    struct usp_sampler_options options;
    struct usp_sampler *sampler;
    struct usp_profile *profile = NULL;
    usp_sampler_options_init(&options);
    options.process = *(const pid_t *)pid;
    options.which = USP_SAMPLER_ALL;
    options.interval = MS / 5;
    options.budget_cpu = options.budget_stopped = 0;
    options.flags = USP_SAMPLER_KEEP;
    int status = usp_sampler_create(&options, &sampler, NULL, 0);
    if (status != USP_OK) return status;
    status = usp_sampler_start(sampler);
    while (status == USP_OK && run_of(sampler).ticks < 2) usleep(100);
    (void)usp_sampler_stop(sampler);
    if (status == USP_OK) status = usp_sampler_read(sampler, 0, UINT64_MAX, 0, &profile);
    usp_profile_free(profile);
    usp_sampler_free(sampler);
    return status;
}

/* The caller must get a status, nothing may leak, and the process must run on, whichever allocation fails: of the lists
 * of images and unwind tables, of copies of stacks, of clocks, or of the profile. */
START_TEST(each_allocation_fails) {
    struct other other = start_other(be_busy);
    ck_assert_int_eq(use_sampler(&other.pid), USP_OK);
    const unsigned descriptors = count_open_files();
    fail_each_allocation(use_sampler, &other.pid, 40, 200);
    ck_assert_uint_eq(count_open_files(), descriptors);
    expect_running(other.pid);
    end_other(&other);
}
END_TEST

/* A user-mode emulator has no ptrace. */
START_TEST(no_tracing) {
    struct other other = start_other(stand_idle);
    expect_refusal(other.pid, USP_ERROR_UNSUPPORTED, "cannot be stopped");
    end_other(&other);
}
END_TEST

/* Reading every thread's clock at each tick is expensive. Where no thread runs, the process's clock is enough. */
START_TEST(idle_clocks_are_not_read) {
    static struct uspi_linux_calls table;
    struct uspi_process_world process;
    struct uspi_world world;
    struct usp_sampler_options options;
    struct uspi_sampling *sampling;
    struct other other = start_other(stand_idle);
    usp_sampler_options_init(&options);
    options.which = USP_SAMPLER_ALL;
    options.process = other.pid;
    ck_assert_int_eq(uspi_process_world_begin(&process, other.pid, &world, NULL, 0), USP_OK);
    ck_assert_int_eq(uspi_sampling_create(&options, &world, &sampling), USP_OK);
    table = uspi_linux_real;
    table.pread = s_pread;
    uspi_linux = &table;
    script.failing = 0;
    uspi_sampling_begin(sampling);
    do {
        script.count = 0;
        usleep(1000);
        uspi_sampling_tick(sampling);
    } while (script.count >= IDLE);
    struct usp_profile *profile;
    struct usp_profile_info info;
    ck_assert_int_eq(uspi_sampling_read(sampling, 0, UINT64_MAX, 0, &profile), USP_OK);
    usp_profile_get_info(profile, &info);
    ck_assert_uint_eq(info.threads, IDLE + 1);
    ck_assert_uint_eq(info.run.threads_ended, 0);
    usp_profile_free(profile);
    uspi_sampling_free(sampling);
    uspi_process_world_end(&process);
    uspi_linux = &uspi_linux_real;
    end_other(&other);
}
END_TEST

/* Threads run one after the other, each for a while, among others that sleep. Each must get the time that it used. */
#define TURNS 12u
static _Atomic(unsigned) turn;

static void begin_turns(int signal) {
    (void)signal;
    atomic_store(&turn, 1);
}

static void *take_turn(void *number) {
    while (atomic_load(&turn) != (unsigned)(uintptr_t)number) usleep(1000);
    count_up(own_cpu() + 20 * MS);
    atomic_fetch_add(&turn, 1);
    for (;;) pause();
    return NULL;
}

static void run_in_turn(int output) {
    pthread_t thread;
    signal(SIGUSR1, begin_turns);
    for (unsigned i = 0; i < TURNS; i++) {
        if (pthread_create(&thread, NULL, take_turn, (void *)(uintptr_t)(i + 1)) != 0) _exit(1);
    }
    say(output, "r", 1);
    while (atomic_load(&turn) <= TURNS) usleep(1000);
    say(output, "d", 1);
    for (;;) pause();
}

struct used {
    uint64_t ids[TURNS + 1], cpu[TURNS + 1];
    unsigned count;
};

static int note_used(void *context, const struct usp_profile_entry *entry) {
    struct used *used = context;
    unsigned i = 0;
    if ((entry->thread->flags & USP_THREAD_MAIN) != 0) return USP_OK;
    while (i < used->count && used->ids[i] != entry->thread->thread.id) i++;
    ck_assert_uint_lt(i, TURNS);
    if (i == used->count) used->ids[used->count++] = entry->thread->thread.id;
    used->cpu[i] += entry->cpu;
    return USP_OK;
}

START_TEST(turns_are_seen) {
    char done;
    struct used used = {.count = 0};
    struct other other = start_other(run_in_turn);
    struct usp_sampler *sampler = sampler_of(other.pid, USP_SAMPLER_ALL, 2 * MS);
    ck_assert_int_eq(usp_sampler_start(sampler), USP_OK);
    while (run_of(sampler).ticks < 5) usleep(1000);
    kill(other.pid, SIGUSR1);
    ck_assert_int_eq(read(other.output, &done, 1), 1);
    const uint64_t ticks = run_of(sampler).ticks;
    while (run_of(sampler).ticks < ticks + 20) usleep(1000);
    ck_assert_int_eq(usp_sampler_stop(sampler), USP_OK);
    struct usp_profile *profile = profile_of(sampler);
    ck_assert_int_eq(usp_profile_visit(profile, note_used, &used), USP_OK);
    ck_assert_uint_eq(used.count, TURNS);
    for (unsigned i = 0; i < TURNS; i++) ck_assert_uint_ge(used.cpu[i], 19 * MS);
    usp_profile_free(profile);
    usp_sampler_free(sampler);
    end_other(&other);
}
END_TEST

/* ---- generated code ---- */

#if defined(__x86_64__)

/* Two versions of a function that calls its first argument. The call is at the same place in both, but the second one
 * has pushed its second argument before: there the return address is one word higher. */
static const uint8_t versions[2][12] = {
    {0x90, 0x48, 0x83, 0xec, 0x18, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x18, 0xc3}, /* nop; sub $24; call; add $24; ret */
    {0x56, 0x48, 0x83, 0xec, 0x18, 0xff, 0xd7, 0x48, 0x83, 0xc4, 0x20, 0xc3}, /* push rsi; sub $24; call; add $32 */
};

/* The code does not begin the page: clang's check of a function's type (-fsanitize=function) reads the bytes before it. */
#define CODE_AT 64

typedef void function(void (*callee)(void), const void *decoy);

/* What the two processes share. */
static struct {
    _Atomic(unsigned) wanted, running; /* versions: 1, then 2 */
    usp_addr decoy;                    /* a return address, but not the function's */
} *replaced;

static void run_until_another_is_wanted(void) {
    const unsigned now = atomic_load(&replaced->wanted);
    atomic_store(&replaced->running, now);
    while (atomic_load(&replaced->wanted) == now) {}
}

static const void *after_a_call(void) { return __builtin_extract_return_addr(__builtin_return_address(0)); }
static const void *(*volatile get_decoy)(void) = after_a_call;

static void run_versions(int output) {
    const void *decoy = get_decoy();
    uint8_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED) _exit(1);
    replaced->decoy = (usp_addr)(uintptr_t)decoy;
    say(output, "r", 1);
    for (;;) {
        memcpy(code + CODE_AT, versions[atomic_load(&replaced->wanted) == 2], sizeof versions[0]);
        ((function *)(uintptr_t)(code + CODE_AT))(run_until_another_is_wanted, decoy);
    }
}

/* Captures the main thread. Returns the frame of the generated code's caller. */
static usp_addr caller_of_generated(const struct uspi_world *world, pid_t pid) {
    struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_unwind_options options;
    const struct usp_thread thread = {.id = (uint64_t)pid};
    usp_unwind_options_init(&options);
    usp_stack_init(&stack, frames, 64);
    ck_assert_int_eq(world->stop_together(world->context, &thread, 1), USP_OK);
    ck_assert_int_eq(world->capture(world->context, &thread, &options, &stack), USP_OK);
    const struct usp_images *images = world->images(world->context);
    for (uint32_t i = 0; i + 1 < stack.count; i++) {
        if (usp_images_find(images, frames[i].pc) == NULL) return frames[i + 1].pc;
    }
    ck_abort_msg("no frame of generated code");
}

/* Rules for generated code are kept between samples. When the program replaces the code, the callers must be those of
 * the new code: the second version has a word where the first one's return address was, and it follows a call. */
START_TEST(generated_code_is_replaced) {
    struct uspi_process_world process;
    struct uspi_world world;
    replaced = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(replaced, MAP_FAILED);
    atomic_store(&replaced->wanted, 1);
    struct other other = start_other(run_versions);
    ck_assert_int_eq(uspi_process_world_begin(&process, other.pid, &world, NULL, 0), USP_OK);
    while (atomic_load(&replaced->running) != 1) usleep(1000);
    const usp_addr right = caller_of_generated(&world, other.pid);
    ck_assert_uint_ne(right, replaced->decoy);
    ck_assert_uint_eq(caller_of_generated(&world, other.pid), right);
    atomic_store(&replaced->wanted, 2);
    while (atomic_load(&replaced->running) != 2) usleep(1000);
    const usp_addr caller = caller_of_generated(&world, other.pid);
    ck_assert_uint_ne(caller, replaced->decoy);
    ck_assert_uint_eq(caller, right);
    uspi_process_world_end(&process);
    end_other(&other);
    munmap(replaced, 4096);
}
END_TEST

#endif

int main(void) {
    TCase *threads = tcase_create("threads"), *process = tcase_create("process"), *faults = tcase_create("faults");
    if (!can_trace()) {
        add_tests(process, no_tracing);
        return run_suite("process sampler", process);
    }
    add_tests(threads, shares_against_truth, idle_threads_are_left_alone, idle_clocks_are_not_read, turns_are_seen,
              threads_come_and_go, main_thread_ends_first);
    add_tests(process, process_runs_on, refusals);
    add_loop_tests(process, 0, 4, process_ends);
#if defined(__x86_64__)
    add_tests(process, generated_code_is_replaced);
#endif
    add_tests(faults, each_allocation_fails);
    add_loop_tests(faults, 0, 6, each_call_fails);
    return run_suite("process sampler", threads, process, faults);
}
