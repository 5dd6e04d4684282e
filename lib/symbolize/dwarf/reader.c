/* SPDX-License-Identifier: MIT */
/* See reader.h: reads the unit as a whole, and its rows. Files are in files.c, entries in entries.c, names in names.c,
 * calls in calls.c and callees.c. */
#include "lib/symbolize/dwarf/reader.h"

#include "lib/object/dwarf_constants.h"

/* Hash tables with more slots than this are not kept for the next unit. */
#define TABLE_KEPT ((size_t)1 << 11)

struct uspi_dwarf_reader *uspi_dwarf_reader_create(void) {
    struct uspi_dwarf_reader *reader = calloc(1, sizeof *reader);
    if (reader == NULL) return NULL;
    reader->builder = uspi_builder_create();
    reader->tables = uspi_abbreviation_cache_create(USPI_TABLES_OF_UNITS);
    reader->other_tables = uspi_abbreviation_cache_create(USPI_TABLES_REFERRED);
    if (reader->builder != NULL && reader->tables != NULL && reader->other_tables != NULL) return reader;
    uspi_dwarf_reader_free(reader);
    return NULL;
}

static void free_scopes(struct uspi_scopes *scopes) {
    free(scopes->all);
    free(scopes->entries);
}

void uspi_dwarf_reader_free(struct uspi_dwarf_reader *reader) {
    if (reader == NULL) return;
    uspi_builder_free(reader->builder);
    uspi_abbreviation_cache_free(reader->tables);
    uspi_abbreviation_cache_free(reader->other_tables);
    uspi_line_table_free(&reader->lines);
    uspi_dwarf_calls_free(&reader->calls);
    free_scopes(&reader->scopes);
    free_scopes(&reader->foreign_scopes);
    free(reader->ranges.all);
    uspi_piece_capacity_free(&reader->entries_capacity);
    free(reader->stack);
    free(reader->origins);
    free(reader->origin_hash);
    free(reader->seen);
    free(reader->function_texts);
    free(reader->file_numbers);
    free(reader->sequences);
    free(reader->text);
    free(reader);
}

static bool open_lines(struct uspi_dwarf_reader *reader) {
    struct uspi_line_table *t = &reader->lines;
    if (uspi_line_table_open(t, reader->source.lines, reader->source.unit, reader->error) != USP_OK) return false;
    if (uspi_line_table_run(t, reader->source.lines, reader->error) != USP_OK) return false;
    if (!uspi_room_for(&reader->file_numbers, &reader->file_number_capacity, 0, t->file_count + 1, sizeof(uint32_t)))
        return false;
    memset(reader->file_numbers, 0, (t->file_count + 1) * sizeof(uint32_t));
    return true;
}

/* ---- rows ---- */

/* Gives the builder a row. The row's file may not exist. */
static void give_row(struct uspi_dwarf_reader *reader, const struct uspi_line_row *row, uint64_t address) {
    uint32_t file = uspi_dwarf_file_number(reader, row->file);
    if (file == 0) file = uspi_builder_file(reader->builder, 0, 0);
    const struct uspi_row converted = {address, file, row->line, row->column};
    uspi_builder_row(reader->builder, &converted);
}

