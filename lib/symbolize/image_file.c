/* SPDX-License-Identifier: MIT */
/* See image_file.h. */
#include "lib/symbolize/image_file.h"

#include "lib/object/elf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Debian Policy and gdb(1) "Debugging Information in Separate Files": the build-id's first byte names a folder. */
#define DEBUG_FOLDER "/usr/lib/debug/.build-id/"

static int check_build(const struct usp_image *image, const struct uspi_file *file, struct uspi_error *error) {
    struct uspi_elf elf;
    struct uspi_build_id id = {0};
    int status = uspi_elf_open(&elf, uspi_file_bytes(file), error);
    if (status != USP_OK) return status;
    status = uspi_elf_build_id(&elf, &id, error);
    if (status != USP_OK && status != USP_ERROR_NOT_FOUND) return status;
    bool is_replaced = image->build_id_size == 0 && (image->flags & USP_IMAGE_DELETED) != 0;
    if (!is_replaced && id.size == image->build_id_size && memcmp(id.bytes, image->build_id, id.size) == 0)
        return USP_OK;
    return uspi_error_set(error, USP_ERROR_MISMATCH, "%s: another build than the one that was loaded",
                          uspi_file_path(file));
}

/* Opens root + path, if it is the image's. */
static int open_under(const char *root, const char *path, const struct usp_image *image, struct uspi_file **file,
                      struct uspi_error *error) {
    size_t room = strlen(root) + strlen(path) + 2;
    char *whole = malloc(room);
    if (whole == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "%s: out of memory", path);
    snprintf(whole, room, "%s%s%s", root, root[0] != '\0' && path[0] != '/' ? "/" : "", path);
    int status = uspi_file_open(whole, file, error);
    free(whole);
    if (status != USP_OK) return status;
    status = check_build(image, *file, error);
    if (status == USP_OK) return USP_OK;
    uspi_file_close(*file);
    *file = NULL;
    return status;
}

static int open_first(const char *sysroot, const char *path, const struct usp_image *image, struct uspi_file **file,
                      struct uspi_error *error) {
    *file = NULL;
    int first = USP_ERROR_NOT_FOUND;
    if (sysroot != NULL && sysroot[0] != '\0') {
        first = open_under(sysroot, path, image, file, error);
        if (first == USP_OK || first == USP_ERROR_NO_MEMORY) return first;
    }
    int second = open_under("", path, image, file, error);
    /* That there was one, but the wrong one, says more than that there was none. */
    return second == USP_ERROR_NOT_FOUND ? first : second;
}

int uspi_image_file_open(const struct usp_image *image, const char *sysroot, struct uspi_file **file,
                         struct uspi_error *error) {
    /* Names in brackets are the kernel's, for memory without a file (proc(5), maps). */
    if ((image->flags & USP_IMAGE_KERNEL) != 0 || image->path[0] == '\0' || image->path[0] == '[') {
        *file = NULL;
        return uspi_error_set(error, USP_ERROR_NOT_FOUND, "%s: has no file", image->path);
    }
    return open_first(sysroot, image->path, image, file, error);
}

int uspi_debug_file_open(const struct usp_image *image, const char *sysroot, struct uspi_file **file,
                         struct uspi_error *error) {
    char path[sizeof DEBUG_FOLDER + 2 * USP_BUILD_ID_MAX + sizeof "/.debug"];
    *file = NULL;
    if (image->build_id_size < 2 || image->build_id_size > USP_BUILD_ID_MAX) {
        return uspi_error_set(error, USP_ERROR_NOT_FOUND, "%s: has no build-id", image->path);
    }
    int used = snprintf(path, sizeof path, "%s%02x/", DEBUG_FOLDER, image->build_id[0]);
    for (uint32_t i = 1; i < image->build_id_size; i++) {
        used += snprintf(path + used, sizeof path - (size_t)used, "%02x", image->build_id[i]);
    }
    snprintf(path + used, sizeof path - (size_t)used, ".debug");
    return open_first(sysroot, path, image, file, error);
}
