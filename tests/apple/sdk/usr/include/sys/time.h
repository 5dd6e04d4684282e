/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the time of day (xnu bsd/sys/time.h). */
#ifndef STANDIN_SYS_TIME_H
#define STANDIN_SYS_TIME_H

#include <sys/types.h>

struct timeval {
    time_t tv_sec;
    int32_t tv_usec;
};

int gettimeofday(struct timeval *restrict now, void *restrict zone);

#endif
