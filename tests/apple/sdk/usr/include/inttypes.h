/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: formats of the fixed-width types, which are int and long long on every Apple processor. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_INTTYPES_H
#define TESTS_APPLE_SDK_USR_INCLUDE_INTTYPES_H

#include <stdint.h>

#define PRIu32 "u"
#define PRIx32 "x"

/* Also for tests that are compiled for Linux with these headers. */
#if defined(__LP64__) && !defined(__APPLE__)
#define STANDIN_64 "l"
#else
#define STANDIN_64 "ll"
#endif
#define PRId64 STANDIN_64 "d"
#define PRIu64 STANDIN_64 "u"
#define PRIx64 STANDIN_64 "x"

#endif
