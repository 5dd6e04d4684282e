/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: error numbers (xnu bsd/sys/errno.h). */
#ifndef STANDIN_MACOS_ERRNO_H
#define STANDIN_MACOS_ERRNO_H

#include_next <errno.h>

#define EISDIR 21

#endif
