/* SPDX-License-Identifier: MIT */
/* Stopping threads of this process: one, or all at one moment, and getting ready for it. Who may ask, with what memory;
 * what happens while they stand still is darwin_window.c's. Not on watchOS: darwin_watch.c. */
#include "lib/os/darwin_stop.h"

#include "arch/host.h"

#include <TargetConditionals.h>

#if !TARGET_OS_WATCH

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
/* A wait for the turn that signals interrupt goes on so often. */
#define WAITS 1000u
/* A turn that cannot be given back would be nobody's for ever: it is tried so often. */
#define SIGNALS 16u

static struct {
    pthread_mutex_t changes; /* for prepare and shutdown alone, never held while threads are stopped */
    semaphore_t turn;        /* 1 while nobody captures. The kernel's, so that a wait for it can end */
    _Atomic(bool) prepared;
    struct usp_prepare_options options;
    struct uspi_arena arena; /* of whoever has the turn */
} requester = {.changes = PTHREAD_MUTEX_INITIALIZER};

/* ---- one requester at a time ---- */

static int take_turn(uint64_t timeout) {
    uint64_t end = uspi_os_clock() + timeout;
    for (unsigned i = 0; i < WAITS; i++) {
        uint64_t now = uspi_os_clock(), left = end > now ? end - now : 0;
        mach_timespec_t wait = {(unsigned)(left / SECOND), (int)(left % SECOND)};
        kern_return_t result = semaphore_timedwait(requester.turn, wait);
        if (result == KERN_SUCCESS) return USP_OK;
        if (result != KERN_ABORTED) return result == KERN_OPERATION_TIMED_OUT ? USP_ERROR_BUSY : USP_ERROR_SYSTEM;
    }
    return USP_ERROR_BUSY;
}

static void give_turn(void) {
    for (unsigned i = 0; i < SIGNALS && semaphore_signal(requester.turn) != KERN_SUCCESS; i++) continue;
}

static bool make_turn(void) {
    return semaphore_create(mach_task_self(), &requester.turn, SYNC_POLICY_FIFO, 1) == KERN_SUCCESS;
}

/* Ports are not inherited; memory is. */
static void start_afresh(void) {
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    requester.changes = fresh;
    requester.turn = MACH_PORT_NULL;
    uspi_darwin_threads_after_fork();
    if (requester.prepared && !make_turn()) requester.prepared = false;
}

static void register_fork_handler(void) { pthread_atfork(NULL, NULL, start_afresh); }

/* ---- getting ready ---- */

static bool can_stop(void) { return USPI_HOST_ARCH != USP_ARCH_NONE && !uspi_darwin_is_translated(); }

static bool is_valid(const struct usp_prepare_options *o) {
    return o->max_threads > 0 && o->max_threads <= 1u << 20 && o->stack_copy >= 4096 && o->stack_copy <= 1u << 30 &&
           o->timeout > 0 && o->timeout <= 3600 * SECOND;
}

static int prepare(const struct usp_prepare_options *o) {
    uint64_t size = (uint64_t)o->max_threads * o->stack_copy;
    if (size > SIZE_MAX / 2) return USP_ERROR_NO_MEMORY;
    if (requester.turn == MACH_PORT_NULL && !make_turn()) return USP_ERROR_SYSTEM;
    int status = take_turn(o->timeout + SECOND);
    if (status != USP_OK) return status;
    if (!requester.prepared || requester.options.max_threads != o->max_threads ||
        requester.options.stack_copy != o->stack_copy) {
        struct uspi_arena arena = {NULL, 0};
        if (uspi_arena_grow(&arena, (size_t)size)) {
            uspi_arena_free(&requester.arena);
            requester.arena = arena;
        } else {
            status = USP_ERROR_NO_MEMORY;
        }
    }
    if (status == USP_OK) {
        requester.options = *o;
        requester.prepared = true;
    }
    give_turn();
    return status;
}

int uspi_os_prepare(const struct usp_prepare_options *options) {
    static pthread_once_t fork_handler = PTHREAD_ONCE_INIT;
    if (!can_stop()) return USP_ERROR_UNSUPPORTED;
    if (!is_valid(options)) return USP_ERROR_ARGUMENT;
    pthread_once(&fork_handler, register_fork_handler);
    uspi_darwin_watch_images();
    uspi_darwin_try_slots();
    uspi_darwin_learn_queues();
    pthread_mutex_lock(&requester.changes);
    int status = prepare(options);
    pthread_mutex_unlock(&requester.changes);
    return status;
}

