/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the part of Apple's unistd.h that the library uses. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_UNISTD_H
#define TESTS_APPLE_SDK_USR_INCLUDE_UNISTD_H

#include <sys/types.h>

#define _SC_OPEN_MAX         5
#define _SC_NPROCESSORS_ONLN 58

int close(int fd);
int ftruncate(int fd, off_t size);
char *getcwd(char *to, size_t size);
gid_t getegid(void);
uid_t geteuid(void);
pid_t getpid(void);
long sysconf(int name);
int pipe(int fds[2]);
ssize_t pread(int fd, void *to, size_t n, off_t offset);
ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset);
ssize_t read(int fd, void *to, size_t n);
ssize_t readlinkat(int folder, const char *path, char *to, size_t n);
int dup(int fd);
int linkat(int from_folder, const char *from, int to_folder, const char *to, int flags);
int unlink(const char *path);
int unlinkat(int folder, const char *path, int flags);
ssize_t write(int fd, const void *bytes, size_t n);

#endif
