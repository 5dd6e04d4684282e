/* SPDX-License-Identifier: MIT */
/* Tests the signal by which the library asks threads when the program uses the same signal: handlers installed before
 * or after the library's, with every flag of sigaction; signals that merge into one; waits for signals; a full queue of
 * signals. */
#define _GNU_SOURCE 1
#include "tests/support/linux_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <ucontext.h>

#include "lib/os/linux/calls.h"
#include "tests/support/linux_emulator.h"
#include "tests/support/suite.h"

#define FRAMES 256u

static struct usp_frame frames[FRAMES];
static struct uspi_linux_calls calls;
static _Atomic(unsigned) sent;

static long send_counted(pid_t pid, pid_t tid, int signal) {
    long e = uspi_linux_real.send_signal(pid, tid, signal);
    if (e >= 0) atomic_fetch_add(&sent, 1);
    return e;
}

static void begin_each(void) {
    calls = uspi_linux_real;
    calls.send_signal = send_counted;
    leave_out_emulator(&calls);
    uspi_linux = &calls;
}

static void prepare_with(int signal, uint64_t timeout) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.signal = signal;
    options.timeout = timeout;
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
}

static void prepare(void) { prepare_with(0, patience()); }

static int capture(const struct usp_thread *thread, struct usp_stack *stack) {
    usp_stack_init(stack, frames, FRAMES);
    return usp_capture_thread(thread, NULL, stack);
}

/* A thread that sleeps uninterruptibly, as in a page fault on a busy machine, is given up early. It is asked again. */
static int capture_awake(const struct usp_thread *thread, struct usp_stack *stack) {
    const uint64_t began = usp_clock();
    int status;
    do {
        status = capture(thread, stack);
    } while (status == USP_ERROR_TIMEOUT && usp_clock() - began < patience());
    return status;
}

static void expect_captured(const struct parked *s) {
    struct usp_stack stack;
    ck_assert_int_eq(capture_awake(&s->thread, &stack), USP_OK);
    expect_standing(s, &stack);
}

static struct sigaction action_of(int number) {
    struct sigaction action;
    ck_assert_int_eq(sigaction(number, NULL, &action), 0);
    return action;
}

/* ---- a handler of the program's ---- */

static struct {
    _Atomic(unsigned) calls, with_info, on_alternate;
    _Atomic(int) number, code;
    _Atomic(uint64_t) mask; /* the signal mask during the handler */
} seen;

static void note_call(int number) {
    uint64_t mask = 0;
    stack_t now;
    uspi_linux_real.set_mask(SIG_BLOCK, NULL, &mask);
    if (sigaltstack(NULL, &now) == 0 && (now.ss_flags & SS_ONSTACK) != 0) atomic_fetch_add(&seen.on_alternate, 1);
    atomic_store(&seen.mask, mask);
    atomic_store(&seen.number, number);
    atomic_fetch_add(&seen.calls, 1);
}

static void plain_handler(int number) { note_call(number); }

static void info_handler(int number, siginfo_t *info, void *context) {
    if (info != NULL && context != NULL && info->si_signo == number) atomic_fetch_add(&seen.with_info, 1);
    atomic_store(&seen.code, info->si_code);
    note_call(number);
}

static void install(int number, int flags, int also_masked) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    if ((flags & SA_SIGINFO) != 0) {
        action.sa_sigaction = info_handler;
    } else {
        action.sa_handler = plain_handler;
    }
    action.sa_flags = flags;
    sigemptyset(&action.sa_mask);
    if (also_masked != 0) sigaddset(&action.sa_mask, also_masked);
    ck_assert_int_eq(sigaction(number, &action, NULL), 0);
    memset(&seen, 0, sizeof seen);
}

/* What each flag of an action means to its handler. */
static const struct {
    int flags, masked;
} actions[] = {{0, 0},
               {SA_RESTART, 0},
               {SA_SIGINFO | SA_RESTART | SA_ONSTACK, SIGUSR1},
               {SA_NODEFER, SIGUSR2},
               {SA_SIGINFO | SA_NODEFER | SA_ONSTACK, 0}};

