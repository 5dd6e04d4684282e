/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the time of day (xnu bsd/sys/time.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_SYS_TIME_H
#define TESTS_APPLE_SDK_USR_INCLUDE_SYS_TIME_H

#include <sys/types.h>

struct timeval {
    time_t tv_sec;
    int32_t tv_usec;
};

#define ITIMER_REAL 0
struct itimerval {
    struct timeval it_interval, it_value;
};

int setitimer(int which, const struct itimerval *restrict timer, struct itimerval *restrict old);
int gettimeofday(struct timeval *restrict now, void *restrict zone);

#endif
