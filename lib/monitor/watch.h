/* SPDX-License-Identifier: MIT */
/* When a turn is late and when it is a hang: arithmetic on what was seen and when. No thread, no clock, no stack in here.
 *
 * A turn's time is what the monitor saw pass. The monitor chooses the time of its next look. It is late for a look when the system
 * suspended the process, a debugger stopped it, the machine slept or was too busy to run the monitor. The watched thread may not have
 * run in that time either, so the delay is not counted. */
#ifndef USPI_WATCH_H
#define USPI_WATCH_H

#include "lib/monitor/activity.h"

#define USPI_FOR_EVER UINT64_MAX

/* In ns. */
struct uspi_limits {
    uint64_t late, hang;
    uint64_t interval; /* between two looks at a turn that is late */
    uint64_t idle;     /* without a turn for so long, the monitor sleeps */
};

enum uspi_level { USPI_HEALTHY = 0, USPI_LATE = 1, USPI_HUNG = 2 };

struct uspi_watch {
    struct uspi_limits limits;
    uint64_t interval; /* now: it grows while a hang lasts */
    uint64_t looked;   /* when it looked last, */
    uint64_t due;      /* and when it wanted to look again */
    uint64_t changed;  /* when the turn was another one than before */
    uint32_t turn;     /* that is followed */
    bool is_busy;
    enum uspi_level level;
    uint64_t busy;      /* how long the turn lasts, without what was not counted, */
    uint64_t taken_off; /* which is this */
};

/* What a look has found. A turn can end and another one become late between two looks. */
struct uspi_found {
    enum uspi_level ended; /* a turn that was late, or a hang, has ended: after */
    uint64_t duration;     /* so long, */
    uint64_t taken_off;    /* not counting so much. A hang can end that was never seen going on */
    bool is_late;          /* the turn of now is: its stack is wanted */
    bool became_hung;      /* at this look */
    bool may_sleep;        /* nothing has happened for long */
};

void uspi_watch_begin(struct uspi_watch *watch, const struct uspi_limits *limits, uint64_t now);

/* woken: a turn has woken the monitor; otherwise it wanted to look now. uspi_watch_next must follow, or, when the monitor sleeps until
 * it is woken, uspi_watch_sleep. */
void uspi_watch_look(struct uspi_watch *watch, const struct uspi_seen *seen, uint64_t now, bool woken,
                     struct uspi_found *found);

/* The thread turned out to wait in its loop, although no call said so: the turn's time begins anew. */
void uspi_watch_excuse(struct uspi_watch *watch);

/* When to look next. */
uint64_t uspi_watch_next(struct uspi_watch *watch, uint64_t now);
static inline void uspi_watch_sleep(struct uspi_watch *watch) { watch->due = USPI_FOR_EVER; }

/* The monitor has worked since its look, until now: it has captured stacks and called functions of the options. The turn went on
 * meanwhile, so its time counts, up to `most` ns: in a longer span the process may have been suspended. The rest is taken off.
 * uspi_watch_next must follow, so that the work is no delay of the next look. */
void uspi_watch_work(struct uspi_watch *watch, uint64_t now, uint64_t most);

#endif
