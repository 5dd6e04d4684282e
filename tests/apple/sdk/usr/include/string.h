/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the part of Apple's string.h that the library uses. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_STRING_H
#define TESTS_APPLE_SDK_USR_INCLUDE_STRING_H

#include <stddef.h>

void *memchr(const void *s, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memcpy(void *restrict to, const void *restrict from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *s, int c, size_t n);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
char *strstr(const char *s, const char *part);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
size_t strlen(const char *s);
size_t strnlen(const char *s, size_t n);
size_t strcspn(const char *s, const char *set);
char *strndup(const char *s, size_t n);
size_t strspn(const char *s, const char *set);
char *strdup(const char *s);
char *strerror(int number);

#endif
