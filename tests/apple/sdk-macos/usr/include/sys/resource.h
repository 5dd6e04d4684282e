/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: more limits, and usage (xnu bsd/sys/resource.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SYS_RESOURCE_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_SYS_RESOURCE_H

#include_next <sys/resource.h>
#include <sys/time.h>

struct rusage {
    struct timeval ru_utime, ru_stime;
    long ru_maxrss;
    long standin_rest[13];
};
#define RUSAGE_SELF   0
#define RLIM_INFINITY ((rlim_t)INT64_MAX)
#define RLIMIT_CORE   4
#define RLIMIT_AS     5

int getrusage(int who, struct rusage *usage);
int setrlimit(int what, const struct rlimit *limit);

#endif
