/* SPDX-License-Identifier: MIT */
/* See call_sites.h. */
#include "lib/capture/call_sites.h"

#include "arch/host.h"
#include "lib/os/os.h"
#include "lib/unwind/frame/return_address.h"

/* Returns an address's second place, for frequent addresses that share the first one. */
static unsigned second_slot(uintptr_t address) {
    return (unsigned)((address >> 5 ^ address >> 17) & (USPI_CALL_SITES - 1));
}

/* Returns the place of an address whose caller has no frame record. */
static unsigned recordless_slot(uintptr_t address) { return second_slot(address) ^ 1; }

enum uspi_call_site_verdict uspi_call_site_judge(uintptr_t address, uintptr_t raw) {
    if (address == 0) return USPI_NO_CALL_SITE;
    struct uspi_capture_state *s = &uspi_capture_state;
    if (atomic_load_explicit(&s->call_sites[second_slot(address)], memory_order_relaxed) == address) {
        return USPI_KNOWN_CALL_SITE;
    }
    if (atomic_load_explicit(&s->call_sites[recordless_slot(address)], memory_order_relaxed) == ~address) {
        return USPI_CALL_SITE_WITHOUT_RECORD;
    }
    if (atomic_load_explicit(&s->signal_return, memory_order_relaxed) == address) return USPI_SIGNAL_RETURN;

    struct uspi_walk walk = {.backend = uspi_backend_find(USPI_HOST_ARCH), .strip_mask = UINT64_MAX};
    if (walk.backend == NULL) return USPI_NO_CALL_SITE;
    walk.target.os = uspi_os_kind();
    walk.target.memory.read = uspi_os_read;
    struct uspi_code code;
    uspi_code_init(&code, walk.backend, &walk.target.memory);
    struct uspi_return_address ra = uspi_judge_return_address(&walk, &code, walk.backend->has_thumb ? raw : address);
    return ra.credit == USPI_VERIFIED ? USPI_NEW_CALL_SITE : USPI_NO_CALL_SITE;
}

void uspi_call_site_remember(uintptr_t address, enum uspi_call_site_kind kind) {
    struct uspi_capture_state *s = &uspi_capture_state;
    unsigned first = uspi_call_site_slot(address);
    uintptr_t empty = 0;
    if (kind == USPI_SITE_SIGNAL_RETURN) {
        atomic_store_explicit(&s->signal_return, address, memory_order_relaxed);
    } else if (kind == USPI_SITE_WITHOUT_RECORD) {
        atomic_store_explicit(&s->call_sites[recordless_slot(address)], ~address, memory_order_relaxed);
    } else if (!atomic_compare_exchange_strong_explicit(&s->call_sites[first], &empty, address, memory_order_relaxed,
                                                        memory_order_relaxed)) {
        atomic_store_explicit(&s->call_sites[second_slot(address)], address, memory_order_relaxed);
    }
}

void uspi_call_sites_begin(void) {
    uintptr_t empty = 0;
    atomic_compare_exchange_strong_explicit(&uspi_capture_state.call_sites[uspi_call_site_slot(0)], &empty, UINTPTR_MAX,
                                            memory_order_relaxed, memory_order_relaxed);
}

void uspi_call_sites_forget(void) {
    struct uspi_capture_state *s = &uspi_capture_state;
    for (unsigned i = 0; i < USPI_CALL_SITES; i++) {
        atomic_store_explicit(&s->call_sites[i], i == uspi_call_site_slot(0) ? UINTPTR_MAX : 0, memory_order_relaxed);
    }
    atomic_store_explicit(&s->signal_return, 0, memory_order_relaxed);
}
