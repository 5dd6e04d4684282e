/* SPDX-License-Identifier: MIT */
/* Finds the caches in a folder. See dyld_cache_set.h. The places: dyld include/mach-o/dyld_cache_format.h (paths at its
 * end); Xcode's DeviceSupport folders (Apple, "Acquiring operating system symbol information"). */
#include "lib/images/dyld_cache_set.h"

#include "lib/base/array.h"
#include "lib/os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits for folders that are read, and for names in all of them. */
#define FOLDERS_MAX 2048u
#define NAMES_MAX   65536u
#define DEPTH_MAX   16u

/* How many levels of folders with any names are entered: "iOS DeviceSupport/VERSION/ARCH", "BUILD/RUNTIME". */
#define FREE_ABOVE 3u
#define FREE_BELOW 2u

struct walk {
    int (*found)(void *context, const char *path);
    void *context;
    unsigned folders, names;
    bool is_cut; /* a limit ended the search */
    int status;
};

/* The names in one folder. */
struct names {
    struct walk *walk;
    char **names;
    size_t count, capacity;
    bool is_whole;
};

static bool add_name(void *context, const char *name) {
    struct names *names = context;
    names->walk->is_cut |= names->walk->names == NAMES_MAX;
    if (names->walk->is_cut) return false;
    names->walk->names++;
    names->is_whole = uspi_room_for(&names->names, &names->capacity, names->count, 1, sizeof *names->names);
    char *copy = names->is_whole ? strdup(name) : NULL;
    names->is_whole = copy != NULL;
    if (copy != NULL) names->names[names->count++] = copy;
    return names->is_whole;
}

static int compare_names(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* Returns whether a file's name is that of a main file: it has no suffix, or the one of caches for development. */
static bool is_main_file(const char *name) {
    const char *rest = strncmp(name, "dyld_shared_cache_", 18) == 0       ? name + 18
                       : strncmp(name, "dyld_sim_shared_cache_", 22) == 0 ? name + 22
                                                                          : "";
    const char *dot = strchr(rest, '.');
    return rest[0] != '\0' && (dot == NULL || strcmp(dot, ".development") == 0);
}

/* Returns whether a folder of this name is on the way to a cache. Below most of them, all names are known. */
static bool is_on_the_way(const char *name, unsigned *free_levels) {
    static const char *const known[] = {
        "App",     "Caches", "CoreSimulator", "Cryptexes", "Developer", "DriverKit",      "ExclaveKit", "Library", "OS",
        "Preboot", "System", "SystemOS",      "Symbols",   "Volumes",   "com.apple.dyld", "preboot",    "private"};
    if (strcmp(name, "dyld") == 0) {
        *free_levels = FREE_BELOW;
        return true;
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i]) != 0) continue;
        *free_levels = 0;
        return true;
    }
    return false;
}

static void walk_folder(struct walk *walk, const char *folder, unsigned depth, unsigned free_levels);

static void try_name(struct walk *walk, const char *folder, const char *name, unsigned depth, unsigned free_levels) {
    unsigned below = free_levels > 0 ? free_levels - 1 : 0;
    const bool is_file = is_main_file(name);
    const bool is_entered = !is_file && (is_on_the_way(name, &below) || free_levels > 0);
    if (!is_file && !is_entered) return;
    const size_t capacity = strlen(folder) + strlen(name) + 2;
    char *path = malloc(capacity);
    if (path == NULL) {
        walk->status = USP_ERROR_NO_MEMORY;
        return;
    }
    snprintf(path, capacity, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
    if (is_file) {
        walk->status = walk->found(walk->context, path);
    } else {
        walk_folder(walk, path, depth + 1, below);
    }
    free(path);
}

static void walk_folder(struct walk *walk, const char *folder, unsigned depth, unsigned free_levels) {
    struct names names = {.walk = walk, .is_whole = true};
    walk->is_cut |= walk->folders == FOLDERS_MAX;
    if (depth > DEPTH_MAX || walk->is_cut) return;
    const int status = uspi_os_list_folder(folder, add_name, &names);
    walk->folders += status == USP_OK;
    if (!names.is_whole) walk->status = USP_ERROR_NO_MEMORY;
    /* The order of a folder's entries must not decide which of two caches is used. */
    if (names.count > 0) qsort(names.names, names.count, sizeof *names.names, compare_names);
    /* Most entries of folders with any names are files. */
    if (depth == 0) walk->status = walk->status == USP_OK ? status : walk->status;
    for (size_t i = 0; i < names.count; i++) {
        if (walk->status == USP_OK) try_name(walk, folder, names.names[i], depth, free_levels);
        free(names.names[i]);
    }
    free(names.names);
}

int uspi_dyld_folders_walk(const char *folder, int (*found)(void *context, const char *path), void *context,
                           bool *is_cut) {
    struct walk walk = {.found = found, .context = context};
    if (folder[0] != '\0') walk_folder(&walk, folder, 0, FREE_ABOVE);
    *is_cut = walk.is_cut;
    return folder[0] != '\0' ? walk.status : USP_ERROR_NOT_FOUND;
}
