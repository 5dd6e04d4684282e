/* SPDX-License-Identifier: MIT */
/* See call_sites.h. */
#include "lib/capture/call_sites.h"

#include "arch/host.h"
#include "lib/os/os.h"
#include "lib/unwind/frame/return_address.h"

/* 0 is no return address: its place must not contain it. */
_Atomic(uintptr_t) uspi_call_sites[USPI_CALL_SITES] = {UINTPTR_MAX};
_Atomic(uintptr_t) uspi_signal_return;

/* Returns an address's second place, for frequent addresses that share the first one. */
static unsigned second_slot(uintptr_t address) {
    return (unsigned)((address >> 5 ^ address >> 17) & (USPI_CALL_SITES - 1));
}

enum uspi_call_site_verdict uspi_call_site_judge(uintptr_t address, uintptr_t raw) {
    if (address == 0) return USPI_NO_CALL_SITE;
    if (atomic_load_explicit(&uspi_call_sites[second_slot(address)], memory_order_relaxed) == address) {
        return USPI_KNOWN_CALL_SITE;
    }
    if (atomic_load_explicit(&uspi_signal_return, memory_order_relaxed) == address) return USPI_SIGNAL_RETURN;

    struct uspi_walk walk = {.backend = uspi_backend_find(USPI_HOST_ARCH), .strip_mask = UINT64_MAX};
    if (walk.backend == NULL) return USPI_NO_CALL_SITE;
    walk.target.os = uspi_os_kind();
    walk.target.memory.read = uspi_os_read;
    struct uspi_code code;
    uspi_code_init(&code, walk.backend, &walk.target.memory);
    struct uspi_return_address ra = uspi_judge_return_address(&walk, &code, walk.backend->has_thumb ? raw : address);
    return ra.credit == USPI_VERIFIED ? USPI_NEW_CALL_SITE : USPI_NO_CALL_SITE;
}

void uspi_call_site_remember(uintptr_t address, bool is_signal_return) {
    unsigned first = uspi_call_site_slot(address);
    uintptr_t empty = 0;
    if (is_signal_return) {
        atomic_store_explicit(&uspi_signal_return, address, memory_order_relaxed);
    } else if (!atomic_compare_exchange_strong_explicit(&uspi_call_sites[first], &empty, address, memory_order_relaxed,
                                                        memory_order_relaxed)) {
        atomic_store_explicit(&uspi_call_sites[second_slot(address)], address, memory_order_relaxed);
    }
}
