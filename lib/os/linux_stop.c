/* SPDX-License-Identifier: MIT */
/* Stopping threads of this process: one, or all at one moment, and getting ready for it. Who may ask, how often a stop is
 * repeated, what memory it needs; how a single thread is asked is linux_signal.c's.
 *
 *     one:  take the lock, ask, the thread copies its stack and runs on, walk, give the lock
 *     all:  take the lock, ask everyone, list again until nobody is new, copy every stack, let everyone go, give the lock
 *
 * Between the first question and the release nothing allocates, locks or waits for anything but the threads' answers. If
 * the memory at hand does not suffice, everyone is let go first, then it grows, then the stop is repeated. */
#include "lib/os/linux_proc.h"
#include "lib/os/linux_signal.h"

#include "arch/host.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define MILLISECOND UINT64_C(1000000)
#define SECOND      UINT64_C(1000000000)
/* So much below the live part of a stack is surely not used otherwise. */
#define DEAD ((uintptr_t)1 << 20)
/* So far a stack may go on whose end is not known: the usual limit of a stack's size. */
#define UNSURE_SIZE ((usp_addr)8 << 20)
/* A stop is repeated for more memory so often; then the innermost parts have to do. */
#define ATTEMPTS 4u
/* Listings of the threads within one stop: each finds what threads that had not yet answered started meanwhile. */
#define LISTINGS 64u

static struct {
    _Atomic(uint32_t) lock; /* 0 free, 1 held, 2 held and waited for */
    _Atomic(bool) prepared;
    struct usp_prepare_options options;
} requester;

/* ---- one requester at a time ---- */

static bool take_lock(uint64_t deadline) {
    uint32_t expected = 0;
    if (atomic_compare_exchange_strong(&requester.lock, &expected, 1)) return true;
    while (atomic_exchange(&requester.lock, 2) != 0) {
        if (uspi_os_clock() >= deadline) return false;
        long e = uspi_linux->wait(&requester.lock, 2, deadline);
        if (e < 0 && e != -EAGAIN && e != -EINTR && e != -ETIMEDOUT) uspi_linux->sleep(MILLISECOND / 20);
    }
    return true;
}

static void give_lock(void) {
    if (atomic_exchange(&requester.lock, 0) == 2) uspi_linux->wake(&requester.lock, 1);
}

/* ---- getting ready ---- */

static void start_afresh(void) {
    atomic_store(&requester.lock, 0);
    uspi_signal_after_fork(uspi_linux->own_process());
}

static void register_fork_handler(void) { pthread_atfork(NULL, NULL, start_afresh); }

static bool is_valid(const struct usp_prepare_options *o) {
    return (o->signal == 0 || (o->signal >= SIGRTMIN && o->signal <= SIGRTMAX)) && o->max_threads > 0 &&
           o->max_threads <= 1u << 20 && o->stack_copy >= 4096 && o->stack_copy <= 1u << 30 && o->timeout > 0 &&
           o->timeout <= 3600 * SECOND;
}

/* Longer than a requester takes that is alive: it waits twice for the threads, and copies. */
static uint64_t patience(uint64_t timeout) { return 2 * timeout + 2 * SECOND; }

static int choose_signal(int wanted) {
    int number = uspi_signal_number();
    if (number != 0 && (wanted == 0 || wanted == number) && uspi_signal_is_ours()) return USP_OK;
    uspi_signal_uninstall();
    int status = uspi_signal_install(wanted);
    if (status != USP_OK && number != 0) uspi_signal_install(number);
    return status;
}

static int prepare(const struct usp_prepare_options *o) {
    const struct uspi_reservation *r = uspi_reservation_current();
    const struct usp_prepare_options *old = &requester.options;
    uint64_t arena = (uint64_t)o->max_threads * o->stack_copy;
    if (arena > SIZE_MAX / 2) return USP_ERROR_NO_MEMORY;
    int status = choose_signal(o->signal);
    if (status != USP_OK) return status;
    if (!requester.prepared || r == NULL || o->max_threads != old->max_threads || o->stack_copy != old->stack_copy ||
        o->timeout != old->timeout) {
        if (!uspi_reservation_replace(o->max_threads, (size_t)arena, patience(o->timeout))) {
            if (!requester.prepared) uspi_signal_uninstall();
            return USP_ERROR_NO_MEMORY;
        }
    }
    requester.options = *o;
    requester.prepared = true;
    return USP_OK;
}

