/* SPDX-License-Identifier: MIT */
/* Reads a test's bytes as memory at an address, with nothing around them: the core of a usp_memory.read function. */
#ifndef TESTS_SUPPORT_RANGE_H
#define TESTS_SUPPORT_RANGE_H

#include <string.h>

#include <unspool/unwind.h>

/* Copies n bytes from address `from`, out of `size` bytes at `base`. Returns USP_ERROR_UNREADABLE unless all n are
 * among them. */
static inline int read_range(usp_addr base, const void *bytes, uint64_t size, usp_addr from, void *to, size_t n) {
    if (from < base || from - base > size || n > size - (from - base)) return USP_ERROR_UNREADABLE;
    if (n > 0) memcpy(to, (const uint8_t *)bytes + (from - base), n);
    return USP_OK;
}

#endif
