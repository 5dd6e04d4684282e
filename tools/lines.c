/* SPDX-License-Identifier: MIT */
/* Implements lines.h. */
#include "tools/lines.h"

#include "tools/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool is_set(const char *value) { return value != NULL && value[0] != '\0'; }

char *find_index_store(const char *given) {
    if (given == NULL) given = getenv("UNSPOOL_INDEX_STORE");
    if (is_set(given)) return strdup(given);
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (!is_set(cache) && !is_set(home)) return NULL;
    const char *folder = is_set(cache) ? cache : home;
    const size_t capacity = strlen(folder) + sizeof "/.cache/unspool/index";
    char *store = malloc(capacity);
    if (store != NULL) snprintf(store, capacity, "%s%s/unspool/index", folder, is_set(cache) ? "" : "/.cache");
    return store;
}

bool add_path_map(struct line_options *lines, char *text) {
    char *separator = strchr(text, '=');
    if (separator == NULL || separator == text) {
        complain("--map-path takes OLD=NEW, two folders, not \"%s\"", text);
        return false;
    }
    const size_t size = (lines->path_map_count + (size_t)1) * sizeof *lines->path_maps;
    struct usp_path_map *maps = realloc(lines->path_maps, size);
    if (maps == NULL) {
        complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
        return false;
    }
    *separator = '\0';
    maps[lines->path_map_count++] = (struct usp_path_map){text, separator + 1};
    lines->path_maps = maps;
    return true;
}

void line_options_clear(struct line_options *lines) {
    free(lines->path_maps);
    shared_caches_clear(&lines->caches);
}

char *use_line_options(const struct line_options *lines, struct usp_symbolizer_options *names) {
    char *store = find_index_store(lines->index_store);
    names->index_store = store;
    names->path_maps = lines->path_maps;
    names->path_map_count = lines->path_map_count;
    names->dyld_caches = lines->caches.set;
    return store;
}

void take_index_store(struct line_options *lines, const char *path) {
    struct stat folder;
    lines->index_store = path;
    const int error = stat(path, &folder) != 0 ? errno : S_ISDIR(folder.st_mode) ? 0 : ENOTDIR;
    if (error != 0) complain("--index %s: %s", path[0] != '\0' ? path : "\"\"", strerror(error));
}

bool has_index_store(const char *given) {
    struct stat folder;
    char *store = given == NULL ? find_index_store(NULL) : NULL;
    const bool has = given != NULL || (store != NULL && stat(store, &folder) == 0 && S_ISDIR(folder.st_mode));
    free(store);
    return has;
}

void looked_up_create(struct looked_up *looked_up, const struct usp_images *images) {
    looked_up->images = images;
    looked_up->addresses = calloc(usp_images_count(images) + 1, sizeof *looked_up->addresses);
}

void looked_up_add(struct looked_up *looked_up, usp_addr address) {
    const struct usp_image *image = usp_images_find(looked_up->images, address);
    if (image == NULL || looked_up->addresses == NULL) return;
    looked_up->addresses[image - usp_images_get(looked_up->images, 0)] = address;
}

void looked_up_clear(struct looked_up *looked_up) {
    free(looked_up->addresses);
    looked_up->addresses = NULL;
}

void complain_of_files(const struct looked_up *looked_up, struct usp_symbolizer *symbolizer) {
    char text[1024];
    if (looked_up->addresses == NULL || symbolizer == NULL) return;
    for (size_t i = 0; i < usp_images_count(looked_up->images); i++) {
        if (looked_up->addresses[i] == 0) continue;
        int status = usp_symbolizer_explain_file(symbolizer, looked_up->addresses[i], text, sizeof text);
        if (status != USP_OK && status != USP_ERROR_NOT_FOUND) complain("%s; not used", text);
    }
}

void complain_of_lines(const struct looked_up *looked_up, struct usp_symbolizer *symbolizer, bool are_wanted) {
    char missing[1024] = "", text[1024];
    bool has_lines = false, lacks_main = false;
    if (looked_up->addresses == NULL || symbolizer == NULL) return;
    for (size_t i = 0; i < usp_images_count(looked_up->images); i++) {
        if (looked_up->addresses[i] == 0) continue;
        int status = usp_symbolizer_explain_lines(symbolizer, looked_up->addresses[i], text, sizeof text);
        if (status == USP_OK || status == USP_ERROR_FORMAT) has_lines = true;
        if (status == USP_ERROR_FORMAT) complain("%s", text);
        if (status != USP_ERROR_NOT_FOUND) continue;
        const bool is_main = (usp_images_get(looked_up->images, i)->flags & USP_IMAGE_MAIN) != 0;
        if (missing[0] == '\0' || is_main) memcpy(missing, text, sizeof missing);
        lacks_main = lacks_main || is_main;
    }
    if (are_wanted && missing[0] != '\0' && (lacks_main || !has_lines)) {
        complain("lines need debug information (-g, a dSYM, a debug file) or an index of it: %s", missing);
    }
}
