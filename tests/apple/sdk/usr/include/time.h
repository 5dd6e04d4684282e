/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the part of Apple's time.h that the library uses. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_TIME_H
#define TESTS_APPLE_SDK_USR_INCLUDE_TIME_H

#include <sys/types.h>

struct timespec {
    time_t tv_sec;
    long tv_nsec;
};

struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
    long tm_gmtoff;
    char *tm_zone;
};

int nanosleep(const struct timespec *time, struct timespec *left);
struct tm *gmtime_r(const time_t *restrict time, struct tm *restrict broken_down);

#endif
