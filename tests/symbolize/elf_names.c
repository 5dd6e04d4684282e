/* SPDX-License-Identifier: MIT */
/* Names addresses of an ELF file by the library, for tests/symbolize/elf.sh, which compares the names with other tools:
 *
 *     elf_names FILE    reads linked addresses in hexadecimal, writes "ADDRESS START NAME" for each, or "ADDRESS -" */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/unspool.h>

#include "lib/images/file.h"
#include "lib/images/image_list.h"
#include "lib/object/elf.h"

static struct uspi_error error;

static void check(int status) {
    if (status >= 0) return;
    fprintf(stderr, "elf_names: %s\n", error.text[0] != '\0' ? error.text : usp_status_string(status));
    exit(1);
}

/* Returns the image of a process that has loaded the file at the address where it was linked. */
static struct usp_images *load(const char *path) {
    struct uspi_image_list list = {0};
    struct usp_images *images;
    struct uspi_file *file;
    struct uspi_elf elf;
    struct uspi_elf_extent extent;
    struct uspi_build_id id = {0};
    check(uspi_file_open(path, &file, &error));
    check(uspi_elf_open(&elf, uspi_file_bytes(file), &error));
    check(uspi_elf_extent(&elf, &extent, &error));
    uspi_elf_build_id(&elf, &id, NULL);
    struct usp_image image = {.path = path,
                              .load_address = extent.low,
                              .text_low = extent.text_low,
                              .text_high = extent.text_high,
                              .end = extent.high,
                              .arch = elf.arch,
                              .flags = USP_IMAGE_MAIN,
                              .build_id_size = id.size};
    memcpy(image.build_id, id.bytes, id.size);
    check(uspi_image_list_add(&list, &image));
    check(uspi_image_list_seal(&list, &images));
    uspi_file_close(file);
    return images;
}

int main(int argc, char **argv) {
    struct usp_symbolizer *symbolizer;
    uint64_t address;
    if (argc != 2) {
        fprintf(stderr, "usage: elf_names FILE\n");
        return 2;
    }
    struct usp_images *images = load(argv[1]);
    check(usp_symbolizer_create(images, NULL, &symbolizer));
    while (scanf("%" SCNx64, &address) == 1) {
        struct usp_symbol symbol;
        if (usp_symbolize(symbolizer, address, &symbol) == USP_OK) {
            printf("%#" PRIx64 " %#" PRIx64 " %s\n", address, symbol.start, symbol.name);
        } else {
            printf("%#" PRIx64 " -\n", address);
        }
    }
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    return 0;
}
