/* SPDX-License-Identifier: MIT */
/* A monitor without a thread: what happens at one look, and when the next one is due. The thread that sleeps between looks is
 * monitor.c's; a test's script can be in its place. */
#ifndef USPI_WATCHING_H
#define USPI_WATCHING_H

#include "lib/monitor/activity.h"
#include "lib/monitor/hang.h"
#include "lib/monitor/hang_file.h"
#include "lib/monitor/loop_wait.h"
#include "lib/monitor/watch.h"

struct uspi_watching {
    struct usp_monitor_options options; /* complete; `file` is the owner's */
    struct uspi_world world;
    struct uspi_activity activity;
    struct uspi_subject subject;
    struct uspi_watch watch;
    struct uspi_hang hang;
    struct uspi_hang_file file;
    struct uspi_loop_wait loop_wait; /* what usp_monitor_learn_wait has learned */
    struct usp_hang *killed;         /* that an earlier process left, until it is reported */
    struct uspi_lock *lock;          /* for the statistics */
    struct usp_monitor_statistics statistics;
    uint32_t counted; /* turns that the statistics have */
    /* Pings, where the thread does not report turns: by what, how many were sent and answered, when, and the thread's processor
     * time when it had answered the last. */
    void (*ping_function)(void *context); /* NULL: there are none */
    void *ping_context;
    uint64_t ping_sent;
    _Atomic(uint32_t) pings, answers;
    _Atomic(uint64_t) answered_at;
    uint64_t settled_cpu;
    bool is_settled;
    /* The thread was captured in its loop's wait, in a turn that has not ended. It is not captured again before it runs. */
    bool waits_unsaid;
};

/* options are complete and sensible. USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_NO_THREAD. uspi_watching_free must follow in any
 * case. */
int uspi_watching_init(struct uspi_watching *watching, const struct usp_monitor_options *options,
                       const struct uspi_world *world);
void uspi_watching_free(struct uspi_watching *watching);

/* Watching begins: opens the file, and finds what an earlier process left in it. USP_OK, or why the file cannot be made. */
int uspi_watching_begin(struct uspi_watching *watching);

/* The watched thread answers the last ping. Async-signal-safe. */
void uspi_watching_answer(struct uspi_watching *watching);

/* One look. Returns when the next one is due; USPI_FOR_EVER: when a turn wakes the monitor. */
uint64_t uspi_watching_look(struct uspi_watching *watching, bool woken);

/* Watching ends: a hang that goes on is abandoned. */
void uspi_watching_end(struct uspi_watching *watching);

void uspi_watching_get_statistics(struct uspi_watching *watching, struct usp_monitor_statistics *statistics);

#endif
