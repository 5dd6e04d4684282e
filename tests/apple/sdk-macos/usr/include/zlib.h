/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: zlib, which is part of macOS. */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_ZLIB_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_ZLIB_H

#define ZLIB_VERSION "1.2.12"

#define Z_NO_FLUSH   0
#define Z_OK         0
#define Z_STREAM_END 1
#define Z_MEM_ERROR  (-4)
#define Z_BUF_ERROR  (-5)

typedef unsigned char Bytef;
typedef unsigned int uInt;
typedef unsigned long uLong, uLongf;

typedef struct z_stream_s {
    const Bytef *next_in;
    uInt avail_in;
    uLong total_in;
    Bytef *next_out;
    uInt avail_out;
    uLong total_out;
    const char *msg;
    struct internal_state *state;
    void *(*zalloc)(void *opaque, uInt items, uInt size);
    void (*zfree)(void *opaque, void *address);
    void *opaque;
    int data_type;
    uLong adler, reserved;
} z_stream, *z_streamp;

int uncompress(Bytef *to, uLongf *capacity, const Bytef *from, uLong n);

#endif
