/* SPDX-License-Identifier: MIT */
/* Regular files and folders, for all our systems: POSIX. */

/* Gives 32-bit hosts offsets beyond 2 GB. Without it readdir would also fail there for folders whose entries have
 * 64-bit positions (glibc feature_test_macros(7), readdir(3) EOVERFLOW). */
#define _FILE_OFFSET_BITS 64

/* Declares madvise, which is not in POSIX. */
#define _DEFAULT_SOURCE 1

#include "lib/object/bytes.h"
#include "lib/os/os.h"
#include "lib/os/posix/errno_status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* Maximum size of a reservation: 64 MB of a 32-bit address space, and no limit in practice in a 64-bit one. */
#define RESERVED_MAX (SIZE_MAX / 64)

/* Size of a large page. The kernel fills one in a third of the time that its small pages take. */
#define LARGE_PAGE ((uintptr_t)2 << 20)

#ifndef MAP_NORESERVE
#define MAP_NORESERVE 0
#endif

static int refuse(const char *path, int number, struct uspi_error *error) {
    return uspi_error_set(error, uspi_posix_status(number), "%s: %s", path, strerror(number));
}

static int refuse_irregular(const char *path, struct uspi_error *error) {
    return uspi_error_set(error, USP_ERROR_FORMAT, "%s: not a regular file", path);
}

/* Opens a path whose first `root` bytes are the folder below which links end. Returns a descriptor or a negative
 * status. */
static int open_within(const char *path, size_t root) {
    char *folder = malloc(root + 1);
    if (folder == NULL) return USP_ERROR_NO_MEMORY;
    memcpy(folder, path, root);
    folder[root] = '\0';
    const int opened = open(folder, O_RDONLY | O_CLOEXEC | O_DIRECTORY);
    free(folder);
    if (opened < 0) return uspi_posix_status(errno);
    const int found = uspi_os_open_below(opened, path + root);
    close(opened);
    return found;
}

/* Returns a descriptor, or a negative status and the reason in *error. */
static int open_for_reading(const char *path, size_t root, struct uspi_error *error) {
    struct stat status;
    int opened = uspi_os_open_in_root(path);
    if (opened == USP_ERROR_UNSUPPORTED && root > 0) opened = open_within(path, root);
    if (opened == USP_ERROR_FORMAT) return refuse_irregular(path, error);
    if (opened < 0 && opened != USP_ERROR_UNSUPPORTED) {
        return uspi_error_set(error, opened, "%s: %s", path, usp_status_string(opened));
    }
    if (opened >= 0) return opened;
    /* The type is checked before the file is opened, because opening a device or a pipe can have effects or block. */
    if (stat(path, &status) != 0) return refuse(path, errno, error);
    if (!S_ISREG(status.st_mode)) return refuse_irregular(path, error);
    opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return opened >= 0 ? opened : refuse(path, errno, error);
}

/* Returns the permissions that a file made of this one must not have. It can get another group, so that the group's are
 * withheld too, unless all users have them or the group is this process's. */
static uint32_t withheld_by(const struct stat *status) {
    const uint32_t mode = (uint32_t)status->st_mode & 0777;
    return (~mode & 0777) | ((mode & 04) == 0 && status->st_gid != getegid() ? 060 : 0);
}

static int open_regular(const char *path, size_t root, struct uspi_os_file *file, struct uspi_error *error) {
    struct stat status;
    const int opened = open_for_reading(path, root, error);
    if (opened < 0) return opened;
    if (fstat(opened, &status) != 0 || !S_ISREG(status.st_mode)) {
        close(opened);
        return refuse_irregular(path, error);
    }
    file->descriptor = opened;
    file->size = (uint64_t)status.st_size;
    file->modified = status.st_mtime > 0 ? (uint64_t)status.st_mtime : 0;
    file->device = (uint64_t)status.st_dev;
    file->inode = (uint64_t)status.st_ino;
    file->withheld = withheld_by(&status);
    return USP_OK;
}

int uspi_os_file_open(const char *path, size_t root, struct uspi_os_file *file, struct uspi_error *error) {
    *file = (struct uspi_os_file){.descriptor = -1};
    return open_regular(path, root, file, error);
}

bool uspi_os_file_is_open(const struct uspi_os_file *file) {
    struct stat status;
    return file->descriptor >= 0 && fstat(file->descriptor, &status) == 0 && (uint64_t)status.st_dev == file->device &&
           (uint64_t)status.st_ino == file->inode;
}

int uspi_os_file_open_again(const struct uspi_os_file *file, const char *path, size_t root,
                            struct uspi_os_file *again) {
    *again = (struct uspi_os_file){.descriptor = -1};
    if (open_regular(path, root, again, NULL) != USP_OK) return USP_ERROR_NOT_FOUND;
    /* A number of a file that was removed can be used again. */
    const bool is_same = again->device == file->device && again->inode == file->inode && again->size == file->size &&
                         again->modified == file->modified;
    if (is_same) return USP_OK;
    uspi_os_file_close(again);
    return USP_ERROR_NOT_FOUND;
}

void uspi_os_file_spare(struct uspi_os_file *file) {
    const long most = sysconf(_SC_OPEN_MAX);
    if (most < 0 || file->descriptor < most / 2) return;
    close(file->descriptor);
    file->descriptor = -1;
}

/* pread uses no file position, so threads need no lock. */
int uspi_os_file_read(const struct uspi_os_file *file, uint64_t at, void *to, size_t n) {
    uint8_t *p = to;
    while (n > 0) {
        ssize_t got = pread(file->descriptor, p, n, (off_t)at);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return USP_ERROR_SYSTEM;
        if (got == 0) return USP_ERROR_TRUNCATED;
        p += got;
        at += (uint64_t)got;
        n -= (size_t)got;
    }
    return USP_OK;
}

int uspi_os_file_measure(struct uspi_os_file *file) {
    struct stat status;
    if (fstat(file->descriptor, &status) != 0) return USP_ERROR_SYSTEM;
    file->size = (uint64_t)status.st_size;
    return USP_OK;
}

void uspi_os_file_close(struct uspi_os_file *file) {
    if (file->descriptor >= 0) close(file->descriptor);
    *file = (struct uspi_os_file){.descriptor = -1};
}

void *uspi_os_reserve(size_t n) {
    if (n == 0 || n > RESERVED_MAX) return NULL;
    void *reserved = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANON | MAP_NORESERVE, -1, 0);
    return reserved != MAP_FAILED ? reserved : NULL;
}

void uspi_os_unreserve(void *reserved, size_t n) {
    if (reserved != NULL) munmap(reserved, n);
}

void uspi_os_reserve_whole(void *from, size_t n) {
#ifdef MADV_HUGEPAGE
    const uintptr_t at = (uintptr_t)from, low = (at + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    const uintptr_t high = (at + n) & ~(LARGE_PAGE - 1);
    if (low < high) madvise((void *)low, high - low, MADV_HUGEPAGE);
#else
    (void)from, (void)n;
#endif
}

int uspi_os_list_folder(const char *folder, bool (*each)(void *context, const char *name), void *context) {
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    if (entries == NULL) return uspi_posix_status(errno);
    while ((entry = readdir(entries)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (!each(context, entry->d_name)) break;
    }
    closedir(entries);
    return USP_OK;
}
