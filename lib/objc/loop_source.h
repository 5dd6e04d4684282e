/* SPDX-License-Identifier: MIT */
/* Sources that report to a monitor what the main thread does: observers of CoreFoundation's run loop, a descriptor in
 * GNUstep's run loop, or the main queue. A source owns its monitor, because the main thread may be in one of the
 * source's functions at any time. */
#ifndef USPI_OBJC_LOOP_SOURCE_H
#define USPI_OBJC_LOOP_SOURCE_H

#include <unspool/unspool.h>

enum uspi_loop_kind { USPI_LOOP_RUN_LOOP = 0, USPI_LOOP_MAIN_QUEUE = 1 };

struct uspi_loop_source {
    enum uspi_loop_kind kind;
    struct usp_monitor *monitor;
    void *receiver;    /* pointer of the owner */
    void *attached[2]; /* objects that uspi_loop_attach has made */
};

/* Makes a monitor with a source and starts it.
 *   options   for the monitor; its functions get the source as their context. ping and context are set here
 *   receiver  stored in the source
 * Returns as usp_monitor_create and usp_monitor_start, or USP_ERROR_UNSUPPORTED for a kind that this system does not
 * have. */
int uspi_loop_source_create(enum uspi_loop_kind kind, struct usp_monitor_options *options, void *receiver,
                            struct uspi_loop_source **source);

/* Stops the monitor: afterwards no function of the options runs. The main thread frees the source when it has left the
 * source's functions. Not to be called by a function of the options. */
void uspi_loop_source_end(struct uspi_loop_source *source);

/* ---- implemented for each system: loop_source_cf.m, loop_source_gnustep.m ---- */

/* Completes the options before the monitor is made. Returns USP_OK or USP_ERROR_UNSUPPORTED. */
int uspi_loop_complete(enum uspi_loop_kind kind, struct usp_monitor_options *options);

/* Begin and end reports to the monitor, which does not run at that time. uspi_loop_attach returns USP_OK,
 * USP_ERROR_NO_MEMORY, or the result of usp_monitor_open_ping. */
int uspi_loop_attach(struct uspi_loop_source *source);
void uspi_loop_detach(struct uspi_loop_source *source);

/* Makes the main thread call a function when it is in none of the source's functions. */
void uspi_on_main_thread(void (*function)(void *context), void *context);

#endif
