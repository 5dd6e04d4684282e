/* SPDX-License-Identifier: MIT */
/* All backends: see any.h. */
#include "arch/any.h"

#define ENTRY(arch, backend) [USP_ARCH_##arch] = &backend,
static const struct uspi_backend *const backends[] = {USPI_BACKENDS(ENTRY)};

const struct uspi_backend *const *uspi_backends(void) { return backends; }

const struct uspi_backend *uspi_backend_any(uint32_t arch) {
    return arch < sizeof backends / sizeof *backends ? backends[arch] : NULL;
}
