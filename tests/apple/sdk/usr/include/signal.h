/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: sets of signals and the context of a handler (xnu bsd/sys/signal.h, bsd/sys/_types/_ucontext.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_SIGNAL_H
#define TESTS_APPLE_SDK_USR_INCLUDE_SIGNAL_H

#include <sys/types.h>

#define SIGILL  4
#define SIGTRAP 5
#define SIGFPE  8
#define SIGBUS  10
#define SIGSEGV 11
#define SIGSYS  12

typedef uint32_t sigset_t;
#define SIG_BLOCK              1
#define SIG_SETMASK            3
#define sigfillset(set)        (*(set) = ~(sigset_t)0, 0)
#define sigdelset(set, number) (*(set) &= ~((sigset_t)1 << ((number) - 1)), 0)

int kill(pid_t pid, int signal);
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old);

#include <sys/_types/_ucontext.h>

#endif
