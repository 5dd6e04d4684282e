/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: limits that the compiler's own limits.h leaves to the system (xnu bsd/sys/syslimits.h). */
#ifndef STANDIN_LIMITS_H
#define STANDIN_LIMITS_H

#define NAME_MAX 255

#endif
