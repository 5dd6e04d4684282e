/* SPDX-License-Identifier: MIT */
/* See profile_file.h. */
#include "tools/profile_file.h"

#include "tools/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Largest file that is read. The library reads 1 GB after decompression. */
#define SIZE_LIMIT ((size_t)1 << 30)

int read_whole(int file, const char *shown, const void *head, size_t head_size, uint8_t **bytes, size_t *size) {
    size_t capacity = 65536;
    *bytes = malloc(capacity);
    *size = head_size;
    if (*bytes != NULL) memcpy(*bytes, head, head_size);
    while (*bytes != NULL) {
        if (*size == capacity) {
            if (capacity >= SIZE_LIMIT) {
                complain("%s: a profile of pprof or OTLP can have up to 1 GB", shown);
                return EXIT_NO_TARGET;
            }
            uint8_t *grown = realloc(*bytes, capacity * 2);
            if (grown == NULL) break;
            *bytes = grown;
            capacity *= 2;
        }
        const ssize_t got = read(file, *bytes + *size, capacity - *size);
        if (got == 0) return EXIT_ALL_WELL;
        if (got < 0 && errno != EINTR) {
            complain("%s: %s", shown, strerror(errno));
            return EXIT_NO_TARGET;
        }
        if (got > 0) *size += (size_t)got;
    }
    complain("%s", usp_status_string(USP_ERROR_NO_MEMORY));
    return EXIT_FAILED;
}

/* ---- files of builds ---- */

struct finding {
    const struct record_output *output;
    const char *store; /* NULL: none */
    char *paths[3];    /* of the sources that were given last */
};

static void free_paths(struct finding *finding) {
    for (size_t i = 0; i < sizeof finding->paths / sizeof *finding->paths; i++) {
        free(finding->paths[i]);
        finding->paths[i] = NULL;
    }
}

/* Adds a file as a source. Returns false when memory is exhausted. */
static bool add_file(struct finding *finding, const struct usp_place *place, const char *root, const char *path,
                     size_t length, struct usp_build_sources *sources) {
    const size_t root_length = strlen(root);
    char *made = malloc(root_length + length + 1);
    if (made == NULL) return false;
    memcpy(made, root, root_length);
    memcpy(made + root_length, path, length);
    made[root_length + length] = '\0';
    finding->paths[sources->count] = made;
    struct usp_build_source *source = &sources->of[sources->count++];
    *source = (struct usp_build_source){.path = made, .build_id_size = place->build_id_size};
    memcpy(source->build_id, place->build_id, sizeof source->build_id);
    return true;
}

/* Adds the file of debugging symbols in the system's folder for them. */
static bool add_debug_file(struct finding *finding, const struct usp_place *place, struct usp_build_sources *sources) {
    char path[2 * USP_BUILD_ID_MAX + 16];
    size_t used = 0;
    if (place->build_id_size < 2) return true;
    for (uint32_t i = 0; i < place->build_id_size; i++)
        used += (size_t)snprintf(path + used, sizeof path - used, i == 0 ? "%02x/" : "%02x", place->build_id[i]);
    used += (size_t)snprintf(path + used, sizeof path - used, ".debug");
    return add_file(finding, place, "/usr/lib/debug/.build-id/", path, used, sources);
}

/* Implements usp_build_function. The file at the mapping's path is used if it has the build id; without a build id it is
 * used, unless it was deleted. */
static int find_files(void *context, const struct usp_place *place, struct usp_build_sources *sources) {
    struct finding *finding = context;
    const char *root = finding->output->sysroot;
    static const char deleted[] = " (deleted)";
    size_t length = place->image_length;
    const size_t suffix = sizeof deleted - 1;
    const bool is_deleted = length > suffix && memcmp(place->image + length - suffix, deleted, suffix) == 0;
    if ((sources->flags & USP_BUILD_LAYOUT) != 0) {
        sources->flags |= USP_BUILD_COMPLETE;
        return USP_OK;
    }
    sources->flags |= USP_BUILD_COMPLETE;
    free_paths(finding);
    if (is_deleted) length -= suffix;
    const bool has_path = length > 0 && place->image[0] == '/' && memchr(place->image, '\0', length) == NULL &&
                          (place->build_id_size > 0 || !is_deleted);
    if (has_path && root != NULL && !add_file(finding, place, root, place->image, length, sources))
        return USP_ERROR_NO_MEMORY;
    if (has_path && !add_file(finding, place, "", place->image, length, sources)) return USP_ERROR_NO_MEMORY;
    if (place->build_id_size == 0) return USP_OK;
    if (!add_debug_file(finding, place, sources)) return USP_ERROR_NO_MEMORY;
    struct usp_build_source *index = &sources->of[sources->count];
    if (finding->store == NULL || sources->count == USP_BUILD_SOURCES) return USP_OK;
    *index = (struct usp_build_source){.index_store = finding->store, .build_id_size = place->build_id_size};
    memcpy(index->build_id, place->build_id, sizeof index->build_id);
    sources->count++;
    return USP_OK;
}

static int name_locations(struct usp_profile_file *file, const struct record_output *output, struct finding *finding) {
    struct usp_builds_options options;
    struct usp_builds *builds;
    struct usp_demangler *demangler;
    usp_builds_options_init(&options);
    options.index_store = finding->store;
    options.find = find_files;
    options.context = finding;
    options.path_maps = output->lines.path_maps;
    options.path_map_count = output->lines.path_map_count;
    int status = usp_demangler_create(output->demangling, &demangler);
    if (status != USP_OK) return status;
    status = usp_builds_create(&options, &builds);
    if (status == USP_OK) {
        status = usp_profile_file_symbolicate(file, builds, demangler, output->options.flags & USP_PROFILE_LINES);
        usp_builds_free(builds);
    }
    usp_demangler_free(demangler);
    return status;
}

int name_profile_file(struct usp_profile_file *file, const struct record_output *output) {
    struct finding finding = {.output = output};
    if (output->no_symbols) return EXIT_ALL_WELL;
    char *store = find_index_store(output->lines.index_store);
    finding.store = store;
    const int status = name_locations(file, output, &finding);
    free_paths(&finding);
    free(store);
    if (status == USP_OK) return EXIT_ALL_WELL;
    complain("%s", usp_status_string(status));
    return EXIT_FAILED;
}
