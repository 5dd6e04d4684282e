/* SPDX-License-Identifier: MIT */
/* A growing buffer to which bytes are appended. */
#ifndef USPI_BASE_GATHERED_H
#define USPI_BASE_GATHERED_H

#include "lib/base/array.h"
#include "lib/base/span.h"

#include <unspool/base.h>

/* All zero is empty. The struct owns `bytes`, and keeps the memory when the caller sets `size` to 0. */
struct uspi_gathered {
    char *bytes; /* NULL: nothing was gathered yet */
    size_t size, capacity;
};

/* Makes room for n more bytes. Returns false when memory lacks. */
static inline bool uspi_gathered_reserve(struct uspi_gathered *gathered, size_t n) {
    return uspi_room_for(&gathered->bytes, &gathered->capacity, gathered->size, n, 1);
}

/* A usp_write_function whose context is a struct uspi_gathered. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_gathered_append(void *context, const char *bytes, size_t n);

/* Frees the bytes. */
static inline void uspi_gathered_clear(struct uspi_gathered *gathered) {
    free(gathered->bytes);
    *gathered = (struct uspi_gathered){.bytes = NULL};
}

static inline struct uspi_span uspi_gathered_span(const struct uspi_gathered *gathered) {
    return (struct uspi_span){gathered->bytes, gathered->size};
}

#endif
