/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a symbol file: its identity, names, and the blocks of all functions, with a lookup of every
 * address. Seeds: tests/fuzz/symfile_seeds.c. */
#include "lib/images/symbol_file.h"
#include "lib/symbolize/index/tables.h"
#include "lib/symbolize/lines/block.h"
#include "lib/symbolize/symfile/source.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A limit above the number of units in the seeds. */
#define UNITS 4

struct looking {
    const struct uspi_block *block;
    const struct uspi_texts *texts;
    uint64_t before;
    size_t length; /* of all strings */
};

static void read_text(struct looking *l, uint64_t text) {
    const struct uspi_block *block = l->block;
    const char *found = uspi_text_at(l->texts, block->bytes + block->at_text, block->text_bytes, text);
    if (found != NULL) l->length += strlen(found);
}

/* The shape of uspi_block_visitor. */
static int look(void *context, const struct uspi_block_entry *place) {
    struct looking *l = context;
    uint64_t folder, name;
    if (place->start < l->before || place->end < place->start) abort();
    l->before = place->end;
    if (place->line != 0 && place->file == 0) abort();
    if (uspi_block_file(l->block, place->file, &folder, &name) == USP_OK) {
        read_text(l, folder);
        read_text(l, name);
    }
    for (uint32_t node = place->node, depth = 0; node != 0; depth++) {
        struct uspi_block_node of;
        struct uspi_block_function function;
        if (uspi_block_node(l->block, node, &of) != USP_OK || of.caller >= node || depth > 1024) abort();
        if (uspi_block_function(l->block, of.function, &function) == USP_OK) read_text(l, function.name);
        node = of.caller;
    }
    return 0;
}

static void read_lines(struct uspi_bytes bytes) {
    struct uspi_line_source *source;
    if (uspi_symfile_source_open(bytes, &source) != USP_OK) return;
    void *reader = source->create_reader();
    struct uspi_map_range *ranges;
    size_t count;
    bool *unclaimed = calloc(source->units + 1, sizeof *unclaimed);
    if (unclaimed == NULL || !source->claims(source, &ranges, &count, unclaimed)) abort();
    free(ranges);
    free(unclaimed);
    for (size_t i = 0; i < source->units && i < UNITS; i++) {
        struct uspi_block block;
        const uint8_t *made;
        size_t made_size;
        if (source->build(source, reader, i, &made, &made_size, NULL) != USP_OK || made_size == 0) continue;
        if (uspi_block_open(&block, made, made_size) != USP_OK) abort();
        struct looking l = {.block = &block, .texts = source->texts(source, i)};
        uspi_block_visit(&block, look, &l);
    }
    source->free_reader(reader);
    source->close(source);
}

static void read_names(struct uspi_bytes bytes) {
    const struct usp_image image = {.flags = USP_IMAGE_MACHO, .load_address = 0x1000};
    struct uspi_names *names = uspi_names_create();
    struct uspi_gathering gathering = {0};
    struct uspi_tables *tables;
    if (uspi_symfile_tables_open(bytes, &image, &tables) == USP_OK) {
        if (tables->gather(tables, &gathering) != USP_OK) abort();
        for (size_t i = 0; i < gathering.count; i++) {
            struct uspi_symbol_answer named = {0};
            const uint32_t symbol = gathering.candidates[i].symbol;
            if (symbol != USPI_NO_SYMBOL && tables->get(tables, symbol, names, &named) == USP_OK &&
                named.name[0] == '\0')
                abort();
        }
        uspi_gathering_clear(&gathering);
        tables->close(tables);
    }
    uspi_names_free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct uspi_source source = {.name = "symbols", .base = data};
    const struct uspi_bytes bytes = {&source, 0, size};
    struct uspi_symbol_file symbols;
    usp_addr header, low, high;
    if (uspi_symbol_file_open(&symbols, bytes, NULL) != USP_OK) return 0;
    if (uspi_symbol_file_extent(bytes, &header, &low, &high, NULL) == USP_OK && low >= high) abort();
    read_names(bytes);
    read_lines(bytes);
    return 0;
}
