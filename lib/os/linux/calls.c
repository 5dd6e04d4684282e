/* SPDX-License-Identifier: MIT */
/* See calls.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
/* Addresses are offsets in /proc/PID/mem, and on 32-bit processors many exceed a 32-bit off_t. */
#define _FILE_OFFSET_BITS 64
#include "lib/os/linux/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* From Linux include/uapi/linux/futex.h, which is not part of libc: musl does not have it. */
enum { FUTEX_WAKE = 1, FUTEX_WAIT_BITSET = 9, FUTEX_PRIVATE_FLAG = 128 };
#define FUTEX_BITSET_MATCH_ANY 0xffffffffu

/* On 32-bit processors with a 64-bit time_t, SYS_futex takes another struct timespec. */
#ifdef SYS_futex_time64
#define FUTEX (sizeof(time_t) > sizeof(long) ? SYS_futex_time64 : SYS_futex)
#else
#define FUTEX SYS_futex
#endif

/* Converts the result of a libc call that reports errors by errno to the kernel's form. `kept` is errno before the
 * call. */
static long result(long value, int kept) {
    if (value != -1) return value;
    long error = -(long)errno;
    errno = kept;
    return error;
}

/* libc's syscall takes words, whatever the kernel's declaration says. A narrower constant on the stack would leave the
 * upper half of its word undefined. */
#define WORD(n) ((unsigned long)(n))

#define CALL(expression)                                                                                               \
    int kept = errno;                                                                                                  \
    return result((long)(expression), kept)

static long real_open(int directory, const char *path, int flags) { CALL(openat(directory, path, flags | O_CLOEXEC)); }
static long real_close(int fd) { CALL(syscall(SYS_close, fd)); }
static long real_read(int fd, void *to, size_t n) { CALL(syscall(SYS_read, fd, to, n)); }
static long real_pread(int fd, void *to, size_t n, uint64_t offset) { CALL(pread(fd, to, n, (off_t)offset)); }
static long real_rewind(int fd) { CALL(lseek(fd, 0, SEEK_SET)); }
static long real_list_directory(int fd, void *entries, size_t n) { CALL(syscall(SYS_getdents64, fd, entries, n)); }
static long real_read_link(const char *path, char *to, size_t n) { CALL(readlink(path, to, n)); }
/* _IOWR('f', 17, struct procmap_query) */
#define PROCMAP_QUERY (3ul << 30 | sizeof(struct uspi_mapping_query) << 16 | 'f' << 8 | 17)
_Static_assert(sizeof(struct uspi_mapping_query) == 104, "the kernel's struct");
static long real_query_mapping(int maps, struct uspi_mapping_query *query) {
    CALL(syscall(SYS_ioctl, maps, WORD(PROCMAP_QUERY), query));
}
static long real_lock_file(int fd, int operation) { CALL(flock(fd, operation)); }

static long real_count_links(int fd) {
    struct stat s;
    int kept = errno;
    long r = result(fstat(fd, &s), kept);
    return r < 0 ? r : (long)s.st_nlink;
}

static void *real_map(size_t n, bool filled) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (filled ? MAP_POPULATE : 0);
    int kept = errno;
    void *at = mmap(NULL, n, PROT_READ | PROT_WRITE, flags, -1, 0);
    errno = kept;
    return at != MAP_FAILED ? at : NULL;
}

static long real_unmap(void *at, size_t n) { CALL(munmap(at, n)); }

static long real_probe(uintptr_t address) {
    /* With an invalid `how` the kernel reads the set, 8 bytes, before it checks `how`: EFAULT means unreadable, EINVAL
     * readable. */
    CALL(syscall(SYS_rt_sigprocmask, ~0, address & ~(uintptr_t)7, NULL, WORD(8)));
}

static long real_read_process(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t remote_count) {
    CALL(syscall(SYS_process_vm_readv, pid, local, WORD(1), remote, remote_count, WORD(0)));
}

static pid_t real_own_thread(void) { return (pid_t)syscall(SYS_gettid); }
static long real_own_name(char name[16]) { CALL(prctl(PR_GET_NAME, name, WORD(0), WORD(0), WORD(0))); }
static long real_probe_thread(pid_t pid, pid_t tid) { CALL(syscall(SYS_tgkill, pid, tid, 0)); }

static long real_robust_list(pid_t tid, uintptr_t *head) {
    void *at = NULL;
    size_t size;
    int kept = errno;
    long r = result(syscall(SYS_get_robust_list, tid, &at, &size), kept);
    *head = (uintptr_t)at;
    return r;
}

static long real_send_signal(pid_t pid, pid_t tid, int signal) { CALL(syscall(SYS_tgkill, pid, tid, signal)); }

static long real_queue_signal(pid_t pid, pid_t tid, int signal, const siginfo_t *info) {
    CALL(syscall(SYS_rt_tgsigqueueinfo, pid, tid, signal, info));
}

static long real_set_stack(const stack_t *stack, stack_t *old) { CALL(sigaltstack(stack, old)); }

static long real_set_action(int signal, const struct sigaction *action, struct sigaction *old) {
    CALL(sigaction(signal, action, old));
}

