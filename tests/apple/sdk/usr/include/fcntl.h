/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the part of Apple's fcntl.h that the library uses (xnu bsd/sys/fcntl.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_FCNTL_H
#define TESTS_APPLE_SDK_USR_INCLUDE_FCNTL_H

#include <sys/types.h>

#define SEEK_SET            0
#define SEEK_CUR            1
#define SEEK_END            2
#define O_RDONLY            0x0000
#define O_WRONLY            0x0001
#define O_RDWR              0x0002
#define O_NONBLOCK          0x0004
#define O_NOFOLLOW          0x0100
#define O_CREAT             0x0200
#define O_TRUNC             0x0400
#define O_EXCL              0x0800
#define O_NOCTTY            0x00020000
#define O_DIRECTORY         0x00100000
#define O_CLOEXEC           0x01000000
#define AT_FDCWD            (-2)
#define AT_SYMLINK_NOFOLLOW 0x0020
#define AT_SYMLINK_FOLLOW   0x0040
#define F_GETLK             7
#define F_SETLK             8
#define F_UNLCK             2
#define F_WRLCK             3
#define F_SETFD             2
#define F_SETFL             4
#define FD_CLOEXEC          1

struct flock {
    off_t l_start, l_len;
    pid_t l_pid;
    short l_type, l_whence;
};

int open(const char *path, int flags, ...);
int openat(int folder, const char *path, int flags, ...);
int fcntl(int fd, int command, ...);

#endif
