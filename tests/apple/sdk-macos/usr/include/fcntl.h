/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: flags with which programs open files (xnu bsd/sys/fcntl.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_FCNTL_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_FCNTL_H

#include_next <fcntl.h>

#define AT_REMOVEDIR    0x0080
#define F_DUPFD_CLOEXEC 67
#define F_GETFD         1

#endif
