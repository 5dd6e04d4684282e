/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: trees of folders (Apple's Libc ftw.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_FTW_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_FTW_H

#include <sys/stat.h>

#define FTW_PHYS  0x01
#define FTW_DEPTH 0x04
struct FTW {
    int base;
    int level;
};

int nftw(const char *path, int (*visit)(const char *, const struct stat *, int, struct FTW *), int fds, int flags);

#endif
