/* SPDX-License-Identifier: MIT */
/* A hang, and what unspool shows of it: the main thread waits for a lock that is never released, workers are busy, and a
 * monitor notices that main gives no sign of life any more. It captures every thread at one moment and prints the stacks.
 * Public interface only; doc/examples/ has smaller programs. */
#include <unspool/unspool.h>

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tools/demo_view.h"

static atomic_ulong heartbeat; /* counts the rounds of main's loop */
static atomic_ulong work_done;
static pthread_mutex_t settings = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool settings_taken;

static void pause_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* ---- workers ---- */

KEPT static uint64_t mix_colours(uint64_t seed) {
    for (unsigned i = 0; i < 1000; i++) seed = seed * UINT64_C(6364136223846793005) + 1;
    atomic_fetch_add(&work_done, 1);
    return seed;
}

KEPT static uint64_t draw_frame(uint64_t seed) { return mix_colours(seed) + 1; }

static void *render(void *argument) {
    uint64_t seed = (uintptr_t)argument;
    for (;;) seed = draw_frame(seed);
    return NULL;
}

KEPT static uint64_t hash_block(uint64_t seed) {
    for (unsigned i = 0; i < 1000; i++) seed = (seed ^ i) * UINT64_C(1099511628211);
    atomic_fetch_add(&work_done, 1);
    return seed;
}

KEPT static uint64_t verify_download(uint64_t seed) { return hash_block(seed) | 1; }

static void *download(void *argument) {
    uint64_t seed = (uintptr_t)argument;
    for (;;) seed = verify_download(seed);
    return NULL;
}

/* Takes the lock and never gives it back: the fault that is looked for. */
KEPT static int save_settings(void) {
    pthread_mutex_lock(&settings);
    atomic_store(&settings_taken, true);
    for (;;) pause_ms(1000);
    return 0;
}

static void *autosave(void *argument) {
    (void)argument;
    save_settings();
    return NULL;
}

/* ---- the monitor ---- */

/* A usp_write_function. */
static int write_out(void *context, const char *bytes, size_t n) {
    return fwrite(bytes, 1, n, context) == n ? USP_OK : USP_ERROR_SYSTEM;
}

static void print_stack(struct usp_symbolizer *symbolizer, const struct usp_stack *stack) {
    struct usp_format_options options;
    usp_format_options_init(&options);
    options.symbolizer = symbolizer;
    options.flags = USP_FORMAT_LINES;
    usp_format_stack(stack, NULL, &options, write_out, stdout);
    printf("    ends: %s\n", usp_stop_reason_string(stack->stop));
}

KEPT static int print_threads(void) {
    struct usp_snapshot *snapshot;
    struct usp_symbolizer *symbolizer;
    int status = usp_snapshot_create_self(NULL, &snapshot);
    if (status != USP_OK) return status;
    /* By what this process knows, its Objective-C runtime included, since it is this process that was stopped. */
    status = usp_symbolizer_create(NULL, NULL, &symbolizer);
    if (status == USP_OK) {
        const struct usp_snapshot_thread *thread;
        for (size_t i = 0; (thread = usp_snapshot_get_thread(snapshot, i)) != NULL; i++) {
            bool is_main = (thread->info.flags & USP_THREAD_MAIN) != 0;
            bool asks = (thread->info.flags & USP_THREAD_REQUESTER) != 0;
            printf("\nThread %" PRIu64 " \"%s\"%s%s\n", thread->info.thread.id, thread->info.name,
                   is_main ? " (main)" : "", asks ? " (this monitor)" : "");
            if (thread->status == USP_OK) {
                print_stack(symbolizer, &thread->stack);
            } else {
                printf("    no stack: %s\n", usp_status_string(thread->status));
            }
        }
        usp_symbolizer_free(symbolizer);
    }
    usp_snapshot_free(snapshot);
    return status;
}

#define HANG_MS 500

static void *watch_main(void *argument) {
    (void)argument;
    unsigned long last = atomic_load(&heartbeat);
    long silent_ms = 0;
    while (silent_ms < HANG_MS) {
        pause_ms(50);
        unsigned long now = atomic_load(&heartbeat);
        silent_ms = now == last ? silent_ms + 50 : 0;
        last = now;
    }
    printf("The main thread has not answered for %d ms. Every thread of this process, at one moment:\n", HANG_MS);
    int status = print_threads();
    if (status != USP_OK) fprintf(stderr, "demo: %s\n", usp_status_string(status));
    fflush(stdout);
    exit(status == USP_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* ---- the main thread ---- */

static void start(void *(*run)(void *), uintptr_t argument) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, (void *)argument) == 0) {
        pthread_detach(thread);
        return;
    }
    fputs("demo: a thread could not be started\n", stderr);
    exit(EXIT_FAILURE);
}

int main(void) {
    int status = usp_prepare(NULL);
    if (status != USP_OK) {
        fprintf(stderr, "demo: %s\n", usp_status_string(status));
        return EXIT_FAILURE;
    }
    start(render, 1);
    start(download, 2);
    start(watch_main, 0);
    int sum = 0;
    for (int round = 0;; round++) {
        atomic_fetch_add(&heartbeat, 1);
        if (round == 10) start(autosave, 0);
        while (round >= 10 && !atomic_load(&settings_taken)) pause_ms(1);
        sum += demo_load_view(&settings, round);
        pause_ms(10);
    }
    return sum;
}