/* Not libc's function, which leaves libc's own signals unblocked: the thread could be cancelled. */
static long real_set_mask(int how, const uint64_t *mask, uint64_t *old) {
    CALL(syscall(SYS_rt_sigprocmask, WORD(how), mask, old, WORD(sizeof *mask)));
}

static long real_pending_signals(uint64_t *set) { CALL(syscall(SYS_rt_sigpending, set, WORD(sizeof *set))); }

static long real_wait(_Atomic(uint32_t) *word, uint32_t seen, uint64_t deadline) {
    struct timespec until = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
    /* WAIT_BITSET takes an absolute time, so that interruptions do not prolong it. */
    CALL(syscall(FUTEX, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, seen, &until, NULL, FUTEX_BITSET_MATCH_ANY));
}

static long real_wake(_Atomic(uint32_t) *word, int count) {
    CALL(syscall(FUTEX, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, count, NULL, NULL, 0));
}

static long real_sleep(uint64_t ns) {
    struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    CALL(nanosleep(&t, NULL));
}

static long real_set_timer_slack(uint64_t ns) { CALL(prctl(PR_SET_TIMERSLACK, WORD(ns), WORD(0), WORD(0), WORD(0))); }

static int64_t real_cpu_time(void) {
    struct timespec t;
    int kept = errno;
    long r = result(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t), kept);
    return r < 0 ? r : (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* The id of a thread's clock is the complement of the thread's id, above three bits of its kind: one thread's clock, in
 * the scheduler's count (Linux include/linux/posix-timers_types.h, CPUCLOCK_PERTHREAD_MASK, CPUCLOCK_SCHED). */
static int64_t real_thread_cpu_time(pid_t tid) {
    struct timespec t;
    int kept = errno;
    long r = result(clock_gettime((clockid_t)(~(uint32_t)tid << 3 | 6), &t), kept);
    return r < 0 ? r : (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A process's clock has the same kind of id, without CPUCLOCK_PERTHREAD_MASK. */
static int64_t real_process_cpu_time(pid_t pid) {
    struct timespec t;
    int kept = errno;
    long r = result(clock_gettime((clockid_t)(~(uint32_t)pid << 3 | 2), &t), kept);
    return r < 0 ? r : (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static long real_trace(long request, pid_t tid, void *address, void *data) {
    /* Not libc's ptrace, which takes an enum and changes what it returns for some requests. */
    CALL(syscall(SYS_ptrace, request, tid, address, data));
}

static long real_take_end(pid_t tid) {
    siginfo_t info;
    CALL(syscall(SYS_waitid, WORD(P_PID), WORD(tid), &info, WORD(WEXITED | WNOHANG | __WALL), NULL));
}

/* What a process beside this one runs. */
struct beside {
    int (*function)(void *context);
    void *context;
};

static int begin_beside(void *context) {
    const struct beside *beside = context;
    (void)prctl(PR_SET_PDEATHSIG, WORD(SIGKILL), WORD(0), WORD(0), WORD(0));
    return beside->function(beside->context);
}

static long real_run_beside(int (*function)(void *context), void *stack_top, void *context) {
    int kept = errno;
    struct beside beside = {function, context};
    /* The child sends no signal when it ends, so a wait for any child ignores it (wait(2), __WALL). */
    long child = result(clone(begin_beside, stack_top, CLONE_VM | CLONE_VFORK | CLONE_FS | CLONE_FILES, &beside), kept);
    if (child < 0) return child;
    while (result(syscall(SYS_wait4, WORD(child), NULL, WORD(__WALL), NULL), kept) == -EINTR) continue;
    return 0;
}

static long real_permit_tracer(bool any) {
    CALL(prctl(PR_SET_PTRACER, any ? PR_SET_PTRACER_ANY : WORD(0), WORD(0), WORD(0), WORD(0)));
}

const struct uspi_linux_calls uspi_linux_real = {
    .open = real_open,
    .close = real_close,
    .read = real_read,
    .pread = real_pread,
    .rewind = real_rewind,
    .list_directory = real_list_directory,
    .count_links = real_count_links,
    .read_link = real_read_link,
    .lock_file = real_lock_file,
    .query_mapping = real_query_mapping,
    .map = real_map,
    .unmap = real_unmap,
    .probe = real_probe,
    .read_process = real_read_process,
    .own_process = getpid,
    .own_thread = real_own_thread,
    .own_name = real_own_name,
    .probe_thread = real_probe_thread,
    .robust_list = real_robust_list,
    .send_signal = real_send_signal,
    .queue_signal = real_queue_signal,
    .set_stack = real_set_stack,
    .set_action = real_set_action,
    .set_mask = real_set_mask,
    .pending_signals = real_pending_signals,
    .wait = real_wait,
    .wake = real_wake,
    .sleep = real_sleep,
    .set_timer_slack = real_set_timer_slack,
    .cpu_time = real_cpu_time,
    .trace = real_trace,
    .take_end = real_take_end,
    .run_beside = real_run_beside,
    .permit_tracer = real_permit_tracer,
    .thread_cpu_time = real_thread_cpu_time,
    .process_cpu_time = real_process_cpu_time,
};

const struct uspi_linux_calls *uspi_linux = &uspi_linux_real;

#endif
