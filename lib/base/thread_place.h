/* SPDX-License-Identifier: MIT */
/* Spreads threads over places, such as counters on separate cache lines. */
#ifndef USPI_BASE_THREAD_PLACE_H
#define USPI_BASE_THREAD_PLACE_H

#include <stdint.h>

/* Returns a number below `places` that differs between most threads, and is usually the same for one thread: it depends
 * on the thread's stack address. Async-signal-safe. */
static inline uint32_t uspi_thread_place(uint32_t places) {
    /* 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming, volume 3, 6.4). Multiplying by it
     * spreads differences in a few bits over the highest bits. */
    const uint64_t spread = UINT64_C(0x9e3779b97f4a7c15);
    const uint64_t part = (uintptr_t)__builtin_frame_address(0) >> 16;
    return (uint32_t)(part * spread >> 32) % places;
}

#endif
