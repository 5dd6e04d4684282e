/* SPDX-License-Identifier: MIT */
/* Tests captures of threads that wait in system calls: which go on after a capture, which end with EINTR or early. Each
 * row of the table in doc/signal-safety.md is compared with what happens, for captures by signals and for snapshots by
 * a helper process. A signal of the program's own must still interrupt the call, however often the thread is captured
 * meanwhile. */
#define _GNU_SOURCE 1
#include "tests/support/linux_threads.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "lib/os/linux/calls.h"
#include "tests/support/linux_emulator.h"
#include "tests/support/suite.h"

static struct uspi_linux_calls calls;

/* What the calls work on. A call's `release` function ends the thread's wait. */
static int ends[2], sockets[2], queue, semaphores, locked;
static pid_t child;
static char folder[64], fifo[96], file[96];
static sem_t semaphore;
static pthread_t waiter;
static unsigned long aio; /* aio_context_t */
static const struct timespec long_time = {1000, 0};

static void do_nothing(int number) { (void)number; }

static void make_pipe(void) { ck_assert_int_eq(pipe(ends), 0); }
static void make_full_pipe(void) {
    char bytes[4096] = {0};
    make_pipe();
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while (write(ends[1], bytes, sizeof bytes) > 0) continue;
    ck_assert_int_eq(fcntl(ends[1], F_SETFL, 0), 0);
}
static void make_sockets(void) { ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), 0); }
static void make_full_socket(void) {
    char bytes[4096] = {0};
    make_sockets();
    while (send(sockets[0], bytes, sizeof bytes, MSG_DONTWAIT) > 0) continue;
}
static void make_patient_sockets(void) {
    const struct timeval time = {1000, 0};
    make_sockets();
    ck_assert_int_eq(setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time), 0);
}
static void make_full_patient_socket(void) {
    const struct timeval time = {1000, 0};
    make_full_socket();
    ck_assert_int_eq(setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time), 0);
}
static void make_listener(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    sockets[0] = socket(AF_UNIX, SOCK_STREAM, 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
    unlink(address.sun_path);
    ck_assert_int_eq(bind(sockets[0], (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(listen(sockets[0], 1), 0);
}
static void make_patient_listener(void) {
    const struct timeval time = {1000, 0};
    make_listener();
    ck_assert_int_eq(setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time), 0);
}
static void make_begun_sockets(void) {
    make_sockets();
    ck_assert_int_eq(send(sockets[1], "x", 1, 0), 1);
}
static void make_fifo(void) {
    unlink(fifo);
    ck_assert_int_eq(mkfifo(fifo, 0600), 0);
}
static void make_lock(void) {
    int ready[2];
    char c;
    ck_assert_int_eq(pipe(ready), 0);
    locked = open(file, O_RDWR | O_CREAT, 0600);
    ck_assert_int_ge(locked, 0);
    make_pipe();
    child = fork();
    if (child == 0) {
        const struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int own = open(file, O_RDWR);
        if (flock(own, LOCK_EX) != 0 || fcntl(own, F_SETLK, &whole) != 0) _exit(1);
        if (write(ready[1], "r", 1) != 1 || read(ends[0], &c, 1) != 1) _exit(2);
        _exit(0);
    }
    ck_assert_int_eq(read(ready[0], &c, 1), 1);
    close(ready[0]);
    close(ready[1]);
}
static void make_child(void) {
    make_pipe();
    child = fork();
    if (child == 0) {
        char c;
        while (read(ends[0], &c, 1) != 1) continue;
        _exit(0);
    }
}
static void make_queue(void) {
    queue = msgget(IPC_PRIVATE, IPC_CREAT | 0600);
    ck_assert_int_ge(queue, 0);
}
static void make_full_queue(void) {
    const struct {
        long type;
        char text[1024];
    } message = {1, {0}};
    make_queue();
    while (msgsnd(queue, &message, sizeof message.text, IPC_NOWAIT) == 0) continue;
}
static void make_semaphores(void) {
    semaphores = semget(IPC_PRIVATE, 1, IPC_CREAT | 0600);
    ck_assert_int_ge(semaphores, 0);
}
static void make_semaphore(void) { sem_init(&semaphore, 0, 0); }
static void make_epoll(void) {
    make_pipe();
    ends[0] = epoll_create1(0);
}
static void make_eventfd(void) { ends[0] = ends[1] = eventfd(0, 0); }
static void make_timer(void) { ends[0] = timerfd_create(CLOCK_MONOTONIC, 0); }
static void make_inotify(void) {
    ends[0] = inotify_init();
    ck_assert_int_ge(inotify_add_watch(ends[0], folder, IN_CREATE), 0);
}
/* A kernel may be built without these, and a container may refuse them. */
static bool is_missing;

static void make_aio(void) {
    aio = 0;
    is_missing = syscall(SYS_io_setup, 1, &aio) != 0;
}
#ifdef SYS_io_uring_setup
static void make_ring(void) {
    char parameters[256] = {0}; /* more than struct io_uring_params */
    ends[0] = (int)syscall(SYS_io_uring_setup, 1, parameters);
    is_missing = ends[0] < 0;
}
#endif
static void make_nothing(void) {}

/* ---- the calls ---- */

static long do_read(void) {
    char c;
    return read(ends[0], &c, 1);
}
static long do_read_long(void) {
    char bytes[512];
    return read(ends[0], bytes, sizeof bytes);
}
static long do_readv(void) {
    char c;
    struct iovec v = {&c, 1};
    return readv(ends[0], &v, 1);
}
static long do_write(void) {
    static char bytes[4096];
    return write(ends[1], bytes, sizeof bytes);
}
static long do_recv(void) {
    char c;
    return recv(sockets[0], &c, 1, 0);
}
static long do_recvmsg(void) {
    char c;
    struct iovec v = {&c, 1};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    return recvmsg(sockets[0], &m, 0);
}
static long do_send(void) {
    static char bytes[65536];
    return send(sockets[0], bytes, sizeof bytes, 0);
}
/* More than a pipe or a socket holds: a part is written before the call waits. */
static char much[4u << 20];
static long do_write_much(void) { return write(ends[1], much, sizeof much); }
static long do_send_much(void) { return send(sockets[0], much, sizeof much, 0); }
static long do_recv_all(void) { return recv(sockets[0], much, sizeof much, MSG_WAITALL); }
static long do_accept(void) { return accept(sockets[0], NULL, NULL); }
static long do_open(void) { return open(fifo, O_RDONLY); }
static long do_wait4(void) { return waitpid(child, NULL, 0); }
static long do_waitid(void) {
    siginfo_t info;
    return waitid(P_PID, (id_t)child, &info, WEXITED);
}
static long do_flock(void) { return flock(locked, LOCK_EX); }
static long do_setlkw(void) {
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    return fcntl(locked, F_SETLKW, &whole);
}
static long do_sem_wait(void) { return sem_wait(&semaphore); }
static long do_sem_timedwait(void) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 1000;
    return sem_timedwait(&semaphore, &until);
}
static long do_poll(void) {
    struct pollfd p = {ends[0], POLLIN, 0};
    return poll(&p, 1, -1);
}
static long do_ppoll(void) {
    struct pollfd p = {ends[0], POLLIN, 0};
    return ppoll(&p, 1, &long_time, NULL);
}
static long do_select(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET((unsigned)ends[0], &set);
    return select(ends[0] + 1, &set, NULL, NULL, NULL);
}
static long do_pselect(void) {
    fd_set set;
    FD_ZERO(&set);
    FD_SET((unsigned)ends[0], &set);
    return pselect(ends[0] + 1, &set, NULL, NULL, &long_time, NULL);
}
static long do_epoll_wait(void) {
    struct epoll_event e;
    return epoll_wait(ends[0], &e, 1, -1);
}
static long do_epoll_pwait(void) {
    struct epoll_event e;
    return epoll_pwait(ends[0], &e, 1, 1000000, NULL);
}
static long do_io_getevents(void) {
    char event[32]; /* struct io_event (include/uapi/linux/aio_abi.h) */
    return syscall(SYS_io_getevents, aio, 1L, 1L, event, NULL);
}
#ifdef SYS_io_uring_setup
static long do_io_uring_enter(void) {
    const unsigned get_events = 1; /* IORING_ENTER_GETEVENTS */
    return syscall(SYS_io_uring_enter, ends[0], 0, 1, get_events, NULL, 0);
}
#endif
static long do_nanosleep(void) { return nanosleep(&long_time, NULL); }
static long do_clock_nanosleep(void) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += 1000;
    errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
    return errno == 0 ? 0 : -1;
}
static long do_sleep(void) {
    errno = EINTR;
    return sleep(1000) == 0 ? 0 : -1;
}
static long do_pause(void) { return pause(); }
static long do_sigsuspend(void) {
    sigset_t none;
    sigemptyset(&none);
    return sigsuspend(&none);
}
static long do_sigwaitinfo(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return sigwaitinfo(&set, NULL);
}
static long do_sigtimedwait(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return sigtimedwait(&set, NULL, &long_time);
}
static long do_msgrcv(void) {
    struct {
        long type;
        char text[16];
    } message;
    return msgrcv(queue, &message, sizeof message.text, 0, 0);
}
static long do_msgsnd(void) {
    const struct {
        long type;
        char text[1024];
    } message = {1, {0}};
    return msgsnd(queue, &message, sizeof message.text, 0);
}
static long do_semop(void) {
    struct sembuf down = {0, -1, 0};
    return semop(semaphores, &down, 1);
}
static long do_semtimedop(void) {
    struct sembuf down = {0, -1, 0};
    return semtimedop(semaphores, &down, 1, &long_time);
}

/* ---- ending the waits ---- */

static void write_byte(void) { ck_assert_int_ge(write(ends[1], "12345678", 8), 1); }
static bool has_ended(void);

static void read_all(void) {
    char bytes[65536];
    ck_assert_int_gt(read(ends[0], bytes, sizeof bytes), 0);
}
/* Reads until the call has written all of its bytes. */
static void read_until_ended(int from) {
    char bytes[65536];
    ck_assert_int_eq(fcntl(from, F_SETFL, O_NONBLOCK), 0);
    while (!has_ended()) (void)!read(from, bytes, sizeof bytes);
}
static void read_much(void) { read_until_ended(ends[0]); }
static void close_peer(void) { ck_assert_int_eq(shutdown(sockets[1], SHUT_WR), 0); }
static void send_byte(void) { ck_assert_int_eq(send(sockets[1], "x", 1, 0), 1); }
static void receive_all(void) { read_until_ended(sockets[1]); }
static void connect_once(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", folder);
    int s = socket(AF_UNIX, SOCK_STREAM, 0);
    ck_assert_int_eq(connect(s, (struct sockaddr *)&address, sizeof address), 0);
    close(s);
}
static void open_writer(void) { close(open(fifo, O_RDWR)); }
static void post(void) { sem_post(&semaphore); }
static void set_timer(void) {
    const struct itimerspec soon = {{0, 0}, {0, 1}};
    ck_assert_int_eq(timerfd_settime(ends[0], 0, &soon, NULL), 0);
}
static void create_file(void) { make_fifo(); }
static void send_message(void) {
    const struct {
        long type;
        char text[4];
    } message = {1, "abc"};
    ck_assert_int_eq(msgsnd(queue, &message, sizeof message.text, 0), 0);
}
static void remove_queue(void) { ck_assert_int_eq(msgctl(queue, IPC_RMID, NULL), 0); }
static void raise_semaphore(void) {
    struct sembuf up = {0, 1, 0};
    ck_assert_int_eq(semop(semaphores, &up, 1), 0);
}
static void interrupt(void) { ck_assert_int_eq(pthread_kill(waiter, SIGUSR1), 0); }
static void send_awaited(void) { ck_assert_int_eq(pthread_kill(waiter, SIGUSR2), 0); }

enum outcome { GOES_ON, ENDS, IS_SHORT };

static const struct call {
    const char *name; /* as in the table of doc/signal-safety.md */
    void (*make)(void);
    long (*wait)(void);
    void (*release)(void);
    enum outcome x86, arm, helper;
} table[] = {
    {"read, of a pipe", make_pipe, do_read, write_byte, GOES_ON, GOES_ON, GOES_ON},
    {"read, of an eventfd", make_eventfd, do_read_long, write_byte, GOES_ON, GOES_ON, GOES_ON},
    {"read, of a timerfd", make_timer, do_read_long, set_timer, GOES_ON, GOES_ON, GOES_ON},
    {"read, of inotify", make_inotify, do_read_long, create_file, GOES_ON, GOES_ON, GOES_ON},
    {"readv", make_pipe, do_readv, write_byte, GOES_ON, GOES_ON, GOES_ON},
    {"write, to a pipe", make_full_pipe, do_write, read_all, GOES_ON, GOES_ON, GOES_ON},
    {"write, of more than fits", make_pipe, do_write_much, read_much, IS_SHORT, IS_SHORT, IS_SHORT},
    {"recv", make_sockets, do_recv, send_byte, GOES_ON, GOES_ON, GOES_ON},
    {"recv, with MSG_WAITALL", make_begun_sockets, do_recv_all, close_peer, IS_SHORT, IS_SHORT, IS_SHORT},
    {"recv, with SO_RCVTIMEO", make_patient_sockets, do_recv, send_byte, ENDS, ENDS, ENDS},
    {"recvmsg", make_sockets, do_recvmsg, send_byte, GOES_ON, GOES_ON, GOES_ON},
    {"send", make_full_socket, do_send, receive_all, GOES_ON, GOES_ON, GOES_ON},
    {"send, of more than fits", make_sockets, do_send_much, receive_all, IS_SHORT, IS_SHORT, IS_SHORT},
    {"send, with SO_SNDTIMEO", make_full_patient_socket, do_send, receive_all, ENDS, ENDS, ENDS},
    {"accept, with SO_RCVTIMEO", make_patient_listener, do_accept, connect_once, ENDS, ENDS, ENDS},
    {"accept", make_listener, do_accept, connect_once, GOES_ON, GOES_ON, GOES_ON},
    {"open, of a FIFO", make_fifo, do_open, open_writer, GOES_ON, GOES_ON, GOES_ON},
    {"wait4, waitpid", make_child, do_wait4, write_byte, GOES_ON, GOES_ON, GOES_ON},
    {"waitid", make_child, do_waitid, write_byte, GOES_ON, GOES_ON, GOES_ON},
    {"flock", make_lock, do_flock, write_byte, GOES_ON, GOES_ON, GOES_ON},
    {"fcntl, F_SETLKW", make_lock, do_setlkw, write_byte, GOES_ON, GOES_ON, GOES_ON},
    {"sem_wait, and futex without a time", make_semaphore, do_sem_wait, post, GOES_ON, GOES_ON, GOES_ON},
    {"sem_timedwait, and futex with a time", make_semaphore, do_sem_timedwait, post, ENDS, ENDS, GOES_ON},
    {"poll", make_pipe, do_poll, write_byte, ENDS, ENDS, GOES_ON},
    {"ppoll", make_pipe, do_ppoll, write_byte, ENDS, ENDS, GOES_ON},
    {"select", make_pipe, do_select, write_byte, ENDS, ENDS, GOES_ON},
    {"pselect", make_pipe, do_pselect, write_byte, ENDS, ENDS, GOES_ON},
    {"epoll_wait", make_epoll, do_epoll_wait, interrupt, ENDS, ENDS, ENDS},
    {"epoll_pwait", make_epoll, do_epoll_pwait, interrupt, ENDS, ENDS, ENDS},
    {"io_getevents", make_aio, do_io_getevents, interrupt, ENDS, ENDS, ENDS},
#ifdef SYS_io_uring_setup
    {"io_uring_enter", make_ring, do_io_uring_enter, interrupt, ENDS, ENDS, ENDS},
#endif
    {"nanosleep, usleep", make_nothing, do_nanosleep, interrupt, ENDS, ENDS, GOES_ON},
    {"clock_nanosleep", make_nothing, do_clock_nanosleep, interrupt, ENDS, ENDS, GOES_ON},
    {"sleep", make_nothing, do_sleep, interrupt, ENDS, ENDS, GOES_ON},
    {"pause", make_nothing, do_pause, interrupt, ENDS, ENDS, GOES_ON},
    {"sigsuspend", make_nothing, do_sigsuspend, interrupt, ENDS, ENDS, GOES_ON},
    {"sigwaitinfo, sigwait", make_nothing, do_sigwaitinfo, send_awaited, GOES_ON, ENDS, ENDS},
    {"sigtimedwait", make_nothing, do_sigtimedwait, send_awaited, ENDS, ENDS, ENDS},
    {"msgrcv", make_queue, do_msgrcv, send_message, GOES_ON, ENDS, GOES_ON},
    {"msgsnd", make_full_queue, do_msgsnd, remove_queue, GOES_ON, ENDS, GOES_ON},
    {"semop", make_semaphores, do_semop, raise_semaphore, GOES_ON, ENDS, ENDS},
    {"semtimedop", make_semaphores, do_semtimedop, raise_semaphore, ENDS, ENDS, ENDS},
};

/* ---- a thread that makes a call ---- */

static struct {
    const struct call *call;
    struct usp_thread thread;
    _Atomic(int) is_there, has_ended, error, may_leave;
    _Atomic(long) result;
} waiting;

static bool has_ended(void) { return atomic_load(&waiting.has_ended) != 0; }

static void *wait_in_call(void *context) {
    (void)context;
    waiting.thread.id = waiting.thread.native = (uint64_t)syscall(SYS_gettid);
    atomic_store(&waiting.is_there, 1);
    long result = waiting.call->wait();
    atomic_store(&waiting.error, result < 0 ? errno : 0);
    atomic_store(&waiting.result, result);
    atomic_store(&waiting.has_ended, 1);
    while (atomic_load(&waiting.may_leave) == 0) usleep(1000);
    return NULL;
}

static char state_of(uint64_t tid) {
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/self/task/%llu/stat", (unsigned long long)tid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) close(fd);
    if (n <= 0) return '?';
    text[n] = '\0';
    const char *at = strrchr(text, ')');
    return at != NULL ? at[2] : '?';
}

static void begin_waiting(const struct call *call) {
    memset(&waiting, 0, sizeof waiting);
    waiting.call = call;
    ck_assert_int_eq(pthread_create(&waiter, NULL, wait_in_call, NULL), 0);
    while (atomic_load(&waiting.is_there) == 0) usleep(100);
    /* By then the thread sleeps in the call. */
    for (unsigned i = 0; i < 20; i++) {
        while (state_of(waiting.thread.id) != 'S') usleep(100);
        usleep(200);
    }
}

static void end_waiting(void) {
    if (atomic_load(&waiting.has_ended) == 0) waiting.call->release();
    for (uint64_t began = usp_clock(); atomic_load(&waiting.has_ended) == 0;) {
        ck_assert_msg(usp_clock() - began < patience(), "%s does not end", waiting.call->name);
        usleep(100);
    }
    atomic_store(&waiting.may_leave, 1);
    ck_assert_int_eq(pthread_join(waiter, NULL), 0);
}

static void capture_by_signals(void) {
    struct usp_frame frames[64];
    struct usp_stack stack;
    struct usp_snapshot *snapshot;
    for (unsigned i = 0; i < 10; i++) {
        usp_stack_init(&stack, frames, 64);
        ck_assert_int_eq(usp_capture_thread(&waiting.thread, NULL, &stack), USP_OK);
        ck_assert_uint_gt(stack.count, 0);
        usleep(300);
    }
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &snapshot), USP_OK);
    usp_snapshot_free(snapshot);
}

