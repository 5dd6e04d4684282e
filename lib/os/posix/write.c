/* SPDX-License-Identifier: MIT */
/* Writes to an open file where stdio cannot be used, for all our systems: POSIX write. */
#define _FILE_OFFSET_BITS 64 /* for limits beyond 4 GB on 32-bit hosts */

#include "lib/os/os.h"
#include "lib/os/posix/errno_status.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

int uspi_posix_write(int fd, const void *bytes, size_t n) {
    int kept = errno, error = 0;
    const char *next = bytes;
    while (n > 0 && error == 0) {
        ssize_t written = write(fd, next, n);
        if (written > 0) {
            next += written;
            n -= (size_t)written;
        } else if (written == 0 || errno != EINTR) {
            error = written == 0 ? EIO : errno;
        }
    }
    errno = kept;
    return error;
}

int uspi_os_write(int fd, const void *bytes, size_t n) {
    return uspi_posix_write(fd, bytes, n) == 0 ? USP_OK : USP_ERROR_SYSTEM;
}

bool uspi_os_may_write(uint64_t size) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= size;
}