int uspi_os_prepare(const struct usp_prepare_options *options) {
    static pthread_once_t fork_handler = PTHREAD_ONCE_INIT;
    if (USPI_HOST_ARCH == USP_ARCH_NONE) return USP_ERROR_UNSUPPORTED;
    if (!is_valid(options)) return USP_ERROR_ARGUMENT;
    pthread_once(&fork_handler, register_fork_handler);
    uspi_linux_learn_roots();
    /* A child that was made without libc's fork did not pass by the handler. */
    if (uspi_linux_pid() != uspi_linux->own_process()) start_afresh();
    if (!take_lock(uspi_os_clock() + options->timeout + SECOND)) return USP_ERROR_BUSY;
    int status = prepare(options);
    give_lock();
    return status;
}

void uspi_os_shutdown(void) {
    if (!take_lock(uspi_os_clock() + SECOND)) return;
    requester.prepared = false;
    uspi_signal_uninstall();
    uspi_reservation_drop();
    give_lock();
}

size_t uspi_os_reserved(void) {
    if (!take_lock(uspi_os_clock() + SECOND)) return 0;
    const struct uspi_reservation *r = uspi_reservation_current();
    size_t mapped = r != NULL ? r->mapped : 0;
    give_lock();
    return mapped;
}

/* What every stop begins with. On USP_OK the lock is held. */
static int begin(uint64_t timeout) {
    if (!requester.prepared) return USP_ERROR_NOT_PREPARED;
    if (!take_lock(uspi_os_clock() + timeout)) return USP_ERROR_BUSY;
    int status = USP_OK;
    if (!requester.prepared) {
        status = USP_ERROR_NOT_PREPARED;
    } else if (!uspi_signal_is_ours()) {
        status = USP_ERROR_BUSY;
    } else if (uspi_reservation_current() == NULL) {
        /* An earlier one had to be given up. */
        const struct usp_prepare_options *o = &requester.options;
        if (!uspi_reservation_replace(o->max_threads, (size_t)o->max_threads * o->stack_copy, patience(o->timeout))) {
            status = USP_ERROR_NO_MEMORY;
        }
    }
    if (status != USP_OK) give_lock();
    return status;
}

/* A handler still owns a slot: its memory is not touched again by anyone else. */
static void give_up_reservation(void) {
    const struct uspi_reservation *r = uspi_reservation_current();
    if (!uspi_reservation_replace(r->slot_count, r->arena_size, r->patience)) uspi_reservation_drop();
}

static bool grow(size_t slots, size_t arena) {
    const struct uspi_reservation *r = uspi_reservation_current();
    if (slots < r->slot_count) slots = r->slot_count;
    if (arena < r->arena_size) arena = r->arena_size;
    return uspi_reservation_replace(slots, arena, r->patience);
}

/* ---- one thread ---- */

static size_t need_of(const struct uspi_slot *s) { return s->extents[0].size + s->extents[1].size; }

/* What of a stack was not copied: the thread runs again. */
static void note_rest(struct uspi_thread_copy *copy, const struct uspi_slot *s, unsigned i) {
    const struct uspi_extent *extent = &s->extents[i];
    usp_addr from = (usp_addr)extent->from + s->copied[i];
    usp_addr high = (usp_addr)extent->from + (extent->sure ? extent->size : UNSURE_SIZE);
    if (extent->size == 0 || from >= high) return;
    *(extent->sure ? &copy->dead[1 + i] : &copy->unsure) = (struct uspi_dead){from, high};
}

/* `arena` is where the reservation's arena is, or a copy of it. */
static void fill_copy(struct uspi_thread_copy *copy, const struct uspi_slot *s, const uint8_t *arena) {
    const uint8_t *bytes = arena + s->offset;
    copy->registers = s->registers;
    copy->stack_low = s->stack_low;
    copy->stack_high = s->stack_high;
    copy->dead[0] = (struct uspi_dead){s->dead_high > DEAD ? s->dead_high - DEAD : 0, s->dead_high};
    for (unsigned i = 0; i < 2; i++) note_rest(copy, s, i);
    copy->stopped_ns = s->left - s->arrived;
    copy->parts[0] = (struct uspi_copied){bytes, s->extents[0].from, s->copied[0]};
    copy->parts[1] = (struct uspi_copied){bytes + s->copied[0], s->extents[1].from, s->copied[1]};
}

