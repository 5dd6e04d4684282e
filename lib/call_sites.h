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

/* The code that signal handlers return to, 0 until it is met. Where the record behind it needs a second look
 * (USPI_HOST_SIGNAL_RECORD) it is kept here and not in the cache: the fast walk's loop then has no comparison for it. */
extern _Atomic(uintptr_t) uspi_signal_return;

static inline unsigned uspi_call_site_slot(uintptr_t address) {
    return (unsigned)(address >> USPI_HOST_CODE_SHIFT & (USPI_CALL_SITES - 1));
}

/* Whether `address` (stripped; `raw` still has its Thumb bit) follows a call, by its second place in the cache or by the
 * code itself. Signal-safe, thread-safe. */
bool uspi_call_site_verify(uintptr_t address, uintptr_t raw);

/* Whether `address` (stripped) is in its first place in the cache. Signal-safe, thread-safe. */
static inline bool uspi_call_site_cached(uintptr_t address) {
    return atomic_load_explicit(&uspi_call_sites[uspi_call_site_slot(address)], memory_order_relaxed) == address;
}

/* Whether `address` (stripped), which was verified, is where signal handlers return to and USPI_HOST_SIGNAL_RECORD holds.
 * Signal-safe, thread-safe. */
static inline bool uspi_is_signal_return(uintptr_t address) {
    return USPI_HOST_SIGNAL_RECORD && atomic_load_explicit(&uspi_signal_return, memory_order_relaxed) == address;
}

#endif
