/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: files, processes, terminals. */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_UNISTD_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_UNISTD_H

#include_next <unistd.h>

#define STDIN_FILENO  0
#define STDOUT_FILENO 1
#define STDERR_FILENO 2
#define F_OK          0
#define X_OK          1
#define R_OK          4
#ifndef SEEK_SET
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
#endif
#define SEEK_HOLE 3
#define SEEK_DATA 4

int access(const char *path, int mode);
int chown(const char *path, uid_t user, gid_t group);
int chdir(const char *path);
int dup2(int fd, int other);
int execl(const char *path, const char *first, ...);
int execlp(const char *file, const char *first, ...);
int execvp(const char *file, char *const *arguments);
_Noreturn void _exit(int status);
pid_t fork(void);
int fchown(int fd, uid_t user, gid_t group);
int getopt(int count, char *const *arguments, const char *options);
extern char *optarg;
extern int optind, opterr, optopt;
int isatty(int fd);
off_t lseek(int fd, off_t offset, int whence);
ssize_t readlink(const char *restrict path, char *restrict to, size_t n);
int rmdir(const char *path);
int seteuid(uid_t user);
unsigned sleep(unsigned seconds);
int symlink(const char *target, const char *path);
int truncate(const char *path, off_t size);
int usleep(unsigned microseconds);

#endif
