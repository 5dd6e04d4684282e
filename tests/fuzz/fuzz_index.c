/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as an index file. Its checksums are corrected first, so that the file is not refused because of
 * them; then everything in it is read. Seeds: indexes that the lane makes. */
#define _GNU_SOURCE 1
#include "lib/base/checksum.h"
#include "lib/symbolize/index/tables.h"
#include "lib/symbolize/store/index_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put(uint8_t *to, unsigned width, uint64_t value) {
    for (unsigned i = 0; i < width; i++) to[i] = (uint8_t)(value >> 8 * i);
}

/* Corrects the magic number, sizes and checksums. */
static void repair(uint8_t *b, size_t size) {
    memcpy(b, "USPINDEX", 8);
    put(b + 8, 4, USPI_INDEX_VERSION);
    put(b + 16, 8, size);
    if (uspi_le32(b + 36) > USP_BUILD_ID_MAX) put(b + 36, 4, 4);
    /* The checksums are at the end: one for each page before them. */
    uint64_t covered = size;
    for (uint64_t pages = 1; pages * 4 < size; pages++) {
        covered = size - 4 * pages;
        if ((covered + USPI_CHECKED_PAGE - 1) / USPI_CHECKED_PAGE <= pages) break;
    }
    put(b + 96 + 16 * USPI_INDEX_SUMS, 8, covered);
    put(b + 104 + 16 * USPI_INDEX_SUMS, 8, size - covered);
    for (uint64_t at = 0, i = 0; at < covered; at += USPI_CHECKED_PAGE, i++) {
        const uint64_t n = covered - at < USPI_CHECKED_PAGE ? covered - at : USPI_CHECKED_PAGE;
        const uint64_t skipped = at == 0 ? USPI_INDEX_HEADER : 0;
        put(b + covered + 4 * i, 4, uspi_checksum(b + at + skipped, (size_t)(n - skipped)));
    }
    put(b + 80, 4, uspi_checksum(b + covered, (size_t)(size - covered)));
    put(b + 12, 4, 0);
    put(b + 12, 4, uspi_checksum(b, USPI_INDEX_HEADER));
}

struct looking {
    const struct uspi_block *block;
    unsigned count;
};

static int look(void *context, const struct uspi_block_entry *place) {
    struct looking *l = context;
    struct uspi_block_entry again;
    uint64_t folder, name;
    if (l->count++ > 4096) return 1;
    if (place->node > l->block->nodes || place->file > l->block->files) abort();
    uspi_block_find(l->block, place->start, &again);
    if (place->file != 0) uspi_block_file(l->block, place->file, &folder, &name);
    for (uint32_t node = place->node, steps = 0; node != 0; steps++) {
        struct uspi_block_node of;
        struct uspi_block_function function;
        if (uspi_block_node(l->block, node, &of) != USP_OK) break;
        if (of.caller >= node) abort();
        if (of.function != 0) uspi_block_function(l->block, of.function, &function);
        node = of.caller;
        if (steps > l->block->nodes) abort();
    }
    return 0;
}

/* The shape of uspi_call_visitor. */
static int look_at_call(void *context, const struct uspi_block_call *call) {
    struct looking *l = context;
    struct uspi_block_call again;
    struct uspi_block_part part;
    if (l->count++ > 4096) return 1;
    if (call->part > l->block->parts || (call->part == 0) == (call->name == 0)) abort();
    uspi_block_find_call(l->block, call->end, &again);
    if (call->part == 0 || uspi_block_part(l->block, call->part - 1, &part) != USP_OK) return 0;
    uspi_block_first_part(l->block, part.node, &part);
    for (uint32_t i = 0; i < 16 && uspi_block_tail_call(l->block, call->part, i, &again) == USP_OK; i++) continue;
    return 0;
}

/* Asks for the functions that hold some addresses, each by an excerpt. */
static void look_up(struct uspi_index_file *index, uint32_t strategy, struct uspi_names *names) {
    struct uspi_tables *tables;
    if (uspi_index_tables_open(index, strategy, 0x1000, &tables) != USP_OK) return;
    for (uint64_t i = 0; i < 64; i++) {
        struct uspi_index_symbol symbol;
        struct uspi_symbol_answer named = {0};
        struct uspi_gathering gathering = {0};
        struct uspi_excerpt excerpt;
        struct uspi_index part;
        usp_addr start;
        if (uspi_index_symbol(index, 7 * i, &symbol) != USP_OK) break;
        const usp_addr address = symbol.start + 0x1000 + i;
        uspi_excerpt_begin(&excerpt);
        uspi_excerpt_add(&excerpt, address);
        if (tables->nearest(tables, address, &start)) uspi_excerpt_begin_at(&excerpt, start, address);
        gathering.excerpt = &excerpt;
        if (tables->gather(tables, &gathering) == USP_OK &&
            uspi_index_build(&part, &gathering, tables->prefer, tables) == USP_OK) {
            const uint32_t number = uspi_index_find(&part, address, &named.start, &named.size);
            if (number != USPI_NO_SYMBOL) tables->get(tables, number, names, &named);
            uspi_index_clear(&part);
        }
        uspi_gathering_clear(&gathering);
    }
    tables->close(tables);
}

static void look_into(struct uspi_index_file *index, struct uspi_names *names) {
    for (uint64_t i = 0; i < index->blocks && i < 64; i++) {
        const struct uspi_block *block;
        struct uspi_block_part part;
        if (uspi_index_block(index, i, &block) != USP_OK) continue;
        struct looking l = {block, 0};
        uspi_block_visit(block, look, &l);
        l.count = 0;
        uspi_block_visit_calls(block, look_at_call, &l);
        for (uint32_t k = 0; k < 256 && uspi_block_part(block, k, &part) == USP_OK; k++) {
            uspi_block_find_part(block, part.start, &part);
            uspi_block_alias(block, part.node, 0);
        }
    }
    struct uspi_index_cursor cursor = {0};
    struct uspi_index_symbol symbol;
    const char *text;
    for (unsigned i = 0; i < 4096 && uspi_index_next_symbol(index, &cursor, &symbol) > 0; i++) {
        uspi_index_symbol(index, i, &symbol);
        uspi_index_text(index, symbol.name, names, &text);
    }
    look_up(index, USP_STRATEGY_SYMTAB, names);
    look_up(index, USP_STRATEGY_OBJC_METADATA, names);
    uint32_t blocks[USPI_MAP_BLOCKS];
    for (uint64_t i = 0; i < 256; i++) uspi_map_find(&index->map, index->map.base + index->map.span / 256 * i, blocks);
    for (uint64_t i = 0; i < 256; i++) {
        uint64_t number;
        if (uspi_index_text(index, i, names, &text) == USP_OK)
            uspi_string_pool_number_of(&index->strings, text, &number);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct uspi_index_file *index;
    char path[64];
    if (size < USPI_INDEX_HEADER + 8 || size > 1u << 20) return 0;
    uint8_t *copy = malloc(size);
    if (copy == NULL) abort();
    memcpy(copy, data, size);
    repair(copy, size);
    int descriptor = memfd_create("index", 0);
    if (descriptor < 0 || write(descriptor, copy, size) != (ssize_t)size) abort();
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    if (uspi_index_file_open(path, &index, NULL) == USP_OK) {
        struct uspi_names *names = uspi_names_create();
        if (names == NULL) abort();
        look_into(index, names);
        uspi_names_free(names);
        uspi_index_file_close(index);
    }
    close(descriptor);
    free(copy);
    return 0;
}