static uint64_t bit(int number) { return UINT64_C(1) << (number - 1); }

static char alternate_memory[65536] __attribute__((aligned(16)));

static void have_alternate_stack(void) {
    stack_t alternate = {.ss_sp = alternate_memory, .ss_size = sizeof alternate_memory};
    sigaltstack(&alternate, NULL);
}

static void have_none(void) {
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
}

/* Checks that the program's handler runs as if the library were not there: for the program's own signals, and while
 * captures go on. */
static void expect_shared(const struct parked *s, int i) {
    for (unsigned round = 1; round <= 20; round++) {
        unsigned before = atomic_load(&seen.calls);
        ck_assert_int_eq(pthread_kill(s->pthread, SIGURG), 0);
        while (atomic_load(&seen.calls) == before) usleep(50);
        expect_captured(s);
    }
    /* The handler of the last capture runs on after it has answered. The thread spins again when it has returned. */
    const unsigned spins = atomic_load(&standing_sink);
    while (atomic_load(&standing_sink) == spins) usleep(50);
    unsigned all = atomic_load(&seen.calls);
    ck_assert_uint_ge(all, 20);
    ck_assert_int_eq(atomic_load(&seen.number), SIGURG);
    if ((actions[i].flags & SA_SIGINFO) != 0) {
        ck_assert_uint_eq(atomic_load(&seen.with_info), all);
        ck_assert_int_eq(atomic_load(&seen.code), SI_TKILL);
    }
    ck_assert_uint_eq(atomic_load(&seen.on_alternate), (actions[i].flags & SA_ONSTACK) != 0 ? all : 0);
    uint64_t mask = actions[i].masked != 0 ? bit(actions[i].masked) : 0;
    if ((actions[i].flags & SA_NODEFER) == 0) mask |= bit(SIGURG);
    ck_assert_msg(atomic_load(&seen.mask) == mask, "mask %#llx, should be %#llx",
                  (unsigned long long)atomic_load(&seen.mask), (unsigned long long)mask);
}

START_TEST(a_handler_that_was_there_first_goes_on_working) {
    struct parked s = {.depth = 3, .prepare = have_alternate_stack, .after = have_none};
    install(SIGURG, actions[_i].flags, actions[_i].masked);
    prepare_with(SIGURG, patience());
    stand_begin(&s);
    expect_shared(&s, _i);
    usp_shutdown();
    struct sigaction now = action_of(SIGURG);
    if ((actions[_i].flags & SA_SIGINFO) != 0) {
        ck_assert(now.sa_sigaction == info_handler);
    } else {
        ck_assert(now.sa_handler == plain_handler);
    }
    ck_assert_int_eq(now.sa_flags & ~0x04000000, actions[_i].flags);
    unsigned before = atomic_load(&seen.calls);
    ck_assert_int_eq(pthread_kill(s.pthread, SIGURG), 0);
    while (atomic_load(&seen.calls) == before) usleep(50);
    stand_end(&s);
}
END_TEST

START_TEST(a_handler_that_comes_later_goes_on_working) {
    struct parked s = {.depth = 3, .prepare = have_alternate_stack, .after = have_none};
    prepare_with(SIGURG, patience());
    stand_begin(&s);
    expect_captured(&s);
    install(SIGURG, actions[_i].flags, actions[_i].masked);
    expect_captured(&s);
    expect_shared(&s, _i);
    stand_end(&s);
}
END_TEST

/* readline installs a handler for SIGWINCH for a while, and then restores the action that it found. Captures must go on
 * after that. */
START_TEST(a_program_puts_back_what_it_found) {
    struct parked s = {.depth = 2};
    struct sigaction action, found;
    prepare_with(SIGWINCH, patience());
    stand_begin(&s);
    memset(&action, 0, sizeof action);
    action.sa_handler = plain_handler;
    for (unsigned i = 0; i < 50; i++) {
        ck_assert_int_eq(sigaction(SIGWINCH, &action, &found), 0);
        expect_captured(&s);
        ck_assert_int_eq(sigaction(SIGWINCH, &found, NULL), 0);
        expect_captured(&s);
        /* The program's handler is not called any more. */
        unsigned before = atomic_load(&seen.calls);
        ck_assert_int_eq(pthread_kill(s.pthread, SIGWINCH), 0);
        expect_captured(&s);
        ck_assert_uint_eq(atomic_load(&seen.calls), before);
    }
    stand_end(&s);
}
END_TEST

