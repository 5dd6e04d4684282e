/* SPDX-License-Identifier: MIT */
/* Declarations of Apple's headers that programs need and the stand-in SDK lacks, because it has only what the library
 * uses: enough to compile doc/examples/ios/checklist.c, doc/examples/crash.c and tests/apple/run_checklist.c. The
 * compiler includes it by -include; layouts do not matter here. */
#ifndef TESTS_APPLE_PROGRAM_H
#define TESTS_APPLE_PROGRAM_H

#include <TargetConditionals.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct standin_siginfo siginfo_t;
typedef struct standin_sigaltstack stack_t;

#define O_WRONLY 0x0001
#define O_CREAT  0x0200
#define O_TRUNC  0x0400

#define EXIT_FAILURE 1
_Noreturn void abort(void);
_Noreturn void exit(int status);
int atoi(const char *text);
int puts(const char *text);

#define SA_ONSTACK 0x0001
#define SA_SIGINFO 0x0040
#define SS_DISABLE 0x0004
#define SIG_DFL    ((void (*)(int))0)
#define SIG_IGN    ((void (*)(int))1)
#define SIGILL     4
#define SIGTRAP    5
#define SIGABRT    6
#define SIGFPE     8
#define SIGBUS     10
#define SIGSEGV    11
#define SIGSYS     12
#define SIGUSR2    31

struct sigaction {
    union {
        void (*sa_handler)(int number);
        void (*sa_sigaction)(int number, siginfo_t *info, void *context);
    };
    sigset_t sa_mask;
    int sa_flags;
};

int sigaction(int number, const struct sigaction *restrict action, struct sigaction *restrict before);
int sigemptyset(sigset_t *set);
int sigaddset(sigset_t *set, int number);
/* As in Apple's header, which marks these as unavailable on tvOS and watchOS. */
#if !TARGET_OS_TV && !TARGET_OS_WATCH
int sigaltstack(const stack_t *restrict stack, stack_t *restrict before);
#endif
int raise(int number);
unsigned sleep(unsigned seconds);
int usleep(unsigned microseconds);

#endif
