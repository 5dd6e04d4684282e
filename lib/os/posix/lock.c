/* SPDX-License-Identifier: MIT */
/* Locks between the threads of this process, for all our systems. A lock is a word that identifies its holder's
 * process. So a lock that a fork copied without its holder is known to be abandoned. Waiting threads sleep on one
 * condition variable, which the child of a fork initializes again.
 *
 * The thread that forks takes all locks that were created, so that the child's copies of what they protect are
 * complete. It waits for other holders for a limited time only: a holder may read a large file, or be this very
 * thread. */
#include "lib/os/os.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* The lowest bit of a lock's word: threads may be asleep for this lock. */
#define IS_AWAITED 1u
/* Difference between a process's mark and that of its children. */
#define NEXT_MARK 2u

#define NANOSECONDS UINT64_C(1000000000)

/* For how long a fork waits for the holders of locks, ns. */
#define FORK_PATIENCE (NANOSECONDS / 10)

/* What all locks share. It owns nothing, and lasts as long as the process: symbolizers use locks before usp_prepare and
 * after usp_shutdown. */
static struct {
    /* This process's mark in a lock's word. It differs from the marks of all processes that this one descends from. */
    _Atomic(uint32_t) mark;
    /* Where threads sleep. */
    pthread_mutex_t mutex;
    pthread_cond_t given;
    /* The locks that were created. */
    pthread_mutex_t list_mutex;
    struct uspi_lock *first;
    /* The thread that has the list open while it forks (pthread_self; 0: none), and what was changed of it. */
    _Atomic(uintptr_t) forker;
    struct uspi_undisturbed changed;
} locks = {
    .mark = NEXT_MARK,
    .mutex = PTHREAD_MUTEX_INITIALIZER,
    .given = PTHREAD_COND_INITIALIZER,
    .list_mutex = PTHREAD_MUTEX_INITIALIZER,
};

/* ---- the list of locks ---- */

struct uspi_lock *uspi_lock_create(void) {
    struct uspi_lock *lock = calloc(1, sizeof *lock);
    if (lock == NULL) return NULL;
    pthread_mutex_lock(&locks.list_mutex);
    lock->next = locks.first;
    lock->link = &locks.first;
    if (lock->next != NULL) lock->next->link = &lock->next;
    locks.first = lock;
    pthread_mutex_unlock(&locks.list_mutex);
    return lock;
}

void uspi_lock_free(struct uspi_lock *lock) {
    if (lock == NULL) return;
    pthread_mutex_lock(&locks.list_mutex);
    *lock->link = lock->next;
    if (lock->next != NULL) lock->next->link = lock->link;
    pthread_mutex_unlock(&locks.list_mutex);
    free(lock);
}

/* ---- taking and giving ---- */

/* Takes a lock that is free or abandoned. */
static enum uspi_lock_taken take_at_once(struct uspi_lock *lock, uint32_t own) {
    uint32_t holder = atomic_load_explicit(&lock->holder, memory_order_relaxed);
    for (;;) {
        if ((holder & ~IS_AWAITED) == (own & ~IS_AWAITED)) return USPI_LOCK_HELD;
        if (atomic_compare_exchange_weak_explicit(&lock->holder, &holder, own, memory_order_acquire,
                                                  memory_order_relaxed)) {
            return holder == 0 ? USPI_LOCK_TAKEN : USPI_LOCK_ABANDONED;
        }
    }
}

/* Marks a held lock as awaited. Returns false when it is no longer held. */
static bool await(struct uspi_lock *lock, uint32_t own) {
    uint32_t holder = own;
    return atomic_compare_exchange_strong(&lock->holder, &holder, own | IS_AWAITED) || holder == (own | IS_AWAITED);
}

static struct timespec time_after(uint64_t ns) {
    const uint64_t at = uspi_os_wall_clock() + ns;
    return (struct timespec){.tv_sec = (time_t)(at / NANOSECONDS), .tv_nsec = (long)(at % NANOSECONDS)};
}

/* Waits for a lock and takes it. Returns USPI_LOCK_HELD when `until` has passed.
 *   until  NULL: no limit */
static enum uspi_lock_taken take_later(struct uspi_lock *lock, uint32_t own, const struct timespec *until) {
    enum uspi_lock_taken taken;
    int e = 0;
    pthread_mutex_lock(&locks.mutex);
    /* Other threads may be asleep for this lock, too. So a thread that has slept sets the bit that wakes them. */
    while ((taken = take_at_once(lock, own | IS_AWAITED)) == USPI_LOCK_HELD && e != ETIMEDOUT) {
        if (!await(lock, own)) continue;
        e = until != NULL ? pthread_cond_timedwait(&locks.given, &locks.mutex, until)
                          : pthread_cond_wait(&locks.given, &locks.mutex);
    }
    pthread_mutex_unlock(&locks.mutex);
    return taken;
}

