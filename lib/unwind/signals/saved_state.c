/* SPDX-License-Identifier: MIT */
/* See saved_state.h. */
#include "lib/unwind/signals/saved_state.h"

#include "lib/base/processor.h"

/* Size of the largest layout of all processors (Linux's aarch64 ucontext up to pstate). */
#define STATE_MAX 512

const struct uspi_state_layout *uspi_saved_state_layout(const struct uspi_backend *backend, uint32_t state) {
    for (size_t i = 0; i < backend->state_count; i++) {
        if (backend->states[i].state == state) return &backend->states[i];
    }
    return NULL;
}

int uspi_read_saved_state(const struct uspi_backend *backend, const struct usp_memory *memory, uint32_t state,
                          usp_addr at, struct usp_registers *registers) {
    const struct uspi_state_layout *layout = uspi_saved_state_layout(backend, state);
    uint8_t bytes[STATE_MAX];
    if (layout == NULL || layout->size > sizeof bytes) return USP_ERROR_UNSUPPORTED;
    if (memory->read(memory->context, at, bytes, layout->size) != 0) return USP_ERROR_UNREADABLE;
    return uspi_registers_from_state(registers, backend->arch, state, bytes, layout->size);
}
