/* SPDX-License-Identifier: MIT */
/* What a signal handler interrupted, for the fast walk. A handler's frame record leads to the interrupted function's or, on
 * arm, to one that the kernel or _sigtramp has made, in which a link register stands that may be stale; none of them says
 * where the function was interrupted. What does is found by the typed walk's readers of signal frames. */
#ifndef USPI_INTERRUPTION_H
#define USPI_INTERRUPTION_H

#include "arch/host.h"

struct uspi_interruption {
    bool is_there;
    uintptr_t pc; /* 0: not known */
    uintptr_t fp; /* where the walk goes on; its record may be a caller's, as everywhere that records are followed */
};

/* Of a record of the calling thread's stack whose return address was judged: whether it is that of a function which the
 * system has called for a signal; *interruption is cleared before. Async-signal-safe, thread-safe. */
void uspi_find_interruption(const struct uspi_record *record, struct uspi_interruption *interruption);

#endif
