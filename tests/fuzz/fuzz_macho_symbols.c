/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a Mach-O file with symbols. Every symbol that the library finds must lie inside the code.
 * Seeds: tests/fuzz/macho_symbols_seeds.c. */
#include "lib/symbolize/index/tables.h"
#include "lib/symbolize/macho/code.h"

#include <stdlib.h>
#include <string.h>

#include "lib/object/fat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Looks up each address at which the answer can change. */
static void name_everything(const struct uspi_tables *tables, const struct uspi_gathering *gathering,
                            const struct uspi_index *index, const struct uspi_macho_code *code) {
    struct uspi_names *names = uspi_names_create();
    if (names == NULL) return;
    for (size_t i = 0; i < gathering->count; i++) {
        usp_addr address = gathering->candidates[i].start;
        struct uspi_symbol_answer named = {0};
        uint32_t symbol = uspi_index_find(index, address, &named.start, &named.size);
        if (symbol == USPI_NO_SYMBOL || tables->get(tables, symbol, names, &named) != USP_OK) continue;
        if (named.name == NULL || strlen(named.name) == SIZE_MAX || named.start > address) abort();
        if (!uspi_macho_code_holds_any(code, named.start)) abort();
    }
    uspi_names_free(names);
}

static void read_file(struct uspi_bytes file, const struct uspi_bytes *debug, uint32_t arch) {
    struct uspi_tables *tables;
    struct uspi_gathering gathering = {0};
    struct uspi_index index = {0};
    struct uspi_macho macho;
    struct uspi_macho_code code;
    const struct uspi_wanted_slice wanted = {.arch = arch};
    if (uspi_macho_tables_open(file, debug, &wanted, &tables) != USP_OK) return;
    if (uspi_fat_pick(file, &wanted, &macho, NULL) != USP_OK) abort();
    if (tables->gather(tables, &gathering) == USP_OK && uspi_macho_code_read(&macho, &code) == USP_OK &&
        uspi_index_build(&index, &gathering, tables->prefer, tables) == USP_OK) {
        name_everything(tables, &gathering, &index, &code);
    }
    uspi_index_clear(&index);
    uspi_gathering_clear(&gathering);
    tables->close(tables);
}

/* Reads the bytes through a function, for files that cannot be used in place. */
static int read_data(void *context, uint64_t at, void *to, size_t n) {
    const struct uspi_bytes *bytes = context;
    if (at > bytes->size || n > bytes->size - at) return USP_ERROR_TRUNCATED;
    memcpy(to, bytes->source->base + at, n);
    return USP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct uspi_source mapped = {.name = "file", .base = data};
    struct uspi_bytes bytes = {&mapped, 0, size};
    struct uspi_source read = {.name = "file", .read = read_data, .context = &bytes};
    for (uint32_t arch = USP_ARCH_NONE; arch <= USP_ARCH_I386; arch++) read_file(bytes, NULL, arch);
    read_file(bytes, &bytes, USP_ARCH_NONE);
    read_file((struct uspi_bytes){&read, 0, size}, NULL, USP_ARCH_NONE);
    return 0;
}
