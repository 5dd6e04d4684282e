/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: classes of characters. */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_CTYPE_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_CTYPE_H

#include_next <ctype.h>

int isspace(int c);
int tolower(int c);

#endif
