/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: classes of characters. */
#ifndef STANDIN_MACOS_CTYPE_H
#define STANDIN_MACOS_CTYPE_H

#include_next <ctype.h>

int isspace(int c);
int tolower(int c);

#endif
