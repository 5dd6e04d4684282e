/* SPDX-License-Identifier: MIT */
/* See capture.h. */
#include "capture.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include <unspool/unspool.h>

#define THREADS 256u
#define FRAMES  64u

static _Atomic(int) ending, failed;
static _Atomic(long) captured;
static pthread_t thread;

static void note(int status) {
    if (status == USP_OK) {
        atomic_fetch_add(&captured, 1);
    } else if (status != USP_ERROR_TIMEOUT && status != USP_ERROR_NO_THREAD) {
        fprintf(stderr, "capture: %s\n", usp_status_string(status));
        atomic_store(&failed, 1);
    }
}

static void *capture_all(void *context) {
    static struct usp_thread_info infos[THREADS];
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct usp_snapshot *snapshot;
    size_t count;
    (void)context;
    while (atomic_load(&ending) == 0) {
        int status = usp_threads(infos, THREADS, &count);
        for (size_t i = 0; status == USP_OK && i < count; i++) {
            usp_stack_init(&stack, frames, FRAMES);
            note(usp_capture_thread(&infos[i].thread, NULL, &stack));
        }
        status = usp_snapshot_create_self(NULL, &snapshot);
        note(status);
        if (status == USP_OK) usp_snapshot_free(snapshot);
    }
    return NULL;
}

int capture_begin(void) {
    int status = usp_prepare(NULL);
    atomic_store(&ending, 0);
    if (status == USP_OK && pthread_create(&thread, NULL, capture_all, NULL) != 0) status = USP_ERROR_SYSTEM;
    return status;
}

long capture_end(void) {
    atomic_store(&ending, 1);
    pthread_join(thread, NULL);
    return atomic_load(&failed) != 0 ? -1 : atomic_load(&captured);
}
