/* SPDX-License-Identifier: MIT */
/* A hang monitor in its smallest form: the main thread beats, a monitor listens, and when the beat stops, the main thread's
 * stack is captured from outside. The main thread is stopped only while its stack is copied; names are looked up when it
 * runs again. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <unspool/unspool.h>

#include "patience.h"

#define MS UINT64_C(1000000)

static atomic_uint beat;

static void print_main(void) {
    struct usp_frame frames[128];
    struct usp_stack stack;
    struct usp_thread main_thread;
    struct usp_symbolizer *symbolizer;

    usp_stack_init(&stack, frames, 128);
    int status = usp_thread_main(&main_thread);
    if (status == USP_OK) status = usp_capture_thread(&main_thread, NULL, &stack);
    if (status == USP_OK) status = usp_symbolizer_create(NULL, NULL, &symbolizer);
    if (status != USP_OK) {
        fprintf(stderr, "%s\n", usp_status_string(status));
        return;
    }
    for (uint32_t i = 0; i < stack.count; i++) {
        struct usp_symbol symbol;
        char line[512];

        usp_symbolize(symbolizer, usp_frame_call_site(stack.arch, &frames[i]), &symbol);
        usp_format_frame(line, sizeof line, USP_FORMAT_CALL_STACK_SYMBOLS, stack.arch, i, &frames[i], &symbol);
        puts(line);
    }
    usp_symbolizer_free(symbolizer);
    usp_thread_release(&main_thread);
}

static void *monitor(void *argument) {
    struct patience patience = {.tick = 50 * MS, .limit = 200 * MS, .then = usp_clock()};
    (void)argument;
    do usleep(50 * 1000);
    while (!patience_ends(&patience, usp_clock(), atomic_load(&beat)));
    printf("The main thread hangs:\n");
    print_main();
    fflush(stdout);
    exit(EXIT_SUCCESS);
}

static void take_forever(void) {
    for (volatile unsigned spin = 0;;) spin = spin + 1;
}

int main(void) {
    pthread_t thread;

    /* Before the hang: what a capture needs is reserved now, because then nothing may be allocated. */
    if (usp_prepare(NULL) != USP_OK || pthread_create(&thread, NULL, monitor, NULL) != 0) return EXIT_FAILURE;
    for (int round = 0; round < 10; round++) {
        atomic_fetch_add(&beat, 1);
        usleep(50 * 1000);
    }
    take_forever();
}
