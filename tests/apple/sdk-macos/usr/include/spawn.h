/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: starting commands (xnu bsd/sys/spawn.h, libsyscall spawn.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SPAWN_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SPAWN_H

#include <sys/types.h>

typedef void *posix_spawnattr_t;
typedef void *posix_spawn_file_actions_t;
#define POSIX_SPAWN_SETPGROUP 0x0002

int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
                 const posix_spawnattr_t *attributes, char *const arguments[], char *const environment[]);
int posix_spawn_file_actions_adddup2(posix_spawn_file_actions_t *actions, int fd, int other);
int posix_spawn_file_actions_addopen(posix_spawn_file_actions_t *restrict actions, int fd, const char *restrict path,
                                     int flags, mode_t mode);
int posix_spawn_file_actions_destroy(posix_spawn_file_actions_t *actions);
int posix_spawn_file_actions_init(posix_spawn_file_actions_t *actions);
int posix_spawnattr_destroy(posix_spawnattr_t *attributes);
int posix_spawnattr_init(posix_spawnattr_t *attributes);
int posix_spawnattr_setflags(posix_spawnattr_t *attributes, short flags);
int posix_spawnattr_setpgroup(posix_spawnattr_t *attributes, pid_t group);

#endif
