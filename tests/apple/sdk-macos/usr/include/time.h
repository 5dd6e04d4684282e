/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: clocks (Apple's Libc time.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_TIME_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_TIME_H

#include_next <time.h>

typedef enum {
    _CLOCK_REALTIME = 0,
    _CLOCK_MONOTONIC = 6,
} clockid_t;
#define CLOCK_REALTIME  _CLOCK_REALTIME
#define CLOCK_MONOTONIC _CLOCK_MONOTONIC

int clock_gettime(clockid_t clock, struct timespec *now);
time_t time(time_t *now);

#endif
