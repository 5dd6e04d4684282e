/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: formats of the fixed-width types that only programs print. */
#ifndef STANDIN_MACOS_INTTYPES_H
#define STANDIN_MACOS_INTTYPES_H

#include_next <inttypes.h>

#define PRId32 "d"
#define SCNx32 "x"
#define SCNx64 "llx"

#endif
