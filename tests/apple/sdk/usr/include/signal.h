/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: sets of signals and the context of a handler (xnu bsd/sys/signal.h, bsd/sys/_types/_ucontext.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_SIGNAL_H
#define TESTS_APPLE_SDK_USR_INCLUDE_SIGNAL_H

#include <sys/types.h>

#define SIGILL  4
#define SIGTRAP 5
#define SIGABRT 6
#define SIGEMT  7
#define SIGFPE  8
#define SIGBUS  10
#define SIGSEGV 11
#define SIGSYS  12
#define SIGALRM 14

typedef uint32_t sigset_t;
#define SIG_BLOCK              1
#define SIG_UNBLOCK            2
#define SIG_SETMASK            3
#define sigfillset(set)        (*(set) = ~(sigset_t)0, 0)
#define sigdelset(set, number) (*(set) &= ~((sigset_t)1 << ((number) - 1)), 0)

int kill(pid_t pid, int signal);
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old);

#include <Availability.h>
#include <pthread.h>
#include <sys/_types/_ucontext.h>

typedef struct standin_sigaltstack stack_t;
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
#define sa_handler               __sigaction_u.__sa_handler
#define sa_sigaction             __sigaction_u.__sa_sigaction
#define SS_DISABLE               0x0004
#define SIG_DFL                  ((void (*)(int))0)
#define SIG_IGN                  ((void (*)(int))1)
#define SA_ONSTACK               0x0001
#define SA_RESTART               0x0002
#define SA_RESETHAND             0x0004
#define SA_NOCLDSTOP             0x0008
#define SA_NODEFER               0x0010
#define SA_SIGINFO               0x0040
#define sigemptyset(set)         (*(set) = 0, 0)
#define sigaddset(set, number)   (*(set) |= (sigset_t)1 << ((number) - 1), 0)
#define sigismember(set, number) ((*(set) >> ((number) - 1) & 1) != 0)
#define NSIG                     32

int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict old);
int pthread_kill(pthread_t thread, int number);
__WATCHOS_PROHIBITED __TVOS_PROHIBITED int sigaltstack(const stack_t *restrict stack, stack_t *restrict old);

#endif
