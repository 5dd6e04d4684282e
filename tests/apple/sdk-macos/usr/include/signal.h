/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: handlers (xnu bsd/sys/signal.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SIGNAL_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SIGNAL_H

#include_next <signal.h>

#define SIGHUP  1
#define SIGINT  2
#define SIGABRT 6
#define SIGKILL 9
#define SIGPIPE 13
#define SIGTERM 15
#define SIGCHLD 20
#define SIGUSR1 30
#define SIGUSR2 31

typedef struct standin_sigaltstack stack_t;
typedef int sig_atomic_t;
typedef struct __siginfo {
    int si_signo;
    int si_errno;
    int si_code;
    pid_t si_pid;
    uid_t si_uid;
    int si_status;
    void *si_addr;
    void *standin_value;
    long si_band;
    unsigned long __pad[7];
} siginfo_t;
struct sigaction {
    union {
        void (*__sa_handler)(int number);
        void (*__sa_sigaction)(int number, siginfo_t *info, void *context);
    } __sigaction_u;
    sigset_t sa_mask;
    int sa_flags;
};
#define sa_handler             __sigaction_u.__sa_handler
#define sa_sigaction           __sigaction_u.__sa_sigaction
#define SS_DISABLE             0x0004
#define SIG_DFL                ((void (*)(int))0)
#define SIG_IGN                ((void (*)(int))1)
#define SA_ONSTACK             0x0001
#define SA_RESTART             0x0002
#define SA_RESETHAND           0x0004
#define SA_NOCLDSTOP           0x0008
#define SA_SIGINFO             0x0040
#define sigemptyset(set)       (*(set) = 0, 0)
#define sigaddset(set, number) (*(set) |= (sigset_t)1 << ((number) - 1), 0)

int raise(int number);
int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old);
int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict old);
int sigaltstack(const stack_t *restrict stack, stack_t *restrict old);

#endif