/* The library remembers eight actions. It leaves a ninth one alone; when the program installs an earlier one again,
 * captures work again. */
START_TEST(nine_actions_are_one_too_many) {
    struct parked s = {.depth = 2};
    struct usp_stack stack;
    struct usp_prepare_options options;
    /* The first of the eight is the action that was there before. */
    prepare_with(SIGURG, patience());
    stand_begin(&s);
    for (int i = 1; i < 8; i++) {
        install(SIGURG, SA_RESTART, SIGRTMIN + i);
        expect_captured(&s);
    }
    prepare_with(SIGURG, 50 * MS);
    install(SIGURG, SA_RESTART, 0);
    ck_assert_int_eq(capture(&s.thread, &stack), USP_ERROR_TIMEOUT);
    usp_prepare_options_init(&options);
    options.signal = SIGURG;
    options.timeout = 60 * MS;
    ck_assert_int_eq(usp_prepare(&options), USP_ERROR_BUSY);
    install(SIGURG, SA_RESTART, SIGRTMIN + 1);
    prepare_with(SIGURG, patience());
    expect_captured(&s);
    stand_end(&s);
}
END_TEST

static struct sigaction below_chained;

static void chaining_handler(int number, siginfo_t *info, void *context) {
    note_call(number);
    if ((below_chained.sa_flags & SA_SIGINFO) != 0) below_chained.sa_sigaction(number, info, context);
}

/* A program's handler calls the action that it found, the library's, which puts itself before it again. The two must
 * not call each other for ever. */
START_TEST(handlers_that_call_each_other_make_no_circle) {
    struct parked s = {.depth = 2};
    struct sigaction action;
    prepare_with(SIGURG, patience());
    stand_begin(&s);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = chaining_handler;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ck_assert_int_eq(sigaction(SIGURG, &action, &below_chained), 0);
    memset(&seen, 0, sizeof seen);
    struct usp_snapshot *snapshot;
    for (unsigned i = 0; i < 20; i++) {
        expect_captured(&s);
        ck_assert_int_eq(usp_snapshot_create_self(NULL, &snapshot), USP_OK);
        usp_snapshot_free(snapshot);
    }
    /* The handler runs once for each signal that was sent, or once for several that merged. */
    ck_assert_uint_ge(atomic_load(&seen.calls), 1);
    ck_assert_uint_le(atomic_load(&seen.calls), atomic_load(&sent));
    stand_end(&s);
}
END_TEST

static _Atomic(bool) comes_first;

/* Another thread installs a handler at the moment before the library's. */
static long set_action_late(int number, const struct sigaction *action, struct sigaction *old) {
    if (action != NULL && atomic_exchange(&comes_first, false)) install(number, SA_RESTART, 0);
    return uspi_linux_real.set_action(number, action, old);
}

START_TEST(a_handler_that_comes_at_the_same_moment_is_called) {
    struct parked s = {.depth = 2};
    stand_begin(&s);
    calls.set_action = set_action_late;
    atomic_store(&comes_first, true);
    prepare_with(SIGURG, patience());
    ck_assert(!atomic_load(&comes_first));
    expect_captured(&s);
    const unsigned before = atomic_load(&seen.calls);
    ck_assert_int_eq(pthread_kill(s.pthread, SIGURG), 0);
    while (atomic_load(&seen.calls) == before) usleep(50);
    usp_shutdown();
    ck_assert(action_of(SIGURG).sa_handler == plain_handler);
    stand_end(&s);
}
END_TEST

