/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: anonymous memory (xnu bsd/sys/mman.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SYS_MMAN_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SYS_MMAN_H

#include_next <sys/mman.h>

#define MAP_ANONYMOUS 0x1000

#endif
