/* SPDX-License-Identifier: MIT */
/* The list of backends, one line for each: its name in enum usp_arch, and its variable. No other file of the library
 * lists them. Included by arch/backend.h. */
#ifndef USPI_ARCH_BACKENDS_H
#define USPI_ARCH_BACKENDS_H

#define USPI_BACKENDS(X)                                                                                               \
    X(ARM64, uspi_arm64)                                                                                               \
    X(ARM64_32, uspi_arm64_32)                                                                                         \
    X(ARMV7, uspi_armv7)                                                                                               \
    X(X86_64, uspi_x86_64)                                                                                             \
    X(I386, uspi_i386)

#endif
