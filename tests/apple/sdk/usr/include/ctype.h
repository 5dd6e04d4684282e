/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: what the library uses of it. */
#ifndef STANDIN_CTYPE_H
#define STANDIN_CTYPE_H

int isalnum(int c);

#endif
