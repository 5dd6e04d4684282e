/* SPDX-License-Identifier: MIT */
/* The input of fuzz_unwind: this header, then registers, code, stack. */
#ifndef TESTS_FUZZ_UNWIND_INPUT_H
#define TESTS_FUZZ_UNWIND_INPUT_H

#include <stdint.h>

/* Addresses near zero, so that few bytes make a pointer. */
#define CODE       UINT64_C(0x10000)
#define STACK      UINT64_C(0x20000)
#define FRAMES_MAX 64

struct header {
    uint8_t arch; /* usp_arch − 1 */
    uint8_t os, wishes, capacity, tail, skip, readers, address_bits;
    uint8_t registers;   /* number of words of 8 bytes that follow, for register 0, 1, … */
    uint8_t code_length; /* in units of 4 bytes; the rest is the stack */
};

enum wishes {
    WISH_ASYNC = 1 << 0,
    WISH_BOUNDS = 1 << 1,
    WISH_REGIONS = 1 << 2,
    WISH_STARTS = 1 << 3,
    WISH_ROOT = 1 << 4,
    WISH_TASK = 1 << 5,
    WISH_THUMB = 1 << 6,
    WISH_MASK = 1 << 7
};

#endif
