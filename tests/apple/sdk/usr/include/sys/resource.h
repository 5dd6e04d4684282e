/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: resource limits (xnu bsd/sys/resource.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_SYS_RESOURCE_H
#define TESTS_APPLE_SDK_USR_INCLUDE_SYS_RESOURCE_H

#include <sys/types.h>

typedef uint64_t rlim_t;
struct rlimit {
    rlim_t rlim_cur, rlim_max;
};
#define RLIMIT_FSIZE 1

int getrlimit(int what, struct rlimit *limit);

#endif
