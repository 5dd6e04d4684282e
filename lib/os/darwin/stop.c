/* SPDX-License-Identifier: MIT */
/* Prepares captures, and stops threads of this process: one, or all at one moment. Decides which thread may stop
 * others, and with what memory; window.c does what happens while they are stopped. Not compiled on watchOS (watch.c).
 *
 *     one:  take an arena, find the thread, take the turn, window, give the turn, walk, give the arena
 *     all:  take the turn, window, give the turn, walk
 *
 * Only windows need the turn: a thread in a window must not be stopped by another one. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/capturing.h"

#include "arch/host.h"

#include <TargetConditionals.h>

#if !TARGET_OS_WATCH

#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
/* Maximum number of waits for the turn: a wait that a signal interrupts is repeated. */
#define WAITS 1000u
/* Maximum number of attempts to give the turn back, which would otherwise stay taken for ever. */
#define SIGNALS 16u

/* The first arenas for one thread's copy keep their memory. */
#define KEPT 8u

static struct uspi_darwin_stops *const stops = &uspi_darwin_capturing.stops;

/* ---- one requester at a time ---- */

static int take_turn(uint64_t deadline) {
    for (unsigned i = 0; i < WAITS; i++) {
        uint64_t now = uspi_os_clock(), left = deadline > now ? deadline - now : 0;
        mach_timespec_t wait = {(unsigned)(left / SECOND), (int)(left % SECOND)};
        kern_return_t result = semaphore_timedwait(stops->turn, wait);
        if (result == KERN_SUCCESS) return USP_OK;
        if (result != KERN_ABORTED) return result == KERN_OPERATION_TIMED_OUT ? USP_ERROR_BUSY : USP_ERROR_SYSTEM;
    }
    return USP_ERROR_BUSY;
}

static void give_turn(void) {
    for (unsigned i = 0; i < SIGNALS && semaphore_signal(stops->turn) != KERN_SUCCESS; i++) continue;
}

static bool make_turn(void) {
    return semaphore_create(mach_task_self(), &stops->turn, SYNC_POLICY_FIFO, 1) == KERN_SUCCESS;
}

/* Resets the state in the child of a fork, which inherits memory but no ports. */
static void start_afresh(void) {
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    stops->changes = fresh;
    stops->turn = MACH_PORT_NULL;
    uspi_darwin_threads_after_fork();
    if (!stops->prepared) return;
    for (unsigned i = 0; i < USPI_DARWIN_ARENAS; i++) atomic_store(&stops->own[i].is_taken, false);
    if (!make_turn()) stops->prepared = false;
}

/* Registered when the library is loaded, so that a child that is forked during the first usp_prepare starts afresh,
 * too. */
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, start_afresh); }

/* ---- memory ---- */

static bool grow(struct uspi_arena *arena, size_t size) {
    const size_t before = arena->size;
    if (!uspi_arena_grow(arena, size)) return false;
    atomic_fetch_add(&stops->reserved, arena->size - before);
    return true;
}

static void drop(struct uspi_arena *arena) {
    atomic_fetch_sub(&stops->reserved, arena->size);
    uspi_arena_free(arena);
}

/* Takes an arena for one thread's copy. Returns its index, or USP_ERROR_BUSY when all are in use, or
 * USP_ERROR_NO_MEMORY. */
static int take_arena(void) {
    unsigned i = 0;
    while (i < USPI_DARWIN_ARENAS && atomic_exchange(&stops->own[i].is_taken, true)) i++;
    if (i == USPI_DARWIN_ARENAS) return USP_ERROR_BUSY;
    if (grow(&stops->own[i].arena, atomic_load(&stops->stack_copy))) return (int)i;
    atomic_store(&stops->own[i].is_taken, false);
    return USP_ERROR_NO_MEMORY;
}

/* Gives an arena back. uspi_os_shutdown skips an arena in use, so its memory is freed here after a shutdown. */
static void give_arena(size_t i) {
    if (i >= KEPT || !atomic_load(&stops->prepared)) drop(&stops->own[i].arena);
    atomic_store(&stops->own[i].is_taken, false);
}

/* ---- getting ready ---- */

static bool can_stop(void) { return USPI_HOST_ARCH != USP_ARCH_NONE && !uspi_darwin_is_translated(); }

static bool is_valid(const struct usp_prepare_options *o) {
    return o->max_threads > 0 && o->max_threads <= 1u << 20 && o->stack_copy >= 4096 && o->stack_copy <= 1u << 30 &&
           o->timeout > 0 && o->timeout <= 3600 * SECOND;
}

static int prepare(const struct usp_prepare_options *o) {
    uint64_t size = (uint64_t)o->max_threads * o->stack_copy;
    if (size > SIZE_MAX / 2) return USP_ERROR_NO_MEMORY;
    if (stops->turn == MACH_PORT_NULL && !make_turn()) return USP_ERROR_SYSTEM;
    int status = take_turn(uspi_os_clock() + o->timeout + SECOND);
    if (status != USP_OK) return status;
    if (!stops->prepared || stops->max_threads != o->max_threads || stops->stack_copy != o->stack_copy) {
        struct uspi_arena arena = {NULL, 0};
        if (grow(&arena, (size_t)size)) {
            drop(&stops->arena);
            stops->arena = arena;
        } else {
            status = USP_ERROR_NO_MEMORY;
        }
    }
    if (status == USP_OK) {
        stops->max_threads = o->max_threads;
        stops->stack_copy = o->stack_copy;
        stops->timeout = o->timeout;
        stops->prepared = true;
        const int first = take_arena();
        if (first >= 0) give_arena((size_t)first);
    }
    give_turn();
    return status;
}

int uspi_os_prepare(const struct usp_prepare_options *options) {
    if (!can_stop()) return USP_ERROR_UNSUPPORTED;
    if (!is_valid(options)) return USP_ERROR_ARGUMENT;
    uspi_darwin_watch_images();
    uspi_darwin_try_slots();
    uspi_darwin_learn_queues();
    struct uspi_undisturbed kept;
    uspi_os_undisturbed_begin(&kept);
    pthread_mutex_lock(&stops->changes);
    int status = prepare(options);
    pthread_mutex_unlock(&stops->changes);
    uspi_os_undisturbed_end(&kept);
    return status;
}

bool uspi_os_is_prepared(void) { return atomic_load(&stops->prepared); }

void uspi_os_shutdown(void) {
    struct uspi_undisturbed kept;
    uspi_os_undisturbed_begin(&kept);
    pthread_mutex_lock(&stops->changes);
    if (stops->turn != MACH_PORT_NULL && take_turn(uspi_os_clock() + SECOND) == USP_OK) {
        stops->prepared = false;
        stops->max_threads = stops->stack_copy = 0;
        stops->timeout = 0;
        drop(&stops->arena);
        for (unsigned i = 0; i < USPI_DARWIN_ARENAS; i++) {
            if (!atomic_exchange(&stops->own[i].is_taken, true)) give_arena(i);
        }
        semaphore_destroy(mach_task_self(), stops->turn);
        stops->turn = MACH_PORT_NULL;
    }
    pthread_mutex_unlock(&stops->changes);
    uspi_os_undisturbed_end(&kept);
}

size_t uspi_os_reserved(void) { return atomic_load(&stops->reserved); }

/* Begins a stop. On USP_OK the caller has the turn. */
static int begin_stop(uint64_t deadline) {
    if (!can_stop()) return USP_ERROR_UNSUPPORTED;
    if (!stops->prepared) return USP_ERROR_NOT_PREPARED;
    return take_turn(deadline);
}

/* ---- one thread ---- */

/* Finds a thread among the threads of this process. So a dead right, or a right to something else or to another task's
 * thread, finds nothing. On USP_OK the caller releases held->port. */
