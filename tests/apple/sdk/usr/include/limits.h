/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: limits that the compiler's own limits.h leaves to the system (xnu bsd/sys/syslimits.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_LIMITS_H
#define TESTS_APPLE_SDK_USR_INCLUDE_LIMITS_H

#define NAME_MAX 255
#define PATH_MAX 1024

#endif
