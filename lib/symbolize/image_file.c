/* SPDX-License-Identifier: MIT */
/* See image_file.h. */
#include "lib/symbolize/image_file.h"

#include "lib/object/elf.h"
#include "lib/symbolize/macho_file.h"

#include <stdio.h>
#include <string.h>

/* Debian Policy and gdb(1) "Debugging Information in Separate Files": the build-id's first byte names a folder. */
#define DEBUG_FOLDER "/usr/lib/debug/.build-id/"

/* The shape of uspi_judge; context is the image. */
static int judge_build(void *context, struct uspi_bytes bytes, struct uspi_error *error) {
    const struct usp_image *image = context;
    struct uspi_elf elf;
    struct uspi_build_id id = {0};
    int status = uspi_elf_open(&elf, bytes, error);
    if (status != USP_OK) return status;
    status = uspi_elf_build_id(&elf, &id, error);
    if (status != USP_OK && status != USP_ERROR_NOT_FOUND) return status;
    bool is_replaced = image->build_id_size == 0 && (image->flags & USP_IMAGE_DELETED) != 0;
    bool is_same = id.size == image->build_id_size && memcmp(id.bytes, image->build_id, id.size) == 0;
    if (is_same && !is_replaced) return USP_OK;
    return uspi_error_set(error, USP_ERROR_MISMATCH, "%s: another build than the one that was loaded",
                          bytes.source->name);
}

int uspi_image_file_open(const struct usp_image *image, const struct uspi_search *search, struct uspi_file **file,
                         struct uspi_error *error) {
    struct uspi_search own = *search;
    if ((image->flags & USP_IMAGE_MAIN) == 0) own.file = NULL;
    *file = NULL;
    if ((image->flags & USP_IMAGE_KERNEL) != 0) {
        return uspi_error_set(error, USP_ERROR_NOT_FOUND, "%s: the kernel's, without a file", image->path);
    }
    if ((image->flags & USP_IMAGE_MACHO) != 0) return uspi_macho_file_open(image, &own, file, error);
    return uspi_search_open(&own, image->path, judge_build, (void *)(uintptr_t)image, file, error);
}

int uspi_debug_file_open(const struct usp_image *image, const struct uspi_search *search, struct uspi_file **file,
                         struct uspi_error *error) {
    char path[sizeof DEBUG_FOLDER + 2 * USP_BUILD_ID_MAX + sizeof "/.debug"];
    struct uspi_search installed = {.sysroot = search->sysroot, .as_named = true};
    *file = NULL;
    if ((image->flags & USP_IMAGE_MACHO) != 0) {
        struct uspi_search own = *search;
        if ((image->flags & USP_IMAGE_MAIN) == 0) own.file = NULL;
        return uspi_macho_debug_open(image, &own, file, error);
    }
    if (image->build_id_size < 2 || image->build_id_size > USP_BUILD_ID_MAX) {
        return uspi_error_set(error, USP_ERROR_NOT_FOUND, "%s: has no build-id", image->path);
    }
    int used = snprintf(path, sizeof path, "%s%02x/", DEBUG_FOLDER, image->build_id[0]);
    for (uint32_t i = 1; i < image->build_id_size; i++) {
        used += snprintf(path + used, sizeof path - (size_t)used, "%02x", image->build_id[i]);
    }
    snprintf(path + used, sizeof path - (size_t)used, ".debug");
    return uspi_search_open(&installed, path, judge_build, (void *)(uintptr_t)image, file, error);
}
