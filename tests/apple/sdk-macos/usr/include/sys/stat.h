/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: file status, and changes of it (xnu bsd/sys/stat.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SYS_STAT_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SYS_STAT_H

#include_next <sys/stat.h>

#define st_atime       st_atimespec.tv_sec
#define st_ctime       st_ctimespec.tv_sec
#define S_IWGRP        0000020
#define S_IWOTH        0000002
#define S_ISDIR(mode)  (((mode) & 0170000) == 0040000)
#define S_ISFIFO(mode) (((mode) & 0170000) == 0010000)
#define S_ISSOCK(mode) (((mode) & 0170000) == 0140000)
#define UTIME_OMIT     (-2)

int chmod(const char *path, mode_t mode);
int lstat(const char *path, struct stat *status);
int mkfifo(const char *path, mode_t mode);
int utimensat(int folder, const char *path, const struct timespec times[2], int flags);

#endif
