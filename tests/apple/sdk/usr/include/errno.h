/* SPDX-License-Identifier: MIT */
/* Stand-in SDK: error numbers (xnu bsd/sys/errno.h). */
#ifndef TESTS_APPLE_SDK_USR_INCLUDE_ERRNO_H
#define TESTS_APPLE_SDK_USR_INCLUDE_ERRNO_H

extern int *__error(void);
#define errno (*__error())

#define EPERM        1
#define ENOENT       2
#define ESRCH        3
#define EINTR        4
#define EAGAIN       35
#define EWOULDBLOCK  EAGAIN
#define EIO          5
#define ENOMEM       12
#define EACCES       13
#define EBUSY        16
#define EEXIST       17
#define ENOTDIR      20
#define EINVAL       22
#define EFBIG        27
#define ERANGE       34
#define EROFS        30
#define ETIMEDOUT    60
#define ELOOP        62
#define ENAMETOOLONG 63
#define EOVERFLOW    84

#endif
