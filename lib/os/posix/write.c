/* SPDX-License-Identifier: MIT */
/* Writes to an open file where stdio cannot be used, for all our systems: POSIX write. */
#include "lib/os/os.h"

#include <errno.h>
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
