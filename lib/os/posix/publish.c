/* SPDX-License-Identifier: MIT */
/* Writes files atomically, and locks folders for one writer, for all our systems: rename, flock. */
#include "lib/os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* How often a lock is tried, every 10 ms. */
#define LOCK_TRIES 1000

static int refusal(void) {
    return errno == EACCES || errno == EPERM || errno == EROFS ? USP_ERROR_PERMISSION : USP_ERROR_SYSTEM;
}

/* Opens the folder of which a path's first `size` bytes are the name, and creates it and the folders above it. Returns a
 * descriptor, or a negative status. */
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

/* Maximum number of attempts to create a file: another process may remove an empty folder before a file is in it, or
 * have a file of this name. */
#define TRIES 100

/* The end of a temporary file's name: a dot, the process, six digits. */
#define SUFFIX_MAX 48

struct publishing {
    int folder;      /* descriptor; negative: a status */
    char *name;      /* of the file, in `path` */
    char *temporary; /* of the file that is written first, in the same folder */
    char *path;
};

/* Creates a new file and the folders of its path. Returns its descriptor, or a negative status. */
static int create_temporary(struct publishing *publishing, size_t top) {
    int status = USP_ERROR_SYSTEM;
    for (unsigned i = 0; i < TRIES; i++) {
        struct timespec now = {0};
        publishing->folder = open_folder(publishing->path, top, &publishing->name);
        if (publishing->folder < 0 && errno != ENOENT) return publishing->folder;
        if (publishing->folder < 0) continue;
        /* The temporary file has a name of its own, so that others may write the same file meanwhile. */
        (void)clock_gettime(CLOCK_REALTIME, &now);
        snprintf(publishing->temporary, strlen(publishing->name) + SUFFIX_MAX, "%s.%ld.%06ld", publishing->name,
                 (long)getpid(), (now.tv_nsec + (long)i) % 1000000);
        const int file = openat(publishing->folder, publishing->temporary,
                                O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (file >= 0) return file;
        status = refusal();
        const int error = errno;
        close(publishing->folder);
        publishing->folder = status;
        if (error != ENOENT && error != EEXIST) break;
    }
    return status;
}

/* Writes the temporary file and renames it. */
static int write_file(const struct publishing *publishing, int file, const void *bytes, size_t n) {
    int status = uspi_os_write(file, bytes, n);
    const mode_t mask = umask(0);
    umask(mask);
    if (status == USP_OK && fchmod(file, 0666 & ~mask) != 0) status = USP_ERROR_SYSTEM;
    if (close(file) != 0 && status == USP_OK) status = USP_ERROR_SYSTEM;
    if (status == USP_OK &&
        renameat(publishing->folder, publishing->temporary, publishing->folder, publishing->name) != 0) {
        status = USP_ERROR_SYSTEM;
    }
    if (status != USP_OK) (void)unlinkat(publishing->folder, publishing->temporary, 0);
    return status;
}

int uspi_os_publish(const char *path, size_t top, const void *bytes, size_t n) {
    struct publishing publishing = {.folder = -1, .path = strdup(path), .temporary = malloc(strlen(path) + SUFFIX_MAX)};
    int status = USP_ERROR_NO_MEMORY;
    if (publishing.path != NULL && publishing.temporary != NULL) {
        const int file = create_temporary(&publishing, top);
        status = file >= 0 ? write_file(&publishing, file, bytes, n) : file;
        if (publishing.folder >= 0) close(publishing.folder);
    }
    free(publishing.temporary);
    free(publishing.path);
    return status;
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
