/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: the maximum length of paths (xnu bsd/sys/syslimits.h). */
#ifndef STANDIN_MACOS_LIMITS_H
#define STANDIN_MACOS_LIMITS_H

#include_next <limits.h>

#define PATH_MAX 1024

#endif
