/* SPDX-License-Identifier: MIT */
/* A file that is written through a mapping, for all our systems: POSIX. Its contents stay when the process is
 * killed. */
#define _FILE_OFFSET_BITS 64

#include "lib/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

static int status_of_errno(int number) {
    switch (number) {
    case ENOENT:
    case ENOTDIR: return USP_ERROR_NOT_FOUND;
    case EACCES:
    case EPERM:
    case EROFS: return USP_ERROR_PERMISSION;
    case ENOMEM: return USP_ERROR_NO_MEMORY;
    default: return USP_ERROR_SYSTEM;
    }
}

/* Reserves disk space by writing zeros. If the disk had no room for a page of a mapping, writing to it would kill the
 * process. */
static int reserve(int fd, size_t size) {
    static const uint8_t zeros[4096];
    int status = USP_OK;
    for (size_t at = 0; status == USP_OK && at < size; at += sizeof zeros) {
        size_t n = size - at < sizeof zeros ? size - at : sizeof zeros;
        status = uspi_os_write(fd, zeros, n);
    }
    return status;
}

/* The old file is unlinked, not overwritten, so a process that has mapped it keeps it. */
int uspi_os_mapping_make(const char *path, size_t size, struct uspi_os_mapping *mapping) {
    *mapping = (struct uspi_os_mapping){.bytes = NULL};
    if (unlink(path) != 0 && errno != ENOENT) return status_of_errno(errno);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0) return status_of_errno(errno);
    int status = reserve(fd, size);
    void *bytes = status == USP_OK ? mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    if (status == USP_OK && bytes == MAP_FAILED) status = status_of_errno(errno);
    close(fd);
    if (status != USP_OK) {
        unlink(path);
        return status;
    }
    *mapping = (struct uspi_os_mapping){bytes, size};
    return USP_OK;
}

void uspi_os_mapping_close(struct uspi_os_mapping *mapping) {
    if (mapping->bytes != NULL) munmap(mapping->bytes, mapping->size);
    *mapping = (struct uspi_os_mapping){.bytes = NULL};
}
