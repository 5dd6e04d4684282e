/* SPDX-License-Identifier: MIT */
/* Tests programs that replace themselves while their threads are captured: exec in the main thread and in another one,
 * fork and exec, posix_spawn, vfork. A signal of the library that is still pending must not harm the new program.
 *
 * The program runs itself. "capture HOW COUNT" captures all of its threads without a pause; meanwhile it replaces
 * itself by itself with a count that is one less, or starts COUNT other programs. "harmless" is a program that is
 * started and ends. */
#define _GNU_SOURCE 1
#include "tests/support/linux_threads.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "tests/support/suite.h"

extern char **environ;

#define REQUESTERS 2u
#define FRAMES     64u

static const char *own_path;
static struct usp_thread target;
static _Atomic(unsigned long) captured;
static _Atomic(int) failed;

static void *capture_without_pause(void *context) {
    static _Thread_local struct usp_frame frames[FRAMES];
    const unsigned long number = (unsigned long)(uintptr_t)context;
    for (unsigned long i = number;; i++) {
        struct usp_stack stack;
        struct usp_snapshot *snapshot;
        usp_stack_init(&stack, frames, FRAMES);
        int status = usp_capture_thread(&target, NULL, &stack);
        if (status != USP_OK && status != USP_ERROR_TIMEOUT && status != USP_ERROR_NO_THREAD) atomic_store(&failed, 1);
        atomic_fetch_add(&captured, status == USP_OK);
        if (i % 50 != 0) continue;
        status = usp_snapshot_create_self(NULL, &snapshot);
        if (status == USP_OK) usp_snapshot_free(snapshot);
    }
    return NULL;
}

static void begin_capturing(void) {
    if (usp_prepare(NULL) != USP_OK) _exit(20);
    for (uintptr_t i = 0; i < REQUESTERS; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, capture_without_pause, (void *)i) != 0) _exit(21);
    }
    /* Waits until the captures have begun. */
    for (uint64_t began = usp_clock(); atomic_load(&captured) == 0;) {
        if (usp_clock() - began > patience()) _exit(22);
        sched_yield();
    }
}

static void target_is_self(void) { target.id = target.native = (uint64_t)syscall(SYS_gettid); }

/* ---- the ways to start another program ---- */

static void become(const char *how, int count) {
    char left[16];
    snprintf(left, sizeof left, "%d", count - 1);
    /* A varying delay, so that exec comes at another moment of a capture each time. */
    for (volatile int i = 0; i < count % 97 * 50; i++) continue;
    execl(own_path, own_path, "capture", how, left, (char *)NULL);
    _exit(23);
}

static void by_exec(int count) {
    if (count == 0) _exit(0);
    target_is_self();
    begin_capturing();
    become("exec", count);
}

static int thread_count;

static void *become_in_thread(void *context) {
    (void)context;
    target_is_self();
    begin_capturing();
    become("thread", thread_count);
    return NULL;
}

static void by_thread(int count) {
    pthread_t thread;
    if (count == 0) _exit(0);
    thread_count = count;
    if (pthread_create(&thread, NULL, become_in_thread, NULL) != 0) _exit(24);
    pthread_join(thread, NULL);
    _exit(25);
}

static void await_child(pid_t child) {
    int status;
    pid_t got;
    while ((got = waitpid(child, &status, 0)) < 0 && errno == EINTR) continue;
    if (got != child) _exit(26);
    if (WIFSIGNALED(status)) _exit(100 + WTERMSIG(status));
    if (WEXITSTATUS(status) != 7) _exit(27);
}

static void fork_and_exec(void) {
    pid_t child = fork();
    if (child == 0) {
        execl(own_path, own_path, "harmless", (char *)NULL);
        _exit(28);
    }
    if (child < 0) _exit(29);
    await_child(child);
}

static void spawn(void) {
    char program[512], word[] = "harmless";
    char *arguments[] = {program, word, NULL};
    pid_t child;
    snprintf(program, sizeof program, "%s", own_path);
    if (posix_spawn(&child, own_path, NULL, NULL, arguments, environ) != 0) _exit(30);
    await_child(child);
}

static void vfork_and_exec(void) {
    pid_t child = vfork();
    if (child == 0) {
        execl(own_path, own_path, "harmless", (char *)NULL);
        _exit(31);
    }
    if (child < 0) _exit(32);
    await_child(child);
}

static void by_starting(void (*start)(void), int count) {
    target_is_self();
    begin_capturing();
    for (int i = 0; i < count; i++) start();
    _exit(atomic_load(&failed) != 0 ? 33 : 0);
}

static int run_as_program(char **arguments) {
    if (strcmp(arguments[1], "harmless") == 0) return 7;
    const char *how = arguments[2];
    const int count = atoi(arguments[3]);
    alarm(300);
    if (strcmp(how, "exec") == 0) by_exec(count);
    if (strcmp(how, "thread") == 0) by_thread(count);
    if (strcmp(how, "fork") == 0) by_starting(fork_and_exec, count);
    if (strcmp(how, "spawn") == 0) by_starting(spawn, count);
    if (strcmp(how, "vfork") == 0) by_starting(vfork_and_exec, count);
    return 34;
}

/* ---- the test ---- */

/* How often each way is tried at full size. */
static const struct {
    const char *how;
    unsigned count;
} ways[] = {{"exec", 1000}, {"thread", 500}, {"fork", 500}, {"spawn", 500}, {"vfork", 500}};

START_TEST(a_new_program_is_left_alone) {
    unsigned long count = (unsigned long)ways[_i].count * test_scale() / sampled(4, 1);
    char text[24];
    int status;
    if (is_slowed()) count /= sampled(5, 20);
    snprintf(text, sizeof text, "%lu", count);
    pid_t child = fork();
    if (child == 0) {
        exec_under((const char *const[]){own_path, "capture", ways[_i].how, text, NULL});
        _exit(35);
    }
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(!WIFSIGNALED(status), "%s: ended by signal %d", ways[_i].how, WTERMSIG(status));
    ck_assert_msg(WEXITSTATUS(status) == 0, "%s: exit status %d", ways[_i].how, WEXITSTATUS(status));
    printf("%s: %lu new programs\n", ways[_i].how, count);
}
END_TEST

int main(int count, char **arguments) {
    static char path[4096];
    if (realpath("/proc/self/exe", path) == NULL) return 36;
    own_path = path;
    if (count > 1) return run_as_program(arguments);
    /* A user-mode emulator ends when a process with threads forks, and exec would replace the emulator itself. */
    if (is_user_emulated()) return 77;
    note_sample();
    TCase *c = tcase_create("exec");
    tcase_set_timeout(c, 600);
    tcase_add_loop_test(c, a_new_program_is_left_alone, 0, ELEMENTS(ways));
    return run_suite("linux_exec", c);
}
