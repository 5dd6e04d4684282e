/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: comparing strings without regard to case. */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_STRINGS_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_STRINGS_H

#include <stddef.h>

int strcasecmp(const char *a, const char *b);

#endif
