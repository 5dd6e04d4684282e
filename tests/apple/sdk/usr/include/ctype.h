/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: the part of Apple's ctype.h that the library uses. */
#ifndef STANDIN_CTYPE_H
#define STANDIN_CTYPE_H

int isalnum(int c);

#endif
