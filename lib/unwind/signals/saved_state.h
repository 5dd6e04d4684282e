/* SPDX-License-Identifier: MIT */
/* Registers that a kernel saved in memory, to which a signal handler returns. The readers of signal frames find where
 * they are. */
#ifndef USPI_UNWIND_SIGNALS_SAVED_STATE_H
#define USPI_UNWIND_SIGNALS_SAVED_STATE_H

#include "arch/backend.h"

/* Returns the layout of a saved state (enum usp_thread_state), or NULL if this processor has none. */
const struct uspi_state_layout *uspi_saved_state_layout(const struct uspi_backend *backend, uint32_t state);

/* Reads a saved state. Returns USP_OK, USP_ERROR_UNREADABLE, USP_ERROR_UNSUPPORTED when there is no such layout, or as
 * usp_registers_from_state does. Async-signal-safe if the memory's reader is. */
int uspi_read_saved_state(const struct uspi_backend *backend, const struct usp_memory *memory, uint32_t state,
                          usp_addr at, struct usp_registers *registers);

#endif
