/* SPDX-License-Identifier: MIT */
/* Stand-in SDK, native builds: the next definition of a symbol after the caller's image (dyld include/dlfcn.h). */
#ifndef TESTS_APPLE_SDK_MACOS_USR_INCLUDE_DLFCN_H
#define TESTS_APPLE_SDK_MACOS_USR_INCLUDE_DLFCN_H

#include_next <dlfcn.h>

#define RTLD_NOW  0x2
#define RTLD_NEXT ((void *)-1)

#endif
