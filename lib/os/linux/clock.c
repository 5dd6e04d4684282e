/* SPDX-License-Identifier: MIT */
/* The clocks of os.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/os.h"

#include <time.h>

static uint64_t read_clock(clockid_t clock) {
    struct timespec now;
    if (clock_gettime(clock, &now) != 0) return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t uspi_os_clock(void) { return read_clock(CLOCK_MONOTONIC); }

uint64_t uspi_os_wall_clock(void) { return read_clock(CLOCK_REALTIME); }

#endif
