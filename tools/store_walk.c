/* SPDX-License-Identifier: MIT */
/* Implements store_walk.h. */
#include "tools/store_walk.h"

#include "lib/base/array.h"
#include "tools/command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct walk {
    store_visitor visit;
    void *context;
    struct store_entry entry;
};

static int digit_of(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; }

/* Appends the digits of a folder's name to the build id. Returns false if they are not a part of one. */
static bool take_digits(struct store_entry *entry, const char *name) {
    const size_t n = strlen(name);
    if (n == 0 || n % 2 != 0 || entry->build_id_size + n / 2 > sizeof entry->build_id) return false;
    for (size_t i = 0; i < n; i += 2) {
        const int high = digit_of(name[i]), low = high < 0 ? -1 : digit_of(name[i + 1]);
        if (low < 0) return false;
        entry->build_id[entry->build_id_size++] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* ---- folders ---- */

struct names {
    char **names;
    size_t count, capacity;
};

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static void free_names(struct names *names) {
    for (size_t i = 0; i < names->count; i++) free(names->names[i]);
    free(names->names);
}

/* Reads the names in an open folder, sorted, without those that begin with a dot. Returns false when memory is
 * exhausted. */
static bool read_names(DIR *folder, struct names *names) {
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        if (!uspi_room_for(&names->names, &names->capacity, names->count, 1, sizeof *names->names)) return false;
        names->names[names->count] = strdup(entry->d_name);
        if (names->names[names->count++] == NULL) return false;
    }
    if (names->count > 0) qsort(names->names, names->count, sizeof *names->names, by_name);
    return true;
}

/* Opens a folder of the store. Links are not followed: they lead to files that are not the store's. Returns NULL if it
 * is not a folder, or is gone, with EXIT_ALL_WELL in *result, and after other errors. */
static DIR *open_folder(int at, const char *name, const char *path, int *result) {
    const int follow = at == AT_FDCWD ? 0 : O_NOFOLLOW;
    const int opened = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | follow);
    DIR *folder = opened >= 0 ? fdopendir(opened) : NULL;
    struct stat found;
    *result = EXIT_ALL_WELL;
    if (folder != NULL) return folder;
    const int error = errno;
    if (opened >= 0) close(opened);
    if (at != AT_FDCWD && fstatat(at, name, &found, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(found.st_mode)) {
        complain("%s: a symbolic link, which is not followed", path);
    } else if (at == AT_FDCWD || (error != ENOENT && error != ENOTDIR)) {
        complain("%s: %s", path, strerror(error));
        *result = EXIT_NO_TARGET;
    }
    return NULL;
}

typedef int (*take)(struct walk *walk, int at, const char *path, const char *name);

/* Calls `take_entry` for each entry of the folder `name` in `at`. */
static int list(struct walk *walk, int at, const char *name, const char *folder, take take_entry) {
    struct names names = {0};
    int result;
    DIR *opened = open_folder(at, name, folder, &result);
    if (opened == NULL) return result;
    if (!read_names(opened, &names)) result = EXIT_FAILED;
    for (size_t i = 0; i < names.count && result == EXIT_ALL_WELL; i++) {
        const size_t capacity = strlen(folder) + strlen(names.names[i]) + 2;
        char *path = malloc(capacity);
        if (path == NULL) {
            result = EXIT_FAILED;
            break;
        }
        snprintf(path, capacity, "%s/%s", folder, names.names[i]);
        result = take_entry(walk, dirfd(opened), path, names.names[i]);
        free(path);
    }
    free_names(&names);
    closedir(opened);
    return result;
}

/* ---- entries ---- */

static int visit_entry(struct walk *walk, enum store_kind kind, int at, const char *path, const char *name) {
    walk->entry.kind = kind;
    walk->entry.at = at;
    walk->entry.path = path;
    walk->entry.name = name;
    return walk->visit(walk->context, &walk->entry);
}

static int take_file(struct walk *walk, int at, const char *path, const char *name) {
    const bool is_index = strcmp(name, "index") == 0;
    struct stat found;
    if (!is_index && strncmp(name, "index.", 6) != 0) return EXIT_ALL_WELL;
    if (fstatat(at, name, &found, AT_SYMLINK_NOFOLLOW) != 0) return EXIT_ALL_WELL;
    if (S_ISLNK(found.st_mode)) complain("%s: a symbolic link, which is not followed", path);
    if (!S_ISREG(found.st_mode)) return EXIT_ALL_WELL;
    return visit_entry(walk, is_index ? STORE_INDEX : STORE_TEMPORARY, at, path, name);
}

static int take_build(struct walk *walk, int at, const char *path, const char *name) {
    const uint32_t prefix = walk->entry.build_id_size;
    int result = EXIT_ALL_WELL;
    if (take_digits(&walk->entry, name)) {
        result = list(walk, at, name, path, take_file);
        if (result == EXIT_ALL_WELL) result = visit_entry(walk, STORE_FOLDER, at, path, name);
    }
    walk->entry.build_id_size = prefix;
    return result;
}

static int take_prefix(struct walk *walk, int at, const char *path, const char *name) {
    walk->entry.build_id_size = 0;
    if (strlen(name) != 2 || !take_digits(&walk->entry, name)) return EXIT_ALL_WELL;
    const int result = list(walk, at, name, path, take_build);
    walk->entry.build_id_size = 0;
    return result;
}

int store_walk(const char *store, store_visitor visit, void *context) {
    struct walk walk = {.visit = visit, .context = context};
    int result = list(&walk, AT_FDCWD, store, store, take_prefix);
    if (result == EXIT_FAILED) complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
    return result;
}

/* Examines an index without changing its access time: `store prune` removes indexes by the time of the last use. */
static int examine_unseen(const struct store_entry *entry, uint32_t flags, struct usp_index_info *info, char *error,
                          size_t size) {
    struct stat found = {0};
    const bool is_found = fstatat(entry->at, entry->name, &found, AT_SYMLINK_NOFOLLOW) == 0;
    int status = usp_index_examine(entry->path, flags, info, error, size);
    const struct timespec times[2] = {{.tv_sec = found.st_atime}, {.tv_nsec = UTIME_OMIT}};
    if (is_found && flags != 0) (void)utimensat(entry->at, entry->name, times, AT_SYMLINK_NOFOLLOW);
    return status;
}

int store_examine(const struct store_entry *entry, bool is_thorough, struct usp_index_info *info, char *error,
                  size_t error_size) {
    usp_index_info_init(info);
    int status = examine_unseen(entry, is_thorough ? USP_INDEX_CHECK : 0, info, error, error_size);
    if (status != USP_OK) return status;
    if (info->build_id_size == entry->build_id_size &&
        memcmp(info->build_id, entry->build_id, entry->build_id_size) == 0) {
        return USP_OK;
    }
    snprintf(error, error_size, "%s: the index of another build", entry->path);
    return USP_ERROR_MISMATCH;
}
