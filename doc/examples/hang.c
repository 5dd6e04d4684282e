/* SPDX-License-Identifier: MIT */
/* A loop with a hang monitor: two calls around the wait, such as poll, epoll_wait or kevent. Some turns take too long,
 * until the monitor has reported one. With --json the report is JSON. */
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unspool/unspool.h>

static struct usp_monitor *monitor;
static struct usp_symbolizer *symbolizer;
static atomic_bool has_reported;
static uint32_t style = USP_HANG_TEXT;

static int print(void *context, const char *bytes, size_t n) {
    (void)context;
    return fwrite(bytes, 1, n, stdout) == n ? USP_OK : USP_ERROR_SYSTEM;
}

/* Called on the monitor's thread when a hang has ended. */
static void report(void *context, const struct usp_hang *hang) {
    struct usp_hang_write_options options;
    (void)context;
    /* The loop may hang again while this function writes. usp_monitor_free waits for the function. */
    if (atomic_exchange(&has_reported, true)) return;
    usp_hang_write_options_init(&options);
    options.symbolizer = symbolizer;
    options.style = style;
    options.flags = USP_HANG_LINES;
    usp_hang_write(hang, &options, print, NULL);
    fflush(stdout);
}

static void take_long(void) {
    uint64_t until = usp_clock() + 700000000;
    for (volatile unsigned spin = 0; usp_clock() < until;) spin = spin + 1;
}

int main(int argc, char **argv) {
    struct usp_monitor_options options;

    if (argc > 1 && strcmp(argv[1], "--json") == 0) style = USP_HANG_JSON;
    usp_monitor_options_init(&options);
    options.ended = report;
    int status = usp_symbolizer_create(NULL, NULL, &symbolizer);
    if (status == USP_OK) status = usp_monitor_create(&options, &monitor);
    if (status == USP_OK) status = usp_monitor_start(monitor);
    if (status != USP_OK) {
        fprintf(stderr, "%s\n", usp_status_string(status));
        return EXIT_FAILURE;
    }
    for (unsigned turn = 1; !atomic_load(&has_reported); turn++) {
        usp_monitor_waiting(monitor);
        poll(NULL, 0, 10); /* here the program does its work */
        usp_monitor_turn_begin(monitor);
        if (turn % 50 == 0) take_long();
    }
    usp_monitor_free(monitor);
    usp_symbolizer_free(symbolizer);
    return EXIT_SUCCESS;
}
