/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: names of either case. */
#ifndef STANDIN_MACOS_STRINGS_H
#define STANDIN_MACOS_STRINGS_H

#include <stddef.h>

int strcasecmp(const char *a, const char *b);

#endif
