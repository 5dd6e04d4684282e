/* SPDX-License-Identifier: MIT */
/* A target made of the test's words: memory regions at chosen addresses, little-endian on every host. It does not read
 * files or processes. */
#ifndef TESTS_SUPPORT_TARGET_IMAGE_H
#define TESTS_SUPPORT_TARGET_IMAGE_H

#include <string.h>
#include <unspool/unwind.h>

#define IMAGE_REGIONS 12
#define IMAGE_BYTES   4096

struct target_image {
    unsigned count;
    struct {
        usp_addr from;
        size_t size;
        uint8_t bytes[IMAGE_BYTES];
    } regions[IMAGE_REGIONS];
};

/* Adds a region of n words of `width` bytes each, from address `from` on. */
static inline void image_words(struct target_image *image, usp_addr from, unsigned width, const uint64_t *words,
                               size_t n) {
    uint8_t *p = image->regions[image->count].bytes;
    image->regions[image->count].from = from;
    image->regions[image->count++].size = n * width;
    for (size_t i = 0; i < n; i++) {
        for (unsigned k = 0; k < width; k++) *p++ = (uint8_t)(words[i] >> 8 * k);
    }
}

static inline void image_bytes(struct target_image *image, usp_addr from, const void *bytes, size_t n) {
    image->regions[image->count].from = from;
    image->regions[image->count].size = n;
    memcpy(image->regions[image->count++].bytes, bytes, n);
}

/* A usp_memory.read function. */
static inline int image_read(void *context, usp_addr from, void *to, size_t n) {
    const struct target_image *image = context;
    for (unsigned i = 0; i < image->count; i++) {
        usp_addr at = image->regions[i].from;
        if (from >= at && from - at <= image->regions[i].size && n <= image->regions[i].size - (from - at)) {
            memcpy(to, image->regions[i].bytes + (from - at), n);
            return USP_OK;
        }
    }
    return USP_ERROR_UNREADABLE;
}

#define WORDS(image, from, width, ...)                                                                                 \
    image_words(image, from, width, (const uint64_t[]){__VA_ARGS__},                                                   \
                sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

#define CODE32(image, from, ...) WORDS(image, from, 4, __VA_ARGS__)
#define CODE16(image, from, ...) WORDS(image, from, 2, __VA_ARGS__)
#define CODE8(image, from, ...)                                                                                        \
    image_bytes(image, from, (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

#endif
