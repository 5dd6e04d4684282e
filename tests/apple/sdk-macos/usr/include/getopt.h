/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: long options (Apple's Libc getopt.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_GETOPT_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_GETOPT_H

#include <unistd.h>

#define no_argument       0
#define required_argument 1

struct option {
    const char *name;
    int has_arg;
    int *flag;
    int val;
};

int getopt_long(int count, char *const *arguments, const char *options, const struct option *long_options, int *index);
int getopt_long_only(int count, char *const *arguments, const char *options, const struct option *long_options,
                     int *index);

#endif
