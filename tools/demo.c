/* SPDX-License-Identifier: MIT */
/* Demonstrates a hang that a monitor reports while it lasts: the main thread waits for a lock that is never released.
 * The report has its duration, the main thread's heaviest stack, all threads, and on Linux which of them holds the
 * lock. Uses only the public interface; doc/examples/ has smaller programs. */
#include <unspool/unspool.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tools/demo_view.h"

static struct usp_monitor *monitor;
static struct usp_symbolizer *symbolizer;
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

/* Takes the lock and never releases it: the bug that the report shows. */
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

/* Implements usp_write_function. */
static int write_out(void *context, const char *bytes, size_t n) {
    return fwrite(bytes, 1, n, context) == n ? USP_OK : USP_ERROR_SYSTEM;
}

/* Called on the monitor's thread when the hang has lasted for some time. Exits, because this hang never ends. */
static void report(void *context, const struct usp_hang *hang) {
    struct usp_hang_write_options options;
    (void)context;
    usp_hang_write_options_init(&options);
    options.symbolizer = symbolizer;
    options.flags = USP_HANG_LINES | USP_HANG_BRIEF;
    int status = usp_hang_write(hang, &options, write_out, stdout);
    if (status != USP_OK) fprintf(stderr, "demo: %s\n", usp_status_string(status));
    fflush(stdout);
    exit(status == USP_OK ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int start_monitor(void) {
    struct usp_monitor_options options;
    usp_monitor_options_init(&options);
    options.updated = report;
    int status = usp_monitor_create(&options, &monitor);
    /* Symbolicates with the files and the Objective-C runtime of this process. */
    if (status == USP_OK) status = usp_symbolizer_create(NULL, NULL, &symbolizer);
    return status == USP_OK ? usp_monitor_start(monitor) : status;
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
    int status = start_monitor();
    if (status != USP_OK) {
        fprintf(stderr, "demo: %s\n", usp_status_string(status));
        return EXIT_FAILURE;
    }
    start(render, 1);
    int sum = 0;
    for (int round = 0;; round++) {
        usp_monitor_waiting(monitor);
        pause_ms(10);
        if (round == 10) start(autosave, 0);
        while (round >= 10 && !atomic_load(&settings_taken)) pause_ms(1);
        usp_monitor_turn_begin(monitor);
        sum += demo_load_view(&settings, round);
    }
    return sum;
}
