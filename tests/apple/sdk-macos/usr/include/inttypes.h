/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: formats of fixed-width types that only programs print, not the library. */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_INTTYPES_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_INTTYPES_H

#include_next <inttypes.h>

#define PRId32 "d"
#define SCNx32 "x"
#define SCNx64 "llx"

#endif
