/* SPDX-License-Identifier: MIT */
/* Backends of any processor, for stacks that do not come from this process: cores, raw captures, reports, files,
 * registers that a caller gives.
 *
 * A program that is linked statically and captures only its own stacks contains the backends of its host alone:
 * arch/table.c has those, and arch/any.c, which the linker takes for uspi_backend_any, replaces that table by one of
 * all backends. So a file calls uspi_backend_any where a processor first comes from outside; all others call
 * uspi_backend_find (arch/backend.h), which finds every backend that is linked. */
#ifndef USPI_ARCH_ANY_H
#define USPI_ARCH_ANY_H

#include "arch/backend.h"

/* Returns the backend of a processor (enum usp_arch), or NULL. */
const struct uspi_backend *uspi_backend_any(uint32_t arch);

/* The linked backends by enum usp_arch, with NULLs. Defined weakly by arch/table.c, and by arch/any.c. */
const struct uspi_backend *const *uspi_backends(void);

#endif
