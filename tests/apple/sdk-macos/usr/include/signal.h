/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: handlers (xnu bsd/sys/signal.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SIGNAL_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SIGNAL_H

#include_next <signal.h>

#define SIGHUP  1
#define SIGINT  2
#define SIGKILL 9
#define SIGPIPE 13
#define SIGTERM 15
#define SIGCHLD 20
#define SIGXFSZ 25
#define SIGUSR1 30
#define SIGUSR2 31

typedef int sig_atomic_t;

int raise(int number);
int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old);

#endif
