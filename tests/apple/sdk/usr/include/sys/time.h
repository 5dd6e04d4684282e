/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the time of day (xnu bsd/sys/time.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_SYS_TIME_H
#define TESTS_APPLE_SDK_USR_INCLUDE_SYS_TIME_H

#include <sys/types.h>

struct timeval {
    time_t tv_sec;
    int32_t tv_usec;
};

int gettimeofday(struct timeval *restrict now, void *restrict zone);

#endif
