/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: flags with which programs open files (xnu bsd/sys/fcntl.h). */
#ifndef STANDIN_MACOS_FCNTL_H
#define STANDIN_MACOS_FCNTL_H

#include_next <fcntl.h>

#define AT_FDCWD (-2)

#endif
