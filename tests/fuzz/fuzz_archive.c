/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as an archive and as a file of images. The members, slices and sections of unlinked objects are
 * opened again by their paths. Seeds: tests/fuzz/macho_symbols_seeds.c, and files that tools wrote
 * (tests/lanes/fuzz.sh). */
#define _GNU_SOURCE 1
#include "lib/object/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <unspool/unspool.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* More than the seeds have. */
#define IMAGES_MAX 16

static void read_members(const uint8_t *data, size_t size) {
    struct uspi_source source = {.name = "archive", .base = data};
    const struct uspi_bytes bytes = {&source, 0, size};
    struct uspi_archive archive, again;
    struct uspi_member member, same;
    struct uspi_error error;
    size_t members = 0;
    if (uspi_archive_open(&archive, bytes, &error) != USP_OK) return;
    while (uspi_archive_next(&archive, &member, &error) > 0) {
        /* A header has 60 bytes. */
        if (++members > size / 60 || member.bytes.from + member.bytes.size > size) abort();
        if (strlen(member.name) > USPI_MEMBER_NAME_MAX) abort();
        /* A table of names that is not at the archive's beginning applies only to the members after it. So opening this
         * member by its offset may fail. */
        if (uspi_archive_open(&again, bytes, &error) != USP_OK) abort();
        if (uspi_archive_at(&again, member.offset, &same, &error) != USP_OK) continue;
        if (same.offset != member.offset || same.bytes.size != member.bytes.size) abort();
    }
}

static void name_functions(const struct usp_image *image) {
    struct usp_symbolizer *symbolizer;
    struct usp_images *images;
    struct usp_symbol symbol;
    if (usp_images_create(image, 1, &images) != USP_OK) abort();
    if (usp_symbolizer_create(images, NULL, &symbolizer) != USP_OK) abort();
    for (unsigned i = 0; i < 8; i++) {
        const usp_addr address = image->load_address + (image->end - image->load_address) / 8 * i;
        int status = usp_symbolize(symbolizer, address, &symbol);
        if ((status == USP_OK) != (symbol.name != NULL)) abort();
        if (symbol.name == NULL) continue;
        if (symbol.start > address || (image->section != 0 && symbol.start < image->load_address)) abort();
        if (strlen(symbol.name) == SIZE_MAX) abort();
    }
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[64], message[600];
    struct usp_images *images, *part;
    const struct usp_image *image;
    read_members(data, size);
    int descriptor = memfd_create("library", 0);
    if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    int status = usp_images_open(path, NULL, &images, message, sizeof message);
    if ((status == USP_OK) != (images != NULL) || (status == USP_OK) != (message[0] == '\0')) abort();
    if (usp_images_count(images) > size / 40) abort();
    for (size_t i = 0; i < IMAGES_MAX && (image = usp_images_get(images, i)) != NULL; i++) {
        if (image->end < image->load_address || strncmp(image->path, path, strlen(path)) != 0) abort();
        name_functions(image);
        if (usp_images_open(image->path, NULL, &part, NULL, 0) == USP_OK && usp_images_count(part) == 0) abort();
        usp_images_free(part);
    }
    usp_images_free(images);
    close(descriptor);
    return 0;
}
