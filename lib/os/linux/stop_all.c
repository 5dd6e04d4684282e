/* SPDX-License-Identifier: MIT */
/* Stops all threads of this process at one moment. request.h has how a thread is asked.
 *
 *     take the turn, list threads and note which cannot answer │ ask all, list again until none is new,
 *     copy every stack, resume all │ give the turn, hand the copies over
 *
 * Between the first request and the release nothing allocates, takes a lock, or waits for anything but the threads'
 * answers. If the reserved memory does not suffice, all threads are resumed, the memory grows, and the stop is
 * repeated. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/base/array.h"
#include "lib/os/linux/answer.h"
#include "lib/os/linux/proc.h"
#include "lib/os/linux/process.h"
#include "lib/os/linux/second_copy.h"
#include "lib/os/linux/signal.h"
#include "lib/os/linux/sleepers.h"
#include "lib/os/linux/stop.h"

#include "arch/host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Maximum number of listings within one stop. Each finds the threads that were started meanwhile by threads that had
 * not yet answered. */
#define LISTINGS 64u

/* A thread as /proc showed it before the stop. Its start time distinguishes it from a later thread with the same id. */
struct note {
    pid_t tid;
    char state;
    bool is_excused;  /* it was unable to answer when it was listed */
    bool is_left_out; /* it was still unable right before the stop, and is not asked */
    bool is_asleep;   /* it has slept uninterruptibly for 2 ms, and is not asked */
    uint64_t start;
    uint64_t ran; /* state D: its processor time */
};

struct notes {
    struct note *notes;
    size_t count, capacity;
    size_t sleeping; /* number of threads in state D */
};

static uint64_t our_signal(void) {
    const int number = atomic_load(&uspi_capturing.signal);
    return number != 0 ? USPI_LINUX_SIGNAL(number) : 0;
}

static bool note_thread(void *context, const struct uspi_proc_threads *list, pid_t tid) {
    struct notes *n = context;
    struct uspi_proc_stat stat;
    if (!uspi_room_for(&n->notes, &n->capacity, n->count, 1, sizeof *n->notes)) return false;
    if (uspi_proc_threads_stat(list, tid, &stat) < 0) return true;
    const bool is_excused =
        (stat.state != 'R' && (stat.blocked & our_signal()) != 0) || stat.state == 'T' || stat.state == 't';
    struct note *note = &n->notes[n->count++];
    *note = (struct note){.tid = tid, .state = stat.state, .is_excused = is_excused, .start = stat.start};
    if (stat.state == 'D' && uspi_proc_run_time(0, tid, &note->ran) == 0) n->sleeping++;
    return true;
}

