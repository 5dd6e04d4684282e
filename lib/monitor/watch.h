/* SPDX-License-Identifier: MIT */
/* When a turn is late and when it is a hang: arithmetic on what was seen and when. No thread, no clock, no stack in here.
 *
 * A turn's time is what the monitor saw pass. It looks at times that it chose itself; when it is late for a look, because the
 * system suspended the process, a debugger stopped it, the machine slept or was too busy to run the monitor, then it is not known
 * that the watched thread would have got on, and the delay is not counted. */
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
    uint64_t next;         /* look; USPI_FOR_EVER while it may sleep */
};

void uspi_watch_begin(struct uspi_watch *watch, const struct uspi_limits *limits, uint64_t now);

/* woken: a turn has woken the monitor; otherwise it wanted to look now. */
void uspi_watch_look(struct uspi_watch *watch, const struct uspi_seen *seen, uint64_t now, bool woken,
                     struct uspi_found *found);

/* The thread turned out to wait in its loop, although no call said so: the turn's time begins anew. */
void uspi_watch_excuse(struct uspi_watch *watch);

/* When to look next, after the turn's level was decided elsewhere. */
uint64_t uspi_watch_next(struct uspi_watch *watch, uint64_t now);

#endif
