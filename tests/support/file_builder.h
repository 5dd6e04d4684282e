/* SPDX-License-Identifier: MIT */
/* Builds files from numbers: a growing buffer, little-endian on every host unless stated otherwise; and temporary
 * files. Independent of any format. */
#ifndef TESTS_SUPPORT_FILE_BUILDER_H
#define TESTS_SUPPORT_FILE_BUILDER_H

#include <ctype.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct builder {
    uint8_t *bytes;
    size_t size, capacity;
};

static inline void builder_free(struct builder *b) {
    free(b->bytes);
    memset(b, 0, sizeof *b);
}

static inline void put_bytes(struct builder *b, const void *bytes, size_t n) {
    if (b->size + n > b->capacity) {
        b->capacity = (b->size + n) * 2 + 256;
        b->bytes = realloc(b->bytes, b->capacity);
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

/* Puts bytes given as hexadecimal digits: "0c 07 08". */
static inline void put_hex(struct builder *b, const char *hex) {
    for (; *hex != '\0'; hex++) {
        unsigned value;
        if (isspace((unsigned char)*hex)) continue;
        if (sscanf(hex, "%2x", &value) != 1) abort();
        put(b, 1, value);
        hex++;
    }
}

/* Puts a string into n bytes, padded with zeros. A string of n bytes has no terminator. */
static inline void put_name(struct builder *b, const char *name, size_t n) {
    for (size_t i = 0; i < n; i++) {
        put(b, 1, *name != '\0' ? (uint8_t)*name : 0);
        if (*name != '\0') name++;
    }
}

/* Puts zeros up to an offset. */
static inline void pad_to(struct builder *b, size_t offset) {
    while (b->size < offset) put(b, 1, 0);
}

static inline void align_to(struct builder *b, size_t align) { pad_to(b, (b->size + align - 1) / align * align); }

/* Overwrites a number. */
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

/* Saves the first `head` bytes at the file's beginning, and the rest after a hole of that size, which takes no space. A
 * test of files above 2 GB defines _FILE_OFFSET_BITS as 64, for 32-bit hosts. */
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
