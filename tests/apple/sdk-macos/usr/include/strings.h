/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: comparing strings without regard to case. */
#ifndef STANDIN_MACOS_STRINGS_H
#define STANDIN_MACOS_STRINGS_H

#include <stddef.h>

int strcasecmp(const char *a, const char *b);

#endif
