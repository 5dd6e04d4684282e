/* SPDX-License-Identifier: MIT */
/* Files made of numbers that stand in the test: a growing buffer, little-endian unless said otherwise, whatever the host
 * is; and temporary files. Knows no format. */
#ifndef TESTS_FILE_BUILDER_H
#define TESTS_FILE_BUILDER_H

#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct builder {
    uint8_t *bytes;
    size_t size, room;
};

static inline void builder_free(struct builder *b) {
    free(b->bytes);
    memset(b, 0, sizeof *b);
}

static inline void put_bytes(struct builder *b, const void *bytes, size_t n) {
    if (b->size + n > b->room) {
        b->room = (b->size + n) * 2 + 256;
        b->bytes = realloc(b->bytes, b->room);
        if (b->bytes == NULL) abort();
    }
    if (n > 0) memcpy(b->bytes + b->size, bytes, n);
    b->size += n;
}

static inline void put(struct builder *b, unsigned width, uint64_t value) {
    uint8_t raw[8];
    for (unsigned i = 0; i < width; i++) raw[i] = (uint8_t)(value >> 8 * i);
    put_bytes(b, raw, width);
}

static inline void put_be(struct builder *b, unsigned width, uint64_t value) {
    uint8_t raw[8];
    for (unsigned i = 0; i < width; i++) raw[i] = (uint8_t)(value >> 8 * (width - 1 - i));
    put_bytes(b, raw, width);
}

/* "0c 07 08": pairs of hexadecimal digits. */
static inline void put_hex(struct builder *b, const char *hex) {
    for (; *hex != '\0'; hex++) {
        unsigned value;
        if (isspace((unsigned char)*hex)) continue;
        if (sscanf(hex, "%2x", &value) != 1) abort();
        put(b, 1, value);
        hex++;
    }
}

/* A string in n bytes, filled up with zeros (and without a terminator when it has n). */
static inline void put_name(struct builder *b, const char *name, size_t n) {
    for (size_t i = 0; i < n; i++) {
        put(b, 1, *name != '\0' ? (uint8_t)*name : 0);
        if (*name != '\0') name++;
    }
}

/* Zeros up to an offset. */
static inline void pad_to(struct builder *b, size_t offset) {
    while (b->size < offset) put(b, 1, 0);
}

static inline void align_to(struct builder *b, size_t align) { pad_to(b, (b->size + align - 1) / align * align); }

/* Overwrites a number that is there already. */
static inline void patch(struct builder *b, size_t offset, unsigned width, uint64_t value) {
    for (unsigned i = 0; i < width; i++) b->bytes[offset + i] = (uint8_t)(value >> 8 * i);
}

static inline void save(const struct builder *b, const char *path) {
    FILE *f = fopen(path, "wb");
    if (f == NULL || (b->size > 0 && fwrite(b->bytes, 1, b->size, f) != b->size) || fclose(f) != 0) {
        perror(path);
        abort();
    }
}

/* The same with the first `head` bytes at the file's beginning and the rest behind a hole of that size, which takes no room.
 * A test of files above 2 GB defines _FILE_OFFSET_BITS as 64, for hosts of 32 bits. */
static inline void save_with_hole(const struct builder *b, const char *path, size_t head, uint64_t hole) {
    const size_t rest = b->size - head;
    int fd = open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    if (fd < 0 || write(fd, b->bytes, head) != (ssize_t)head ||
        pwrite(fd, b->bytes + head, rest, (off_t)(hole + head)) != (ssize_t)rest || close(fd) != 0) {
        perror(path);
        abort();
    }
}

#endif
