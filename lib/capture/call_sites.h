/* SPDX-License-Identifier: MIT */
/* Which words of this process are return addresses: a small cache of those that were found behind a call (or are a
 * signal trampoline). It keeps scratch values off the fast walk at the price of one comparison a frame.
 *
 * An entry says only "this was a return address once"; code that is unloaded later makes it useless, never harmful. */
#ifndef USPI_CALL_SITES_H
#define USPI_CALL_SITES_H

#include "arch/host.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define USPI_CALL_SITES 2048u

extern _Atomic(uintptr_t) uspi_call_sites[USPI_CALL_SITES];

/* The code that signal handlers return to, 0 until it is met. Not in the cache: the fast walk's loop then has no comparison
 * for it. */
extern _Atomic(uintptr_t) uspi_signal_return;

static inline unsigned uspi_call_site_slot(uintptr_t address) {
    return (unsigned)(address >> USPI_HOST_CODE_SHIFT & (USPI_CALL_SITES - 1));
}

/* Whether `address` (stripped) is in its first place in the cache. Async-signal-safe, thread-safe. */
static inline bool uspi_call_site_cached(uintptr_t address) {
    return atomic_load_explicit(&uspi_call_sites[uspi_call_site_slot(address)], memory_order_relaxed) == address;
}

enum uspi_call_site_verdict {
    USPI_NO_CALL_SITE,
    USPI_NEW_CALL_SITE, /* to be remembered, as one or the other */
    USPI_KNOWN_CALL_SITE,
    USPI_SIGNAL_RETURN
};

/* Of an address (stripped; `raw` still has its Thumb bit) that is not in its first place: what is known of it, or whether the
 * code before it says that it follows a call or is a trampoline's. Async-signal-safe, thread-safe. */
enum uspi_call_site_verdict uspi_call_site_judge(uintptr_t address, uintptr_t raw);

/* Keeps a new one. Async-signal-safe, thread-safe. */
void uspi_call_site_remember(uintptr_t address, bool is_signal_return);

#endif
