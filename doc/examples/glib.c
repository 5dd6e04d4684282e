/* SPDX-License-Identifier: MIT */
/* A hang monitor for GLib's main context, and so for GTK. It replaces the function with which the context waits by one
 * that reports to the monitor. Some turns take too long, until the monitor has reported one.
 *
 *     cc glib.c $(pkg-config --cflags --libs glib-2.0 unspool) */
#include <glib.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unspool/unspool.h>

static struct usp_monitor *monitor;
static struct usp_symbolizer *symbolizer;
static GPollFunc former_poll;
static atomic_bool has_reported;

/* Waits for the context, and reports that to the monitor. GLib passes it no context pointer. A nested main loop (a
 * modal dialog) uses it too. */
static gint watched_poll(GPollFD *fds, guint count, gint timeout) {
    usp_monitor_waiting(monitor);
    gint ready = former_poll(fds, count, timeout);
    usp_monitor_turn_begin(monitor);
    return ready;
}

static int print(void *context, const char *bytes, size_t n) {
    (void)context;
    return fwrite(bytes, 1, n, stdout) == n ? USP_OK : USP_ERROR_SYSTEM;
}

/* Called on the monitor's thread when a hang has ended. */
static void report(void *context, const struct usp_hang *hang) {
    struct usp_hang_write_options options;
    (void)context;
    usp_hang_write_options_init(&options);
    options.symbolizer = symbolizer;
    usp_hang_write(hang, &options, print, NULL);
    fflush(stdout);
    atomic_store(&has_reported, true);
}

static gboolean take_long(gpointer data) {
    gint64 until = g_get_monotonic_time() + 700000;
    if (atomic_load(&has_reported)) {
        g_main_loop_quit(data);
        return G_SOURCE_REMOVE;
    }
    for (volatile unsigned spin = 0; g_get_monotonic_time() < until;) spin = spin + 1;
    return G_SOURCE_CONTINUE;
}

int main(void) {
    struct usp_monitor_options options;
    GMainContext *context = g_main_context_default();
    GMainLoop *loop = g_main_loop_new(context, FALSE);

    usp_monitor_options_init(&options);
    options.ended = report;
    int status = usp_symbolizer_create(NULL, NULL, &symbolizer);
    if (status == USP_OK) status = usp_monitor_create(&options, &monitor);
    if (status == USP_OK) status = usp_monitor_start(monitor);
    if (status != USP_OK) {
        fprintf(stderr, "%s\n", usp_status_string(status));
        return EXIT_FAILURE;
    }
    former_poll = g_main_context_get_poll_func(context);
    g_main_context_set_poll_func(context, watched_poll);

    g_timeout_add(500, take_long, loop);
    g_main_loop_run(loop);

    /* The context must not use the monitor after it is freed. */
    g_main_context_set_poll_func(context, former_poll);
    usp_monitor_free(monitor);
    usp_symbolizer_free(symbolizer);
    g_main_loop_unref(loop);
    return EXIT_SUCCESS;
}
