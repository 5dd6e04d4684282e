/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: the functions that programs use in addition to the library's. */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_STRING_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_STRING_H

#include_next <string.h>
#include <strings.h>

char *strcat(char *restrict to, const char *restrict from);
char *strcpy(char *restrict to, const char *restrict from);
char *strncpy(char *restrict to, const char *restrict from, size_t n);
char *strpbrk(const char *s, const char *set);
char *strsignal(int number);
char *strtok_r(char *restrict s, const char *restrict separators, char **restrict rest);

#endif
