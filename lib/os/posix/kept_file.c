/* SPDX-License-Identifier: MIT */
/* A file whose contents stay when the process is killed, for all our systems: POSIX. It is written by pwrite, not
 * through a mapping: a mapping that another program shortens would end this process by SIGBUS. What pwrite has written
 * is in the kernel's cache, so that SIGKILL does not undo it. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX
#define _GNU_SOURCE 1 /* fallocate */
#endif
#define _FILE_OFFSET_BITS 64

#include "lib/os/os.h"
#include "lib/os/posix/errno_status.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_at(int fd, uint64_t at, const uint8_t *bytes, size_t n) {
    while (n > 0) {
        ssize_t written = pwrite(fd, bytes, n, (off_t)at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return USP_ERROR_SYSTEM;
        bytes += written;
        at += (uint64_t)written;
        n -= (size_t)written;
    }
    return USP_OK;
}

/* Reserves disk space, so that a disk that is full later does not keep the file from being written: by Linux's
 * fallocate, or, where a file system or a system has none, by writing zeros. */
static int reserve(int fd, uint64_t size) {
    static const uint8_t zeros[512];
    int status = uspi_os_may_write(size) ? USP_OK : USP_ERROR_SYSTEM;
#if USPI_OS == USPI_OS_LINUX
    if (status == USP_OK && fallocate(fd, 0, 0, (off_t)size) == 0) return USP_OK;
#endif
    for (uint64_t at = 0; status == USP_OK && at < size; at += sizeof zeros) {
        uint64_t n = size - at < sizeof zeros ? size - at : sizeof zeros;
        status = write_at(fd, at, zeros, (size_t)n);
    }
    return status;
}

/* The old file is unlinked, not overwritten: it can be a link, a pipe, or a file with other permissions. */
int uspi_os_kept_file_make(const char *path, uint64_t size, struct uspi_os_kept_file *file) {
    struct stat made;
    *file = (struct uspi_os_kept_file){.descriptor = -1};
    if (unlink(path) != 0 && errno != ENOENT) return uspi_posix_status(errno);
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOCTTY, 0600);
    if (fd < 0) return uspi_posix_status(errno);
    int status = reserve(fd, size);
    if (status == USP_OK && fstat(fd, &made) != 0) status = USP_ERROR_SYSTEM;
    if (status != USP_OK) {
        close(fd);
        unlink(path);
        return status;
    }
    *file = (struct uspi_os_kept_file){.path = path,
                                       .size = size,
                                       .device = (uint64_t)made.st_dev,
                                       .inode = (uint64_t)made.st_ino,
                                       .user = (uint64_t)made.st_uid,
                                       .descriptor = fd};
    return USP_OK;
}

static bool is_same(const struct uspi_os_kept_file *file, const struct stat *now) {
    return S_ISREG(now->st_mode) && (uint64_t)now->st_dev == file->device && (uint64_t)now->st_ino == file->inode &&
           (uint64_t)now->st_uid == file->user;
}

/* Whether the descriptor is the file's: the program may have closed it and opened another file with its number. Gives
 * the file's state. */
static bool is_ours(const struct uspi_os_kept_file *file, int fd, struct stat *now) {
    return fd >= 0 && fstat(fd, now) == 0 && is_same(file, now);
}

bool uspi_os_kept_file_has_name(const struct uspi_os_kept_file *file) {
    struct stat now;
    return file->path != NULL && fstatat(AT_FDCWD, file->path, &now, AT_SYMLINK_NOFOLLOW) == 0 && is_same(file, &now);
}

/* Opens the file by its path, if it is still there. With a second name, it can be a newer file of the same number that
 * belongs elsewhere. */
static int open_again(const struct uspi_os_kept_file *file, struct stat *now) {
    int fd = open(file->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return -1;
    if (is_ours(file, fd, now) && now->st_nlink == 1) return fd;
    close(fd);
    return -1;
}

int uspi_os_kept_file_write(struct uspi_os_kept_file *file, uint64_t at, const void *bytes, size_t n) {
    struct stat now;
    if (at > file->size || n > file->size - at) return USP_ERROR_ARGUMENT;
    if (!is_ours(file, file->descriptor, &now)) file->descriptor = open_again(file, &now);
    if (file->descriptor < 0) return USP_ERROR_NOT_FOUND;
    /* The limit for files may be below the size that was reserved: what is below the limit is still written. */
    if (!uspi_os_may_write(at + n)) return USP_ERROR_SYSTEM;
    if ((uint64_t)now.st_size < file->size &&
        (!uspi_os_may_write(file->size) || ftruncate(file->descriptor, (off_t)file->size) != 0))
        return USP_ERROR_SYSTEM;
    return write_at(file->descriptor, at, bytes, n);
}

int uspi_os_kept_file_publish(struct uspi_os_kept_file *file, uint64_t size, const char *path) {
    struct stat now;
    const int fd = is_ours(file, file->descriptor, &now) ? file->descriptor : open_again(file, &now);
    int status = fd >= 0 ? USP_OK : USP_ERROR_NOT_FOUND;
    if (status == USP_OK && ftruncate(fd, (off_t)size) != 0) status = USP_ERROR_SYSTEM;
    if (fd >= 0) close(fd);
    if (status == USP_OK) status = uspi_os_rename_file(file->path, path);
    file->descriptor = -1;
    if (status != USP_OK) return status;
    file->path = path;
    file->size = size;
    return USP_OK;
}

int uspi_os_rename_file(const char *from, const char *to) {
    return rename(from, to) == 0 ? USP_OK : uspi_posix_status(errno);
}

int uspi_os_remove_file(const char *path) { return unlink(path) == 0 ? USP_OK : uspi_posix_status(errno); }

int uspi_os_make_folder(const char *path) {
    if (mkdir(path, 0700) == 0) return USP_OK;
    if (errno != EEXIST) return uspi_posix_status(errno);
    /* A file, or a link that leads to none. */
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return uspi_posix_status(errno);
    close(folder);
    return USP_OK;
}

int uspi_os_absolute_path(const char *path, char *to, size_t size) {
    const size_t length = strlen(path);
    size_t folder = 0;
    if (path[0] != '/') {
        if (getcwd(to, size) == NULL) return errno == ERANGE ? USP_ERROR_ARGUMENT : uspi_posix_status(errno);
        /* Linux begins a folder outside of the process's root with "(unreachable)". */
        if (to[0] != '/') return USP_ERROR_NOT_FOUND;
        folder = strlen(to);
        if (folder + 1 >= size) return USP_ERROR_ARGUMENT;
        to[folder++] = '/';
    }
    if (length >= size - folder) return USP_ERROR_ARGUMENT;
    memcpy(to + folder, path, length + 1);
    return USP_OK;
}

void uspi_os_kept_file_close(struct uspi_os_kept_file *file) {
    struct stat now;
    if (file->size > 0 && is_ours(file, file->descriptor, &now)) close(file->descriptor);
    *file = (struct uspi_os_kept_file){.descriptor = -1};
}
