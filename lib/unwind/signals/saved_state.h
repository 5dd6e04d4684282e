/* SPDX-License-Identifier: MIT */
/* Registers that a kernel has saved in memory, for a handler to return to. Where they lie is for the readers of signal
 * frames to find. */
#ifndef USPI_SAVED_STATE_H
#define USPI_SAVED_STATE_H

#include "arch/backend.h"

/* The layout of a saved state (enum usp_thread_state); NULL when this processor has none. */
const struct uspi_state_layout *uspi_saved_state_layout(const struct uspi_backend *backend, uint32_t state);

/* Reads one. USP_OK, USP_ERROR_UNREADABLE, USP_ERROR_UNSUPPORTED when there is no such layout, or as
 * usp_registers_from_state. Async-signal-safe where the memory's reader is. */
int uspi_read_saved_state(const struct uspi_backend *backend, const struct usp_memory *memory, uint32_t state,
                          usp_addr at, struct usp_registers *registers);

#endif
