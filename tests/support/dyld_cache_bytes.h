/* SPDX-License-Identifier: MIT */
/* Writes small dyld shared caches of one image by hand, for the suite and as seeds of the fuzzer. */
#ifndef TESTS_SUPPORT_DYLD_CACHE_BYTES_H
#define TESTS_SUPPORT_DYLD_CACHE_BYTES_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <unspool/base.h>

#define BASE    UINT64_C(0x180000000)
#define IMAGE   0x4000 /* offset of the image, also from the base */
#define LINKING 0x8000 /* offset of __LINKEDIT */
#define LOCALS  0xc000 /* offset of the local symbols */
#define SIZE    0x10000

/* The file that is being written. */
static uint8_t bytes[SIZE];

static inline void put(size_t at, unsigned width, uint64_t value) {
    for (unsigned i = 0; i < width; i++) bytes[at + i] = (uint8_t)(value >> 8 * i);
}

static inline void put_text(size_t at, const char *text) { memcpy(bytes + at, text, strlen(text) + 1); }

static inline void put_uuid(size_t at, uint8_t first) {
    for (uint8_t i = 0; i < 16; i++) bytes[at + i] = (uint8_t)(first + i);
}

/* Writes the magic, the header's size, the file's UUID and a mapping of `size` bytes at `address`. */
static inline void put_header(uint32_t header, uint8_t uuid, usp_addr address, uint64_t size) {
    put_text(0, "dyld_v1   arm64");
    put(0x10, 4, header);
    put(0x14, 4, 1);
    put_uuid(0x58, uuid);
    put(header, 8, address);
    put(header + 8, 8, size);
}

static inline void put_segment(size_t at, const char *name, usp_addr address, uint64_t size, uint64_t offset,
                               uint32_t sections) {
    put(at, 4, 0x19);
    put(at + 4, 4, 72 + 80 * sections);
    put_text(at + 8, name);
    put(at + 24, 8, address);
    put(at + 32, 8, size);
    put(at + 40, 8, offset);
    put(at + 48, 8, size);
    put(at + 60, 4, 5);
    put(at + 64, 4, sections);
}

/* Writes an image with a section of code and three symbols: _public, <redacted>, and an import. */
static inline void put_image(void) {
    size_t at = IMAGE;
    put(at, 4, 0xfeedfacf);
    put(at + 4, 4, 0x0100000c);
    put(at + 12, 4, 6);
    put(at + 16, 4, 4);
    put(at + 20, 4, 72 + 80 + 72 + 24 + 24);
    put(at + 24, 4, 0x80000000);
    at += 32;
    put_segment(at, "__TEXT", BASE + IMAGE, 0x4000, IMAGE, 1);
    put_text(at + 72, "__text");
    put_text(at + 88, "__TEXT");
    put(at + 104, 8, BASE + IMAGE + 0x1000);
    put(at + 112, 8, 0x100);
    put(at + 136, 4, 0x80000400);
    at += 152;
    put_segment(at, "__LINKEDIT", BASE + LINKING, 0x4000, LINKING, 0);
    at += 72;
    put(at, 4, 0x2);
    put(at + 4, 4, 24);
    put(at + 8, 4, LINKING);
    put(at + 12, 4, 3);
    put(at + 16, 4, LINKING + 0x100);
    put(at + 20, 4, 0x7fffffff); /* the pool of all images, and more than the mapping */
    at += 24;
    put(at, 4, 0x1b);
    put(at + 4, 4, 24);
    put_uuid(at + 8, 0x40);
    const struct {
        uint32_t name;
        uint8_t type, section;
        uint64_t value;
    } symbols[] = {{0x14, 0x0e, 1, BASE + IMAGE + 0x1040}, {1, 0x0f, 1, BASE + IMAGE + 0x1000}, {0x1f, 0x01, 0, 0}};
    for (size_t i = 0; i < 3; i++) {
        put(LINKING + 16 * i, 4, symbols[i].name);
        put(LINKING + 16 * i + 4, 1, symbols[i].type);
        put(LINKING + 16 * i + 5, 1, symbols[i].section);
        put(LINKING + 16 * i + 8, 8, symbols[i].value);
    }
    put_text(LINKING + 0x101, "_public");
    put_text(LINKING + 0x114, "<redacted>");
    put_text(LINKING + 0x11f, "_import");
}

/* Writes the local symbols: an entry for another image, and one for this, with one symbol. */
static inline void put_locals(size_t at, bool is_64) {
    const size_t entry = is_64 ? 16 : 12, width = is_64 ? 8 : 4;
    put(at, 4, 0x40);
    put(at + 4, 4, 2);
    put(at + 8, 4, 0x80);
    put(at + 12, 4, 0x80);
    put(at + 16, 4, 0x100);
    put(at + 20, 4, 2);
    put(at + 0x50, 4, 1);
    put(at + 0x54, 1, 0x0e);
    put(at + 0x55, 1, 1);
    put(at + 0x58, 8, BASE + IMAGE + 0x1040);
    put_text(at + 0x81, "_hidden");
    put(at + 0x100, (unsigned)width, 0x123000);
    put(at + 0x100 + width, 4, 0);
    put(at + 0x100 + width + 4, 4, 1);
    put(at + 0x100 + entry, (unsigned)width, IMAGE);
    put(at + 0x100 + entry + width, 4, 1);
    put(at + 0x100 + entry + width + 4, 4, 1);
}

/* Writes a whole cache in one file, with a header of `header` bytes. */
static inline void put_cache(uint32_t header) {
    put_header(header, 0x10, BASE, LOCALS);
    put(0x88, 8, 0x3000);
    put(0x90, 8, 1);
    put(0x48, 8, LOCALS);
    put(0x50, 8, SIZE - LOCALS);
    put_uuid(0x3000, 0x40);
    put(0x3010, 8, BASE + IMAGE);
    put(0x3018, 4, 0x4000);
    put(0x301c, 4, 0x3100);
    put_text(0x3100, "/usr/lib/libone.dylib");
    put_image();
    put_locals(LOCALS, header >= 0x190);
}

/* Saves the first `size` bytes as a file of the cache. */
static void save(const char *name, size_t size);

/* Splits the cache: the local symbols go to a file .symbols, the image to a sub-cache with a suffix. */
static inline void save_split(void) {
    uint8_t whole[SIZE];
    put_cache(0x1d0);
    memcpy(whole, bytes, sizeof whole);
    put_header(0x1d0, 0x10, BASE, IMAGE);
    put(0x48, 8, 0);
    put(0x188, 4, 0x3800);
    put(0x18c, 4, 1);
    put_uuid(0x190, 0x30);
    put_uuid(0x3800, 0x20);
    put(0x3810, 8, IMAGE);
    put_text(0x3818, ".02.dylddata");
    save("main", IMAGE);
    memset(bytes, 0, sizeof bytes);
    put_header(0x1d0, 0x20, BASE + IMAGE, LOCALS - IMAGE);
    put(0x1d0 + 16, 8, IMAGE);
    memcpy(bytes + IMAGE, whole + IMAGE, LOCALS - IMAGE);
    save("main.02.dylddata", LOCALS);
    memset(bytes, 0, sizeof bytes);
    put_header(0x1d0, 0x30, 0, SIZE); /* it is never mapped, although it says so */
    put(0x48, 8, LOCALS);
    memcpy(bytes + LOCALS, whole + LOCALS, SIZE - LOCALS);
    save("main.symbols", SIZE);
}

#endif
