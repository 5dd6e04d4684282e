/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: file locks (xnu bsd/sys/fcntl.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_SYS_FILE_H
#define TESTS_APPLE_SDK_USR_INCLUDE_SYS_FILE_H

#define LOCK_EX 0x02
#define LOCK_NB 0x04
#define LOCK_UN 0x08

int flock(int fd, int operation);

#endif
