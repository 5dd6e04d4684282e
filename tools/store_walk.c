/* SPDX-License-Identifier: MIT */
/* Implements store_walk.h. */
#include "tools/store_walk.h"

#include "tools/command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct walk {
    store_visitor visit;
    void *context;
    struct store_entry entry;
};

static int by_name(const struct dirent **a, const struct dirent **b) { return strcmp((*a)->d_name, (*b)->d_name); }

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

typedef int (*take)(struct walk *walk, const char *path, const char *name);

/* Calls `take_entry` for each entry of a folder. */
static int list(struct walk *walk, const char *folder, take take_entry) {
    struct dirent **entries;
    const int count = scandir(folder, &entries, NULL, by_name);
    /* Another command may have removed it. */
    if (count < 0 && errno == ENOENT && walk->entry.build_id_size > 0) return EXIT_ALL_WELL;
    if (count < 0) {
        complain("%s: %s", folder, strerror(errno));
        return EXIT_NO_TARGET;
    }
    int result = EXIT_ALL_WELL;
    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        const size_t room = strlen(folder) + strlen(name) + 2;
        char *path = result == EXIT_ALL_WELL && name[0] != '.' ? malloc(room) : NULL;
        if (path != NULL) {
            snprintf(path, room, "%s/%s", folder, name);
            result = take_entry(walk, path, name);
            free(path);
        } else if (result == EXIT_ALL_WELL && name[0] != '.') {
            complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
            result = EXIT_FAILED;
        }
        free(entries[i]);
    }
    free(entries);
    return result;
}

static int take_file(struct walk *walk, const char *path, const char *name) {
    const bool is_index = strcmp(name, "index") == 0;
    if (!is_index && strncmp(name, "index.", 6) != 0) return EXIT_ALL_WELL;
    walk->entry.kind = is_index ? STORE_INDEX : STORE_TEMPORARY;
    walk->entry.path = path;
    return walk->visit(walk->context, &walk->entry);
}

static int take_build(struct walk *walk, const char *path, const char *name) {
    const uint32_t prefix = walk->entry.build_id_size;
    int result = EXIT_ALL_WELL;
    if (take_digits(&walk->entry, name)) {
        walk->entry.folder = path;
        result = list(walk, path, take_file);
        walk->entry.kind = STORE_FOLDER;
        walk->entry.path = path;
        if (result == EXIT_ALL_WELL) result = walk->visit(walk->context, &walk->entry);
    }
    walk->entry.build_id_size = prefix;
    return result;
}

static int take_prefix(struct walk *walk, const char *path, const char *name) {
    walk->entry.build_id_size = 0;
    if (strlen(name) != 2 || !take_digits(&walk->entry, name)) return EXIT_ALL_WELL;
    const int result = list(walk, path, take_build);
    walk->entry.build_id_size = 0;
    return result;
}

int store_walk(const char *store, store_visitor visit, void *context) {
    struct walk walk = {.visit = visit, .context = context};
    return list(&walk, store, take_prefix);
}

/* Examines an index without changing its access time: `store prune` removes indexes by the time of the last use. */
static int examine_unseen(const char *path, uint32_t flags, struct usp_index_info *info, char *error, size_t size) {
    struct stat found = {0};
    const bool is_found = stat(path, &found) == 0;
    int status = usp_index_examine(path, flags, info, error, size);
    const struct timespec times[2] = {{.tv_sec = found.st_atime}, {.tv_nsec = UTIME_OMIT}};
    if (is_found && flags != 0) (void)utimensat(AT_FDCWD, path, times, AT_SYMLINK_NOFOLLOW);
    return status;
}

int store_examine(const struct store_entry *entry, bool is_thorough, struct usp_index_info *info, char *error,
                  size_t error_size) {
    usp_index_info_init(info);
    int status = examine_unseen(entry->path, is_thorough ? USP_INDEX_CHECK : 0, info, error, error_size);
    if (status != USP_OK) return status;
    if (info->build_id_size == entry->build_id_size &&
        memcmp(info->build_id, entry->build_id, entry->build_id_size) == 0) {
        return USP_OK;
    }
    snprintf(error, error_size, "%s: the index of another build", entry->path);
    return USP_ERROR_MISMATCH;
}
