/* SPDX-License-Identifier: MIT */
/* Opens files that a runtime writes about generated code, on all our systems: see os.h (uspi_os_trusted_file) and
 * jit_file.h. */
#define _FILE_OFFSET_BITS 64

#include "lib/os/posix/jit_file.h"

#include "lib/os/posix/errno_status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

/* With O_DIRECTORY, ENOTDIR also means a symbolic link. */
static int status_of_part(int number) {
    return number == ENOTDIR ? USP_ERROR_PERMISSION : uspi_posix_status_without_links(number);
}

int uspi_posix_open_part(int folder, const char *name, bool is_folder) {
    char part[NAME_MAX + 1];
    const size_t length = strcspn(name, "/");
    if (length == 0 || length >= sizeof part) return USP_ERROR_NOT_FOUND;
    memcpy(part, name, length);
    part[length] = '\0';
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | (is_folder ? O_DIRECTORY : 0);
    struct stat status;
    /* The type is checked before the file is opened, because opening a device or a pipe can have effects or block. */
    if (fstatat(folder, part, &status, AT_SYMLINK_NOFOLLOW) != 0) return status_of_part(errno);
    if (S_ISLNK(status.st_mode)) return USP_ERROR_PERMISSION;
    if (!is_folder && !S_ISREG(status.st_mode)) return USP_ERROR_FORMAT;
    const int opened = openat(folder, part, flags);
    return opened >= 0 ? opened : status_of_part(errno);
}

int uspi_posix_take_jit_file(int descriptor, int64_t user, int64_t other, struct uspi_os_file *file) {
    struct stat status;
    int result = USP_OK;
    *file = (struct uspi_os_file){.descriptor = -1};
    if (fstat(descriptor, &status) != 0) {
        result = USP_ERROR_SYSTEM;
    } else if (!S_ISREG(status.st_mode)) {
        result = USP_ERROR_FORMAT;
    } else if (status.st_uid != 0 && (int64_t)status.st_uid != user && (int64_t)status.st_uid != other) {
        result = USP_ERROR_PERMISSION;
    }
    if (result != USP_OK) {
        close(descriptor);
        return result;
    }
    file->descriptor = descriptor;
    file->size = (uint64_t)status.st_size;
    return USP_OK;
}

int uspi_os_trusted_file(const char *folder, const char *name, struct uspi_os_file *file) {
    struct stat status;
    *file = (struct uspi_os_file){.descriptor = -1};
    const int opened = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    if (opened < 0) return status_of_part(errno);
    int result = fstat(opened, &status) == 0 ? uspi_posix_open_part(opened, name, false) : USP_ERROR_SYSTEM;
    close(opened);
    if (result < 0) return result;
    return uspi_posix_take_jit_file(result, (int64_t)geteuid(), (int64_t)status.st_uid, file);
}
