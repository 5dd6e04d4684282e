/* SPDX-License-Identifier: MIT */
/* A crash handler. A signal handler must not allocate memory or take locks. So this one writes the stack without
 * symbols, with the build id or UUID of each image. `unspool stack crash.raw` symbolicates it: at the program's next
 * start, or on another machine.
 *
 * crash [NUMBER | overflow]
 *   nothing   reads through a null pointer
 *   NUMBER    raises this signal; 6 calls abort
 *   overflow  a thread calls itself until its stack is full */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unspool/unspool.h>

#ifdef __APPLE__
#include <TargetConditionals.h>
#endif
/* tvOS and watchOS forbid sigaltstack: the handler runs on the crashed thread's own stack, and cannot run when that
 * stack is full. */
#if defined(__APPLE__) && (TARGET_OS_TV || TARGET_OS_WATCH)
#define HAS_ALTERNATE_STACKS 0
#else
#define HAS_ALTERNATE_STACKS 1
#endif

#define ALTERNATE_STACK_SIZE 65536

static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGTRAP, SIGILL, SIGFPE, SIGSYS};
#define CRASH_SIGNALS (sizeof crash_signals / sizeof crash_signals[0])

static struct sigaction former_actions[CRASH_SIGNALS]; /* the handlers installed before, in the same order */
static atomic_flag is_writing = ATOMIC_FLAG_INIT;

static void write_stack(int signal, void *ucontext) {
    static struct usp_frame frames[256];
    struct usp_stack stack;
    struct usp_raw_capture raw;
    const struct usp_raw_thread thread = {.stack = &stack};
    uint32_t ticket;
    /* A new file: another user can have put a link or a pipe in its place. */
    unlink("crash.raw");
    int file = open("crash.raw", O_WRONLY | O_CREAT | O_EXCL, 0600);

    usp_stack_init(&stack, frames, 256);
    usp_capture_context(ucontext, NULL, &stack);
    usp_raw_capture_init(&raw);
    raw.pid = getpid();
    raw.signal = (uint32_t)signal;
    raw.images = usp_images_acquire(&ticket);
    raw.threads = &thread;
    raw.thread_count = 1;
    usp_raw_write(file, &raw);
    usp_images_release(ticket);
    close(file);
}

/* Does what would have happened without this handler: calls the former handler, or lets the signal end the process. */
static void pass_on(int signal, siginfo_t *info, void *ucontext) {
    size_t i = 0;
    while (i + 1 < CRASH_SIGNALS && crash_signals[i] != signal) i++;
    const struct sigaction *former = &former_actions[i];
    if ((former->sa_flags & (int)SA_SIGINFO) != 0) {
        former->sa_sigaction(signal, info, ucontext);
    } else if (former->sa_handler != SIG_DFL && former->sa_handler != SIG_IGN) {
        former->sa_handler(signal);
    } else {
        /* The signal is blocked while this handler runs, and ends the process when it returns. */
        struct sigaction standard = {.sa_handler = SIG_DFL};
        sigaction(signal, &standard, NULL);
        raise(signal);
    }
}

static void on_crash(int signal, siginfo_t *info, void *ucontext) {
    /* Two threads may crash at once: the first one is written, and usually ends the process. */
    if (!atomic_flag_test_and_set(&is_writing)) {
        write_stack(signal, ucontext);
        pass_on(signal, info, ucontext);
        atomic_flag_clear(&is_writing);
    } else {
        sleep(5);
        pass_on(signal, info, ucontext);
    }
}

/* Prepares a thread at its start: gives the handler a stack of its own, because a stack overflow is a crash too, and
 * lets the library learn the thread's stack bounds. */
static void *prepare_thread(void) {
    usp_thread_prepare();
#if HAS_ALTERNATE_STACKS
    void *room = malloc(ALTERNATE_STACK_SIZE);
    stack_t stack = {.ss_sp = room, .ss_size = ALTERNATE_STACK_SIZE};
    if (room == NULL || sigaltstack(&stack, NULL) != 0) exit(EXIT_FAILURE);
    return room;
#else
    return NULL;
#endif
}

/* Releases the handler's stack at the thread's end. */
static void release_thread(void *room) {
#if HAS_ALTERNATE_STACKS
    stack_t none = {.ss_flags = SS_DISABLE};
    sigaltstack(&none, NULL);
#endif
    free(room);
}

static void install_handler(void) {
    struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = (int)(SA_SIGINFO | SA_ONSTACK)};
    /* A crash in the handler itself ends the process, because the kernel does not deliver a blocked signal of that
     * kind. */
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < CRASH_SIGNALS; i++) sigaddset(&action.sa_mask, crash_signals[i]);
    for (size_t i = 0; i < CRASH_SIGNALS; i++) sigaction(crash_signals[i], &action, &former_actions[i]);
}

static int read_setting(const volatile int *setting) { return *setting + 1; }

static int call_without_end(volatile int n) {
    volatile int room[64] = {n};
    return n == 0 ? 0 : call_without_end(n + 1) + room[n % 64];
}

static void *overflow(void *unused) {
    (void)unused;
    void *room = prepare_thread();
    volatile int result = call_without_end(1);
    (void)result;
    release_thread(room);
    return NULL;
}

static void run_overflow(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, overflow, NULL) == 0) pthread_join(thread, NULL);
}

int main(int argc, char **argv) {
    /* Refreshes the list of images with their unwind tables, which the handler uses. A program that loads libraries
     * later calls this again. */
    if (usp_images_refresh() != USP_OK) return EXIT_FAILURE;
    void *room = prepare_thread();
    install_handler();
    int result = 0;
    if (argc < 2) {
        result = read_setting(NULL);
    } else if (strcmp(argv[1], "overflow") == 0) {
        run_overflow();
    } else if (atoi(argv[1]) == SIGABRT) {
        abort();
    } else {
        result = raise(atoi(argv[1]));
    }
    release_thread(room);
    return result;
}
