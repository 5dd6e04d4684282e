/* SPDX-License-Identifier: MIT */
/* See search.h. */
#include "lib/images/search.h"
#include "lib/base/path.h"
#include "lib/images/dsym.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int open_judged(const char *path, uspi_judge judge, void *context, struct uspi_file **file,
                       struct uspi_error *error) {
    if (uspi_dsym_is_bundle(path)) return uspi_dsym_open(path, judge, context, file, error);
    int status = uspi_file_open(path, file, error);
    if (status != USP_OK) return status;
    status = judge(context, uspi_file_bytes(*file), error);
    if (status == USP_OK) return USP_OK;
    uspi_file_close(*file);
    *file = NULL;
    return status == USP_ERROR_NOT_FOUND ? USP_ERROR_MISMATCH : status;
}

/* Opens folder/path, joined with one slash. */
static int open_below(const char *folder, const char *path, uspi_judge judge, void *context, struct uspi_file **file,
                      struct uspi_error *error) {
    size_t length = strlen(folder);
    bool has_slash = length == 0 || folder[length - 1] == '/' || path[0] == '/';
    size_t capacity = length + strlen(path) + 2;
    char *joined = malloc(capacity);
    if (joined == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", path);
    snprintf(joined, capacity, "%s%s%s", folder, has_slash ? "" : "/", path);
    int status = open_judged(joined, judge, context, file, error);
    free(joined);
    return status;
}

struct uspi_search uspi_search_of_names(const struct uspi_search *search) {
    return (struct uspi_search){.sysroot = search->sysroot, .as_named = search->as_named && search->inside == NULL};
}

static bool is_inside(const struct uspi_search *search, const char *path) {
    const size_t length = search->inside != NULL ? strlen(search->inside) : 0;
    return search->inside != NULL && strncmp(path, search->inside, length) == 0 && path[length] == '/';
}

const char *uspi_search_inside(const struct uspi_search *search, const char *path) {
    return is_inside(search, path) ? path + strlen(search->inside) : path;
}

int uspi_search_open(const struct uspi_search *search, const char *path, uspi_judge judge, void *context,
                     struct uspi_file **file, struct uspi_error *error) {
    const char *name = uspi_last_component(path);
    struct uspi_error refusal = {0}, last;
    *file = NULL;
    for (unsigned i = 0; i < 4; i++) {
        int status = USP_ERROR_NOT_FOUND;
        if (i == 0 && search->file != NULL) status = open_judged(search->file, judge, context, file, &last);
        if (i > 0 && path[0] == '\0') break;
        if (i == 1 && search->sysroot != NULL) {
            status = open_below(search->sysroot, uspi_search_inside(search, path), judge, context, file, &last);
        }
        if (i == 2 && search->as_named && !is_inside(search, path))
            status = open_judged(path, judge, context, file, &last);
        if (i == 3 && search->folder != NULL) status = open_below(search->folder, name, judge, context, file, &last);
        if (status == USP_OK) return USP_OK;
        if (status == USP_ERROR_NOT_FOUND || (refusal.status != USP_OK && status != USP_ERROR_NO_MEMORY)) continue;
        refusal = last;
        refusal.status = status;
        if (status == USP_ERROR_NO_MEMORY) break;
    }
    if (refusal.status == USP_OK) return uspi_error_set(error, USP_ERROR_NOT_FOUND, "%s: no such file", path);
    if (error != NULL) *error = refusal;
    return refusal.status;
}