void uspi_os_shutdown(void) {
    pthread_mutex_lock(&requester.changes);
    if (requester.turn != MACH_PORT_NULL && take_turn(SECOND) == USP_OK) {
        requester.prepared = false;
        uspi_arena_free(&requester.arena);
        semaphore_destroy(mach_task_self(), requester.turn);
        requester.turn = MACH_PORT_NULL;
    }
    pthread_mutex_unlock(&requester.changes);
}

size_t uspi_os_reserved(void) {
    size_t size = 0;
    pthread_mutex_lock(&requester.changes);
    if (requester.turn != MACH_PORT_NULL && take_turn(SECOND) == USP_OK) {
        size = requester.arena.size;
        give_turn();
    }
    pthread_mutex_unlock(&requester.changes);
    return size;
}

/* What every stop begins with. On USP_OK the turn is the caller's. */
static int begin(uint64_t timeout) {
    if (!can_stop()) return USP_ERROR_UNSUPPORTED;
    if (!requester.prepared) return USP_ERROR_NOT_PREPARED;
    return take_turn(timeout);
}

/* ---- one thread ---- */

/* Looks a thread up among those of this process: so a right that is dead, no thread's, or another task's finds nothing.
 * On USP_OK held->port is the caller's. */
static int find_thread(const struct usp_thread *thread, struct uspi_held *held) {
    struct uspi_darwin_list list;
    uint64_t own = uspi_darwin_own_thread();
    /* Whoever does not know itself might stop itself. */
    if (own == 0) return USP_ERROR_SYSTEM;
    int status = uspi_darwin_list(mach_task_self(), &list);
    if (status != USP_OK) return status;
    status = USP_ERROR_NO_THREAD;
    for (size_t i = 0; i < list.count && status == USP_ERROR_NO_THREAD; i++) {
        struct usp_thread_info info;
        /* A task has one name for all its rights to a port. */
        if (thread->native != MACH_PORT_NULL && thread->native != list.ports[i]) continue;
        if (!uspi_darwin_describe(mach_task_self(), list.ports[i], own, &info, &held->place)) continue;
        if (info.thread.id != thread->id) continue;
        status = (info.flags & USP_THREAD_REQUESTER) != 0 ? USP_ERROR_ARGUMENT : USP_OK;
        if (status == USP_OK) held->port = uspi_darwin_list_take(&list, i);
    }
    uspi_darwin_list_free(&list);
    return status;
}

static int copy_found(struct uspi_held *held, struct uspi_thread_copy *copy) {
    bool last = false;
    for (unsigned attempt = 1;; attempt++) {
        last = last || attempt >= USPI_DARWIN_WINDOWS;
        struct uspi_window w = {.task = mach_task_self(),
                                .is_own = true,
                                .threads = held,
                                .count = 1,
                                .arena = requester.arena.bytes,
                                .arena_size = requester.arena.size,
                                .deadline = uspi_os_clock() + requester.options.timeout,
                                .all_that_fits = last};
        uspi_darwin_window(&w);
        if (held->status != USP_OK) return held->status;
        if (w.need <= w.arena_size || last) break;
        if (!uspi_arena_grow(&requester.arena, w.need + w.need / 4)) last = true;
    }
    uspi_darwin_fill_copy(copy, held, requester.arena.bytes);
    copy->swift_task_slot = uspi_darwin_swift_slot(held->place.slots);
    return USP_OK;
}

int uspi_os_copy_thread(const struct usp_thread *thread, struct uspi_thread_copy *copy) {
    struct uspi_held held = {.port = MACH_PORT_NULL};
    memset(copy, 0, sizeof *copy);
    int status = begin(requester.options.timeout);
    if (status != USP_OK) return status;
    status = find_thread(thread, &held);
    if (status == USP_OK) status = copy_found(&held, copy);
    uspi_darwin_release(held.port);
    if (status != USP_OK) {
        memset(copy, 0, sizeof *copy);
        give_turn();
    }
    return status;
}

void uspi_os_release_copy(struct uspi_thread_copy *copy) {
    memset(copy, 0, sizeof *copy);
    give_turn();
}

/* ---- all threads ---- */

int uspi_os_stop_self(uint64_t timeout, uint64_t only_thread, struct uspi_stopped_process *out) {
    struct usp_target target;
    memset(out, 0, sizeof *out);
    int status = begin(timeout);
    if (status != USP_OK) return status;
    const struct uspi_collection c = {
        .task = mach_task_self(), .is_own = true, .only = only_thread, .timeout = timeout, .arena = &requester.arena};
    status = uspi_darwin_collect(&c, out);
    give_turn();
    if (status != USP_OK) return status;
    usp_target_init(&target, USPI_HOST_ARCH);
    uspi_os_describe_self(&target);
    out->pid = getpid();
    out->arch = target.arch;
    out->pac_mask = target.pac_mask;
    return USP_OK;
}

#endif
