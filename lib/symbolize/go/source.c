/* SPDX-License-Identifier: MIT */
/* See source.h. Finds the table and its units. reader.c makes their blocks. */
#include "lib/symbolize/go/source.h"

#include "lib/object/gopclntab_find.h"
#include "lib/object/identify.h"
#include "lib/symbolize/go/reader.h"

#include <stdlib.h>

/* The number of functions in a unit. A block of that many is made fast, and they share most of their files. */
#define UNIT 256u

struct go_source {
    struct uspi_line_source contract;
    struct uspi_go_table table;
    struct uspi_texts texts;
    uint64_t budget; /* how many runs the reader may read in a unit */
};

int uspi_go_table_in(struct uspi_bytes file, const struct uspi_wanted_slice *wanted, struct uspi_go_table *table,
                     usp_addr *header) {
    struct uspi_elf elf;
    struct uspi_macho macho;
    struct uspi_macho_extent extent;
    int status;
    if (uspi_identify(file) == USPI_FORMAT_ELF) {
        if (uspi_elf_open(&elf, file, NULL) != USP_OK) return USP_ERROR_NOT_FOUND;
        status = uspi_go_find_elf(&elf, table);
        *header = elf.header_address;
        return status;
    }
    if (uspi_fat_pick(file, wanted, &macho, NULL) != USP_OK) return USP_ERROR_NOT_FOUND;
    if (uspi_macho_layout(&macho, &extent, NULL) != USP_OK) return USP_ERROR_NOT_FOUND;
    *header = extent.header;
    return uspi_go_find_macho(&macho, table);
}

/* ---- the contract ---- */

static uint64_t unit_end(const struct go_source *go, size_t unit) {
    const uint64_t end = ((uint64_t)unit + 1) * UNIT;
    return end < go->table.count ? end : go->table.count;
}

static uint64_t unit_size(const struct uspi_line_source *source, size_t unit) {
    (void)unit;
    return source->size / source->units;
}

/* Claims the code between the first and last function of each unit, since functions ascend. */
static bool claims(const struct uspi_line_source *source, struct uspi_map_range **ranges, size_t *count,
                   bool *unclaimed) {
    const struct go_source *go = (const struct go_source *)source;
    struct uspi_map_range *all = malloc((source->units + 1) * sizeof *all);
    *count = 0;
    *ranges = all;
    if (all == NULL) return false;
    for (size_t i = 0; i < source->units; i++) {
        struct uspi_map_range range = {.block = (uint32_t)i};
        unclaimed[i] = false;
        if (!uspi_go_start(&go->table, (uint64_t)i * UNIT, &range.low)) continue;
        if (!uspi_go_start(&go->table, unit_end(go, i), &range.high) || range.low >= range.high) continue;
        all[(*count)++] = range;
    }
    return true;
}

static void *create_reader(void) { return uspi_go_reader_create(); }

static void free_reader(void *reader) { uspi_go_reader_free(reader); }

static int build(struct uspi_line_source *source, void *reader, size_t unit, const uint8_t **bytes, size_t *size,
                 struct uspi_error *error) {
    const struct go_source *go = (const struct go_source *)source;
    const struct uspi_go_unit of = {&go->table, &go->texts, (uint64_t)unit * UNIT, unit_end(go, unit), go->budget};
    int status = uspi_go_read_unit(reader, &of, bytes, size);
    if (error != NULL) error->status = USP_OK;
    if (status != USP_ERROR_FORMAT) return status;
    uspi_bytes_error(error, go->table.bytes, 0, USP_ERROR_FORMAT,
                     "Go's function table contradicts itself in functions %zu to %zu", (size_t)of.first,
                     (size_t)of.end - 1);
    return USP_OK;
}

static const struct uspi_texts *unit_texts(const struct uspi_line_source *source, size_t unit) {
    (void)unit;
    return &((const struct go_source *)source)->texts;
}

static void close_source(struct uspi_line_source *source) { free(source); }

int uspi_go_source_create(const struct uspi_go_table *table, usp_addr header, struct uspi_line_source **source) {
    const uint64_t units = (table->count + UNIT - 1) / UNIT;
    struct uspi_text_section text;
    *source = NULL;
    if (!uspi_text_section_set(&text, table->bytes) || units > UINT32_MAX / 2) return USP_ERROR_NOT_FOUND;
    struct go_source *made = calloc(1, sizeof *made);
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->table = *table;
    made->texts.of[USPI_TEXT_GO] = text;
    /* Far more than functions need on average. Equal lists are written once and read by several functions. */
    made->budget = 65536 + 16 * table->bytes.size / units;
    made->contract = (struct uspi_line_source){.what = "Go's function table",
                                               .units = (size_t)units,
                                               .size = table->bytes.size,
                                               .header = header,
                                               .is_partial = true,
                                               .unit_size = unit_size,
                                               .claims = claims,
                                               .create_reader = create_reader,
                                               .free_reader = free_reader,
                                               .build = build,
                                               .texts = unit_texts,
                                               .close = close_source};
    *source = &made->contract;
    return USP_OK;
}
