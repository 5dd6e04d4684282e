/* SPDX-License-Identifier: MIT */
/* Implements log_files.h. */
#define _GNU_SOURCE 1 /* for O_PATH */
#include "tools/log_files.h"

#include "lib/base/array.h"
#include "tools/command.h"
#include "tools/folders.h"
#include "tools/output.h"

#include <unspool/base.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int no_memory(void) {
    complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
    return EXIT_FAILED;
}

static char *join(const char *folder, const char *name) {
    size_t length = strlen(folder), capacity = length + strlen(name) + 2;
    char *path = malloc(capacity);
    if (path != NULL)
        snprintf(path, capacity, "%s%s%s", folder, length > 0 && folder[length - 1] == '/' ? "" : "/", name);
    return path;
}

/* Takes ownership of the path. */
static int add_name(struct log_file_names *names, char *path, const struct log_file_name *like) {
    void *grown = path != NULL
                      ? uspi_array_reserve(names->names, &names->capacity, names->count + 1, sizeof *names->names)
                      : NULL;
    if (grown == NULL) {
        free(path);
        return no_memory();
    }
    names->names = grown;
    names->names[names->count] = *like;
    names->names[names->count++].path = path;
    return EXIT_ALL_WELL;
}

static int compare_names(const void *a, const void *b) {
    const struct log_file_name *x = a, *y = b;
    return strcmp(x->path, y->path);
}

/* ---- listing ---- */

struct listing {
    struct log_file_names *names, folders; /* logs; folders that are still to be listed */
    struct log_file_name root;             /* what all names of the folder have in common */
    int folder;                            /* descriptor of the root */
};

static int add_entry(struct listing *listing, int folder, const char *path, const char *name) {
    struct stat file;
    if (name[0] == '.' || fstatat(folder, name, &file, AT_SYMLINK_NOFOLLOW) != 0) return EXIT_ALL_WELL;
    if (S_ISLNK(file.st_mode)) listing->names->links++;
    if (S_ISDIR(file.st_mode)) return add_name(&listing->folders, join(path, name), &listing->root);
    if (!S_ISREG(file.st_mode) || output_is_temporary(name)) return EXIT_ALL_WELL;
    return add_name(listing->names, join(path, name), &listing->root);
}

