/* SPDX-License-Identifier: MIT */
/* See dsym.h. */

/* Where a folder's entries have positions of 64 bits, readdir fails on 32-bit hosts otherwise (glibc
 * feature_test_macros(7), readdir(3) EOVERFLOW). */
#define _FILE_OFFSET_BITS 64

#include "lib/object/dsym.h"

#include <dirent.h>
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

static int open_entry(const char *folder, const char *name, uspi_judge judge, void *context, struct uspi_file **file,
                      struct uspi_error *error) {
    size_t room = strlen(folder) + strlen(name) + 2;
    char *path = malloc(room);
    if (path == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", folder);
    snprintf(path, room, "%s/%s", folder, name);
    int status = uspi_file_open(path, file, error);
    free(path);
    if (status != USP_OK) return status;
    status = judge(context, uspi_file_bytes(*file), error);
    if (status == USP_OK) return USP_OK;
    uspi_file_close(*file);
    *file = NULL;
    return status == USP_ERROR_NOT_FOUND ? USP_ERROR_MISMATCH : status;
}

int uspi_dsym_open(const char *path, uspi_judge judge, void *context, struct uspi_file **file,
                   struct uspi_error *error) {
    size_t room = strlen(path) + sizeof INSIDE;
    char *folder = malloc(room);
    *file = NULL;
    if (folder == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", path);
    snprintf(folder, room, "%s%s", path, INSIDE);
    int status = uspi_error_set(error, USP_ERROR_NOT_FOUND, "%s: no dSYM bundle with a file in it", path);
    DIR *entries = opendir(folder);
    const struct dirent *entry;
    while (entries != NULL && status != USP_OK && status != USP_ERROR_NO_MEMORY && (entry = readdir(entries)) != NULL) {
        /* ".", ".." and AppleDouble's. */
        if (entry->d_name[0] == '.') continue;
        status = open_entry(folder, entry->d_name, judge, context, file, error);
    }
    if (entries != NULL) closedir(entries);
    free(folder);
    return status;
}
