/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as Go's function table, or as an ELF or Mach-O file with one. Reads names, the blocks of all
 * functions (with a lookup of every address) and unwind rules. Seeds: tests/fuzz/go_seeds.c. */
#include "lib/object/gopclntab.h"
#include "lib/symbolize/go/names.h"
#include "lib/symbolize/go/source.h"
#include "lib/symbolize/lines/block.h"
#include "lib/unwind/tables/go_frames.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Limits, which are above the numbers in the seeds. */
#define FUNCTIONS 64
#define UNITS     4

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

static void read_lines(const struct uspi_go_table *table) {
    struct uspi_line_source *source;
    if (uspi_go_source_create(table, 0, &source) != USP_OK) return;
    void *reader = source->create_reader();
    for (size_t i = 0; i < source->units && i < UNITS; i++) {
        struct uspi_block block;
        const uint8_t *bytes;
        size_t made;
        if (source->build(source, reader, i, &bytes, &made, NULL) != USP_OK || made == 0) continue;
        if (uspi_block_open(&block, bytes, made) != USP_OK) abort();
        struct looking l = {.block = &block, .texts = source->texts(source, i)};
        uspi_block_visit(&block, look, &l);
    }
    source->free_reader(reader);
    source->close(source);
}

static void read_names(const struct uspi_go_table *table) {
    for (uint32_t i = 0; i < table->count && i < FUNCTIONS; i++) {
        struct uspi_symbol_answer named = {0};
        if (uspi_go_get(table, i, NULL, &named) != USP_OK) continue;
        if (named.size == 0 || strlen(named.name) == 0) abort();
    }
}

static void read_frames(const struct uspi_go_table *table) {
    static const uint32_t archs[] = {USP_ARCH_X86_64, USP_ARCH_I386, USP_ARCH_ARM64, USP_ARCH_ARMV7};
    struct uspi_table_entry entry;
    usp_addr start;
    bool is_top;
    for (uint32_t i = 0; i < table->count && i < FUNCTIONS && uspi_go_start(table, i, &start); i++) {
        const struct uspi_backend *b = uspi_backend_find(archs[i % 4]);
        const usp_addr pc = start + i;
        (void)uspi_go_ends_goroutine(table, pc);
        const struct uspi_go_switch s = uspi_go_describe_switch(table, b, pc, &entry);
        if (s.way != USPI_GO_NOWHERE && (entry.rule.cfa.kind != USPI_GIVEN || s.cfa < 0 || s.cfa % b->word != 0))
            abort();
        if (uspi_go_describe(table, b, pc, i % 8 < 4, &entry, &is_top) != USPI_DESCRIBED) continue;
        const struct uspi_location *cfa = &entry.rule.cfa;
        if (cfa->kind != USPI_REGISTER || cfa->base != b->sp || cfa->offset < 0 || cfa->offset % b->word != 0) abort();
        if (pc < entry.start || pc >= entry.end) abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct uspi_source source = {.name = "table", .base = data};
    const struct uspi_bytes bytes = {&source, 0, size};
    struct uspi_go_table table;
    usp_addr header;
    if (uspi_go_table_open(&table, bytes) != USP_OK &&
        uspi_go_table_in(bytes, &(struct uspi_wanted_slice){0}, &table, &header) != USP_OK)
        return 0;
    read_names(&table);
    read_lines(&table);
    read_frames(&table);
    return 0;
}
