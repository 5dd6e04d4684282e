/* SPDX-License-Identifier: MIT */
/* Declarations of Apple's headers that programs need and the stand-in SDK lacks, because it has only what the library
 * uses: enough to compile doc/examples/ios/checklist.c, doc/examples/crash.c and tests/apple/run_checklist.c. The
 * compiler includes it by -include; layouts do not matter here. */
#ifndef TESTS_APPLE_PROGRAM_H
#define TESTS_APPLE_PROGRAM_H

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define O_WRONLY 0x0001
#define O_CREAT  0x0200
#define O_TRUNC  0x0400

#define EXIT_FAILURE 1
_Noreturn void abort(void);
_Noreturn void exit(int status);
int atoi(const char *text);
int puts(const char *text);

#define SIGUSR2 31
int raise(int number);
unsigned sleep(unsigned seconds);
int usleep(unsigned microseconds);

#endif
