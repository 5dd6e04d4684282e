/* SPDX-License-Identifier: MIT */
/* Finds the code that a signal handler interrupted, for the fast walk. A handler's frame record leads to the
 * interrupted function's record or, on arm, to one that the kernel or _sigtramp made, which may contain a stale link
 * register. No record contains the interrupted pc. The typed walk's readers of signal frames find it. */
#ifndef USPI_CAPTURE_INTERRUPTION_H
#define USPI_CAPTURE_INTERRUPTION_H

#include "arch/host.h"

struct uspi_interruption {
    bool is_there;
    uintptr_t pc; /* 0: not known */
    uintptr_t fp; /* where the walk continues; as in every walk along records, this record may be a caller's */
};

/* Checks whether a record of the calling thread's stack, whose return address was judged, belongs to a function that
 * the system called for a signal. *interruption was cleared before. Async-signal-safe, thread-safe. */
void uspi_find_interruption(const struct uspi_record *record, struct uspi_interruption *interruption);

#endif
