/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: marks C declarations for C++. */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_SYS_CDEFS_H
#define TESTS_APPLE_SDK_USR_INCLUDE_SYS_CDEFS_H

#ifdef __cplusplus
#define __BEGIN_DECLS extern "C" {
#define __END_DECLS   }
#else
#define __BEGIN_DECLS
#define __END_DECLS
#endif

#endif
