/* SPDX-License-Identifier: MIT */
/* Which words of this process are return addresses: a small cache of those that were found behind a call (or are a
 * signal trampoline). It keeps scratch values off the fast walk at the price of one comparison a frame.
 *
 * An entry says only "this was a return address once"; code that is unloaded later makes it useless, never harmful. */
#ifndef USPI_CALL_SITES_H
#define USPI_CALL_SITES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define USPI_CALL_SITES 1024u

extern _Atomic(uintptr_t) uspi_call_sites[USPI_CALL_SITES];

static inline unsigned uspi_call_site_slot(uintptr_t address) {
    return (unsigned)((address ^ address >> 11) & (USPI_CALL_SITES - 1));
}

/* The long way: a second place in the cache, then the code itself. `raw` still has its Thumb bit. Signal-safe. */
bool uspi_call_site_verify(uintptr_t address, uintptr_t raw);

/* Whether `address` (stripped) follows a call. Signal-safe, thread-safe. */
static inline bool uspi_call_site_known(uintptr_t address, uintptr_t raw) {
    uintptr_t cached = atomic_load_explicit(&uspi_call_sites[uspi_call_site_slot(address)], memory_order_relaxed);
    return __builtin_expect(cached == address && address != 0, 1) || uspi_call_site_verify(address, raw);
}

#endif
