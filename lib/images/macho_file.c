/* SPDX-License-Identifier: MIT */
/* See macho_file.h. */
#include "lib/images/macho_file.h"

#include "lib/images/part.h"
#include "lib/images/symbol_file.h"

#include <stdlib.h>
#include <string.h>

#define SUFFIX ".dSYM"
/* The folder of debugging symbols that xcodebuild -create-xcframework makes (key DebugSymbolsPath). */
#define TOGETHER "dSYMs/"

struct uspi_wanted_slice uspi_slice_of_image(const struct usp_image *image) {
    return (struct uspi_wanted_slice){.uuid = image->build_id_size == USPI_UUID_SIZE ? image->build_id : NULL,
                                      .arch = image->arch,
                                      .variant = image->variant};
}

/* A uspi_judge: accepts a file with the image's slice. context: the image. */
static int judge_slice(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    const struct usp_image *image = context;
    struct uspi_macho macho;
    if (uspi_symbol_file_is(bytes)) return uspi_symbol_file_judge(image, bytes, error);
    const struct uspi_wanted_slice wanted = uspi_slice_of_image(image);
    return uspi_fat_pick(bytes, &wanted, &macho, error);
}

static int search_for(const struct usp_image *image, const struct uspi_search *search, const char *path,
                      struct uspi_file **file, struct uspi_error *error) {
    const struct uspi_part_location place = {path, image->member_offset};
    return uspi_part_open(search, place, judge_slice, (void *)(uintptr_t)image, file, error);
}

/* Cuts a path down to its innermost folder whose name has a dot, which makes it a bundle. False when there is no such
 * folder. */
static bool go_to_bundle(char *path) {
    char *slash = strrchr(path, '/');
    while (slash != NULL) {
        *slash = '\0';
        slash = strrchr(path, '/');
        if (strchr(slash != NULL ? slash : path, '.') != NULL) return true;
    }
    return false;
}

/* Writes the path of the dSYM of `path`, in the folder dSYMs if `together`. `to` has room for the path, TOGETHER and
 * SUFFIX. */
static void put_bundle(char *to, const char *path, bool together) {
    const char *slash = strrchr(path, '/');
    const size_t folder = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    memcpy(to, path, folder);
    to += folder;
    if (together) {
        memcpy(to, TOGETHER, sizeof TOGETHER - 1);
        to += sizeof TOGETHER - 1;
    }
    memcpy(to, path + folder, strlen(path + folder));
    memcpy(to + strlen(path + folder), SUFFIX, sizeof SUFFIX);
}

/* Tries PATH.dSYM, then BUNDLE.dSYM for each enclosing bundle; each also in the folder dSYMs beside it, as in an
 * .xcframework. */
static int search_beside(const struct usp_image *image, const struct uspi_search *search, const char *of,
                         struct uspi_file **file, struct uspi_error *error) {
    /* An image of an index has no path. */
    if (of[0] == '\0') return uspi_error_set(error, USP_ERROR_NOT_FOUND, "it has no path");
    const size_t capacity = strlen(of) + sizeof TOGETHER + sizeof SUFFIX;
    char *path = calloc(2, capacity);
    if (path == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", of);
    char *bundle = path + capacity;
    int status = uspi_error_set(error, USP_ERROR_NOT_FOUND, "%s: no such file", of);
    memcpy(path, of, strlen(of));
    do {
        for (unsigned together = 0; together < 2 && status != USP_OK && status != USP_ERROR_NO_MEMORY; together++) {
            put_bundle(bundle, path, together != 0);
            int found = search_for(image, search, bundle, file, error);
            /* The status of a dSYM that exists and does not fit takes precedence over "not found". */
            if (found != USP_ERROR_NOT_FOUND || status == USP_ERROR_NOT_FOUND) status = found;
        }
    } while (status != USP_OK && status != USP_ERROR_NO_MEMORY && go_to_bundle(path));
    free(path);
    return status;
}

int uspi_macho_debug_open(const struct usp_image *image, const struct uspi_search *search, struct uspi_file **file,
                          struct uspi_error *error) {
    const struct uspi_search as_given = {.as_named = true, .within = search->sysroot};
    struct uspi_search by_path = *search;
    *file = NULL;
    if (uspi_slice_of_image(image).uuid == NULL) {
        return uspi_error_set(error, USP_ERROR_NOT_FOUND, "it has no UUID");
    }
    int status = USP_ERROR_NOT_FOUND;
    if (search->file != NULL) status = search_beside(image, &as_given, search->file, file, error);
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    by_path.file = NULL;
    return search_beside(image, &by_path, image->path, file, error);
}

int uspi_macho_file_open(const struct usp_image *image, const struct uspi_search *search, struct uspi_file **file,
                         struct uspi_error *error) {
    int status = search_for(image, search, image->path, file, error);
    if (status == USP_OK || status == USP_ERROR_NO_MEMORY) return status;
    struct uspi_error ignored;
    int found = uspi_macho_debug_open(image, search, file, &ignored);
    return found == USP_OK || found == USP_ERROR_NO_MEMORY ? found : status;
}
