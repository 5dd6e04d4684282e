/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: waiting for children and their exit status (xnu bsd/sys/wait.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SYS_WAIT_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SYS_WAIT_H

#include <signal.h>

typedef enum { P_ALL, P_PID, P_PGID } idtype_t;
typedef uint32_t id_t;
#define WNOHANG             0x01
#define WEXITED             0x04
#define WNOWAIT             0x20
#define WIFEXITED(status)   (((status) & 0177) == 0)
#define WEXITSTATUS(status) (((status) >> 8) & 0xff)
#define WIFSIGNALED(status) (((status) & 0177) != 0177 && ((status) & 0177) != 0)
#define WTERMSIG(status)    ((status) & 0177)

int waitid(idtype_t kind, id_t id, siginfo_t *info, int options);
pid_t waitpid(pid_t pid, int *status, int options);

#endif
