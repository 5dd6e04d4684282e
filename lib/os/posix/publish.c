/* SPDX-License-Identifier: MIT */
/* Writes files atomically, and locks folders for one writer, for all our systems: rename, flock. On Linux a file
 * has no name while it is written, so that a killed process leaves nothing behind. */
#define _GNU_SOURCE 1 /* for O_TMPFILE */
#include "lib/os/os.h"

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
#define LOCK_TRIES 1000

static int refusal(void) {
    return errno == EACCES || errno == EPERM || errno == EROFS ? USP_ERROR_PERMISSION : USP_ERROR_SYSTEM;
}

/* Opens the folder of which a path's first `size` bytes are the name, and creates it and the folders above it. Returns
 * a descriptor, or a negative status. */
static int open_top(char *path, size_t size) {
    const char end = path[size];
    path[size] = '\0';
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    (void)mkdir(path, 0777);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) folder = refusal();
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
        (void)mkdirat(folder, part, 0777);
        const int next = openat(folder, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        const int error = errno;
        close(folder);
        errno = error;
        /* O_NOFOLLOW has met a link: ENOTDIR on Linux, ELOOP elsewhere. */
        folder = next >= 0 ? next : error == ENOTDIR || error == ELOOP ? USP_ERROR_PERMISSION : refusal();
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

/* Writes a file. Returns an enum usp_status; USP_ERROR_NOT_FOUND: its folder was removed. */
static int write_in(int folder, const char *name, uint32_t mode, const void *bytes, size_t n) {
    struct writing w = {.folder = folder, .name = name};
    if (begin(&w, mode) != 0) return errno == ENOENT ? USP_ERROR_NOT_FOUND : refusal();
    int status = uspi_os_may_write(n) ? uspi_os_write(w.file, bytes, n) : USP_ERROR_SYSTEM;
    /* Network file systems report some errors when a descriptor is closed. */
    if (status == USP_OK && close(dup(w.file)) != 0) status = USP_ERROR_SYSTEM;
    if (status == USP_OK && finish(&w) != 0) status = errno == ENOENT ? USP_ERROR_NOT_FOUND : USP_ERROR_SYSTEM;
    if (status != USP_OK && w.temporary[0] != '\0') unlinkat(folder, w.temporary, 0);
    close(w.file);
    return status;
}

int uspi_os_publish(const char *path, size_t top, uint32_t mode, const void *bytes, size_t n) {
    char *copy = strdup(path), *name;
    int status = copy != NULL ? USP_ERROR_NOT_FOUND : USP_ERROR_NO_MEMORY;
    for (unsigned i = 0; i < TRIES && status == USP_ERROR_NOT_FOUND; i++) {
        const int folder = open_folder(copy, top, &name);
        if (folder >= 0) {
            status = write_in(folder, name, mode, bytes, n);
            close(folder);
        } else if (errno != ENOENT) {
            status = folder;
        }
    }
    free(copy);
    return status == USP_ERROR_NOT_FOUND ? USP_ERROR_SYSTEM : status;
}

int uspi_os_lock_folder(const char *path, size_t top) {
    char *copy = strdup(path), *name;
    int lock = copy != NULL ? open_folder(copy, top, &name) : -1;
    free(copy);
    const struct timespec pause = {.tv_nsec = 10000000};
    for (unsigned i = 0; lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) != 0; i++) {
        /* Any user who can open the folder can keep the lock. */
        if ((errno == EWOULDBLOCK && i < LOCK_TRIES) || errno == EINTR) {
            (void)nanosleep(&pause, NULL);
        } else {
            close(lock);
            lock = -1;
        }
    }
    return lock >= 0 ? lock : -1;
}

void uspi_os_unlock_folder(int lock) {
    if (lock >= 0) close(lock);
}
