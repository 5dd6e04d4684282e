/* SPDX-License-Identifier: MIT */
/* Stops every thread of a task at one moment: lists the threads, opens a window for all of them, and hands the copies
 * over. See stop.h. Not compiled on watchOS (watch.c). */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/stop.h"

#include <TargetConditionals.h>

#if !TARGET_OS_WATCH

#include "lib/os/darwin/crash.h"

#include <stdlib.h>
#include <string.h>

bool uspi_arena_grow(struct uspi_arena *arena, size_t size) {
    if (size <= arena->size) return true;
    uint8_t *bytes = uspi_darwin_map(size);
    if (bytes == NULL) return false;
    uspi_arena_free(arena);
    *arena = (struct uspi_arena){bytes, size};
    return true;
}

void uspi_arena_free(struct uspi_arena *arena) {
    uspi_darwin_unmap(arena->bytes, arena->size);
    *arena = (struct uspi_arena){NULL, 0};
}

/* The result's memory and, for another task, the right to it. */
struct owned {
    task_t task; /* MACH_PORT_NULL: this process */
    uint8_t bytes[];
};

static void release(void *owned) {
    uspi_darwin_release(((struct owned *)owned)->task);
    free(owned);
}

/* The threads to stop. held[i] and threads[i] are the same thread. If the calling thread was listed, threads has it as
 * an additional last entry. */
struct found {
    struct uspi_held *held;
    struct uspi_stopped_thread *threads;
    size_t count; /* of held and, without the calling thread, of threads */
    bool met_self;
};

static void clear(struct found *found) {
    for (size_t i = 0; i < found->count; i++) uspi_darwin_release(found->held[i].port);
    free(found->held);
    free(found->threads);
    memset(found, 0, sizeof *found);
}

/* Whether it is the thread that receives exceptions. The exception of a thread that takes copies waits for it. */
static bool is_receiver(const struct uspi_collection *c, uint64_t thread) {
    struct uspi_darwin_crash *crash = (struct uspi_darwin_crash *)atomic_load(&uspi_darwin_capturing.crash);
    return c->is_own && crash != NULL && atomic_load(&crash->receiver) == thread;
}

static int find_threads(const struct uspi_collection *c, struct found *found) {
    struct uspi_darwin_list list;
    struct uspi_stopped_thread self = {.status = USP_OK};
    uint64_t own = uspi_darwin_own_thread();
    memset(found, 0, sizeof *found);
    /* A thread that does not know its own id might stop itself. */
    if (own == 0) return USP_ERROR_SYSTEM;
    int status = uspi_darwin_list(c->task, &list);
    if (status != USP_OK) return status;
    found->held = calloc(list.count + 1, sizeof *found->held);
    found->threads = calloc(list.count + 1, sizeof *found->threads);
    if (found->held == NULL || found->threads == NULL) status = USP_ERROR_NO_MEMORY;
    for (size_t i = 0; i < list.count && status == USP_OK; i++) {
        struct usp_thread_info info;
        struct uspi_darwin_thread_data place;
        if (!uspi_darwin_describe(c->task, list.ports[i], own, &info, &place)) continue;
        if ((c->only != 0 && info.thread.id != c->only) || is_receiver(c, info.thread.id)) continue;
        if (c->is_own && (info.flags & USP_THREAD_REQUESTER) != 0) {
            found->met_self = true;
            self = (struct uspi_stopped_thread){.info = info};
            continue;
        }
        found->threads[found->count].info = info;
        found->held[found->count].place = place;
        found->held[found->count++].port = uspi_darwin_list_take(&list, i);
    }
    /* The list is freed before any thread is stopped, so that nothing but resuming remains to be done afterwards. */
    uspi_darwin_list_free(&list);
    if (found->met_self) found->threads[found->count] = self;
    if (status == USP_OK && found->count == 0 && !found->met_self) status = USP_ERROR_NO_THREAD;
    if (status != USP_OK) clear(found);
    return status;
}

void uspi_darwin_windows(const struct uspi_collection *c, struct uspi_held *held, size_t count, struct uspi_window *w) {
    w->all_that_fits = false;
    for (unsigned attempt = 1;; attempt++) {
        *w = (struct uspi_window){.task = c->task,
                                  .is_own = c->is_own,
                                  .threads = held,
                                  .count = count,
                                  .arena = c->arena->bytes,
                                  .arena_size = c->arena->size,
                                  .deadline = uspi_os_clock() + c->timeout,
                                  .all_that_fits = w->all_that_fits || attempt >= USPI_DARWIN_WINDOWS};
        uspi_darwin_window(w);
        if (w->need <= w->arena_size || w->all_that_fits) return;
        /* The stacks may grow meanwhile, so the arena gets some more room. */
        if (!uspi_arena_grow(c->arena, w->need + w->need / 4)) w->all_that_fits = true;
    }
}

/* Whether a thread is left out because it ended before all were stopped. A main thread that has ended is listed. */
static bool is_gone(const struct uspi_stopped_thread *t, const struct uspi_held *h) {
    return h->status == USP_ERROR_NO_THREAD && (t->info.flags & USP_THREAD_MAIN) == 0;
}

static size_t keep(struct found *found, const uint8_t *bytes) {
    size_t kept = 0;
    for (size_t i = 0; i < found->count; i++) {
        struct uspi_stopped_thread *t = &found->threads[i];
        const struct uspi_held *h = &found->held[i];
        t->status = h->status;
        /* The thread went on to another queue before it was stopped. */
        if (!h->on_queue) memset(t->info.queue, 0, sizeof t->info.queue);
        if (h->status == USP_OK) {
            uspi_darwin_fill_copy(&t->copy, h, bytes);
            t->copy.swift_task_slot = uspi_darwin_swift_slot(h->place.slots);
        }
        if (is_gone(t, h)) continue;
        found->threads[kept++] = *t;
    }
    if (found->met_self) found->threads[kept++] = found->threads[found->count];
    return kept;
}

int uspi_darwin_collect(const struct uspi_collection *collection, struct uspi_stopped_process *out) {
    struct found found;
    struct uspi_window window;
    memset(out, 0, sizeof *out);
    int status = find_threads(collection, &found);
    if (status != USP_OK) return status;
    uspi_darwin_windows(collection, found.held, found.count, &window);
    struct owned *owned = malloc(sizeof *owned + window.copied);
    if (owned == NULL) {
        clear(&found);
        return USP_ERROR_NO_MEMORY;
    }
    owned->task = collection->is_own ? MACH_PORT_NULL : collection->task;
    if (window.copied != 0) memcpy(owned->bytes, window.arena, window.copied);
    out->owned = owned;
    out->release = release;
    out->thread_count = keep(&found, owned->bytes);
    out->threads = found.threads;
    out->stopped_ns = window.stopped_ns;
    out->live = (struct usp_memory){uspi_darwin_read_task, (void *)(uintptr_t)collection->task};
    found.threads = NULL;
    clear(&found);
    if (out->thread_count == 0) {
        owned->task = MACH_PORT_NULL;
        uspi_os_free_stopped(out);
        return USP_ERROR_NO_THREAD;
    }
    return USP_OK;
}

#endif

#endif
