/* SPDX-License-Identifier: MIT */
/* Implements folders.h. */
#define _GNU_SOURCE 1 /* for O_PATH */

#include "tools/folders.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool make_folders_of(char *path, mode_t mode) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        const int made = mkdir(path, mode);
        *slash = '/';
        if (made != 0 && errno != EEXIST) return false;
    }
    return true;
}

bool make_all_folders(const char *path) {
    char *copy = strdup(path);
    bool is_made = copy != NULL && make_folders_of(copy, 0777);
    if (is_made) is_made = mkdir(path, 0777) == 0 || errno == EEXIST;
    free(copy);
    return is_made;
}

/* The maximum depth of folders that are removed. Each takes a descriptor. */
#define DEPTH_MAX 200

/* Removes all that is in an open folder, which it closes. Nothing is reached by a path: another user may put a link in
 * the place of a folder at any time. */
static void empty_folder(int folder, unsigned depth) {
    DIR *entries = fdopendir(folder);
    if (entries == NULL) {
        close(folder);
        return;
    }
    for (const struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) continue;
        if (unlinkat(dirfd(entries), name, 0) == 0 || depth == DEPTH_MAX) continue;
        const int below = openat(dirfd(entries), name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (below < 0) continue;
        empty_folder(below, depth + 1);
        (void)unlinkat(dirfd(entries), name, AT_REMOVEDIR);
    }
    closedir(entries);
}

void remove_folder(const char *path) {
    const int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (folder >= 0) empty_folder(folder, 0);
    (void)rmdir(path);
}

int open_folder_of(const char *path, const char **name) {
    const char *slash = strrchr(path, '/');
    *name = slash != NULL ? slash + 1 : path;
    if (slash == NULL) return open(".", FOLDER_FLAGS);
    char *folder = strndup(path, (size_t)(*name - path));
    if (folder == NULL) return -1;
    const int opened = open(folder, FOLDER_FLAGS);
    const int error = errno;
    free(folder);
    errno = error;
    return opened;
}

/* Users who may not enter a folder cannot reach what is below it. */
static void take_reach(int folder, mode_t *reach) {
    struct stat found;
    if (reach == NULL || fstat(folder, &found) != 0) return;
    for (unsigned bits = 0; bits <= 6; bits += 3) {
        if ((found.st_mode >> bits & 1) == 0) *reach &= ~((mode_t)7 << bits);
    }
}

int open_folder_below(int folder, const char *relative, bool makes, mode_t *reach) {
    char part[NAME_MAX + 1];
    int opened = openat(folder, ".", FOLDER_FLAGS);
    const char *slash;
    if (opened >= 0) take_reach(opened, reach);
    for (; opened >= 0 && (slash = strchr(relative, '/')) != NULL; relative = slash + 1) {
        const size_t n = (size_t)(slash - relative);
        int next = -1;
        errno = ENAMETOOLONG;
        if (n == 0) continue;
        if (n < sizeof part) {
            memcpy(part, relative, n);
            part[n] = '\0';
            if (makes) (void)mkdirat(opened, part, 0777);
            next = openat(opened, part, FOLDER_FLAGS | O_NOFOLLOW);
        }
        const int error = errno;
        close(opened);
        opened = next;
        errno = error;
        if (opened >= 0) take_reach(opened, reach);
    }
    return opened;
}
