/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the part of Apple's stdlib.h that the library uses. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_STDLIB_H
#define TESTS_APPLE_SDK_USR_INCLUDE_STDLIB_H

#include <stddef.h>

void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *memory, size_t size);
void free(void *memory);
_Noreturn void exit(int status);
int mkstemp(char *path);
void qsort(void *base, size_t count, size_t size, int (*compare)(const void *, const void *));
void *bsearch(const void *key, const void *base, size_t count, size_t size, int (*compare)(const void *, const void *));

#endif