static int find_thread(const struct usp_thread *thread, struct uspi_held *held) {
    struct uspi_darwin_list list;
    uint64_t own = uspi_darwin_own_thread();
    /* A thread that does not know its own id might stop itself. */
    if (own == 0) return USP_ERROR_SYSTEM;
    int status = uspi_darwin_list(mach_task_self(), &list);
    if (status != USP_OK) return status;
    status = USP_ERROR_NO_THREAD;
    for (size_t i = 0; i < list.count && status == USP_ERROR_NO_THREAD; i++) {
        struct usp_thread_info info;
        /* A task has the same name for all its rights to a port. */
        if (thread->native != MACH_PORT_NULL && thread->native != list.ports[i]) continue;
        if (!uspi_darwin_describe(mach_task_self(), list.ports[i], own, &info, &held->place)) continue;
        if (info.thread.id != thread->id) continue;
        status = (info.flags & USP_THREAD_REQUESTER) != 0 ? USP_ERROR_ARGUMENT : USP_OK;
        if (status == USP_OK) held->port = uspi_darwin_list_take(&list, i);
    }
    uspi_darwin_list_free(&list);
    return status;
}

/* Opens windows until the stack fits into the arena, or USPI_DARWIN_WINDOWS were opened, or memory is exhausted. */
static int copy_found(struct uspi_held *held, struct uspi_arena *arena, uint64_t deadline) {
    bool last = false;
    for (unsigned attempt = 1;; attempt++) {
        last = last || attempt >= USPI_DARWIN_WINDOWS;
        struct uspi_window w = {.task = mach_task_self(),
                                .is_own = true,
                                .threads = held,
                                .count = 1,
                                .arena = arena->bytes,
                                .arena_size = arena->size,
                                .deadline = deadline,
                                .all_that_fits = last};
        uspi_darwin_window(&w);
        if (held->status != USP_OK || w.need <= w.arena_size || last) return held->status;
        if (!grow(arena, w.need + w.need / 4)) last = true;
    }
}

/* The turn is taken after the thread was found, because finding it takes a call to the kernel for each thread. */
static int stop_and_copy(const struct usp_thread *thread, uint64_t deadline, struct uspi_held *held,
                         struct uspi_arena *arena) {
    int status = find_thread(thread, held);
    if (status == USP_OK) status = begin_stop(deadline);
    if (status != USP_OK) return status;
    status = copy_found(held, arena, deadline);
    give_turn();
    return status;
}

uint64_t uspi_os_capture_timeout(void) { return atomic_load(&stops->timeout); }

int uspi_os_copy_thread(const struct usp_thread *thread, uint64_t deadline, struct uspi_thread_copy *copy) {
    struct uspi_held held = {.port = MACH_PORT_NULL};
    memset(copy, 0, sizeof *copy);
    if (!can_stop()) return USP_ERROR_UNSUPPORTED;
    if (!stops->prepared) return USP_ERROR_NOT_PREPARED;
    const int own = take_arena();
    if (own < 0) return own;
    struct uspi_arena *arena = &stops->own[own].arena;
    int status = stop_and_copy(thread, deadline, &held, arena);
    if (status == USP_OK) {
        uspi_darwin_fill_copy(copy, &held, arena->bytes);
        copy->swift_task_slot = uspi_darwin_swift_slot(held.place.slots);
        copy->own = (size_t)own;
    } else {
        give_arena((size_t)own);
    }
    uspi_darwin_release(held.port);
    return status;
}

void uspi_os_release_copy(struct uspi_thread_copy *copy) {
    give_arena(copy->own);
    memset(copy, 0, sizeof *copy);
}

/* ---- all threads ---- */

int uspi_os_stop_self(const struct uspi_stop_options *options, struct uspi_stopped_process *out) {
    struct usp_target target;
    memset(out, 0, sizeof *out);
    int status = begin_stop(uspi_os_clock() + options->timeout);
    if (status != USP_OK) return status;
    const struct uspi_collection c = {.task = mach_task_self(),
                                      .is_own = true,
                                      .only = options->only_thread,
                                      .timeout = options->timeout,
                                      .arena = &stops->arena};
    const size_t before = stops->arena.size;
    status = uspi_darwin_collect(&c, out);
    atomic_fetch_add(&stops->reserved, stops->arena.size - before);
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

#endif
