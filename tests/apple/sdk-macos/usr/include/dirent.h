/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: folders in sorted order. */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_DIRENT_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_DIRENT_H

#include_next <dirent.h>

int dirfd(DIR *entries);
DIR *fdopendir(int fd);
int scandir(const char *path, struct dirent ***entries, int (*select)(const struct dirent *),
            int (*compare)(const struct dirent **, const struct dirent **));

#endif
