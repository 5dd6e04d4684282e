/* SPDX-License-Identifier: MIT */
/* Replaces window.c, collect.c and stop.c on watchOS. Its headers forbid the calls that stop a thread and read its
 * state (xnu osfmk/mach/thread_act.defs, __WATCHOS_PROHIBITED). The calling thread and signal contexts can be walked;
 * all other captures are answered with "unsupported". */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/stop.h"

#include <TargetConditionals.h>

#if TARGET_OS_WATCH

#include <string.h>

int uspi_os_prepare(const struct usp_prepare_options *options) {
    (void)options;
    uspi_darwin_watch_images();
    uspi_darwin_try_slots();
    uspi_darwin_learn_queues();
    return USP_ERROR_UNSUPPORTED;
}

bool uspi_os_is_prepared(void) { return false; }

void uspi_os_shutdown(void) {}

size_t uspi_os_reserved(void) { return 0; }

uint64_t uspi_os_capture_timeout(void) { return 0; }

int uspi_os_copy_thread(const struct usp_thread *thread, uint64_t deadline, struct uspi_thread_copy *copy) {
    (void)thread;
    (void)deadline;
    memset(copy, 0, sizeof *copy);
    return USP_ERROR_UNSUPPORTED;
}

void uspi_os_release_copy(struct uspi_thread_copy *copy) { memset(copy, 0, sizeof *copy); }

int uspi_os_stop_self(const struct uspi_stop_options *options, struct uspi_stopped_process *out) {
    (void)options;
    memset(out, 0, sizeof *out);
    return USP_ERROR_UNSUPPORTED;
}

bool uspi_arena_grow(struct uspi_arena *arena, size_t size) { return size <= arena->size; }

void uspi_arena_free(struct uspi_arena *arena) { memset(arena, 0, sizeof *arena); }

int uspi_darwin_collect(const struct uspi_collection *collection, struct uspi_stopped_process *out) {
    (void)collection;
    memset(out, 0, sizeof *out);
    return USP_ERROR_UNSUPPORTED;
}

#endif

#endif
