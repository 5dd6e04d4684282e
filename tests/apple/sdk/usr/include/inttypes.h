/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: formats of the fixed-width types, which are int and long long on every Apple processor. */
#ifndef STANDIN_INTTYPES_H
#define STANDIN_INTTYPES_H

#include <stdint.h>

#define PRIu32 "u"
#define PRIx32 "x"
#define PRId64 "lld"
#define PRIu64 "llu"
#define PRIx64 "llx"

#endif
