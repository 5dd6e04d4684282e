/* SPDX-License-Identifier: MIT */
/* A monitor without a thread: performs one look and computes when the next one is due. monitor.c has the thread that
 * sleeps between looks; tests use a script instead. */
#ifndef USPI_MONITOR_WATCHING_H
#define USPI_MONITOR_WATCHING_H

#include "lib/monitor/activity.h"
#include "lib/monitor/hang.h"
#include "lib/monitor/hang_file.h"
#include "lib/monitor/loop_wait.h"
#include "lib/monitor/watch.h"

struct uspi_watching {
    struct usp_monitor_options options; /* complete; the creator of the monitor owns `file` */
    struct uspi_world world;
    struct uspi_activity activity;
    struct uspi_subject subject;
    struct uspi_watch watch;
    struct uspi_hang hang;
    struct uspi_hang_file file;
    struct uspi_loop_wait loop_wait; /* result of usp_monitor_learn_wait */
    struct usp_hang *killed;         /* a hang that an earlier process left, until it is reported */
    struct uspi_lock *lock;          /* protects the statistics */
    struct usp_monitor_statistics statistics;
    uint32_t counted;                     /* turns that the statistics include */
    void (*ping_function)(void *context); /* sends a ping; NULL: the thread reports its turns */
    void *ping_context;
    uint64_t ping_sent;               /* when the last ping was sent */
    _Atomic(uint32_t) pings, answers; /* number of pings sent; number of the last ping that was answered */
    _Atomic(uint64_t) answered_at;    /* when it was answered */
    uint64_t settled_cpu;             /* the thread's processor time at the first look after its answer */
    bool is_settled;                  /* settled_cpu is set */
    /* The thread was captured waiting in its loop, in a turn that has not ended. It is captured again only after it
     * has run. */
    bool waits_unsaid;
};

/* options are complete and valid. Returns USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_NO_THREAD. The caller calls
 * uspi_watching_free in any case. */
int uspi_watching_init(struct uspi_watching *watching, const struct usp_monitor_options *options,
                       const struct uspi_world *world);
void uspi_watching_free(struct uspi_watching *watching);

/* Begins watching: opens the file, and reads what an earlier process left in it. Returns USP_OK, or why the file
 * cannot be made. */
int uspi_watching_begin(struct uspi_watching *watching);

/* Records the watched thread's answer to the last ping. Async-signal-safe. */
void uspi_watching_answer(struct uspi_watching *watching);

/* Performs one look. Returns when the next one is due; USPI_FOR_EVER: when a turn wakes the monitor. */
uint64_t uspi_watching_look(struct uspi_watching *watching, bool woken);

/* Ends watching: a current hang is abandoned. */
void uspi_watching_end(struct uspi_watching *watching);

void uspi_watching_get_statistics(struct uspi_watching *watching, struct usp_monitor_statistics *statistics);

#endif
