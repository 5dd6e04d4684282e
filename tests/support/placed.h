/* SPDX-License-Identifier: MIT */
/* Bytes that a test has built, as a process's memory at an address, with nothing mapped around them. */
#ifndef TESTS_SUPPORT_PLACED_H
#define TESTS_SUPPORT_PLACED_H

#include <unspool/unwind.h>

#include "tests/support/file_builder.h"
#include "tests/support/range.h"

struct placed {
    const struct builder *b;
    usp_addr at;
};

/* A usp_memory.read function; the context is a struct placed. */
static inline int read_placed(void *context, usp_addr from, void *to, size_t n) {
    const struct placed *p = context;
    return read_range(p->at, p->b->bytes, p->b->size, from, to, n);
}

#endif
