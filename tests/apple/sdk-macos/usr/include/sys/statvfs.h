/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: the space of a file system (xnu bsd/sys/statvfs.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SYS_STATVFS_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SYS_STATVFS_H

struct statvfs {
    unsigned long f_bsize, f_frsize;
    unsigned int f_blocks, f_bfree, f_bavail, f_files, f_ffree, f_favail;
    unsigned long f_fsid, f_flag, f_namemax;
};

int fstatvfs(int fd, struct statvfs *space);

#endif
