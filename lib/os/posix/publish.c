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
#include <unistd.h>

static int refusal(void) {
    return errno == EACCES || errno == EPERM || errno == EROFS ? USP_ERROR_PERMISSION : USP_ERROR_SYSTEM;
}

/* Creates the folders of a path. */
static int make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int made = mkdir(path, 0777);
        *slash = '/';
        if (made != 0 && errno != EEXIST) return refusal();
    }
    return USP_OK;
}

/* Maximum number of attempts to create a file: another process may remove an empty folder before a file is in it. */
#define TRIES 100

/* Creates a new file and the folders of its path. On success *file is its descriptor. */
static int create_temporary(char *path, int *file) {
    int status = USP_ERROR_SYSTEM;
    char *end = path + strlen(path) - 6;
    *file = -1;
    for (unsigned i = 0; i < TRIES && *file < 0; i++) {
        memcpy(end, "XXXXXX", 6);
        status = make_folders(path);
        if (status == USP_OK) *file = mkstemp(path);
        if (*file < 0 && status == USP_OK) status = refusal();
        if (*file < 0 && errno != ENOENT) break;
    }
    return status;
}

int uspi_os_publish(const char *path, const void *bytes, size_t n) {
    const size_t room = strlen(path) + 48;
    char *temporary = malloc(room);
    int file;
    if (temporary == NULL) return USP_ERROR_NO_MEMORY;
    /* The temporary file has a name of its own, so that others may write the same file meanwhile. */
    snprintf(temporary, room, "%s.%ld.XXXXXX", path, (long)getpid());
    int status = create_temporary(temporary, &file);
    if (file >= 0) {
        status = uspi_os_write(file, bytes, n);
        const mode_t mask = umask(0);
        umask(mask);
        if (status == USP_OK && fchmod(file, 0666 & ~mask) != 0) status = USP_ERROR_SYSTEM;
        if (close(file) != 0 && status == USP_OK) status = USP_ERROR_SYSTEM;
        if (status == USP_OK && rename(temporary, path) != 0) status = USP_ERROR_SYSTEM;
        if (status != USP_OK) unlink(temporary);
    }
    free(temporary);
    return status;
}

int uspi_os_lock_folder(const char *path) {
    char *folder = strdup(path);
    if (folder == NULL) return -1;
    int lock = -1;
    char *slash = strrchr(folder, '/');
    if (slash != NULL && make_folders(folder) == USP_OK) {
        slash[slash == folder] = '\0';
        lock = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    int locked = -1;
    while (lock >= 0 && (locked = flock(lock, LOCK_EX)) != 0 && errno == EINTR) continue;
    if (lock >= 0 && locked != 0) {
        close(lock);
        lock = -1;
    }
    free(folder);
    return lock;
}

void uspi_os_unlock_folder(int lock) {
    if (lock >= 0) close(lock);
}
