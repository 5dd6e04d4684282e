/* SPDX-License-Identifier: MIT */
/* Writes to an open file where stdio cannot be used, for all our systems: POSIX write. */
#define _FILE_OFFSET_BITS 64 /* for limits beyond 4 GB on 32-bit hosts */

#include "lib/os/which.h"

#include "lib/os/os.h"
#include "lib/os/posix/errno_status.h"

#include <errno.h>
#include <fcntl.h>
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

bool uspi_os_raise_descriptors(uint64_t *before) {
#if USPI_OS == USPI_OS_LINUX
    struct rlimit limit;
    const int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) close(fd);
    if (fd >= 0 || errno != EMFILE || getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
    *before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    return setrlimit(RLIMIT_NOFILE, &limit) == 0;
#else
    (void)before;
    return false;
#endif
}

void uspi_os_restore_descriptors(uint64_t before) {
#if USPI_OS == USPI_OS_LINUX
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = (rlim_t)before;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
#else
    (void)before;
#endif
}

bool uspi_os_may_write(uint64_t size) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= size;
}
