/* SPDX-License-Identifier: MIT */
/* A fuzzer's bytes as memory of a process, from IMAGE_LOAD on. */
#ifndef TESTS_FUZZ_IMAGE_MEMORY_H
#define TESTS_FUZZ_IMAGE_MEMORY_H

#include <string.h>
#include <unspool/unwind.h>

#define IMAGE_LOAD UINT64_C(0x10000)

struct image_memory {
    const uint8_t *bytes;
    size_t size;
};

/* The shape of usp_memory.read. */
static inline int read_image(void *context, usp_addr from, void *to, size_t n) {
    const struct image_memory *m = context;
    if (from < IMAGE_LOAD || from - IMAGE_LOAD > m->size || n > m->size - (from - IMAGE_LOAD)) {
        return USP_ERROR_UNREADABLE;
    }
    memcpy(to, m->bytes + (from - IMAGE_LOAD), n);
    return USP_OK;
}

#endif
