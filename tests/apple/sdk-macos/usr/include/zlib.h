/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: zlib, which macOS brings. */
#ifndef STANDIN_MACOS_ZLIB_H
#define STANDIN_MACOS_ZLIB_H

#define Z_OK        0
#define Z_MEM_ERROR (-4)

typedef unsigned char Bytef;
typedef unsigned long uLong, uLongf;

int uncompress(Bytef *to, uLongf *room, const Bytef *from, uLong n);

#endif
