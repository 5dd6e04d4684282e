/* SPDX-License-Identifier: MIT */
/* The status that an errno value of a file's system call means. */
#ifndef USPI_OS_POSIX_ERRNO_STATUS_H
#define USPI_OS_POSIX_ERRNO_STATUS_H

#include <unspool/base.h>

#include <errno.h>
#include <stddef.h>

static inline int uspi_posix_status(int number) {
    switch (number) {
    case ENOENT:
    case ENOTDIR:
    case ENAMETOOLONG:
    case ESRCH: return USP_ERROR_NOT_FOUND; /* of files in /proc: the process has ended */
    case EACCES:
    case EPERM:
    case EROFS: return USP_ERROR_PERMISSION;
    case ENOMEM: return USP_ERROR_NO_MEMORY;
    default: return USP_ERROR_SYSTEM;
    }
}

/* The same where links are refused. */
static inline int uspi_posix_status_without_links(int number) {
    return number == ELOOP ? USP_ERROR_PERMISSION : uspi_posix_status(number);
}

/* As uspi_os_write, but returns 0 or an errno. (lib/os/posix/write.c) */
int uspi_posix_write(int fd, const void *bytes, size_t n);

#endif
