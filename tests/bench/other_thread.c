/* SPDX-License-Identifier: MIT */
/* Measures usp_capture_thread: how long the other thread is stopped, how long the call takes, and how many system calls
 * the requester makes. The peer is what any capture by a signal needs at least: a signal to the same thread, whose
 * handler only wakes the sender. Compiled twice: with frame records, and (FRAMELESS) without, where the walk needs the
 * unwind tables. The frames are counted, because a walk that ends too early is quick. The kernel counts the system
 * calls: it stops the requester at each for a tracer in a process of its own. No code of the library takes part in the
 * counting. */
#define _GNU_SOURCE 1
#include "tests/bench/measure.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS       101u
#define CAPACITY     2048
#define KERNEL_CALLS 6u
/* Microseconds for a call at this depth. */
#define GOAL_DEPTH 64u
#define CALL_GOAL  6.0
#ifdef FRAMELESS
#define CODE "without frame records"
#else
#define CODE "with frame records"
#endif
/* Linux include/uapi/linux/ptrace.h */
#define GET_SYSCALL_INFO 0x420e
#define OP_ENTRY         1

/* ---- the thread ---- */

static _Atomic(int) is_there;
static int never[2]; /* a pipe that no thread writes to */
static volatile unsigned sink;

APART static void stand(unsigned depth) {
    char byte;
    if (depth > 1) {
        stand(depth - 1);
    } else {
        atomic_store(&is_there, 1);
        while (read(never[0], &byte, 1) < 0) continue;
    }
    sink++;
}

static void *run_thread(void *context) {
    stand(*(const unsigned *)context);
    return NULL;
}

/* Starts the thread. `depth` must live as long as the thread, which runs until the process ends. */
static struct usp_thread start_thread(unsigned *depth) {
    struct usp_thread thread;
    pthread_t pthread;
    atomic_store(&is_there, 0);
    if (pthread_create(&pthread, NULL, run_thread, depth) != 0 || usp_prepare(NULL) != USP_OK) exit(1);
    while (atomic_load(&is_there) == 0) usleep(100);
    if (usp_thread_from_pthread((uintptr_t)pthread, &thread) != USP_OK) exit(1);
    return thread;
}

static struct usp_stack capture(const struct usp_thread *thread) {
    static struct usp_frame frames[CAPACITY];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, CAPACITY);
    if (usp_capture_thread(thread, NULL, &stack) == USP_OK) return stack;
    fprintf(stderr, "usp_capture_thread: %s\n", usp_status_string(stack.status));
    exit(1);
}

/* ---- counting ---- */

/* Makes a system call that no other code makes. Between two of them lies one capture. */
static void mark(void) { syscall(SYS_getppid); }

static void be_counted(unsigned depth) {
    struct usp_thread thread = start_thread(&depth);
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0) _exit(2);
    raise(SIGSTOP);
    for (unsigned i = 0; i < 3; i++) {
        mark();
        capture(&thread);
    }
    mark();
    _exit(0);
}

/* Counts the system calls of the first and of the third capture of a thread. Returns false when no process can be
 * traced here. */
static bool count_kernel_calls(unsigned depth, unsigned counts[2]) {
    struct {
        uint8_t op, pad[3];
        uint32_t arch;
        uint64_t pc, sp, nr, arguments[6];
    } info;
    unsigned marks = 0, between[4] = {0};
    int status;
    pid_t pid = fork();
    if (pid == 0) be_counted(depth);
    if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) return false;
    ptrace(PTRACE_SETOPTIONS, pid, NULL, (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL));
    bool is_told = true;
    for (long signal = 0; ptrace(PTRACE_SYSCALL, pid, NULL, (void *)signal) == 0;) {
        if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status)) break;
        signal = 0;
        if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
            signal = WSTOPSIG(status);
            continue;
        }
        is_told = ptrace(GET_SYSCALL_INFO, pid, (void *)sizeof info, &info) > 0;
        if (!is_told) kill(pid, SIGKILL);
        if (!is_told || info.op != OP_ENTRY) continue;
        if (info.nr == SYS_getppid) {
            marks++;
        } else if (marks > 0 && marks < 4) {
            between[marks]++;
        }
    }
    counts[0] = between[1];
    counts[1] = between[3];
    return is_told && marks == 4;
}

/* ---- the peer ---- */

static _Atomic(uint32_t) replied;

static void reply(int number) {
    const int kept = errno;
    (void)number;
    atomic_store(&replied, 1);
    syscall(SYS_futex, &replied, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    errno = kept;
}

static void run_signal(void *context, unsigned times) {
    const struct usp_thread *thread = context;
    for (unsigned i = 0; i < times; i++) {
        atomic_store(&replied, 0);
        if (syscall(SYS_tgkill, getpid(), (pid_t)thread->id, SIGUSR1) != 0) exit(1);
        while (atomic_load(&replied) == 0) syscall(SYS_futex, &replied, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    }
}

/* ---- time ---- */

struct watch {
    struct usp_thread thread;
    struct usp_stack last;
    unsigned calls;
    double stopped[ROUNDS];
};

static void run_capture(void *context, unsigned times) {
    struct watch *watch = context;
    for (unsigned i = 0; i < times; i++) {
        watch->last = capture(&watch->thread);
        watch->stopped[watch->calls++ % ROUNDS] = (double)watch->last.stopped_ns;
    }
}

static void print_depth(unsigned *depth, const unsigned *counts) {
    struct watch watch = {.thread = start_thread(depth)};
    struct subject subjects[] = {
        {.name = "usp_capture_thread", .run = run_capture, .context = &watch, .times = 1},
        {.name = "a signal and its answer", .run = run_signal, .context = &watch.thread, .times = 1},
    };
    time_subjects(subjects, 2, ROUNDS);
    const double call = median(subjects[0].rounds, ROUNDS) / 1000;
    printf("%5u calls, %4u frames%s: stopped for %6.1f us, the call %7.1f us", *depth, watch.last.count,
           watch.last.count > *depth ? "" : " (INCOMPLETE)", median(watch.stopped, ROUNDS) / 1000, call);
    if (*depth == GOAL_DEPTH) printf(", at most %.0f: %s", CALL_GOAL, verdict(call <= CALL_GOAL));
    printf("; %.2f of %s (%.1f us)", ratio(&subjects[0], &subjects[1], ROUNDS), subjects[1].name,
           median(subjects[1].rounds, ROUNDS) / 1000);
    if (counts != NULL) {
        printf("; %u kernel calls (the first time %u), at most %u: %s\n", counts[1], counts[0], KERNEL_CALLS,
               verdict(counts[1] <= KERNEL_CALLS));
    } else {
        printf("; kernel calls skipped: this system does not permit tracing\n");
    }
}

int main(void) {
    static unsigned depths[] = {10, GOAL_DEPTH, 300, 1000};
    enum { DEPTHS = sizeof depths / sizeof *depths };
    unsigned counts[DEPTHS][2];
    bool is_counted[DEPTHS];
    const struct sigaction action = {.sa_handler = reply, .sa_flags = SA_RESTART};
    if (pipe(never) != 0 || sigaction(SIGUSR1, &action, NULL) != 0) return 1;
    /* Runs first, so that each child begins in a process in which no thread was captured. */
    for (unsigned i = 0; i < DEPTHS; i++) is_counted[i] = count_kernel_calls(depths[i], counts[i]);
    printf("another thread, waiting in the kernel, its code " CODE "; medians of %u\n", ROUNDS);
    for (unsigned i = 0; i < DEPTHS; i++) print_depth(&depths[i], is_counted[i] ? counts[i] : NULL);
    return 0;
}
