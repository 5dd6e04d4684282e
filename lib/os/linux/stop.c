/* SPDX-License-Identifier: MIT */
/* Prepares captures, and stops one thread of this process. request.h has how a thread is asked, stop_all.c how all
 * threads are stopped at one moment.
 *
 *     take a request, ask, the thread copies its stack into it and runs on, walk, give the request back
 *
 * Capturing threads do not wait for each other, because each has a request of its own. While a request is in use, the
 * program's handlers and cancellation are deferred: callers of uspi_os_copy_thread first call
 * uspi_os_undisturbed_begin. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/answer.h"
#include "lib/os/linux/signal.h"
#include "lib/os/linux/stop.h"

#include "arch/host.h"

#include <pthread.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)
/* Bytes below the live part of a stack that certainly have no other use. */
#define BELOW_STACK ((uintptr_t)1 << 20)
/* Assumed size of a stack with an unknown end: the usual limit of a stack's size. */
#define UNKNOWN_SIZE ((usp_addr)8 << 20)
/* The first place for one thread: place 0 is for all threads (capturing.h). usp_prepare makes one such request. */
#define FIRST_PLACE 1

/* ---- getting ready ---- */

static void start_afresh(void) {
    static const struct uspi_turn free_turn = {0};
    atomic_store(&uspi_capturing.changes.word, free_turn.word);
    atomic_store(&uspi_capturing.snapshots.word, free_turn.word);
    /* Before the first usp_prepare there is no request. */
    if (atomic_load(&uspi_capturing.pid) == 0) return;
    atomic_store(&uspi_capturing.pid, uspi_linux->own_process());
    uspi_requests_after_fork();
}

/* Registered when the library is loaded, so that a child that is forked during the first usp_prepare starts afresh,
 * too. */
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(NULL, NULL, start_afresh); }

static bool is_valid(const struct usp_prepare_options *o) {
    return (o->signal == 0 || uspi_signal_is_allowed(o->signal)) && o->max_threads > 0 && o->max_threads <= 1u << 20 &&
           o->stack_copy >= 4096 && o->stack_copy <= 1u << 30 && o->timeout > 0 && o->timeout <= 3600 * SECOND;
}

uint64_t uspi_stop_hold_limit(uint64_t timeout) { return 2 * timeout + 2 * SECOND; }

static int choose_signal(int wanted) {
    const int number = atomic_load(&uspi_capturing.signal);
    if (number != 0 && (wanted == 0 || wanted == number)) return uspi_signal_install(number);
    uspi_signal_uninstall();
    int status = uspi_signal_install(wanted);
    if (status != USP_OK && number != 0) uspi_signal_install(number);
    return status;
}

static bool reserve(const struct usp_prepare_options *o) {
    const uint64_t arena = (uint64_t)o->max_threads * o->stack_copy;
    if (arena > SIZE_MAX / 2 || !uspi_request_replace(USPI_SNAPSHOT_PLACE, o->max_threads, (size_t)arena)) return false;
    int place = uspi_request_take(o->stack_copy);
    if (place >= FIRST_PLACE) uspi_request_give(place, false);
    return place != USP_ERROR_NO_MEMORY;
}

static int prepare(const struct usp_prepare_options *o) {
    struct uspi_capturing *c = &uspi_capturing;
    const bool was_prepared = atomic_load(&c->is_prepared);
    int status = choose_signal(o->signal);
    if (status != USP_OK) return status;
    uspi_answer_prepare();
    if (!was_prepared || uspi_request_at(USPI_SNAPSHOT_PLACE) == NULL ||
        o->max_threads != atomic_load(&c->max_threads) || o->stack_copy != atomic_load(&c->stack_copy)) {
        if (!reserve(o)) {
            if (!was_prepared) uspi_signal_uninstall();
            return USP_ERROR_NO_MEMORY;
        }
    }
    atomic_store(&c->max_threads, o->max_threads);
    atomic_store(&c->stack_copy, o->stack_copy);
    atomic_store(&c->timeout, o->timeout);
    atomic_store(&c->is_prepared, true);
    return USP_OK;
}

int uspi_os_prepare(const struct usp_prepare_options *options) {
    struct uspi_capturing *c = &uspi_capturing;
    struct uspi_undisturbed kept;
    if (USPI_HOST_ARCH == USP_ARCH_NONE) return USP_ERROR_UNSUPPORTED;
    if (!is_valid(options)) return USP_ERROR_ARGUMENT;
    /* In a child that was created without libc's fork, start_afresh has not been called. */
    const pid_t pid = uspi_linux->own_process();
    if (atomic_load(&c->pid) != 0 && atomic_load(&c->pid) != pid) start_afresh();
    uspi_os_undisturbed_begin(&kept);
    const uint64_t deadline = uspi_os_clock() + options->timeout + SECOND;
    int status = USP_ERROR_BUSY;
    if (uspi_turn_take(&c->changes, deadline)) {
        /* A snapshot may be using the request that is replaced. */
        if (uspi_turn_take(&c->snapshots, deadline)) {
            atomic_store(&c->pid, pid);
            status = prepare(options);
            uspi_turn_give(&c->snapshots);
        }
        uspi_turn_give(&c->changes);
    }
    uspi_os_undisturbed_end(&kept);
    return status;
}

