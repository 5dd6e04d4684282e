/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the part of Apple's ctype.h that the library uses. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_CTYPE_H
#define TESTS_APPLE_SDK_USR_INCLUDE_CTYPE_H

int isalnum(int c);

#endif
