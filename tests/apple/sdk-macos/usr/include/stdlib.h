/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: the functions that programs use in addition to the library's. */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_STDLIB_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_STDLIB_H

#include <stdint.h>
#include_next <stdlib.h>

#define EXIT_FAILURE 1
#define EXIT_SUCCESS 0

_Noreturn void abort(void);
void *aligned_alloc(size_t alignment, size_t size);
int atoi(const char *text);
char *getenv(const char *name);
char *mkdtemp(char *path);
int rand(void);
char *realpath(const char *restrict path, char *restrict to);
int setenv(const char *name, const char *value, int replaces);
void srand(unsigned seed);
double strtod(const char *text, char **end);
long strtol(const char *text, char **end, int base);
unsigned long strtoul(const char *text, char **end, int base);
unsigned long long strtoull(const char *text, char **end, int base);
int system(const char *command);

#endif
