/* SPDX-License-Identifier: MIT */
/* A program with two copies of the library, which capture the same threads and each other's at the same time. Built and
 * run by two_copies.sh. The argument is a folder for stores. */
#define _GNU_SOURCE 1
#include "tests/capture/copy_user.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECOND   UINT64_C(1000000000)
#define STANDING 3
#define ROUNDS   150

static const struct copy_user *const copies[] = {&first_copy, &second_copy};
static _Atomic(unsigned) failures;
static _Atomic(bool) leave;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: ", __func__, __LINE__);                                                            \
            fprintf(stderr, __VA_ARGS__);                                                                              \
            fputc('\n', stderr);                                                                                       \
            atomic_fetch_add(&failures, 1);                                                                            \
        }                                                                                                              \
    } while (0)

/* ---- threads that stand in a known function ---- */

struct standing {
    pthread_t pthread;
    _Atomic(uint64_t) id;
    bool on_other_stack, sleeps;
};
static struct standing standing[STANDING] = {{.sleeps = false}, {.sleeps = true}, {.on_other_stack = true}};
static _Thread_local struct standing *self;

/* In a section of its own, whose bounds the linker defines. */
#define KNOWN __attribute__((noinline, section("known_code")))
extern const char __start_known_code[], __stop_known_code[];

KNOWN static void stand(struct standing *s) {
    static const struct timespec day = {86400, 0};
    atomic_store(&s->id, (uint64_t)syscall(SYS_gettid));
    while (!atomic_load(&leave)) {
        if (s->sleeps)
            syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &day, NULL);
        else
            sched_yield();
    }
}

static void stand_in_handler(int number) {
    (void)number;
    stand(self);
}

static void *begin_standing(void *context) {
    static char other_stack[131072];
    self = context;
    if (!self->on_other_stack) {
        stand(self);
        return NULL;
    }
    const stack_t other = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    const struct sigaction action = {.sa_handler = stand_in_handler, .sa_flags = SA_ONSTACK};
    sigaltstack(&other, NULL);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    return NULL;
}

/* ---- each copy has a thread that captures all others ---- */

static _Atomic(uint64_t) capturers[2];
static _Atomic(unsigned) still_capturing;

static void expect_capture(const struct copy_user *copy, uint64_t id, bool is_standing) {
    bool found;
    const int status = copy->capture(id, (uintptr_t)__start_known_code, (uintptr_t)__stop_known_code, &found);
    CHECK(status == 0, "copy %d, thread %d: %s", copy == copies[1], (int)id, copy->status_string(status));
    CHECK(status != 0 || found || !is_standing, "copy %d: the frame of thread %d is missing", copy == copies[1],
          (int)id);
}

static void expect_snapshot(const struct copy_user *copy, uint64_t id) {
    bool found;
    unsigned missed;
    const int status = copy->snapshot(id, (uintptr_t)__start_known_code, (uintptr_t)__stop_known_code, &found, &missed);
    CHECK(status == 0 && found && missed == 0, "copy %d: %s, %s, %u missed", copy == copies[1],
          copy->status_string(status), found ? "found" : "frame missing", missed);
}

static void *capture_all(void *context) {
    const size_t own = (size_t)(uintptr_t)context;
    void *addresses[32];
    atomic_store(&capturers[own], (uint64_t)syscall(SYS_gettid));
    while (atomic_load(&capturers[1 - own]) == 0) sched_yield();
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < STANDING; i++) expect_capture(copies[own], atomic_load(&standing[i].id), true);
        expect_capture(copies[own], atomic_load(&capturers[1 - own]), false);
        if (round % 4 == 0) expect_snapshot(copies[own], atomic_load(&standing[round % STANDING].id));
        CHECK(copies[own]->backtrace(addresses, 32) >= 2, "copy %zu: no backtrace", own);
    }
    /* The other thread may still capture this one. */
    atomic_fetch_sub(&still_capturing, 1);
    while (atomic_load(&still_capturing) != 0) usleep(100);
    return NULL;
}

