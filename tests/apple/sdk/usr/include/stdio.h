/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the part of Apple's stdio.h that the library uses. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_STDIO_H
#define TESTS_APPLE_SDK_USR_INCLUDE_STDIO_H

#include <stdarg.h>
#include <stddef.h>

int rename(const char *from, const char *to);
int renameat(int from_folder, const char *from, int to_folder, const char *to);
int snprintf(char *restrict to, size_t n, const char *restrict format, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *restrict to, size_t n, const char *restrict format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif
