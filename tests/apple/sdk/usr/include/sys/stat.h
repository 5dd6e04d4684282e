/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: file status (xnu bsd/sys/stat.h, with 64-bit inode numbers). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_SYS_STAT_H
#define TESTS_APPLE_SDK_USR_INCLUDE_SYS_STAT_H

#include <sys/types.h>
#include <time.h>

struct stat {
    dev_t st_dev;
    mode_t st_mode;
    uint16_t st_nlink;
    ino_t st_ino;
    uint32_t st_uid, st_gid;
    dev_t st_rdev;
    struct timespec st_atimespec, st_mtimespec, st_ctimespec, st_birthtimespec;
    off_t st_size;
    int64_t st_blocks;
    int32_t st_blksize;
    uint32_t st_flags, st_gen;
    int32_t st_lspare;
    int64_t st_qspare[2];
};

#define st_mtime st_mtimespec.tv_sec

#define S_ISLNK(mode) (((mode) & 0170000) == 0120000)
#define S_ISREG(mode) (((mode) & 0170000) == 0100000)

int fstat(int fd, struct stat *status);
int fstatat(int folder, const char *path, struct stat *status, int flags);
int stat(const char *path, struct stat *status);
int fchmod(int fd, mode_t mode);
int mkdir(const char *path, mode_t mode);
int mkdirat(int folder, const char *path, mode_t mode);
mode_t umask(mode_t mode);

#endif