START_TEST(a_handler_that_can_be_called_once_is_left_alone) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.signal = SIGURG;
    install(SIGURG, (int)SA_RESETHAND, 0);
    ck_assert_int_eq(usp_prepare(&options), USP_ERROR_BUSY);
    ck_assert(action_of(SIGURG).sa_handler == plain_handler);
    /* The library chooses another signal by itself. */
    prepare();
    ck_assert(action_of(SIGURG).sa_handler == plain_handler);
    ck_assert_int_ne(action_of(SIGWINCH).sa_flags & SA_SIGINFO, 0);
    ck_assert_uint_eq(atomic_load(&seen.calls), 0);
}
END_TEST

START_TEST(the_signal_can_be_chosen_and_changed) {
    struct parked s = {.depth = 3};
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.timeout = patience();
    stand_begin(&s);
    const int numbers[] = {SIGURG, SIGWINCH, SIGURG};
    for (unsigned i = 0; i < 3; i++) {
        options.signal = numbers[i];
        ck_assert_int_eq(usp_prepare(&options), USP_OK);
        ck_assert_int_eq(usp_prepare(&options), USP_OK);
        ck_assert_int_ne(action_of(numbers[i]).sa_flags & SA_SIGINFO, 0);
        ck_assert(action_of(SIGURG + SIGWINCH - numbers[i]).sa_handler == SIG_DFL);
        expect_captured(&s);
    }
    /* A signal with one of these numbers that is still pending would end a program that was started by exec. */
    const int refused[] = {SIGUSR1, SIGCHLD, SIGCONT, SIGRTMIN + 3, SIGKILL, 65, -1};
    for (unsigned i = 0; i < sizeof refused / sizeof *refused; i++) {
        options.signal = refused[i];
        ck_assert_int_eq(usp_prepare(&options), USP_ERROR_ARGUMENT);
    }
    expect_captured(&s);
    stand_end(&s);
}
END_TEST

START_TEST(an_ignored_signal_is_ignored_again) {
    struct parked s = {.depth = 1};
    signal(SIGURG, SIG_IGN);
    stand_begin(&s);
    prepare();
    expect_captured(&s);
    usp_shutdown();
    ck_assert(action_of(SIGURG).sa_handler == SIG_IGN);
    stand_end(&s);
}
END_TEST

/* The kernel accepts SA_SIGINFO with both: neither is a function. */
START_TEST(a_standard_action_with_siginfo_is_not_called) {
    void (*const standard[])(int) = {SIG_DFL, SIG_IGN};
    struct parked s = {.depth = 1};
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_handler = standard[_i];
    ck_assert_int_eq(sigaction(SIGURG, &action, NULL), 0);
    stand_begin(&s);
    prepare();
    ck_assert_int_eq(action_of(SIGWINCH).sa_flags & SA_SIGINFO, 0);
    expect_captured(&s);
    usp_shutdown();
    ck_assert(action_of(SIGURG).sa_handler == standard[_i]);
    stand_end(&s);
}
END_TEST

/* Other processes may send the library's signal, with any value. The handler must answer only requests that the library
 * made. */
START_TEST(foreign_signals_of_our_number_change_nothing) {
    struct parked s = {.depth = 2};
    prepare();
    stand_begin(&s);
    for (int i = 0; i < 100; i++) {
        siginfo_t info;
        memset(&info, 0, sizeof info);
        info.si_code = SI_QUEUE;
        info.si_value.sival_ptr = (void *)(uintptr_t)i;
        ck_assert_int_eq(syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)s.thread.id, SIGURG, &info), 0);
        ck_assert_int_eq(pthread_kill(s.pthread, SIGURG), 0);
        raise(SIGURG);
        kill(getpid(), SIGURG);
        expect_captured(&s);
    }
    stand_end(&s);
}
END_TEST

/* ---- signals that merge into one ---- */

/* The program would lose a signal that it sends at the moment of a capture. Its handler must run after each signal that
 * it sends. */
