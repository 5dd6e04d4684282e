/* SPDX-License-Identifier: MIT */
/* See search.h. */
#include "lib/images/search.h"
#include "lib/base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a search opens its candidates with. */
struct opening {
    uspi_opener open;
    const char *within; /* as in uspi_file_open_within */
    uspi_judge judge;
    void *context;
    struct uspi_file **file;
    struct uspi_error *error;
};

int uspi_open_judged(const char *path, const char *within, uspi_judge judge, void *context, struct uspi_file **file,
                     struct uspi_error *error) {
    int status = uspi_file_open_within(path, within, file, error);
    if (status != USP_OK) return status;
    status = judge(context, uspi_file_bytes(*file), error);
    if (status == USP_OK) return USP_OK;
    uspi_file_close(*file);
    *file = NULL;
    return status == USP_ERROR_NOT_FOUND ? USP_ERROR_MISMATCH : status;
}

static int open_path(const struct opening *o, const char *path) {
    return o->open(path, o->within, o->judge, o->context, o->file, o->error);
}

/* Opens folder/path, joined with one slash. */
static int open_below(const struct opening *opening, const char *folder, const char *path) {
    size_t length = strlen(folder);
    bool has_slash = length == 0 || folder[length - 1] == '/' || path[0] == '/';
    size_t capacity = length + strlen(path) + 2;
    char *joined = malloc(capacity);
    if (joined == NULL) return uspi_error_set(opening->error, USP_ERROR_NO_MEMORY, "%s: out of memory", path);
    snprintf(joined, capacity, "%s%s%s", folder, has_slash ? "" : "/", path);
    int status = open_path(opening, joined);
    free(joined);
    return status;
}

struct uspi_search uspi_search_of_names(const struct uspi_search *search) {
    return (struct uspi_search){.sysroot = search->sysroot, .as_named = search->as_named && search->inside == NULL};
}

static bool is_inside(const struct uspi_search *search, const char *path) {
    if (search->inside == NULL) return false;
    const size_t length = strlen(search->inside);
    return strncmp(path, search->inside, length) == 0 && path[length] == '/';
}

const char *uspi_search_inside(const struct uspi_search *search, const char *path) {
    return is_inside(search, path) ? path + strlen(search->inside) : path;
}

int uspi_search_open(const struct uspi_search *search, const char *path, uspi_judge judge, void *context,
                     struct uspi_file **file, struct uspi_error *error) {
    const char *name = uspi_last_component(path);
    struct uspi_error refusal = {0}, last;
    const char *within = search->within != NULL ? search->within : search->sysroot;
    const uspi_opener open = search->open != NULL ? search->open : uspi_open_judged;
    const struct opening opening = {open, within, judge, context, file, &last};
    *file = NULL;
    for (unsigned i = 0; i < 4; i++) {
        int status = USP_ERROR_NOT_FOUND;
        if (i == 0 && search->file != NULL) status = open_path(&opening, search->file);
        if (i > 0 && path[0] == '\0') break;
        if (i == 1 && search->sysroot != NULL) {
            status = open_below(&opening, search->sysroot, uspi_search_inside(search, path));
        }
        if (i == 2 && search->as_named && !is_inside(search, path)) status = open_path(&opening, path);
        if (i == 3 && search->folder != NULL) status = open_below(&opening, search->folder, name);
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
