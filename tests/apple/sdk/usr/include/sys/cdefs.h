/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: marks C declarations for C++. */
#ifndef STANDIN_SYS_CDEFS_H
#define STANDIN_SYS_CDEFS_H

#ifdef __cplusplus
#define __BEGIN_DECLS extern "C" {
#define __END_DECLS   }
#else
#define __BEGIN_DECLS
#define __END_DECLS
#endif

#endif
