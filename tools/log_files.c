/* SPDX-License-Identifier: MIT */
/* Implements log_files.h. */
#include "tools/log_files.h"

#include "lib/base/array.h"
#include "tools/command.h"

#include <unspool/base.h>

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static int no_memory(void) {
    complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
    return EXIT_FAILED;
}

static char *join(const char *folder, const char *name) {
    size_t length = strlen(folder), room = length + strlen(name) + 2;
    char *path = malloc(room);
    if (path != NULL) snprintf(path, room, "%s%s%s", folder, length > 0 && folder[length - 1] == '/' ? "" : "/", name);
    return path;
}

/* Takes ownership of the path. */
static int add_name(struct log_file_names *names, char *path, size_t relative) {
    void *grown =
        path != NULL ? uspi_array_reserve(names->names, &names->room, names->count + 1, sizeof *names->names) : NULL;
    if (grown == NULL) {
        free(path);
        return no_memory();
    }
    names->names = grown;
    names->names[names->count++] = (struct log_file_name){path, relative};
    return EXIT_ALL_WELL;
}

static int compare_names(const void *a, const void *b) {
    const struct log_file_name *x = a, *y = b;
    return strcmp(x->path, y->path);
}

/* Adds the files of a folder to `names`, and its folders to `folders`. */
static int add_entries(struct log_file_names *names, struct log_file_names *folders, const char *folder,
                       size_t relative) {
    DIR *entries = opendir(folder);
    int status = EXIT_ALL_WELL;
    if (entries == NULL) {
        complain("%s: %s", folder, strerror(errno));
        return EXIT_NO_TARGET;
    }
    for (struct dirent *entry; status == EXIT_ALL_WELL && (entry = readdir(entries)) != NULL;) {
        struct stat file;
        if (entry->d_name[0] == '.') continue;
        char *path = join(folder, entry->d_name);
        if (path == NULL) {
            status = no_memory();
        } else if (lstat(path, &file) == 0 && S_ISDIR(file.st_mode)) {
            status = add_name(folders, path, relative);
        } else if (stat(path, &file) == 0 && S_ISREG(file.st_mode)) {
            status = add_name(names, path, relative);
        } else {
            free(path);
        }
    }
    closedir(entries);
    return status;
}

static int add_folder(struct log_file_names *names, const char *folder) {
    struct log_file_names folders = {.names = NULL};
    const size_t first = names->count;
    size_t relative = strlen(folder);
    while (relative > 0 && folder[relative - 1] == '/') relative--;
    relative++;
    int status = add_entries(names, &folders, folder, relative);
    while (status == EXIT_ALL_WELL && folders.count > 0) {
        char *next = folders.names[--folders.count].path;
        status = add_entries(names, &folders, next, relative);
        free(next);
    }
    log_files_clear(&folders);
    qsort(names->names + first, names->count - first, sizeof *names->names, compare_names);
    return status;
}

int log_files_add(struct log_file_names *names, const char *path) {
    struct stat file;
    const char *slash = strrchr(path, '/');
    if (strcmp(path, "-") != 0 && stat(path, &file) == 0 && S_ISDIR(file.st_mode)) return add_folder(names, path);
    /* A file that cannot be read is reported when it is read. */
    return add_name(names, strdup(path), slash != NULL ? (size_t)(slash + 1 - path) : 0);
}

void log_files_clear(struct log_file_names *names) {
    for (size_t i = 0; i < names->count; i++) free(names->names[i].path);
    free(names->names);
    *names = (struct log_file_names){.names = NULL};
}

char *log_files_in(const char *folder, const struct log_file_name *name) {
    const char *relative = strcmp(name->path, "-") == 0 ? "stdin" : name->path + name->relative;
    char *path = join(folder, relative);
    if (path == NULL) {
        no_memory();
        return NULL;
    }
    for (size_t at = strlen(folder); path[at] != '\0'; at++) {
        if (path[at] != '/' || at == 0) continue;
        path[at] = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            complain("%s: %s", path, strerror(errno));
            free(path);
            return NULL;
        }
        path[at] = '/';
    }
    return path;
}
