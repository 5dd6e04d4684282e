/* SPDX-License-Identifier: MIT */
/* Writes files atomically, and locks folders for one writer, for all our systems: rename, flock. On Linux a file
 * has no name while it is written, so that a killed process leaves nothing behind. */
#define _GNU_SOURCE 1 /* for O_TMPFILE */
#include "lib/object/bytes.h"
#include "lib/os/os.h"
#include "lib/os/posix/errno_status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- folders ---- */

/* How often a lock is tried, every 10 ms. */
#define LOCK_TRIES     1000
#define OLD_LOCK_TRIES 100

static int status_of(int error) {
    if (error == 0) return USP_OK;
    return error == EACCES || error == EPERM || error == EROFS ? USP_ERROR_PERMISSION : USP_ERROR_SYSTEM;
}

/* Creates a folder. Keeps the first error of several calls in *error. */
static void make_folder(int at, const char *name, int *error) {
    if (mkdirat(at, name, 0777) != 0 && errno != EEXIST && *error == 0) *error = errno;
}

/* Opens a folder that may have been created, which may have failed with an error. Returns a descriptor, or -1 with
 * errno: where there is no folder, why none was created. */
static int open_made(int at, const char *name, int flags, int error) {
    const int folder = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | flags);
    if (folder < 0 && errno == ENOENT && error != 0) errno = error;
    return folder;
}

/* Opens the folder of which a path's first `size` bytes are the name, and creates it and the folders above it. Returns
 * a descriptor, or a negative status. */
static int open_top(char *path, size_t size) {
    const char end = path[size];
    int error = 0;
    path[size] = '\0';
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        make_folder(AT_FDCWD, path, &error);
        *slash = '/';
    }
    make_folder(AT_FDCWD, path, &error);
    int folder = open_made(AT_FDCWD, path, 0, error);
    if (folder < 0) folder = status_of(errno);
    path[size] = end;
    return folder;
}

/* Opens the folder of a file and creates it. Links to folders below the first `top` bytes of the path are refused, also
 * one that another user puts there in this moment. Sets *name to the file's name. Returns a descriptor, or a negative
 * status with errno. */
static int open_folder(char *path, size_t top, char **name) {
    int folder = open_top(path, top);
    char *part = path + top, *slash;
    while (part[0] == '/') part++;
    for (; folder >= 0 && (slash = strchr(part, '/')) != NULL; part = slash + 1) {
        *slash = '\0';
        int error = 0;
        make_folder(folder, part, &error);
        const int next = open_made(folder, part, O_NOFOLLOW, error);
        error = errno;
        close(folder);
        errno = error;
        /* O_NOFOLLOW has met a link: ENOTDIR on Linux, ELOOP elsewhere. */
        folder = next >= 0 ? next : error == ENOTDIR || error == ELOOP ? USP_ERROR_PERMISSION : status_of(error);
        *slash = '/';
    }
    *name = part;
    return folder;
}

/* ---- files ---- */

/* Maximum number of attempts: another process may remove an empty folder before a file is in it, or have a file with
 * the same temporary name. */
#define TRIES 100

/* Makes a temporary name, so that others may write the same file meanwhile. It need not be secret, because no file that
 * exists is opened. */
static void make_name(const char *name, char temporary[NAME_MAX + 1]) {
    const unsigned long now = (unsigned long)uspi_os_clock() & 0xffffff;
    snprintf(temporary, NAME_MAX + 1, "%.200s.%ld.%06lx", name, (long)getpid(), now);
}

/* Opens a file without a name. Returns -1 where it could not be given one later. */
static int open_nameless(int folder, uint32_t mode, char link[64]) {
#ifdef O_TMPFILE
    const int fd = openat(folder, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, (mode_t)mode);
    if (fd < 0) return -1;
    snprintf(link, 64, "/proc/self/fd/%d", fd);
    if (faccessat(AT_FDCWD, link, F_OK, 0) == 0) return fd;
    close(fd);
#else
    (void)folder, (void)mode, (void)link;
#endif
    return -1;
}

/* A file that is being written. */
struct writing {
    int folder, file;
    const char *name;
    char temporary[NAME_MAX + 1]; /* empty: it has no name */
    char link[64];                /* path of a file without a name */
};

/* Withdraws the permissions of a group that is not this process's, such as that of a folder with a setgid bit, unless
 * all users have them. Returns 0 or -1. */
static int withdraw(int file, uint32_t mode) {
    struct stat status;
    if ((mode & 04) != 0 || (mode & 070) == 0) return 0;
    if (fstat(file, &status) != 0) return -1;
    return status.st_gid == getegid() ? 0 : fchmod(file, status.st_mode & 0700);
}

