/* SPDX-License-Identifier: MIT */
/* Decides when a turn is late and when it is a hang, by arithmetic on observations and their times. It uses no thread,
 * clock or stack.
 *
 * A turn's duration is the time that the monitor observed. The monitor chooses the time of its next look. A look is
 * late if the system suspended the process, a debugger stopped it, or the machine slept or was too busy to run the
 * monitor. The watched thread may not have run in that time either, so the delay is not counted. */
#ifndef USPI_MONITOR_WATCH_H
#define USPI_MONITOR_WATCH_H

#include "lib/monitor/activity.h"

#define USPI_FOR_EVER UINT64_MAX

/* In ns. */
struct uspi_limits {
    uint64_t late, hang;
    uint64_t interval; /* between two looks at a late turn */
    uint64_t idle;     /* time without a turn after which the monitor sleeps */
};

enum uspi_level { USPI_HEALTHY = 0, USPI_LATE = 1, USPI_HUNG = 2 };

struct uspi_watch {
    struct uspi_limits limits;
    uint64_t interval; /* current interval: it grows while a hang lasts */
    uint64_t looked;   /* time of the last look */
    uint64_t due;      /* when the next look was due */
    uint64_t changed;  /* when the turn last changed */
    uint32_t turn;     /* number of the observed turn */
    bool is_busy;
    enum uspi_level level;
    uint64_t busy;      /* duration of the turn, without taken_off */
    uint64_t taken_off; /* time that was not counted */
};

/* The result of a look. Between two looks, a turn can end and another one become late. */
struct uspi_found {
    enum uspi_level ended; /* level of a turn that has ended; USPI_HEALTHY: none that was late or hung */
    uint64_t duration;     /* duration of the ended turn */
    uint64_t taken_off;    /* time not counted in `duration`. A hang can end without having been observed as one */
    bool is_late;          /* the current turn is late: its stack is needed */
    bool became_hung;      /* the current turn became a hang at this look */
    bool may_sleep;        /* nothing has happened for a long time */
};

void uspi_watch_begin(struct uspi_watch *watch, const struct uspi_limits *limits, uint64_t now);

/* woken: a turn has woken the monitor; otherwise the look was due. The caller then calls uspi_watch_next, or
 * uspi_watch_sleep when the monitor sleeps until it is woken. */
void uspi_watch_look(struct uspi_watch *watch, const struct uspi_seen *seen, uint64_t now, bool woken,
                     struct uspi_found *found);

/* Restarts the turn's time: the thread was found waiting in its loop although it did not report so. */
void uspi_watch_excuse(struct uspi_watch *watch);

/* Returns when to look next. */
uint64_t uspi_watch_next(struct uspi_watch *watch, uint64_t now);
static inline void uspi_watch_sleep(struct uspi_watch *watch) { watch->due = USPI_FOR_EVER; }

/* Accounts for the monitor's work since its look until `now`, such as captures and callbacks. The turn went on
 * meanwhile, so this time counts, up to `most` ns: in a longer span the process may have been suspended. The rest is
 * not counted. The caller then calls uspi_watch_next, so that the work does not delay the next look. */
void uspi_watch_work(struct uspi_watch *watch, uint64_t now, uint64_t most);

#endif
