/* SPDX-License-Identifier: MIT */
/* A built file for readers: its bytes, and the same bytes in a process's memory at IMAGE. */
#ifndef TESTS_SUPPORT_BUILT_FILE_H
#define TESTS_SUPPORT_BUILT_FILE_H

#include "lib/object/bytes.h"
#include "tests/support/core_fixtures.h"
#include "tests/support/range.h"

static struct builder file;
static struct uspi_source source;
static struct uspi_error error;

static inline void free_file(void) { builder_free(&file); }

static inline struct uspi_bytes all(void) {
    source = (struct uspi_source){.name = "file", .base = file.bytes};
    return (struct uspi_bytes){&source, 0, file.size};
}

/* The first n bytes, in a buffer of exactly that size, so that a sanitizer reports a read after it. The caller frees
 * *copy. */
static inline struct uspi_bytes first(size_t n, uint8_t **copy) {
    *copy = malloc(n == 0 ? 1 : n);
    if (*copy == NULL) abort();
    memcpy(*copy, file.bytes, n);
    source = (struct uspi_source){.name = "file", .base = *copy};
    return (struct uspi_bytes){&source, 0, n};
}

static inline int read_file_at_image(void *context, usp_addr from, void *to, size_t n) {
    (void)context;
    return read_range(IMAGE, file.bytes, file.size, from, to, n);
}

/* The memory from an address on. */
static inline struct uspi_bytes in_memory(usp_addr from) {
    static const struct usp_memory memory = {read_file_at_image, NULL};
    source = uspi_source_of_memory(&memory, "process");
    return uspi_bytes_at(&source, from);
}

#endif