/* The kernel applies the umask. Asking for it would change it for other threads meanwhile. */
static int begin(struct writing *w, uint32_t mode) {
    w->temporary[0] = '\0';
    w->file = open_nameless(w->folder, mode, w->link);
    for (unsigned i = 0; i < TRIES && w->file < 0; i++) {
        make_name(w->name, w->temporary);
        w->file = openat(w->folder, w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, (mode_t)mode);
        if (w->file < 0 && errno != EEXIST) break;
    }
    if (w->file < 0) return -1;
    if (withdraw(w->file, mode) == 0) return 0;
    if (w->temporary[0] != '\0') unlinkat(w->folder, w->temporary, 0);
    close(w->file);
    errno = EPERM;
    return -1;
}

/* Gives a file its name, in place of a file that has it. Returns 0, or -1 with errno. */
static int finish(struct writing *w) {
    if (w->temporary[0] == '\0') {
        if (linkat(AT_FDCWD, w->link, w->folder, w->name, AT_SYMLINK_FOLLOW) == 0) return 0;
        int linked = -1;
        for (unsigned i = 0; i < TRIES && linked != 0 && errno == EEXIST; i++) {
            make_name(w->name, w->temporary);
            linked = linkat(AT_FDCWD, w->link, w->folder, w->temporary, AT_SYMLINK_FOLLOW);
        }
        if (linked != 0) w->temporary[0] = '\0';
        if (linked != 0) return -1;
    }
    return renameat(w->folder, w->temporary, w->folder, w->name);
}

/* Writes a file. Returns 0 or an errno; ENOENT: its folder was removed. */
static int write_in(int folder, const char *name, uint32_t mode, const void *bytes, size_t n) {
    struct writing w = {.folder = folder, .name = name};
    if (begin(&w, mode) != 0) return errno;
    int error = uspi_os_may_write(n) ? uspi_posix_write(w.file, bytes, n) : EFBIG;
    /* Network file systems report some errors when a descriptor is closed. */
    if (error == 0 && close(dup(w.file)) != 0) error = errno;
    if (error == 0 && finish(&w) != 0) error = errno;
    if (error != 0 && w.temporary[0] != '\0') unlinkat(folder, w.temporary, 0);
    close(w.file);
    return error;
}

int uspi_os_publish(const char *path, size_t top, uint32_t mode, const void *bytes, size_t n,
                    struct uspi_error *error) {
    char *copy = strdup(path), *name;
    int number = copy != NULL ? ENOENT : ENOMEM, status = copy != NULL ? USP_ERROR_SYSTEM : USP_ERROR_NO_MEMORY;
    for (unsigned i = 0; i < TRIES && copy != NULL && number == ENOENT; i++) {
        const int folder = open_folder(copy, top, &name);
        if (folder >= 0) {
            number = write_in(folder, name, mode, bytes, n);
            status = status_of(number);
            close(folder);
        } else {
            number = errno;
            status = folder;
        }
    }
    free(copy);
    if (status == USP_OK) return USP_OK;
    return uspi_error_set(error, status, "%s: %s", path,
                          status == USP_ERROR_SYSTEM ? strerror(number) : usp_status_string(status));
}

/* Locks an open folder. Returns its descriptor; -1: it is closed. */
static int wait_for_lock(int folder, unsigned tries) {
    const struct timespec pause = {.tv_nsec = 10000000};
    for (unsigned i = 0; flock(folder, LOCK_EX | LOCK_NB) != 0; i++) {
        /* Any user who can open the folder can keep the lock. */
        if ((errno != EWOULDBLOCK || i >= tries) && errno != EINTR) {
            close(folder);
            return -1;
        }
        (void)nanosleep(&pause, NULL);
    }
    return folder;
}

int uspi_os_lock_folder(const char *path, size_t top) {
    char *copy = strdup(path), *name;
    int lock = copy != NULL ? open_folder(copy, top, &name) : -1;
    free(copy);
    return lock >= 0 ? wait_for_lock(lock, LOCK_TRIES) : -1;
}

int uspi_os_lock_old_folder(const char *path) {
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return folder >= 0 ? wait_for_lock(folder, OLD_LOCK_TRIES) : -1;
}

/* A child of a fork that another thread made meanwhile has the descriptor, too: closing would leave it the lock. */
void uspi_os_unlock_folder(int lock) {
    if (lock < 0) return;
    (void)flock(lock, LOCK_UN);
    close(lock);
}
