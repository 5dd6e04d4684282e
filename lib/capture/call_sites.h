/* SPDX-License-Identifier: MIT */
/* A small cache of return addresses in this process: words that follow a call, or are a signal trampoline. With it the
 * fast walk rejects scratch values at the cost of one comparison for each frame.
 *
 * An entry says only "this was a return address once", and whether the function that it lies in, the caller, had a
 * frame record then. If it had none, the complement of the address is cached: the fast walk's comparison fails, and the
 * walk looks closer. Code that is unloaded later makes the entry useless, never harmful. */
#ifndef USPI_CAPTURE_CALL_SITES_H
#define USPI_CAPTURE_CALL_SITES_H

#include "arch/host.h"
#include "lib/capture/state.h"

static inline unsigned uspi_call_site_slot(uintptr_t address) {
    return (unsigned)(address >> USPI_HOST_CODE_SHIFT & (USPI_CALL_SITES - 1));
}

/* Returns whether `address` (stripped) is at its first place in the cache. Async-signal-safe, thread-safe. */
static inline bool uspi_call_site_cached(uintptr_t address) {
    return atomic_load_explicit(&uspi_capture_state.call_sites[uspi_call_site_slot(address)], memory_order_relaxed) ==
           address;
}

enum uspi_call_site_verdict {
    USPI_NO_CALL_SITE,
    USPI_NEW_CALL_SITE, /* new, to be cached with its kind */
    USPI_KNOWN_CALL_SITE,
    USPI_CALL_SITE_WITHOUT_RECORD, /* known; the caller has no frame record there */
    USPI_SIGNAL_RETURN
};

/* Judges an address (stripped; `raw` still has its Thumb bit) that is not at its first place: by the cache, or by
 * whether the code before it is a call or a trampoline. Async-signal-safe, thread-safe. */
enum uspi_call_site_verdict uspi_call_site_judge(uintptr_t address, uintptr_t raw);

enum uspi_call_site_kind { USPI_SITE_WITH_RECORD, USPI_SITE_WITHOUT_RECORD, USPI_SITE_SIGNAL_RETURN };

/* Caches a new return address. Async-signal-safe, thread-safe. */
void uspi_call_site_remember(uintptr_t address, enum uspi_call_site_kind kind);

/* Makes the first walk's check right: 0 is not a return address, so its place must not contain 0. Async-signal-safe,
 * thread-safe. */
void uspi_call_sites_begin(void);

/* Empties the cache. */
void uspi_call_sites_forget(void);

#endif