static void capture_by_helper(void) {
    struct usp_snapshot_options options;
    struct usp_snapshot *snapshot;
    usp_snapshot_options_init(&options);
    options.means = USP_SNAPSHOT_BY_HELPER;
    options.timeout = patience();
    for (unsigned i = 0; i < 5; i++) {
        ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
        const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
        ck_assert_uint_ge(info->thread_count, 2);
        ck_assert_uint_eq(info->missed, 0);
        usp_snapshot_free(snapshot);
        usleep(300);
    }
}

/* Installs a handler without SA_RESTART for a signal that ends some calls: they return EINTR. */
static void install_interrupter(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = do_nothing;
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
}

static const char *text_of(enum outcome outcome) {
    static const char *const texts[] = {"goes on", "EINTR", "short count"};
    return texts[outcome];
}

/* Captures the thread, ends its wait and checks what the captures did to its call. */
static void expect_outcome(const struct call *call, void (*capture)(void), enum outcome expected) {
    call->make();
    if (is_missing) return;
    begin_waiting(call);
    capture();
    usleep(5000);
    const bool has_ended = atomic_load(&waiting.has_ended) != 0;
    const int error = atomic_load(&waiting.error);
    const enum outcome outcome = !has_ended ? GOES_ON : error != 0 ? ENDS : IS_SHORT;
    const long result = atomic_load(&waiting.result);
    install_interrupter();
    end_waiting();
    if (outcome == ENDS) ck_assert_msg(error == EINTR, "%s ended with error %d", call->name, error);
    if (outcome == IS_SHORT) ck_assert_msg(result > 0 && (size_t)result < sizeof much, "%s: %ld", call->name, result);
    ck_assert_msg(outcome == expected, "%s: %s, and not: %s", call->name, text_of(outcome), text_of(expected));
}

