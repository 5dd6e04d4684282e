/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: what the library uses of it (xnu bsd/sys/fcntl.h). */
#ifndef STANDIN_FCNTL_H
#define STANDIN_FCNTL_H

#define O_RDONLY   0x0000
#define O_NONBLOCK 0x0004
#define O_NOCTTY   0x00020000
#define O_CLOEXEC  0x01000000

int open(const char *path, int flags, ...);

#endif
