/* SPDX-License-Identifier: MIT */
/* A fuzzer's bytes as memory of a process, from IMAGE_LOAD on. */
#ifndef TESTS_FUZZ_IMAGE_MEMORY_H
#define TESTS_FUZZ_IMAGE_MEMORY_H

#include "tests/support/range.h"

#define IMAGE_LOAD UINT64_C(0x10000)

struct image_memory {
    const uint8_t *bytes;
    size_t size;
};

/* The shape of usp_memory.read. */
static inline int read_image(void *context, usp_addr from, void *to, size_t n) {
    const struct image_memory *m = context;
    return read_range(IMAGE_LOAD, m->bytes, m->size, from, to, n);
}

#endif