/* Resets all signal handlers: the test runner has others than those that a test installs. */
static void begin_each(void) {
    struct usp_prepare_options options;
    calls = uspi_linux_real;
    leave_out_emulator(&calls);
    uspi_linux = &calls;
    for (int number = 1; number < 32; number++) {
        if (number != SIGKILL && number != SIGSTOP) signal(number, SIG_DFL);
    }
    snprintf(folder, sizeof folder, "/tmp/unspool-calls-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(fifo, sizeof fifo, "%s/fifo", folder);
    snprintf(file, sizeof file, "%s/file", folder);
    queue = semaphores = -1;
    usp_prepare_options_init(&options);
    options.timeout = patience();
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
}

static void end_each(void) {
    char socket_path[96];
    snprintf(socket_path, sizeof socket_path, "%s/socket", folder);
    unlink(socket_path);
    unlink(fifo);
    unlink(file);
    rmdir(folder);
    if (queue >= 0) msgctl(queue, IPC_RMID, NULL);
    if (semaphores >= 0) semctl(semaphores, 0, IPC_RMID);
}

static bool is_x86(void) { return usp_arch_host() == USP_ARCH_X86_64 || usp_arch_host() == USP_ARCH_I386; }

START_TEST(a_call_is_captured_by_signals) {
    enum outcome expected = is_x86() ? table[_i].x86 : table[_i].arm;
#ifdef __i386__
    /* There glibc implements semop by semtimedop. */
    if (strcmp(table[_i].name, "semop") == 0) expected = ENDS;
#endif
    expect_outcome(&table[_i], capture_by_signals, expected);
}
END_TEST

START_TEST(a_call_is_captured_by_a_helper) { expect_outcome(&table[_i], capture_by_helper, table[_i].helper); }
END_TEST

/* doc/signal-safety.md would tell users something untrue if a row were missing or said anything else than this
 * table. */
START_TEST(the_documents_table_is_this_one) {
    const char *source = getenv("srcdir") != NULL ? getenv("srcdir") : ".";
    char path[4096], line[1024], wanted[256];
    if (is_on_emulated_kernel()) return; /* The emulated machine does not have the documents. */
    for (int i = 0; i < ELEMENTS(table); i++) {
        const struct call *call = &table[i];
        bool is_there = false;
        snprintf(path, sizeof path, "%s/doc/signal-safety.md", source);
        FILE *f = fopen(path, "r");
        ck_assert_msg(f != NULL, "%s: %s", path, strerror(errno));
        snprintf(wanted, sizeof wanted, "| %s | %s | %s | %s |", call->name, text_of(call->x86), text_of(call->arm),
                 text_of(call->helper));
        while (fgets(line, sizeof line, f) != NULL) is_there = is_there || strncmp(line, wanted, strlen(wanted)) == 0;
        fclose(f);
        ck_assert_msg(is_there, "doc/signal-safety.md lacks: %s", wanted);
    }
}
END_TEST

/* ---- races with a signal of the program's own ---- */

static _Atomic(int) stop_capturing;
static _Atomic(unsigned long) capture_count;
static _Atomic(unsigned) handled;

static void count_call(int number) {
    (void)number;
    atomic_fetch_add(&handled, 1);
}

static void *capture_without_pause(void *context) {
    struct usp_frame frames[16];
    (void)context;
    while (atomic_load(&stop_capturing) == 0) {
        struct usp_stack stack;
        usp_stack_init(&stack, frames, 16);
        if (usp_capture_thread(&waiting.thread, NULL, &stack) == USP_OK) atomic_fetch_add(&capture_count, 1);
    }
    return NULL;
}

static struct {
    _Atomic(unsigned) rounds, ended;
    _Atomic(int) leave;
    long (*wait)(void);
} racing;

static void *call_again_and_again(void *context) {
    (void)context;
    waiting.thread.id = waiting.thread.native = (uint64_t)syscall(SYS_gettid);
    atomic_store(&waiting.is_there, 1);
    while (atomic_load(&racing.leave) == 0) {
        atomic_fetch_add(&racing.rounds, 1);
        if (racing.wait() >= 0 || errno != EINTR) break;
        atomic_fetch_add(&racing.ended, 1);
    }
    atomic_store(&waiting.has_ended, 1);
    return NULL;
}

static long (*const raced[])(void) = {do_msgrcv, do_semop, do_sigwaitinfo};

/* A program waits for ever if a capture at the same moment swallows the EINTR of its own signal. Each signal must end
 * the call. */
START_TEST(a_signal_of_the_programs_always_ends_the_call) {
    const unsigned rounds = is_slowed() ? 100 : sampled(800, 3334);
    pthread_t capturer;
    struct sigaction action;
    make_queue();
    make_semaphores();
    memset(&action, 0, sizeof action);
    memset(&waiting, 0, sizeof waiting);
    memset(&racing, 0, sizeof racing);
    racing.wait = raced[_i];
    action.sa_handler = count_call;
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    ck_assert_int_eq(pthread_create(&waiter, NULL, call_again_and_again, NULL), 0);
    while (atomic_load(&waiting.is_there) == 0) usleep(100);
    ck_assert_int_eq(pthread_create(&capturer, NULL, capture_without_pause, NULL), 0);
    unsigned resent = 0;
    for (unsigned i = 0; i < rounds; i++) {
        const unsigned before = atomic_load(&racing.ended), calls_before = atomic_load(&handled);
        for (volatile unsigned k = 0; k < i % 64 * 16; k++) continue;
        ck_assert_int_eq(pthread_kill(waiter, SIGUSR1), 0);
        /* The handler may have run between two calls. The next call then waits, as it would without captures; the call
         * before it has already ended. */
        for (uint64_t began = usp_clock(); atomic_load(&racing.ended) == before;) {
            if (usp_clock() - began < 20 * MS || atomic_load(&handled) == calls_before) {
                ck_assert_uint_lt(usp_clock() - began, patience());
                continue;
            }
            resent++;
            break;
        }
    }
    printf("%u signals, %lu captures, %u calls ended; %u signals came between two calls\n", rounds,
           atomic_load(&capture_count), atomic_load(&racing.ended), resent);
    /* A signal comes between two calls only if it arrives at one of a few instructions, so this is rare. */
    ck_assert_uint_lt(resent, rounds / 20 + 2);
    atomic_store(&stop_capturing, 1);
    pthread_join(capturer, NULL);
    atomic_store(&racing.leave, 1);
    while (atomic_load(&waiting.has_ended) == 0) {
        pthread_kill(waiter, SIGUSR1);
        usleep(1000);
    }
    pthread_join(waiter, NULL);
}
END_TEST

/* ---- a signal that comes while its thread is held ---- */

/* The number of the getdents64 call that sends the signal. Each listing makes two calls; the second one returns 0 for
 * the end. */
#define LISTING_OF_HELD 5u

static _Atomic(unsigned) listings;

static long list_slowly(int fd, void *to, size_t n) {
    if (atomic_fetch_add(&listings, 1) + 1 == LISTING_OF_HELD) {
        usleep(20000);
        pthread_kill(waiter, SIGUSR1);
        usleep(20000);
    }
    return uspi_linux_real.list_directory(fd, to, n);
}

static const struct call held[] = {{"read", make_pipe, do_read, write_byte, ENDS, ENDS, ENDS},
                                   {"recv", make_sockets, do_recv, send_byte, ENDS, ENDS, ENDS},
                                   {"sem_wait", make_semaphore, do_sem_wait, post, ENDS, ENDS, ENDS}};

/* Programs use alarm to interrupt read. If the program's signal comes while the thread is held, the kernel would
 * restart the call, because the library's handler has SA_RESTART, and the program would wait for ever. */
START_TEST(a_signal_that_comes_meanwhile_interrupts_the_call) {
    struct usp_snapshot *snapshot;
    struct usp_snapshot_options options;
    usp_snapshot_options_init(&options);
    options.timeout = patience();
    install_interrupter();
    held[_i].make();
    begin_waiting(&held[_i]);
    /* The first snapshot learns what the library learns only once per process. */
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
    usp_snapshot_free(snapshot);
    ck_assert_int_eq(atomic_load(&waiting.has_ended), 0);
    calls.list_directory = list_slowly;
    /* The first listing finds the threads, at the second the listed threads are asked, at the third all are held. */
    atomic_store(&listings, 0);
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
    usp_snapshot_free(snapshot);
    for (unsigned k = 0; k < PATIENT_LOOKS && atomic_load(&waiting.has_ended) == 0; k++) usleep(1000);
    ck_assert_uint_gt(atomic_load(&listings), LISTING_OF_HELD);
    ck_assert_int_eq(atomic_load(&waiting.has_ended), 1);
    ck_assert_int_eq(atomic_load(&waiting.error), EINTR);
    end_waiting();
}
END_TEST

int main(void) {
    note_sample();
    TCase *c = tcase_create("blocking_calls");
    tcase_add_checked_fixture(c, begin_each, end_each);
    tcase_add_test(c, the_documents_table_is_this_one);
    /* User-mode emulators restart calls by their own rules and cannot trace processes; valgrind makes other calls. */
    if (test_under()[0] == '\0' || strcmp(test_under(), "kernel") == 0) {
        tcase_add_loop_test(c, a_call_is_captured_by_signals, 0, ELEMENTS(table));
        tcase_add_loop_test(c, a_call_is_captured_by_a_helper, 0, ELEMENTS(table));
        tcase_add_loop_test(c, a_signal_of_the_programs_always_ends_the_call, 0, ELEMENTS(raced));
        tcase_add_loop_test(c, a_signal_that_comes_meanwhile_interrupts_the_call, 0, ELEMENTS(held));
    }
    return run_suite("linux_blocking_calls", c);
}
