/* SPDX-License-Identifier: MIT */
/* Writes to an open file where stdio cannot be used, for all our systems: POSIX write. */
#define _FILE_OFFSET_BITS 64 /* for limits beyond 4 GB on 32-bit hosts */

#include "lib/os/os.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

int uspi_os_write(int fd, const void *bytes, size_t n) {
    int kept = errno, status = USP_OK;
    const char *next = bytes;
    while (n > 0 && status == USP_OK) {
        ssize_t written = write(fd, next, n);
        if (written > 0) {
            next += written;
            n -= (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            status = USP_ERROR_SYSTEM;
        }
    }
    errno = kept;
    return status;
}

bool uspi_os_may_write(uint64_t size) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= size;
}
