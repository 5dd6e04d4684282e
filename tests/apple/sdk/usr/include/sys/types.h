/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: types of system calls, with the widths of Apple's (xnu bsd/sys/_types.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_SYS_TYPES_H
#define TESTS_APPLE_SDK_USR_INCLUDE_SYS_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef int64_t off_t;
typedef int32_t pid_t;
typedef uint16_t mode_t;
typedef uint32_t uid_t;
typedef uint32_t gid_t;
typedef int32_t dev_t;
typedef uint64_t ino_t;
typedef long time_t;
typedef long ssize_t;

#endif
