/* SPDX-License-Identifier: MIT */
/* The list of backends. No other file of the library names them. */
#include "arch/backend.h"

static const struct uspi_backend *const backends[] = {
    [USP_ARCH_ARM64] = &uspi_arm64,   [USP_ARCH_ARM64_32] = &uspi_arm64_32, [USP_ARCH_ARMV7] = &uspi_armv7,
    [USP_ARCH_X86_64] = &uspi_x86_64, [USP_ARCH_I386] = &uspi_i386,
};

const struct uspi_backend *uspi_backend_find(uint32_t arch) {
    return arch < sizeof backends / sizeof backends[0] ? backends[arch] : NULL;
}
