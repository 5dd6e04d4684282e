/* SPDX-License-Identifier: MIT */
/* What Apple's headers declare for programs and the stand-in SDK, which has only what the library uses, does not: enough to
 * compile doc/examples/ios/checklist.c. Given to the compiler by -include; layouts are of no account here. */
#ifndef STANDIN_PROGRAM_H
#define STANDIN_PROGRAM_H

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

typedef struct _opaque_pthread_attr_t pthread_attr_t;
typedef struct standin_siginfo siginfo_t;
typedef struct standin_sigaltstack stack_t;

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);
int pthread_join(pthread_t thread, void **result);

#define SA_ONSTACK 0x0001
#define SA_SIGINFO 0x0040
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
int sigaltstack(const stack_t *restrict stack, stack_t *restrict before);
int raise(int number);
int usleep(unsigned microseconds);

#endif