static void capture_at_once(void) {
    pthread_t threads[2];
    atomic_store(&still_capturing, 2);
    atomic_store(&capturers[0], 0);
    atomic_store(&capturers[1], 0);
    for (uintptr_t i = 0; i < 2; i++) pthread_create(&threads[i], NULL, capture_all, (void *)i);
    for (unsigned i = 0; i < 2; i++) pthread_join(threads[i], NULL);
}

/* ---- the program's own handler of the same signal ---- */

static _Atomic(unsigned) handled;

static void program_handler(int number) {
    (void)number;
    atomic_fetch_add(&handled, 1);
}

/* Each of the program's signals reaches its handler, at least once, while both copies capture. */
static void *send_own_signals(void *context) {
    (void)context;
    for (unsigned i = 0; i < ROUNDS; i++) {
        const unsigned before = atomic_load(&handled);
        pthread_kill(standing[0].pthread, SIGURG);
        for (unsigned wait = 0; atomic_load(&handled) == before && wait < 200000; wait++) usleep(50);
        CHECK(atomic_load(&handled) != before, "the program's signal was lost");
    }
    return NULL;
}

static void share_with_program(void) {
    const struct sigaction action = {.sa_handler = program_handler, .sa_flags = SA_RESTART};
    pthread_t sender;
    sigaction(SIGURG, &action, NULL);
    pthread_create(&sender, NULL, send_own_signals, NULL);
    capture_at_once();
    pthread_join(sender, NULL);
}

/* ---- names, by one store ---- */

static void expect_names(const char *store) {
    char text[64];
    for (unsigned i = 0; i < 2; i++) {
        const int status = copies[i]->name((uintptr_t)__start_known_code, store, text, sizeof text);
        CHECK(status == 0 && strcmp(text, "stand") == 0, "copy %u names it \"%s\": %s", i, status == 0 ? text : "",
              copies[i]->status_string(status));
    }
}

static void prepare_both(int first_signal, int second_signal) {
    CHECK(first_copy.prepare(first_signal, 20 * SECOND) == 0, "the first copy is not prepared");
    CHECK(second_copy.prepare(second_signal, 20 * SECOND) == 0, "the second copy is not prepared");
}

/* Any user can open these files of any process. Locks on them do not hinder the copies. */
static void lock_open_files(void) {
    static const char *const files[] = {"/proc/self/status", "/proc/self/stat", "/proc/self/cmdline"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        const int file = open(files[i], O_RDONLY);
        CHECK(file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0, "%s cannot be locked", files[i]);
    }
}

int main(int argc, char **argv) {
    struct sigaction before, after;
    if (argc != 2) return 2;
    alarm(120);
    lock_open_files();
    sigaction(SIGURG, NULL, &before);
    prepare_both(0, 0);
    for (unsigned i = 0; i < STANDING; i++) {
        pthread_create(&standing[i].pthread, NULL, begin_standing, &standing[i]);
        while (atomic_load(&standing[i].id) == 0) usleep(100);
    }
    expect_names(argv[1]);
    capture_at_once();
    /* Preparing again leaves the handlers as they are. */
    for (unsigned i = 0; i < 20; i++) prepare_both(0, 0);
    capture_at_once();
    share_with_program();
    second_copy.shutdown();
    expect_capture(&first_copy, atomic_load(&standing[1].id), true);
    prepare_both(0, 0);
    capture_at_once();
    first_copy.shutdown();
    second_copy.shutdown();
    sigaction(SIGURG, NULL, &after);
    CHECK(before.sa_handler == SIG_DFL, "SIGURG was handled");
    atomic_store(&leave, true);
    printf("%u calls of the program's handler, %u failures\n", atomic_load(&handled), atomic_load(&failures));
    return atomic_load(&failures) != 0;
}
