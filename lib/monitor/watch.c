/* SPDX-License-Identifier: MIT */
/* Implements watch.h: the arithmetic that decides when a turn is late and when it is a hang. */
#include "lib/monitor/watch.h"

#include <string.h>

static uint64_t smaller(uint64_t a, uint64_t b) { return a < b ? a : b; }

void uspi_watch_begin(struct uspi_watch *watch, const struct uspi_limits *limits, uint64_t now) {
    memset(watch, 0, sizeof *watch);
    watch->limits = *limits;
    watch->interval = limits->interval;
    watch->looked = watch->due = watch->changed = now;
}

uint64_t uspi_watch_next(struct uspi_watch *watch, uint64_t now) {
    const struct uspi_limits *limits = &watch->limits;
    uint64_t next = now + limits->late;
    if (watch->is_busy && watch->busy < limits->late) {
        next = now + (limits->late - watch->busy);
    } else if (watch->is_busy) {
        next = now + watch->interval;
        /* Look exactly when the turn becomes a hang. */
        if (watch->busy < limits->hang) next = smaller(next, now + (limits->hang - watch->busy));
    }
    watch->due = next;
    return next;
}

void uspi_watch_work(struct uspi_watch *watch, uint64_t now, uint64_t most) {
    uint64_t worked = now > watch->looked ? now - watch->looked : 0;
    if (worked <= most) return;
    watch->looked += worked - most;
    if (watch->is_busy) watch->taken_off += worked - most;
}

void uspi_watch_excuse(struct uspi_watch *watch) {
    watch->busy = watch->taken_off = 0;
    watch->level = USPI_HEALTHY;
    watch->interval = watch->limits.interval;
}

static void set_ended(const struct uspi_watch *watch, uint64_t busy, struct uspi_found *found) {
    if (busy >= watch->limits.late) found->ended = busy >= watch->limits.hang ? USPI_HUNG : USPI_LATE;
    found->duration = busy;
}

/* Ends the observed turn: it has ended since the last look. `span`: the counted part of the time since then. */
static void end_turn(struct uspi_watch *watch, const struct uspi_seen *seen, uint64_t now, uint64_t span,
                     struct uspi_found *found) {
    uint64_t end = seen->ended > watch->looked ? seen->ended : seen->began;
    uint64_t rest = end > watch->looked ? smaller(end - watch->looked, span) : 0;
    set_ended(watch, watch->busy + rest, found);
    found->taken_off = watch->taken_off;
    watch->is_busy = false;
    watch->changed = now;
    uspi_watch_excuse(watch);
}

/* Observes a new turn: it has begun since the last look. It may also have ended, and was long if the monitor was busy
 * meanwhile. `span`: as in end_turn. */
static void follow_turn(struct uspi_watch *watch, const struct uspi_seen *seen, uint64_t now, uint64_t span,
                        struct uspi_found *found) {
    bool is_busy = seen->doing == USPI_BUSY;
    uint64_t end = is_busy ? now : seen->ended;
    uint64_t busy = end > seen->began ? smaller(end - seen->began, span) : 0;
    watch->turn = seen->turn;
    watch->changed = now;
    watch->is_busy = is_busy;
    if (is_busy) {
        watch->busy = busy;
    } else if (found->ended == USPI_HEALTHY) {
        set_ended(watch, busy, found);
    }
}

void uspi_watch_look(struct uspi_watch *watch, const struct uspi_seen *seen, uint64_t now, bool woken,
                     struct uspi_found *found) {
    /* A delay of up to one interval does not matter. After a sleep without a deadline there is no delay to measure: the
     * turn that woke the monitor has just begun. */
    bool was_asleep = watch->due == USPI_FOR_EVER;
    uint64_t delay = !woken && !was_asleep && now > watch->due + watch->limits.interval ? now - watch->due : 0;
    uint64_t passed = now > watch->looked ? now - watch->looked : 0;
    uint64_t span = was_asleep ? smaller(passed, watch->limits.interval) : passed - smaller(delay, passed);
    bool is_same = seen->turn == watch->turn;
    memset(found, 0, sizeof *found);
    if (watch->is_busy) watch->taken_off += delay;
    if (watch->is_busy && is_same && seen->doing == USPI_BUSY) {
        watch->busy += span;
    } else {
        if (watch->is_busy) end_turn(watch, seen, now, span, found);
        if (!is_same) follow_turn(watch, seen, now, span, found);
    }
    watch->looked = now;
    if (watch->is_busy && watch->busy >= watch->limits.late) {
        found->is_late = true;
        if (watch->level == USPI_HEALTHY) watch->level = USPI_LATE;
        found->became_hung = watch->busy >= watch->limits.hang && watch->level == USPI_LATE;
        if (found->became_hung) watch->level = USPI_HUNG;
    }
    found->may_sleep = !watch->is_busy && now - watch->changed >= watch->limits.idle;
}
