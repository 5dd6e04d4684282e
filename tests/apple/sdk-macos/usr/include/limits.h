/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: the maximum length of paths (xnu bsd/sys/syslimits.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_LIMITS_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_LIMITS_H

#include_next <limits.h>

#define PATH_MAX 1024

#endif
