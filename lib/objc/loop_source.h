/* SPDX-License-Identifier: MIT */
/* How a monitor learns what the main thread does: observers of CoreFoundation's run loop, a descriptor in GNUstep's, or the main
 * queue. A source owns its monitor, because the main thread may be in one of the source's functions at any time. */
#ifndef USPI_OBJC_LOOP_SOURCE_H
#define USPI_OBJC_LOOP_SOURCE_H

#include <unspool/unspool.h>

enum uspi_loop_kind { USPI_LOOP_RUN_LOOP = 0, USPI_LOOP_MAIN_QUEUE = 1 };

struct uspi_loop_source {
    enum uspi_loop_kind kind;
    struct usp_monitor *monitor;
    void *receiver;    /* the owner's */
    void *attached[2]; /* what the system's part has made */
};

/* Makes a monitor with a source and starts it.
 *   options   for the monitor; its functions get the source as their context. ping and context are set here
 *   receiver  kept in the source
 * Returns as usp_monitor_create and usp_monitor_start, and USP_ERROR_UNSUPPORTED for a kind that this system does not have. */
int uspi_loop_source_create(enum uspi_loop_kind kind, struct usp_monitor_options *options, void *receiver,
                            struct uspi_loop_source **source);

/* Stops the monitor: no function of the options runs any more then. The main thread frees the source when it has left the
 * source's functions. Not to be called by a function of the options. */
void uspi_loop_source_end(struct uspi_loop_source *source);

/* ---- what the system's part does: loop_source_cf.m, loop_source_gnustep.m ---- */

/* Completes the options before the monitor is made. USP_OK, or USP_ERROR_UNSUPPORTED. */
int uspi_loop_complete(enum uspi_loop_kind kind, struct usp_monitor_options *options);

/* Begins and ends what reports to the monitor. The monitor does not run yet; or not any more. USP_OK, USP_ERROR_NO_MEMORY, or what
 * usp_monitor_open_ping returned. */
int uspi_loop_attach(struct uspi_loop_source *source);
void uspi_loop_detach(struct uspi_loop_source *source);

/* Has the main thread call a function when it is in none of the source's. */
void uspi_on_main_thread(void (*function)(void *context), void *context);

#endif