static int copy_once(pid_t tid, struct uspi_thread_copy *copy, size_t *need) {
    struct uspi_reservation *r = uspi_reservation_current();
    uspi_ask_begin(r, false);
    uspi_ask(r, tid);
    if (!uspi_ask_wait(r, uspi_os_clock() + requester.options.timeout)) {
        give_up_reservation();
        return USP_ERROR_TIMEOUT;
    }
    const struct uspi_slot *s = &r->slots[0];
    if (!uspi_slot_ready(s)) return s->status;
    *need = need_of(s);
    fill_copy(copy, s, r->arena);
    return USP_OK;
}

int uspi_os_copy_thread(const struct usp_thread *thread, struct uspi_thread_copy *copy) {
    memset(copy, 0, sizeof *copy);
    int status = begin(requester.options.timeout);
    if (status != USP_OK) return status;
    status = thread->id > 0 && thread->id <= INT32_MAX ? USP_OK : USP_ERROR_NO_THREAD;
    for (unsigned attempt = 1; status == USP_OK; attempt++) {
        size_t need = 0;
        status = copy_once((pid_t)thread->id, copy, &need);
        if (status != USP_OK || need <= uspi_reservation_current()->arena_size || attempt == ATTEMPTS) break;
        if (!grow(0, need + need / 4)) break;
    }
    if (status != USP_OK) give_lock();
    return status;
}

void uspi_os_release_copy(struct uspi_thread_copy *copy) {
    memset(copy, 0, sizeof *copy);
    give_lock();
}

/* ---- all threads ---- */

/* A thread as /proc showed it before the stop; by the start time another one under its id is recognised. */
struct note {
    pid_t tid;
    char state;
    uint64_t start;
};

struct notes {
    struct note *notes;
    size_t count, room;
};

static bool note_thread(void *context, const struct uspi_proc_threads *list, pid_t tid) {
    struct notes *n = context;
    struct uspi_proc_stat stat;
    if (n->count == n->room) {
        size_t room = n->room == 0 ? 128 : n->room * 2;
        struct note *grown = realloc(n->notes, room * sizeof *grown);
        if (grown == NULL) return false;
        n->notes = grown;
        n->room = room;
    }
    if (uspi_proc_threads_stat(list, tid, &stat) == 0)
        n->notes[n->count++] = (struct note){tid, stat.state, stat.start};
    return true;
}

