/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: mapped files (xnu bsd/sys/mman.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_SYS_MMAN_H
#define TESTS_APPLE_SDK_USR_INCLUDE_SYS_MMAN_H

#include <sys/types.h>

#define PROT_READ   0x01
#define PROT_WRITE  0x02
#define MAP_SHARED  0x0001
#define MAP_PRIVATE 0x0002
#define MAP_ANON    0x1000
#define MAP_FAILED  ((void *)-1)

void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
int munmap(void *at, size_t n);

#endif