bool uspi_os_is_prepared(void) { return atomic_load(&uspi_capturing.is_prepared); }

void uspi_os_shutdown(void) {
    struct uspi_capturing *c = &uspi_capturing;
    struct uspi_undisturbed kept;
    uspi_os_undisturbed_begin(&kept);
    if (uspi_turn_take(&c->changes, uspi_os_clock() + SECOND)) {
        atomic_store(&c->is_prepared, false);
        uspi_signal_uninstall();
        uspi_requests_free();
        uspi_forget_all_unanswering();
        atomic_store(&c->max_threads, 0);
        atomic_store(&c->stack_copy, 0);
        atomic_store(&c->timeout, 0);
        uspi_turn_give(&c->changes);
    }
    uspi_os_undisturbed_end(&kept);
}

size_t uspi_os_reserved(void) { return atomic_load(&uspi_capturing.mapped); }

/* ---- answers ---- */

size_t uspi_slot_need(const struct uspi_request *r, const struct uspi_slot *s) {
    return uspi_extent_need(r, &s->extents[0]) + uspi_extent_need(r, &s->extents[1]);
}

/* Marks the part of a stack that was not copied, because the thread runs again and changes it. */
static void note_rest(struct uspi_thread_copy *copy, const struct uspi_slot *s, unsigned i) {
    const struct uspi_extent *extent = &s->extents[i];
    usp_addr from = (usp_addr)extent->from + s->copied[i];
    usp_addr high = (usp_addr)extent->from + (extent->is_known ? extent->size : UNKNOWN_SIZE);
    if (extent->size == 0 || from >= high) return;
    *(extent->is_known ? &copy->holes[1 + i] : &copy->unsure) = (struct uspi_hole){from, high};
}

void uspi_slot_to_copy(const struct uspi_slot *s, const uint8_t *arena, struct uspi_thread_copy *copy) {
    const uint8_t *bytes = arena + s->offset;
    copy->registers = s->registers;
    copy->stack_low = s->stack_low;
    copy->stack_high = s->stack_high;
    copy->holes[0] =
        (struct uspi_hole){s->unused_high > BELOW_STACK ? s->unused_high - BELOW_STACK : 0, s->unused_high};
    for (unsigned i = 0; i < 2; i++) note_rest(copy, s, i);
    copy->stopped_ns = s->left - s->arrived;
    for (unsigned i = 0; i < 2; i++) {
        const usp_addr end = (usp_addr)s->extents[i].from + s->extents[i].size;
        copy->parts[i] = (struct uspi_copied){bytes, s->extents[i].from, s->copied[i]};
        bytes += s->copied[i];
        copy->parts[USPI_OUTER_PART + i] = (struct uspi_copied){bytes, end - s->outer[i], s->outer[i]};
        bytes += s->outer[i];
    }
}

/* ---- one thread ---- */

/* Asks a thread. If *is_abandoned becomes true, a handler still owns the request; otherwise the caller does. */
static int ask_thread(int place, pid_t tid, uint64_t deadline, bool *is_abandoned) {
    struct uspi_request *r = uspi_request_at(place);
    uspi_round_begin(r, false);
    atomic_store(&uspi_capturing.asked[place], (uint32_t)tid);
    uspi_ask(r, tid);
    *is_abandoned = !uspi_ask_wait(r, deadline);
    atomic_store(&uspi_capturing.asked[place], 0);
    return r->slots[0].status;
}

uint64_t uspi_os_capture_timeout(void) { return atomic_load(&uspi_capturing.timeout); }

int uspi_os_copy_thread(const struct usp_thread *thread, uint64_t deadline, struct uspi_thread_copy *copy) {
    memset(copy, 0, sizeof *copy);
    int status = USP_OK;
    if (!atomic_load(&uspi_capturing.is_prepared)) return USP_ERROR_NOT_PREPARED;
    if (thread->id == 0 || thread->id > INT32_MAX) return USP_ERROR_NO_THREAD;
    const int place = uspi_request_take(atomic_load(&uspi_capturing.stack_copy));
    if (place < 0) return place;
    bool is_abandoned = false;
    for (unsigned attempt = 1;; attempt++) {
        status = ask_thread(place, (pid_t)thread->id, deadline, &is_abandoned);
        /* After a failure the thread may still write its answer, so the request is not replaced. */
        if (status != USP_OK) break;
        const struct uspi_request *r = uspi_request_at(place);
        const size_t need = uspi_slot_need(r, &r->slots[0]);
        if (need <= r->arena_size || attempt == USPI_STOP_ATTEMPTS) break;
        if (!uspi_request_replace(place, 1, need + need / 4)) break;
    }
    if (status == USP_OK) {
        const struct uspi_request *r = uspi_request_at(place);
        uspi_slot_to_copy(&r->slots[0], r->arena, copy);
        copy->own = (size_t)place;
    } else {
        uspi_request_give(place, is_abandoned);
    }
    return status;
}

void uspi_os_release_copy(struct uspi_thread_copy *copy) {
    uspi_request_give((int)copy->own, false);
    memset(copy, 0, sizeof *copy);
}

#endif