/* Takes a lock; waits for it if `waits` is set. The thread is not cancelled while it waits or holds the lock
 * (pthread_cancel), because it would never give the lock back. */
static enum uspi_lock_taken take(struct uspi_lock *lock, bool waits, const struct timespec *until) {
    uint32_t own = atomic_load_explicit(&locks.mark, memory_order_relaxed);
    int cancel_state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel_state);
    enum uspi_lock_taken taken = take_at_once(lock, own);
    if (taken == USPI_LOCK_HELD && waits) taken = take_later(lock, own, until);
    if (taken == USPI_LOCK_HELD) {
        pthread_setcancelstate(cancel_state, NULL);
    } else {
        lock->cancel_state = cancel_state;
    }
    return taken;
}

enum uspi_lock_taken uspi_lock_take(struct uspi_lock *lock) { return take(lock, true, NULL); }

enum uspi_lock_taken uspi_lock_take_within(struct uspi_lock *lock, uint64_t timeout) {
    if (timeout == 0) return take(lock, false, NULL);
    struct timespec until = time_after(timeout);
    return take(lock, true, &until);
}

static void give(struct uspi_lock *lock) {
    if ((atomic_exchange(&lock->holder, 0) & IS_AWAITED) == 0) return;
    pthread_mutex_lock(&locks.mutex);
    pthread_cond_broadcast(&locks.given);
    pthread_mutex_unlock(&locks.mutex);
}

void uspi_lock_give(struct uspi_lock *lock) {
    int cancel_state = lock->cancel_state;
    give(lock);
    pthread_setcancelstate(cancel_state, NULL);
}

/* ---- fork ---- */

/* Takes each lock of the list that is free. Returns whether no other one is held; abandoned ones stay abandoned. */
static bool keep_locks(uint32_t own) {
    bool none_is_held = true;
    for (struct uspi_lock *lock = locks.first; lock != NULL; lock = lock->next) {
        uint32_t holder = 0;
        lock->is_kept_by_fork = atomic_compare_exchange_strong(&lock->holder, &holder, own);
        if (!lock->is_kept_by_fork && (holder & ~IS_AWAITED) == own) none_is_held = false;
    }
    return none_is_held;
}

/* Gives back what keep_locks took. */
static void give_kept(void) {
    for (struct uspi_lock *lock = locks.first; lock != NULL; lock = lock->next) {
        if (lock->is_kept_by_fork) give(lock);
        lock->is_kept_by_fork = false;
    }
}

/* Opens the list for this thread alone and takes all locks in it. Returns false, with the list closed, if one of them
 * is held (not in the last try), or if another thread, or code that this handler has interrupted, has the list open. */
static bool open_for_fork(uint32_t own, bool is_last_try) {
    if (pthread_mutex_trylock(&locks.list_mutex) != 0) return false;
    if (keep_locks(own) || is_last_try) return true;
    give_kept();
    pthread_mutex_unlock(&locks.list_mutex);
    return false;
}

/* Keeps the list open until the fork is over, and defers signals, because a handler may make locks. Keeps no lock while
 * it waits for a holder, which may need another one. */
static void before_fork(void) {
    const uint32_t own = atomic_load_explicit(&locks.mark, memory_order_relaxed);
    const uint64_t end = uspi_os_clock() + FORK_PATIENCE;
    const struct timespec shortly = {0, 100000};
    struct uspi_undisturbed changed;
    bool is_last_try = false, is_open = false;
    uspi_os_undisturbed_begin(&changed);
    while (!(is_open = open_for_fork(own, is_last_try)) && !is_last_try) {
        nanosleep(&shortly, NULL);
        is_last_try = uspi_os_clock() >= end;
    }
    if (is_open) {
        locks.changed = changed;
        atomic_store(&locks.forker, (uintptr_t)pthread_self());
    } else {
        uspi_os_undisturbed_end(&changed);
    }
}

static bool is_forker(void) { return atomic_load(&locks.forker) == (uintptr_t)pthread_self(); }

static void after_fork(void) {
    if (!is_forker()) return;
    const struct uspi_undisturbed changed = locks.changed;
    atomic_store(&locks.forker, 0);
    give_kept();
    pthread_mutex_unlock(&locks.list_mutex);
    uspi_os_undisturbed_end(&changed);
}

static void start_afresh(void) {
    static const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static const pthread_cond_t given = PTHREAD_COND_INITIALIZER;
    atomic_fetch_add(&locks.mark, NEXT_MARK);
    locks.mutex = mutex;
    locks.given = given;
    if (is_forker()) {
        after_fork();
    } else {
        locks.list_mutex = mutex;
        atomic_store(&locks.forker, 0);
    }
}

/* Registered when the library is loaded, before any lock is taken. */
__attribute__((constructor)) static void watch_forks(void) { pthread_atfork(before_fork, after_fork, start_afresh); }
