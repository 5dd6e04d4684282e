/* SPDX-License-Identifier: MIT */
/* See call_sites.h. */
#include "lib/call_sites.h"

#include "arch/host.h"
#include "lib/os.h"
#include "lib/unwind/reader.h"
#include "lib/unwind/signal.h"

/* 0 is no return address: its place must not look as if it were. */
_Atomic(uintptr_t) uspi_call_sites[USPI_CALL_SITES] = {UINTPTR_MAX};
_Atomic(uintptr_t) uspi_signal_return;

/* Two hot addresses may share the first place. */
static unsigned second_slot(uintptr_t address) {
    return (unsigned)((address >> 5 ^ address >> 17) & (USPI_CALL_SITES - 1));
}

bool uspi_call_site_verify(uintptr_t address, uintptr_t raw) {
    unsigned first = uspi_call_site_slot(address), second = second_slot(address);
    if (address == 0) return false;
    if (atomic_load_explicit(&uspi_call_sites[second], memory_order_relaxed) == address) return true;
    if (uspi_is_signal_return(address)) return true;

    struct uspi_walk walk = {.backend = uspi_backend_find(USPI_HOST_ARCH), .strip_mask = UINT64_MAX};
    if (walk.backend == NULL) return false;
    walk.target.os = uspi_os_kind();
    walk.target.memory.read = uspi_os_read;
    struct uspi_code code;
    uspi_code_init(&code, walk.backend, &walk.target.memory);
    struct uspi_return_address ra = uspi_judge_return_address(&walk, &code, walk.backend->has_thumb ? raw : address);
    if (ra.credit != USPI_VERIFIED) return false;
    if (USPI_HOST_SIGNAL_RECORD && uspi_signal_stub_at(&walk, &code, ra.pc, false) != NULL) {
        atomic_store_explicit(&uspi_signal_return, address, memory_order_relaxed);
        return true;
    }

    uintptr_t empty = 0;
    if (!atomic_compare_exchange_strong_explicit(&uspi_call_sites[first], &empty, address, memory_order_relaxed,
                                                 memory_order_relaxed)) {
        atomic_store_explicit(&uspi_call_sites[second], address, memory_order_relaxed);
    }
    return true;
}
