/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: error numbers (xnu bsd/sys/errno.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_ERRNO_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_ERRNO_H

#include_next <errno.h>

#define ENXIO  6
#define EXDEV  18
#define EISDIR 21
#define ESTALE 70

#endif
