/* SPDX-License-Identifier: MIT */
/* The watched thread's reports to its monitor: three stores for a turn of its loop, and one system call for a turn
 * that wakes a sleeping monitor. One thread reports at a time; the monitor's thread reads. */
#ifndef USPI_MONITOR_ACTIVITY_H
#define USPI_MONITOR_ACTIVITY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum uspi_doing {
    USPI_NOTHING_YET = 0, /* the loop has not reported anything */
    USPI_BUSY = 1,        /* in a turn */
    USPI_BETWEEN = 2,     /* a turn has ended */
    USPI_WAITING = 3      /* the loop waits for something to do */
};

struct uspi_activity {
    _Atomic(uint32_t) turn;   /* number of the turn, with an enum uspi_doing in the lowest two bits */
    _Atomic(uint64_t) began;  /* when the last turn began, by usp_clock; written before `turn` */
    _Atomic(uint64_t) ended;  /* when a turn ended last */
    _Atomic(uint32_t) asleep; /* the monitor sleeps until a turn wakes it */
};

/* What the monitor has read. */
struct uspi_seen {
    uint32_t turn;
    enum uspi_doing doing;
    uint64_t began, ended;
};

static inline enum uspi_doing uspi_doing_of(uint32_t turn) { return (enum uspi_doing)(turn & 3); }

/* Begins a turn. Returns whether the monitor has to be woken: once for each sleep. Async-signal-safe. */
static inline bool uspi_activity_begin(struct uspi_activity *activity, uint64_t now) {
    uint32_t turn = atomic_load_explicit(&activity->turn, memory_order_relaxed);
    atomic_store_explicit(&activity->began, now, memory_order_relaxed);
    /* The monitor announces its sleep, then reads the turn. This function announces the turn, then reads whether the
     * monitor sleeps. Both are sequentially consistent, so at least one of them sees the other's announcement. */
    atomic_store(&activity->turn, ((turn >> 2) + 1) << 2 | USPI_BUSY);
    return atomic_load(&activity->asleep) != 0 && atomic_exchange(&activity->asleep, 0) != 0;
}

/* Ends the turn; `doing` is the new state. Async-signal-safe. */
static inline void uspi_activity_end(struct uspi_activity *activity, uint64_t now, enum uspi_doing doing) {
    uint32_t turn = atomic_load_explicit(&activity->turn, memory_order_relaxed);
    if (uspi_doing_of(turn) == USPI_BUSY) atomic_store_explicit(&activity->ended, now, memory_order_relaxed);
    atomic_store_explicit(&activity->turn, (turn & ~UINT32_C(3)) | doing, memory_order_release);
}

static inline struct uspi_seen uspi_activity_see(const struct uspi_activity *activity) {
    uint32_t turn = atomic_load(&activity->turn);
    /* Times may be newer than the turn's number. They then belong to a turn that the next look sees, and make this one
     * shorter, never longer. */
    return (struct uspi_seen){.turn = turn >> 2,
                              .doing = uspi_doing_of(turn),
                              .began = atomic_load_explicit(&activity->began, memory_order_relaxed),
                              .ended = atomic_load_explicit(&activity->ended, memory_order_relaxed)};
}

/* Announces that the monitor will sleep. Returns false when a turn has begun since the last look: the monitor must
 * then stay awake. */
static inline bool uspi_activity_sleep(struct uspi_activity *activity, const struct uspi_seen *seen) {
    atomic_store(&activity->asleep, 1);
    uint32_t turn = atomic_load(&activity->turn);
    if (turn >> 2 == seen->turn && uspi_doing_of(turn) != USPI_BUSY) return true;
    atomic_store(&activity->asleep, 0);
    return false;
}

#endif