static int by_thread(const void *a, const void *b) {
    const struct note *x = a, *y = b;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

static struct note *find_note(const struct notes *notes, pid_t tid) {
    struct note wanted = {.tid = tid};
    return notes->count == 0 ? NULL : bsearch(&wanted, notes->notes, notes->count, sizeof wanted, by_thread);
}

/* Marks threads that block the signal or are stopped at two checks in a row. They are not asked, so that no other
 * thread is held longer because of them. */
static void leave_out(struct notes *notes, pid_t self) {
    for (size_t i = 0; i < notes->count; i++) {
        struct note *n = &notes->notes[i];
        if (!n->is_excused || n->tid == self) continue;
        n->is_left_out = uspi_thread_ability(n->tid) == USPI_THREAD_UNABLE;
    }
}

/* Marks threads that have slept uninterruptibly since they were listed. They are not asked either. */
static void leave_sleepers_out(struct notes *notes, pid_t self) {
    struct uspi_proc_stat stat;
    uint64_t ran;
    if (notes->sleeping == 0) return;
    uspi_linux->sleep(USPI_LONG_SLEEP);
    for (size_t i = 0; i < notes->count; i++) {
        struct note *n = &notes->notes[i];
        if (n->state != 'D' || n->tid == self) continue;
        n->is_asleep = uspi_proc_stat(0, n->tid, &stat) == 0 && stat.state == 'D' && stat.start == n->start &&
                       uspi_proc_run_time(0, n->tid, &ran) == 0 && ran == n->ran;
    }
}

/* A stop of all threads or of one, and its result. */
struct stop {
    struct uspi_request *r;
    const struct notes *notes;
    pid_t self, only;
    uint64_t deadline, ended, stopped_ns;
    uint64_t timeout;    /* for copying threads that sleep */
    bool whole_stacks;   /* see struct usp_snapshot_options */
    bool met_self;       /* the listing has the requester's id */
    bool is_abandoned;   /* a handler still owns a slot */
    size_t slots, arena; /* how many are needed */
    size_t copied;       /* bytes of the arena */
    uint32_t found;      /* new threads in the last listing */
};

static bool ask_if_new(void *context, const struct uspi_proc_threads *list, pid_t tid) {
    struct stop *stop = context;
    (void)list;
    if (tid == stop->self) {
        stop->met_self = true;
        return true;
    }
    if (stop->only != 0 && tid != stop->only) return true;
    const struct uspi_slot *s = uspi_ask_find(stop->r, tid);
    /* The id of an ended thread may have been reused once. An ended main thread keeps its id. */
    bool ended = s != NULL && s->status == USP_ERROR_NO_THREAD && !s->is_repeated && tid != uspi_linux_pid();
    if (s != NULL && !ended) return true;
    stop->found++;
    const struct note *note = s == NULL ? find_note(stop->notes, tid) : NULL;
    if (note != NULL && (note->is_left_out || note->is_asleep)) return uspi_ask_without(stop->r, tid);
    return uspi_ask(stop->r, tid);
}

/* Asks all threads, until a complete listing has no new one or the deadline has passed. Returns 0 or a negative error
 * number. */
static int ask_everyone(struct stop *stop) {
    for (unsigned i = 0; i < LISTINGS; i++) {
        stop->found = 0;
        int e = uspi_linux_each_thread(0, stop->r->listing, stop->r->listing_size, ask_if_new, stop);
        if (e < 0) return e;
        if (stop->found == 0) return 0;
        if (!uspi_ask_wait(stop->r, stop->deadline)) stop->is_abandoned = true;
        if (stop->is_abandoned || uspi_os_clock() >= stop->deadline) return 0;
        stop->r->is_late = true;
    }
    return 0;
}

/* Returns how much is copied of the innermost part of a large stack, so that all of them together keep the limit. */
static size_t inner_most(const struct stop *stop) {
    const struct uspi_request *r = stop->r;
    const uint32_t used = atomic_load(&r->used);
    size_t large = 0;
    if (stop->whole_stacks) return SIZE_MAX / 2;
    for (uint32_t i = 0; i < used; i++) {
        const struct uspi_extent *e = r->slots[i].extents;
        if (!uspi_slot_ready(&r->slots[i])) continue;
        large += (size_t)(e[0].size > USPI_COPY_OUTER) + (size_t)(e[1].size > USPI_COPY_OUTER);
    }
    const size_t share = large > 0 ? (size_t)USPI_COPY_LARGE / large : (size_t)USPI_COPY_LARGE;
    if (share >= USPI_COPY_INNER + USPI_COPY_OUTER) return USPI_COPY_INNER;
    return share > 2 * USPI_COPY_OUTER ? (share - USPI_COPY_OUTER) & ~(size_t)15 : USPI_COPY_OUTER;
}

static void copy_stacks(struct stop *stop, bool all_that_fits) {
    struct uspi_request *r = stop->r;
    uint32_t used = atomic_load(&r->used), ready = 0;
    size_t at = 0;
    r->inner_most = inner_most(stop);
    stop->arena = stop->copied = 0;
    for (uint32_t i = 0; i < used; i++) {
        if (!uspi_slot_ready(&r->slots[i])) continue;
        stop->arena += uspi_slot_need(r, &r->slots[i]);
        ready++;
    }
    if (stop->arena > r->arena_size && !all_that_fits) return;
    size_t share = stop->arena <= r->arena_size ? SIZE_MAX : (r->arena_size / (ready + 1)) & ~(size_t)15;
    for (uint32_t i = 0; i < used; i++) {
        struct uspi_slot *s = &r->slots[i];
        if (!uspi_slot_ready(s)) continue;
        s->offset = at;
        size_t capacity = r->arena_size - at < share ? r->arena_size - at : share;
        for (unsigned part = 0; part < 2; part++) {
            s->copied[part] = uspi_extent_copy(r, &s->extents[part], r->arena + at, capacity, &s->outer[part]);
            /* The next copy begins at a multiple of 16 bytes. */
            s->copied[part] &= ~(size_t)15;
            at += s->copied[part] + s->outer[part];
            capacity -= s->copied[part] + s->outer[part];
        }
        /* The thread may have resumed by itself while it was copied. */
        if (!uspi_slot_ready(s)) s->status = USP_ERROR_TIMEOUT;
    }
    stop->copied = at;
}

/* Reads the locks that threads wait for. A thread that has resumed by itself may have changed its lock. */
static void copy_locks(const struct stop *stop) {
    const struct usp_memory memory = {uspi_os_read, NULL};
    const uint32_t used = atomic_load(&stop->r->used);
    for (uint32_t i = 0; i < used; i++) {
        struct uspi_slot *s = &stop->r->slots[i];
        if (uspi_slot_ready(s)) (void)uspi_lock_wait_read(&s->lock, USP_OS_LINUX, &s->registers, &memory);
        if (!uspi_slot_ready(s)) s->lock.word = 0;
    }
}

/* Stops the threads once: from the first request to the release. */
static int stop_once(struct stop *stop, bool all_that_fits) {
    struct uspi_request *r = stop->r = uspi_request_at(USPI_SNAPSHOT_PLACE);
    stop->is_abandoned = false;
    uspi_round_begin(r, true);
    atomic_store(&uspi_capturing.asked[USPI_SNAPSHOT_PLACE], USPI_EVERYONE);
    int e = ask_everyone(stop);
    if (e == 0) copy_stacks(stop, all_that_fits);
    if (e == 0) copy_locks(stop);
    atomic_store(&uspi_capturing.asked[USPI_SNAPSHOT_PLACE], 0);
    uspi_round_end(r);
    stop->ended = uspi_os_clock();

    stop->slots = e == -ECANCELED ? r->slot_count * 2 : r->slot_count;
    stop->stopped_ns = 0;
    uint32_t used = atomic_load(&r->used);
    for (uint32_t i = 0; i < used; i++) {
        const struct uspi_slot *s = &r->slots[i];
        if (s->status != USP_OK) continue;
        if (stop->ended - s->arrived > stop->stopped_ns) stop->stopped_ns = stop->ended - s->arrived;
    }
    return e;
}

/* ---- handing over ---- */

static void describe_thread(struct usp_thread_info *info, pid_t tid, const struct notes *notes) {
    struct uspi_proc_stat now;
    const struct note *before = find_note(notes, tid);
    memset(info, 0, sizeof *info);
    info->thread = (struct usp_thread){(uint64_t)tid, (uint64_t)tid};
    if (tid == uspi_linux_pid()) info->flags |= USP_THREAD_MAIN;
    if (uspi_proc_stat(0, tid, &now) == 0) {
        memcpy(info->name, now.name, sizeof info->name);
        info->cpu_time = now.cpu_ns;
        if (before != NULL && before->start != now.start) before = NULL;
    }
    if (before != NULL) info->run_state = (uint8_t)before->state;
}

static void add_answer(struct uspi_stopped_process *out, const struct uspi_slot *s, const struct stop *stop) {
    struct uspi_stopped_thread *t = &out->threads[out->thread_count];
    pid_t tid = uspi_slot_thread(s);
    /* A thread that ended before all were stopped was not there at that moment. */
    if (s->status == USP_ERROR_NO_THREAD && tid != uspi_linux_pid()) return;
    out->thread_count++;
    describe_thread(&t->info, tid, stop->notes);
    t->status = s->status;
    if (s->status != USP_OK) return;
    memset(t->info.name, 0, sizeof t->info.name);
    memcpy(t->info.name, s->name, sizeof s->name);
    t->info.cpu_time = s->cpu_ns;
    uspi_slot_to_copy(s, out->owned, &t->copy);
    t->copy.stopped_ns = stop->ended - s->arrived;
    t->copy.lock = s->lock;
}

/* ---- threads that sleep uninterruptibly ---- */

/* The copies of both kinds of threads. */
struct both {
    void *stopped; /* an allocation */
    struct uspi_stopped_process asleep;
};

static void release_both(void *owned) {
    struct both *both = owned;
    free(both->stopped);
    uspi_os_free_stopped(&both->asleep);
    free(both);
}

/* Lists the threads of `out` that were given up because they sleep. */
static size_t find_sleepers(const struct stop *stop, const struct uspi_stopped_process *out,
                            struct uspi_known_sleeper *sleepers, size_t *places) {
    size_t n = 0;
    for (size_t i = 0; i < out->thread_count; i++) {
        const pid_t tid = (pid_t)out->threads[i].info.thread.id;
        const struct uspi_slot *s = uspi_ask_find(stop->r, tid);
        const struct note *note = find_note(stop->notes, tid);
        if (s == NULL || out->threads[i].status != USP_ERROR_TIMEOUT) continue;
        const bool is_noted = note != NULL && note->is_asleep;
        if (!is_noted && !s->is_asleep) continue;
        places[n] = i;
        sleepers[n++] = (struct uspi_known_sleeper){tid, s->is_asleep ? s->ran : note->ran};
    }
    return n;
}

static void take_sleeper(struct uspi_stopped_thread *to, const struct uspi_stopped_thread *from) {
    to->info.run_state = 'D';
    if (from->status != USP_OK) return;
    to->info.flags |= from->info.flags;
    to->status = USP_OK;
    to->copy = from->copy;
    memcpy(to->wait_channel, from->wait_channel, sizeof to->wait_channel);
}

/* Takes the stacks of threads that sleep uninterruptibly, which needs no stop: the other threads run again. A thread
 * that has not run since it was given up is as it was at the moment of the stop. */
static void add_sleepers(const struct stop *stop, struct uspi_stopped_process *out) {
    struct both *both = calloc(1, sizeof *both);
    struct uspi_known_sleeper *sleepers = calloc(out->thread_count + 1, sizeof *sleepers);
    size_t *places = calloc(out->thread_count + 1, sizeof *places);
    size_t n = 0;
    if (both != NULL && sleepers != NULL && places != NULL) n = find_sleepers(stop, out, sleepers, places);
    if (n > 0 && uspi_linux_copy_sleepers(sleepers, n, stop->whole_stacks, stop->timeout, &both->asleep) == USP_OK) {
        for (size_t i = 0; i < n; i++) take_sleeper(&out->threads[places[i]], &both->asleep.threads[i]);
        both->stopped = out->owned;
        out->owned = both;
        out->release = release_both;
        both = NULL;
    }
    free(both);
    free(sleepers);
    free(places);
}

static void add_requester(struct uspi_stopped_process *out, const struct stop *stop) {
    struct uspi_stopped_thread *t = &out->threads[out->thread_count++];
    memset(t, 0, sizeof *t);
    describe_thread(&t->info, stop->self, stop->notes);
    t->info.flags |= USP_THREAD_REQUESTER;
}

/* Fills in data about this process that does not depend on how it was stopped. */
static void describe_process(struct uspi_stopped_process *out) {
    struct usp_target target;
    usp_target_init(&target, USPI_HOST_ARCH);
    uspi_os_describe_self(&target);
    out->pid = (int64_t)uspi_linux_pid();
    out->arch = target.arch;
    out->pac_mask = target.pac_mask;
    out->live = (struct usp_memory){uspi_os_read, NULL};
}

/* Copies the results out of the request, which the next stop will reuse. */
static int collect(const struct stop *stop, struct uspi_stopped_process *out) {
    const struct uspi_request *r = stop->r;
    uint32_t used = atomic_load(&r->used);
    out->threads = calloc((size_t)used + 1, sizeof *out->threads);
    out->owned = malloc(stop->copied + 1);
    out->release = free;
    if (out->threads == NULL || out->owned == NULL) {
        uspi_os_free_stopped(out);
        return USP_ERROR_NO_MEMORY;
    }
    memcpy(out->owned, r->arena, stop->copied);
    for (uint32_t i = 0; i < used; i++) add_answer(out, &r->slots[i], stop);
    if (stop->only == 0 || stop->only == stop->self) add_requester(out, stop);
    describe_process(out);
    out->stopped_ns = stop->stopped_ns;
    add_sleepers(stop, out);
    return USP_OK;
}

/* ---- all of it ---- */

static bool grow(size_t slots, size_t arena) {
    const struct uspi_request *r = uspi_request_at(USPI_SNAPSHOT_PLACE);
    if (slots < r->slot_count) slots = r->slot_count;
    if (arena < r->arena_size) arena = r->arena_size;
    return uspi_request_replace(USPI_SNAPSHOT_PLACE, slots, arena);
}

static int stop_and_collect(struct stop *stop, uint64_t timeout, struct uspi_stopped_process *out) {
    size_t slots = stop->notes->count + stop->notes->count / 4 + 16;
    if (slots > uspi_request_at(USPI_SNAPSHOT_PLACE)->slot_count) grow(slots, 0);
    bool last = false;
    for (unsigned attempt = 1;;) {
        last = last || attempt == USPI_STOP_ATTEMPTS;
        uspi_request_at(USPI_SNAPSHOT_PLACE)->hold_limit = uspi_stop_hold_limit(timeout);
        int e = stop_once(stop, last);
        if (e == -ECANCELED) {
            /* Threads that start and end faster than they are listed use up the slots. The number of slots doubles
             * until they suffice. */
            if (!grow(stop->slots, 0)) return USP_ERROR_NO_MEMORY;
            continue;
        }
        if (e < 0) return uspi_linux_status(e);
        if (stop->arena <= stop->r->arena_size || last || stop->is_abandoned) {
            /* If /proc belongs to another pid namespace, it shows other ids, and the requester's is missing. */
            return stop->met_self ? collect(stop, out) : USP_ERROR_UNSUPPORTED;
        }
        last = !grow(stop->slots, stop->arena + stop->arena / 4);
        attempt++;
    }
}

static int stop_with(struct stop *stop, uint64_t timeout, struct notes *notes, struct uspi_stopped_process *out) {
    const struct uspi_capturing *c = &uspi_capturing;
    if (uspi_request_at(USPI_SNAPSHOT_PLACE) == NULL &&
        !uspi_request_replace(USPI_SNAPSHOT_PLACE, c->max_threads, (size_t)c->max_threads * c->stack_copy)) {
        return USP_ERROR_NO_MEMORY;
    }
    const struct uspi_request *r = uspi_request_at(USPI_SNAPSHOT_PLACE);
    int e = uspi_linux_each_thread(0, r->listing, r->listing_size, note_thread, notes);
    if (e < 0) return e == -ECANCELED ? USP_ERROR_NO_MEMORY : uspi_linux_status(e);
    if (notes->count > 1) qsort(notes->notes, notes->count, sizeof *notes->notes, by_thread);
    leave_out(notes, stop->self);
    leave_sleepers_out(notes, stop->self);
    int status = stop_and_collect(stop, timeout, out);
    /* A handler may still write to the old request. */
    if (stop->is_abandoned && !grow(0, 0)) uspi_request_drop(USPI_SNAPSHOT_PLACE);
    return status;
}

static int stop_by_signals(struct stop *stop, const struct uspi_stop_options *options,
                           struct uspi_stopped_process *out) {
    struct notes notes = {0};
    struct uspi_undisturbed kept;
    stop->notes = &notes;
    /* The timeout limits the whole wait, for the turn and for the threads. */
    stop->deadline = uspi_os_clock() + options->timeout;
    uspi_os_undisturbed_begin(&kept);
    int status = atomic_load(&uspi_capturing.is_prepared) ? USP_OK : USP_ERROR_NOT_PREPARED;
    if (status == USP_OK && !uspi_signal_is_ours()) status = uspi_signal_restore(stop->deadline);
    if (status == USP_OK && !uspi_turn_take(&uspi_capturing.snapshots, stop->deadline)) status = USP_ERROR_BUSY;
    if (status == USP_OK) {
        int lock = -1;
        if (uspi_signal_has_second_copy()) status = uspi_copies_lock(stop->deadline, &lock);
        if (status == USP_OK) status = stop_with(stop, options->timeout, &notes, out);
        uspi_copies_unlock(lock);
        uspi_turn_give(&uspi_capturing.snapshots);
    }
    free(notes.notes);
    uspi_os_undisturbed_end(&kept);
    return status;
}

static int stop_by_helper(struct stop *stop, const struct uspi_stop_options *options,
                          struct uspi_stopped_process *out) {
    static const struct notes none = {0};
    stop->notes = &none;
    int status = uspi_linux_stop_by_helper(options, out);
    if (status != USP_OK) return status;
    struct uspi_stopped_thread *grown = realloc(out->threads, (out->thread_count + 1) * sizeof *grown);
    if (grown == NULL) {
        uspi_os_free_stopped(out);
        return USP_ERROR_NO_MEMORY;
    }
    out->threads = grown;
    if (stop->only == 0 || stop->only == stop->self) add_requester(out, stop);
    describe_process(out);
    return USP_OK;
}

int uspi_os_stop_self(const struct uspi_stop_options *options, struct uspi_stopped_process *out) {
    struct stop stop = {.self = uspi_linux->own_thread()};
    memset(out, 0, sizeof *out);
    stop.whole_stacks = options->whole_stacks;
    stop.timeout = options->timeout;
    stop.only = options->only_thread <= INT32_MAX ? (pid_t)options->only_thread : -1;
    int status = options->by_helper ? stop_by_helper(&stop, options, out) : stop_by_signals(&stop, options, out);
    if (status == USP_OK && options->only_thread != 0 && out->thread_count == 0) {
        uspi_os_free_stopped(out);
        status = USP_ERROR_NO_THREAD;
    }
    return status;
}

#endif