static int by_value(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Several sequences describe folded code. Prefer those that functions name as their own. */
static void prefer_sequences(struct uspi_dwarf_reader *reader) {
    struct uspi_line_table *t = &reader->lines;
    if (reader->sequence_count == 0) return;
    qsort(reader->sequences, reader->sequence_count, sizeof *reader->sequences, by_value);
    for (size_t i = 0; i < t->sequence_count; i++) {
        t->sequences[i].is_preferred = bsearch(&t->sequences[i].offset, reader->sequences, reader->sequence_count,
                                               sizeof *reader->sequences, by_value) != NULL;
    }
    uspi_line_table_sort(t);
}

/* Gives the builder the rows of all sequences. Where sequences overlap, the one that begins first counts for the code
 * that it covers. */
static void give_rows(struct uspi_dwarf_reader *reader) {
    const struct uspi_line_table *t = &reader->lines;
    uint64_t covered = 0;
    for (size_t i = 0; i < t->sequence_count; i++) {
        const struct uspi_line_sequence *sequence = &t->sequences[i];
        if (sequence->high <= covered) continue;
        for (size_t k = 0; k < sequence->count; k++) {
            const struct uspi_line_row *row = &t->rows[sequence->first + k];
            const uint64_t next = k + 1 < sequence->count ? row[1].address : sequence->high;
            if (next > covered) give_row(reader, row, row->address > covered ? row->address : covered);
        }
        covered = sequence->high;
        uspi_builder_row(reader->builder, &(struct uspi_row){.address = covered});
    }
}

/* ---- the unit ---- */

/* Clears a hash table. One that has grown large is freed instead, since clearing it for each of the next units would
 * take long. */
static void *clear_table(void *table, size_t *capacity, size_t element) {
    if (*capacity > TABLE_KEPT) {
        free(table);
        *capacity = 0;
        return NULL;
    }
    if (*capacity > 0) memset(table, 0, *capacity * element);
    return table;
}

static void forget(struct uspi_dwarf_reader *reader) {
    uspi_builder_reset(reader->builder);
    reader->ranges.count = 0;
    reader->ranges.budget = (reader->source.unit->end - reader->source.unit->offset) * 4 + 1024;
    reader->origin_count = reader->seen_count = reader->sequence_count = 0;
    reader->origin_hash = clear_table(reader->origin_hash, &reader->origin_hash_size, sizeof *reader->origin_hash);
    reader->seen = clear_table(reader->seen, &reader->seen_capacity, sizeof *reader->seen);
    uspi_dwarf_calls_reset(&reader->calls);
    uspi_scopes_reset(&reader->scopes, reader->source.file, reader->source.unit);
}

/* Units are seldom larger. The memory of a larger one is freed after it was read. */
#define ENTRIES_KEPT ((size_t)4 << 20)

int uspi_dwarf_read_unit(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_source *source,
                         const uint8_t **bytes, size_t *size, struct uspi_error *error) {
    const struct uspi_dwarf_unit *unit = source->unit;
    *bytes = NULL;
    *size = 0;
    reader->source = *source;
    reader->error = error;
    if (error != NULL) error->status = USP_OK;
    forget(reader);
    int status = uspi_section_piece(&source->file->sections, USPI_DEBUG_INFO, unit->offset, unit->end,
                                    &reader->entries_capacity, &reader->entries);
    if (status != USP_OK) {
        uspi_dwarf_complain(reader, unit->offset, "a unit that cannot be read");
        return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
    }
    reader->table = uspi_abbreviation_cache_get(reader->tables, &source->file->sections, unit->abbreviations,
                                                unit->encoding, &status);
    if (reader->table == NULL) {
        uspi_dwarf_complain(reader, source->unit->offset, "a unit whose abbreviations cannot be read");
        return status == USP_ERROR_NO_MEMORY ? status : USP_OK;
    }
    if (!open_lines(reader)) return USP_ERROR_NO_MEMORY;
    if (!reader->table->lacks_code && !uspi_dwarf_walk_unit(reader, uspi_dwarf_names_scopes(source->unit->language))) {
        return USP_ERROR_NO_MEMORY;
    }
    prefer_sequences(reader);
    give_rows(reader);
    if (!uspi_dwarf_name_origins(reader) || !uspi_dwarf_give_calls(reader)) return USP_ERROR_NO_MEMORY;
    if (reader->ranges.budget == 0)
        uspi_dwarf_complain(reader, source->unit->offset, "a unit with more ranges than it can have");
    if (reader->entries_capacity.capacity > ENTRIES_KEPT) uspi_piece_capacity_free(&reader->entries_capacity);
    return uspi_builder_finish(reader->builder, bytes, size);
}