static int by_thread(const void *a, const void *b) {
    const struct note *x = a, *y = b;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

static const struct note *find_note(const struct notes *notes, pid_t tid) {
    struct note wanted = {.tid = tid};
    return notes->count == 0 ? NULL : bsearch(&wanted, notes->notes, notes->count, sizeof wanted, by_thread);
}

/* A stop of all threads, or of one, and what it found. */
struct stop {
    struct uspi_reservation *r;
    pid_t self, only;
    uint64_t deadline, ended, stopped_ns;
    bool met_self;       /* the listing has the requester's id */
    bool lost;           /* a handler still owns a slot */
    size_t slots, arena; /* needed */
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
    /* An id whose thread has ended may have come back, once; a main thread that has ended keeps it. */
    bool ended = s != NULL && s->status == USP_ERROR_NO_THREAD && !s->again && tid != uspi_linux->own_process();
    if (s != NULL && !ended) return true;
    stop->found++;
    return uspi_ask(stop->r, tid);
}

/* Asks everyone, until a complete listing has nobody new. Returns 0 or a negative error number. */
static int ask_everyone(struct stop *stop) {
    for (unsigned i = 0; i < LISTINGS; i++) {
        stop->found = 0;
        int e = uspi_linux_each_thread(0, stop->r->listing, stop->r->listing_size, ask_if_new, stop);
        if (e < 0) return e;
        if (stop->found == 0) return 0;
        if (!uspi_ask_wait(stop->r, stop->deadline)) {
            stop->lost = true;
            return -ETIMEDOUT;
        }
        if (uspi_os_clock() >= stop->deadline) return 0;
    }
    return 0;
}

static void copy_stacks(struct stop *stop, bool all_that_fits) {
    struct uspi_reservation *r = stop->r;
    uint32_t used = atomic_load(&r->used), ready = 0;
    size_t at = 0;
    stop->arena = stop->copied = 0;
    for (uint32_t i = 0; i < used; i++) {
        if (!uspi_slot_ready(&r->slots[i])) continue;
        stop->arena += need_of(&r->slots[i]);
        ready++;
    }
    if (stop->arena > r->arena_size && !all_that_fits) return;
    size_t share = stop->arena <= r->arena_size ? SIZE_MAX : (r->arena_size / (ready + 1)) & ~(size_t)15;
    for (uint32_t i = 0; i < used; i++) {
        struct uspi_slot *s = &r->slots[i];
        if (!uspi_slot_ready(s)) continue;
        s->offset = at;
        size_t room = r->arena_size - at < share ? r->arena_size - at : share;
        for (unsigned part = 0; part < 2; part++) {
            s->copied[part] = uspi_extent_copy(&s->extents[part], r->arena + at, room);
            /* The next copy begins at a whole word. */
            s->copied[part] &= ~(size_t)15;
            at += s->copied[part];
            room -= s->copied[part];
        }
        /* It may have let itself go while it was being copied. */
        if (!uspi_slot_ready(s)) s->status = USP_ERROR_TIMEOUT;
    }
    stop->copied = at;
}

/* One stop from the first question to the release. */
static int stop_once(struct stop *stop, bool all_that_fits) {
    sigset_t all, mask;
    struct uspi_reservation *r = stop->r = uspi_reservation_current();
    /* A handler of this thread would run while everyone else stands still. */
    memset(&all, 0xff, sizeof all);
    bool masked = uspi_linux->set_mask(&all, &mask) >= 0;
    uspi_ask_begin(r, true);
    int e = ask_everyone(stop);
    if (e == 0) copy_stacks(stop, all_that_fits);
    uspi_ask_release(r);
    stop->ended = uspi_os_clock();
    if (masked) uspi_linux->set_mask(&mask, NULL);

    stop->slots = e == -ECANCELED ? r->slot_count * 2 : r->slot_count;
    stop->stopped_ns = 0;
    uint32_t used = atomic_load(&r->used);
    for (uint32_t i = 0; i < used; i++) {
        const struct uspi_slot *s = &r->slots[i];
        if (s->status != USP_OK) continue;
        if (stop->ended - s->arrived > stop->stopped_ns) stop->stopped_ns = stop->ended - s->arrived;
    }
    if (stop->lost) give_up_reservation();
    return e;
}

static void describe(struct usp_thread_info *info, pid_t tid, const struct notes *notes) {
    struct uspi_proc_stat now;
    const struct note *before = find_note(notes, tid);
    memset(info, 0, sizeof *info);
    info->thread = (struct usp_thread){(uint64_t)tid, (uint64_t)tid};
    if (tid == uspi_linux->own_process()) info->flags |= USP_THREAD_MAIN;
    if (uspi_proc_stat(0, tid, &now) == 0) {
        memcpy(info->name, now.name, sizeof info->name);
        info->cpu_time = now.cpu_ns;
        if (before != NULL && before->start != now.start) before = NULL;
    }
    if (before != NULL) info->run_state = (uint8_t)before->state;
}

static void add_answer(struct uspi_stopped_process *out, const struct uspi_slot *s, const struct stop *stop,
                       const struct notes *notes) {
    struct uspi_stopped_thread *t = &out->threads[out->thread_count];
    pid_t tid = uspi_slot_thread(s);
    /* What ended before everyone stood still was not there at that moment. */
    if (s->status == USP_ERROR_NO_THREAD && tid != uspi_linux->own_process()) return;
    out->thread_count++;
    describe(&t->info, tid, notes);
    t->status = s->status;
    if (s->status != USP_OK) return;
    memset(t->info.name, 0, sizeof t->info.name);
    memcpy(t->info.name, s->name, sizeof s->name);
    t->info.cpu_time = s->cpu_ns;
    fill_copy(&t->copy, s, out->owned);
    t->copy.stopped_ns = stop->ended - s->arrived;
}

static void add_requester(struct uspi_stopped_process *out, pid_t self, const struct notes *notes) {
    struct uspi_stopped_thread *t = &out->threads[out->thread_count++];
    describe(&t->info, self, notes);
    t->info.flags |= USP_THREAD_REQUESTER;
}

/* Takes what was found out of the reservation, which the next stop will use. */
static int collect(const struct stop *stop, const struct notes *notes, struct uspi_stopped_process *out) {
    const struct uspi_reservation *r = stop->r;
    struct usp_target target;
    uint32_t used = atomic_load(&r->used);
    out->threads = calloc((size_t)used + 1, sizeof *out->threads);
    out->owned = malloc(stop->copied + 1);
    out->release = free;
    if (out->threads == NULL || out->owned == NULL) {
        uspi_os_free_stopped(out);
        return USP_ERROR_NO_MEMORY;
    }
    memcpy(out->owned, r->arena, stop->copied);
    for (uint32_t i = 0; i < used; i++) add_answer(out, &r->slots[i], stop, notes);
    if (stop->only == 0 || stop->only == stop->self) add_requester(out, stop->self, notes);
    usp_target_init(&target, USPI_HOST_ARCH);
    uspi_os_describe_self(&target);
    out->pid = (int64_t)uspi_linux->own_process();
    out->arch = target.arch;
    out->pac_mask = target.pac_mask;
    out->roots = target.roots;
    out->root_count = target.root_count;
    out->stopped_ns = stop->stopped_ns;
    out->live = (struct usp_memory){uspi_os_read, NULL};
    return USP_OK;
}

static int stop_and_collect(struct stop *stop, uint64_t timeout, const struct notes *notes,
                            struct uspi_stopped_process *out) {
    size_t slots = notes->count + notes->count / 4 + 16;
    if (slots > uspi_reservation_current()->slot_count) grow(slots, 0);
    bool last = false;
    for (unsigned attempt = 1; attempt <= ATTEMPTS; attempt++) {
        last = last || attempt == ATTEMPTS;
        uspi_reservation_current()->patience = patience(timeout);
        stop->deadline = uspi_os_clock() + timeout;
        int e = stop_once(stop, last);
        if (stop->lost) return USP_ERROR_TIMEOUT;
        bool short_of_slots = e == -ECANCELED, short_of_arena = e == 0 && stop->arena > stop->r->arena_size;
        if (e < 0 && !short_of_slots) return uspi_linux_status(e);
        if (!short_of_slots && (!short_of_arena || last)) {
            /* A /proc of another pid namespace shows other ids. */
            return stop->met_self ? collect(stop, notes, out) : USP_ERROR_UNSUPPORTED;
        }
        size_t arena = short_of_arena ? stop->arena + stop->arena / 4 : 0;
        if (!grow(stop->slots, arena)) {
            if (short_of_slots) break;
            last = true;
        }
    }
    return USP_ERROR_NO_MEMORY;
}

int uspi_os_stop_self(uint64_t timeout, uint64_t only_thread, struct uspi_stopped_process *out) {
    memset(out, 0, sizeof *out);
    int status = begin(timeout);
    if (status != USP_OK) return status;
    struct stop stop = {.self = uspi_linux->own_thread()};
    struct notes notes = {0};
    stop.only = only_thread <= INT32_MAX ? (pid_t)only_thread : -1;
    int e = uspi_linux_each_thread(0, uspi_reservation_current()->listing, uspi_reservation_current()->listing_size,
                                   note_thread, &notes);
    if (e == 0) {
        if (notes.count > 1) qsort(notes.notes, notes.count, sizeof *notes.notes, by_thread);
        status = stop_and_collect(&stop, timeout, &notes, out);
    } else {
        status = e == -ECANCELED ? USP_ERROR_NO_MEMORY : uspi_linux_status(e);
    }
    give_lock();
    free(notes.notes);
    if (status == USP_OK && only_thread != 0 && out->thread_count == 0) {
        uspi_os_free_stopped(out);
        status = USP_ERROR_NO_THREAD;
    }
    return status;
}