START_TEST(no_signal_of_the_programs_is_lost) {
    struct parked s = {.depth = 2};
    struct usp_stack stack;
    const unsigned rounds = is_slowed() ? 200 : sampled(2000, 10000);
    unsigned with_ours = 0;
    install(SIGURG, SA_RESTART, 0);
    prepare_with(SIGURG, patience());
    stand_begin(&s);
    for (unsigned i = 0; i < rounds; i++) {
        pid_t tid = (pid_t)s.thread.id;
        const unsigned before = atomic_load(&seen.calls);
        /* In turn: just before the capture, just after it, and both. */
        if (i % 3 != 0) ck_assert_int_eq(uspi_linux_real.send_signal(getpid(), tid, SIGURG), 0);
        if (i % 3 != 1) ck_assert_int_eq(capture_awake(&s.thread, &stack), USP_OK);
        if (i % 3 == 0) ck_assert_int_eq(uspi_linux_real.send_signal(getpid(), tid, SIGURG), 0);
        uint64_t began = usp_clock();
        while (atomic_load(&seen.calls) == before && usp_clock() - began < patience()) sched_yield();
        ck_assert_uint_gt(atomic_load(&seen.calls), before);
        with_ours += atomic_load(&seen.calls) > before + 1;
    }
    printf("%u rounds, in %u the handler ran more often than the signal was sent\n", rounds, with_ours);
    stand_end(&s);
}
END_TEST

/* A handler that changes where its thread goes on, as Go's does, and one that jumps away. */
static sigjmp_buf jump;
static _Atomic(unsigned) jumps;
static _Atomic(int) may_jump;

static void jumping_handler(int number) {
    (void)number;
    if (atomic_exchange(&may_jump, 0) != 0) siglongjmp(jump, 1);
}

static void jump_in_circles(struct parked *s) {
    while (atomic_load(&s->leave) == 0) {
        if (sigsetjmp(jump, 1) != 0) {
            atomic_fetch_add(&jumps, 1);
            continue;
        }
        atomic_store(&may_jump, 1);
        while (atomic_load(&s->leave) == 0 && atomic_load(&may_jump) != 0) atomic_fetch_add(&standing_sink, 1);
    }
    atomic_store(&may_jump, 0);
}

START_TEST(a_handler_that_jumps_away_leaves_nothing_behind) {
    struct parked s = {.depth = 2, .wait = jump_in_circles};
    struct usp_stack stack;
    struct usp_capture_usage before, after;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = jumping_handler;
    action.sa_flags = SA_RESTART;
    ck_assert_int_eq(sigaction(SIGURG, &action, NULL), 0);
    prepare_with(SIGURG, patience());
    stand_begin(&s);
    ck_assert_int_eq(capture_awake(&s.thread, &stack), USP_OK);
    ck_assert_int_eq(usp_capture_get_usage(&before), USP_OK);
    for (unsigned i = 0; i < 1000; i++) ck_assert_int_eq(capture_awake(&s.thread, &stack), USP_OK);
    ck_assert_int_eq(usp_capture_get_usage(&after), USP_OK);
    ck_assert_uint_eq(after.copies, before.copies);
    ck_assert_uint_gt(atomic_load(&jumps), 0);
    stand_end(&s);
}
END_TEST

/* ---- threads that wait for signals ---- */

static _Atomic(unsigned) taken;

static void wait_in_sigwait(struct parked *s) {
    sigset_t all;
    int number;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    while (atomic_load(&s->leave) == 0) {
        if (sigwait(&all, &number) == 0 && number == SIGURG) atomic_fetch_add(&taken, 1);
    }
}

static void wait_in_signalfd(struct parked *s) {
    sigset_t all;
    struct signalfd_siginfo info;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    int fd = signalfd(-1, &all, SFD_NONBLOCK);
    while (atomic_load(&s->leave) == 0) {
        struct pollfd p = {fd, POLLIN, 0};
        poll(&p, 1, 10);
        if (read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGURG) atomic_fetch_add(&taken, 1);
    }
    close(fd);
}

static void (*const waits[])(struct parked *) = {wait_in_sigwait, wait_in_signalfd};

/* A thread that takes signals by sigwait would get one of the library's at every capture. It may get one; then the
 * library must know the thread. */
