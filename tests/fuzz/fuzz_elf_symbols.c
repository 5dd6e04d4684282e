/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as the ELF file of an image, and as its memory. Names at many addresses are looked up, and again
 * after a trim. Seeds: tests/fuzz/elf_symbols_seeds.c. */
#define _GNU_SOURCE 1
#include "lib/images/image_list.h"
#include "lib/object/elf.h"
#include "tests/fuzz/image_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <unspool/unspool.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Number of addresses to look up: one for every few bytes of the image, so that each kind of entry is used. */
#define QUESTIONS 512

static void ask(const char *path, uint32_t flags, const struct usp_memory *memory, const struct uspi_elf *elf) {
    struct uspi_image_list list = {0};
    struct uspi_elf_extent extent;
    struct uspi_build_id id = {0};
    struct usp_images *images;
    struct usp_symbolizer_options options;
    struct usp_symbolizer *symbolizer;
    if (uspi_elf_extent(elf, &extent, NULL) != USP_OK) return;
    uspi_elf_build_id(elf, &id, NULL);
    struct usp_image image = {.path = path, .load_address = IMAGE_LOAD, .arch = elf->arch, .flags = flags};
    image.slide = IMAGE_LOAD - elf->header_address;
    image.end = UINT64_MAX;
    image.build_id_size = id.size;
    memcpy(image.build_id, id.bytes, id.size);
    usp_symbolizer_options_init(&options);
    options.memory = memory;
    options.memory_limit = 1;
    if (uspi_image_list_add(&list, &image) != USP_OK || uspi_image_list_seal(&list, &images) != USP_OK) abort();
    if (usp_symbolizer_create(images, &options, &symbolizer) != USP_OK) abort();
    for (unsigned i = 0; i < QUESTIONS; i++) {
        struct usp_symbol symbol;
        usp_addr address = IMAGE_LOAD + (extent.high - extent.low) / QUESTIONS * i + i % 7;
        int status = usp_symbolize(symbolizer, address, &symbol);
        if ((status == USP_OK) != (symbol.name != NULL)) abort();
        if (symbol.name == NULL) continue;
        if (symbol.start > address || (symbol.extent != 0 && symbol.offset >= symbol.extent)) abort();
        /* strlen makes the sanitizer notice a name without an end. */
        if (strlen(symbol.name) == SIZE_MAX) abort();
        if (i == QUESTIONS / 2) usp_symbolizer_trim(symbolizer);
    }
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct image_memory m = {data, size};
    struct usp_memory memory = {read_image, &m};
    struct uspi_source file = {.name = "file", .base = data}, in_memory = uspi_source_of_memory(&memory, "memory");
    struct uspi_elf elf;
    if (uspi_elf_open(&elf, (struct uspi_bytes){&file, 0, size}, NULL) == USP_OK) {
        char path[64];
        int descriptor = memfd_create("image", 0);
        if (descriptor < 0 || write(descriptor, data, size) != (ssize_t)size) abort();
        snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
        ask(path, 0, NULL, &elf);
        close(descriptor);
    }
    if (uspi_elf_open_image(&elf, uspi_bytes_at(&in_memory, IMAGE_LOAD), NULL) == USP_OK) {
        ask("memory", USP_IMAGE_KERNEL, &memory, &elf);
    }
    return 0;
}
