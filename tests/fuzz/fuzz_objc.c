/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a Mach-O file and as an image in a process's memory, with Objective-C metadata. Every method
 * is collected, indexed and looked up. Seeds: tests/fuzz/objc_seeds.c. */
#include <stdlib.h>

#include "lib/symbolize/objc/tables.h"
#include "tests/fuzz/image_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void name_all(const struct uspi_tables *tables, struct uspi_names *names) {
    struct uspi_gathering gathering = {0};
    struct uspi_index index = {0};
    if (tables->gather(tables, &gathering) == USP_OK &&
        uspi_index_build(&index, &gathering, tables->prefer, tables) == USP_OK) {
        for (size_t i = 0; i < gathering.count; i++) {
            struct uspi_symbol_answer named = {0};
            uint32_t symbol = uspi_index_find(&index, gathering.candidates[i].start, &named.start, &named.size);
            if (symbol == USPI_NO_SYMBOL || tables->get(tables, symbol, names, &named) != USP_OK) continue;
            size_t length = strlen(named.name);
            if (length < 5 || named.name[length - 1] != ']') abort();
        }
    }
    uspi_gathering_clear(&gathering);
    uspi_index_clear(&index);
}

static void read_all(struct uspi_bytes bytes, const struct uspi_pointers *process) {
    struct uspi_macho macho;
    struct uspi_tables *tables;
    struct uspi_names *names = uspi_names_create();
    if (uspi_macho_open(&macho, bytes, NULL) == USP_OK && uspi_objc_tables_open(&macho, process, &tables) == USP_OK) {
        name_all(tables, names);
        tables->close(tables);
    }
    uspi_names_free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct image_memory m = {data, size};
    struct usp_memory memory = {read_image, &m};
    struct uspi_source file = {.name = "file", .base = data}, image = uspi_source_of_memory(&memory, "memory");
    const struct uspi_pointers process = {.shared_cache = IMAGE_LOAD + 0x2800};
    read_all((struct uspi_bytes){&file, 0, size}, NULL);
    read_all(uspi_bytes_at(&image, IMAGE_LOAD), &process);
    return 0;
}
