/* SPDX-License-Identifier: MIT */
/* See dsym.h. */
#include "lib/images/dsym.h"

#include "lib/os/os.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SUFFIX ".dSYM"
#define INSIDE "/Contents/Resources/DWARF"

bool uspi_dsym_is_bundle(const char *path) {
    size_t length = strlen(path);
    while (length > 0 && path[length - 1] == '/') length--;
    const size_t suffix = sizeof SUFFIX - 1;
    return length > suffix && memcmp(path + length - suffix, SUFFIX, suffix) == 0;
}

struct bundle {
    const char *folder, *within;
    uspi_judge judge;
    void *context;
    struct uspi_file **file;
    struct uspi_error *error;
    int status;
};

static int open_entry(const struct bundle *bundle, const char *name) {
    size_t capacity = strlen(bundle->folder) + strlen(name) + 2;
    char *path = malloc(capacity);
    if (path == NULL) return uspi_error_set(bundle->error, USP_ERROR_NO_MEMORY, "%s: out of memory", bundle->folder);
    snprintf(path, capacity, "%s/%s", bundle->folder, name);
    int status = uspi_open_judged(path, bundle->within, bundle->judge, bundle->context, bundle->file, bundle->error);
    free(path);
    return status;
}

static bool try_entry(void *context, const char *name) {
    struct bundle *bundle = context;
    /* AppleDouble files. */
    if (name[0] == '.') return true;
    bundle->status = open_entry(bundle, name);
    return bundle->status != USP_OK && bundle->status != USP_ERROR_NO_MEMORY;
}

/* A uspi_opener for a bundle. */
static int open_bundle(const char *path, const char *within, uspi_judge judge, void *context, struct uspi_file **file,
                       struct uspi_error *error) {
    size_t capacity = strlen(path) + sizeof INSIDE;
    char *folder = malloc(capacity);
    *file = NULL;
    if (folder == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", path);
    snprintf(folder, capacity, "%s%s", path, INSIDE);
    struct bundle bundle = {folder, within, judge, context, file, error, USP_OK};
    bundle.status = uspi_error_set(error, USP_ERROR_NOT_FOUND, "%s: no dSYM bundle with a file in it", path);
    (void)uspi_os_list_folder(folder, try_entry, &bundle);
    free(folder);
    return bundle.status;
}

/* A uspi_opener. */
static int open_path(const char *path, const char *within, uspi_judge judge, void *context, struct uspi_file **file,
                     struct uspi_error *error) {
    return (uspi_dsym_is_bundle(path) ? open_bundle : uspi_open_judged)(path, within, judge, context, file, error);
}

int uspi_search_bundles(const struct uspi_search *search, const char *path, uspi_judge judge, void *context,
                        struct uspi_file **file, struct uspi_error *error) {
    struct uspi_search bundles = *search;
    bundles.open = open_path;
    return uspi_search_open(&bundles, path, judge, context, file, error);
}