/* Opens a folder below the root. Its owner can have put a link in its place since it was found. */
static DIR *open_listed(const struct listing *listing, const char *path) {
    /* The root's path can end with slashes. */
    const size_t length = strlen(path), root = listing->root.relative - 1;
    const bool is_root = root + strspn(path + root, "/") == length;
    const char *name = is_root ? "." : strrchr(path, '/') + 1;
    const int above = open_folder_below(listing->folder, is_root ? "" : path + root + 1, false, NULL);
    const int fd = above >= 0 ? openat(above, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
    const int error = errno;
    if (entries == NULL && fd >= 0) close(fd);
    if (above >= 0) close(above);
    errno = error;
    return entries;
}

/* Adds the files of a folder to the names, and its folders to those that are still to be listed. */
static int add_entries(struct listing *listing, const char *path) {
    DIR *entries = open_listed(listing, path);
    int status = EXIT_ALL_WELL;
    if (entries == NULL) {
        complain("%s: %s", path, strerror(errno));
        return EXIT_NO_TARGET;
    }
    for (struct dirent *entry; status == EXIT_ALL_WELL && (entry = readdir(entries)) != NULL;) {
        status = add_entry(listing, dirfd(entries), path, entry->d_name);
    }
    closedir(entries);
    return status;
}

static int add_folder(struct log_file_names *names, const char *folder) {
    struct listing listing = {.names = names, .root.is_found = true, .folder = open(folder, FOLDER_FLAGS)};
    const size_t first = names->count;
    struct stat root;
    if (listing.folder < 0 || fstat(listing.folder, &root) != 0) {
        complain("%s: %s", folder, strerror(errno));
        if (listing.folder >= 0) close(listing.folder);
        return EXIT_NO_TARGET;
    }
    size_t relative = strlen(folder);
    while (relative > 0 && folder[relative - 1] == '/') relative--;
    listing.root.relative = relative + 1;
    listing.root.device = root.st_dev;
    listing.root.inode = root.st_ino;
    int status = add_entries(&listing, folder);
    while (status == EXIT_ALL_WELL && listing.folders.count > 0) {
        char *next = listing.folders.names[--listing.folders.count].path;
        status = add_entries(&listing, next);
        free(next);
    }
    log_files_clear(&listing.folders);
    close(listing.folder);
    if (status == EXIT_ALL_WELL && names->count == first) {
        complain("%s: there is no file in this folder; hidden ones and symbolic links do not count", folder);
        return EXIT_NO_TARGET;
    }
    if (names->count > first) qsort(names->names + first, names->count - first, sizeof *names->names, compare_names);
    return status;
}

int log_files_add(struct log_file_names *names, const char *path) {
    struct stat file;
    const char *slash = strrchr(path, '/');
    if (strcmp(path, "-") != 0 && stat(path, &file) == 0 && S_ISDIR(file.st_mode)) return add_folder(names, path);
    if (output_is_temporary(path)) {
        complain("%s: is a temporary file that unspool has left", path);
        return EXIT_NO_TARGET;
    }
    /* A file that cannot be read is reported when it is read. */
    const struct log_file_name named = {.relative = slash != NULL ? (size_t)(slash + 1 - path) : 0};
    return add_name(names, strdup(path), &named);
}

void log_files_say_links(const struct log_file_names *names) {
    if (names->links > 0) complain("symbolic links in folders are left out: %zu", names->links);
}

void log_files_clear(struct log_file_names *names) {
    for (size_t i = 0; i < names->count; i++) free(names->names[i].path);
    free(names->names);
    *names = (struct log_file_names){.names = NULL};
}

/* ---- opening ---- */

/* Opens the folder in which files were found, if it is still the same one. */
static int open_root(const struct log_file_name *name) {
    struct stat root;
    char *path = strndup(name->path, name->relative);
    const int folder = path != NULL ? open(path, FOLDER_FLAGS) : -1;
    free(path);
    if (folder < 0 || (fstat(folder, &root) == 0 && root.st_dev == name->device && root.st_ino == name->inode)) {
        return folder;
    }
    close(folder);
    errno = ESTALE;
    return -1;
}

static int open_folder(const struct log_file_name *name, struct log_folder *place) {
    if (!name->is_found) return open_folder_of(name->path, &place->name);
    const int root = open_root(name);
    if (root < 0) return -1;
    place->name = strrchr(name->path, '/') + 1;
    const int folder = open_folder_below(root, name->path + name->relative, false, &place->reach);
    const int error = errno;
    close(root);
    errno = error;
    return folder;
}

/* Opens a regular file. It can have changed since it was listed; a pipe would make the command wait. */
static int open_regular(const struct log_folder *place) {
    struct stat file;
    const int fd = openat(place->folder, place->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 || (fstat(fd, &file) == 0 && S_ISREG(file.st_mode))) return fd;
    close(fd);
    errno = S_ISDIR(file.st_mode) ? EISDIR : EINVAL;
    return -1;
}

int log_file_open(const struct log_file_name *name, bool is_replaced, struct log_folder *place) {
    *place = (struct log_folder){.folder = -1, .name = name->path, .reach = 0777};
    if (strcmp(name->path, "-") == 0) return STDIN_FILENO;
    if (!name->is_found && !is_replaced) return open(name->path, O_RDONLY | O_CLOEXEC);
    place->folder = open_folder(name, place);
    if (place->folder < 0) return -1;
    const int fd = open_regular(place);
    const int error = errno;
    if (fd < 0 || !is_replaced) {
        close(place->folder);
        place->folder = -1;
    }
    errno = error;
    return fd;
}

int log_files_open_in(const char *folder, const struct log_file_name *name, char **path, const char **copy) {
    const char *relative = strcmp(name->path, "-") == 0 ? "stdin" : name->path + name->relative;
    int root = -1, opened = -1;
    *path = join(folder, relative);
    if (*path == NULL) {
        no_memory();
        return -1;
    }
    if (mkdir(folder, 0777) == 0 || errno == EEXIST) root = open(folder, FOLDER_FLAGS);
    if (root >= 0) opened = open_folder_below(root, relative, true, NULL);
    if (opened < 0) {
        complain("%s: %s", *path, strerror(errno));
        free(*path);
        *path = NULL;
    } else {
        *copy = strrchr(*path, '/') + 1;
    }
    if (root >= 0) close(root);
    return opened;
}