START_TEST(a_thread_that_takes_signals_itself_is_sent_one) {
    struct parked s = {.wait = waits[_i]};
    struct usp_stack stack;
    struct usp_snapshot *snapshot;
    prepare_with(0, scaled_timeout(2000 * MS));
    stand_begin(&s);
    usleep(20000);
    for (unsigned i = 0; i < 20; i++) {
        uint64_t began = usp_clock();
        int status = capture(&s.thread, &stack);
        if (i == 0) printf("given up after %.1f ms\n", (double)(usp_clock() - began) / 1e6);
        ck_assert_msg(status == USP_ERROR_TIMEOUT, "%s", usp_status_string(status));
    }
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &snapshot), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->missed, 1);
    usp_snapshot_free(snapshot);
    /* A thread that is found running is asked, because it may be in the library's handler. Where execution is slow,
     * some threads are between two waits. */
    const unsigned most = is_slowed() ? 20 : 1;
    ck_assert_uint_le(atomic_load(&taken), most);
    ck_assert_uint_le(atomic_load(&sent), most);
    atomic_store(&s.leave, 1);
    pthread_kill(s.pthread, SIGUSR1);
    stand_end(&s);
}
END_TEST

/* ---- a queue that is full ---- */

/* Runs in a process of its own, because the limit counts all of a user's processes. The exit status is the number of
 * the check that failed. */
static void fill_the_queue(void) {
    struct parked s = {.depth = 3};
    struct usp_stack stack;
    const struct rlimit none = {0, 0};
    sigset_t set;
    alarm(240);
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (setrlimit(RLIMIT_SIGPENDING, &none) != 0) _exit(1);
    prepare();
    stand_begin(&s);
    /* Checks that no signal can be queued any more. */
    if (sigqueue(getpid(), SIGRTMIN, (union sigval){0}) == 0 || errno != EAGAIN) _exit(2);
    for (unsigned i = 0; i < 1000; i++) {
        struct usp_snapshot *snapshot;
        /* Where execution is slow, the thread may not answer in time. */
        const int status = is_slowed() ? capture_awake(&s.thread, &stack) : capture(&s.thread, &stack);
        if (status != USP_OK || FRAMES_IN(&stack, stand_deep) != 4) _exit(3);
        if (i % 100 != 0) continue;
        if (usp_snapshot_create_self(NULL, &snapshot) != USP_OK) _exit(4);
        if (usp_snapshot_get_info(snapshot)->missed != 0) _exit(5);
        usp_snapshot_free(snapshot);
    }
    _exit(0);
}

START_TEST(a_full_queue_of_signals_loses_no_request) {
    int status;
    pid_t child = fork();
    if (child == 0) fill_the_queue();
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %#x", (unsigned)status);
}
END_TEST

int main(void) {
    note_sample();
    TCase *c = tcase_create("shared_signal");
    tcase_add_checked_fixture(c, begin_each, NULL);
    add_loop_tests(c, 0, 2, a_standard_action_with_siginfo_is_not_called);
    add_loop_tests(c, 0, ELEMENTS(actions), a_handler_that_was_there_first_goes_on_working,
                   a_handler_that_comes_later_goes_on_working);
    add_tests(c, a_program_puts_back_what_it_found, nine_actions_are_one_too_many,
              handlers_that_call_each_other_make_no_circle, a_handler_that_comes_at_the_same_moment_is_called,
              a_handler_that_can_be_called_once_is_left_alone, the_signal_can_be_chosen_and_changed,
              an_ignored_signal_is_ignored_again, foreign_signals_of_our_number_change_nothing,
              no_signal_of_the_programs_is_lost, a_handler_that_jumps_away_leaves_nothing_behind);
    /* User-mode emulators queue signals by themselves. */
    if (!is_user_emulated()) {
        add_loop_tests(c, 0, ELEMENTS(waits), a_thread_that_takes_signals_itself_is_sent_one);
        add_tests(c, a_full_queue_of_signals_loses_no_request);
    }
    return run_suite("linux_shared_signal", c);
}
