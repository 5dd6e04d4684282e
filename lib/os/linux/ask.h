/* SPDX-License-Identifier: MIT */
/* Asking threads of this process by a request (request.h), waiting for their answers, and letting them go. */
#ifndef USPI_OS_LINUX_ASK_H
#define USPI_OS_LINUX_ASK_H

#include "lib/os/linux/request.h"

/* Asks one more thread. Returns false when all slots are used; otherwise its slot is the last one used, with a
 * status. */
bool uspi_ask(struct uspi_request *r, pid_t tid);

/* Adds a thread that is known to be unable to answer: it is not asked, and its status is USP_ERROR_TIMEOUT. */
bool uspi_ask_without(struct uspi_request *r, pid_t tid);

/* Waits until every slot is READY or has a status that says why it is not. The wait ends early for
 *   - a thread that cannot answer (USPI_THREAD_UNABLE): at the second check, after 4 ms
 *   - a thread that has run meanwhile and still blocks the signal
 *   - while other threads are held, a thread that slept uninterruptibly all the time
 * A thread that waits for a processor is waited for. Returns false when a handler still owns a slot: the request must
 * then be abandoned or replaced. */
bool uspi_ask_wait(struct uspi_request *r, uint64_t deadline);

/* Returns whether the slot has an answer that is (for a held thread) still valid. */
bool uspi_slot_ready(const struct uspi_slot *slot);

/* Whether a thread can answer, according to the system. Async-signal-safe. */
enum uspi_ability {
    USPI_THREAD_GONE,
    USPI_THREAD_UNABLE,  /* it is stopped, or sleeps with the signal blocked, or waits for the signal */
    USPI_THREAD_ASLEEP,  /* it sleeps uninterruptibly now */
    USPI_THREAD_BLOCKS,  /* it runs, or waits for a processor, with the signal blocked: usually in a handler */
    USPI_THREAD_ASKED,   /* the signal is pending for it */
    USPI_THREAD_UNASKED, /* no signal of ours is pending for it */
    USPI_THREAD_UNKNOWN
};
enum uspi_ability uspi_thread_ability(pid_t tid);

#endif
