/* SPDX-License-Identifier: MIT */
/* A unit's line table (DWARF 5, 6.2; versions 2 to 5): its files, and the rows that its program produces. Rows are kept
 * in sequences, each in ascending order of addresses. Sequences of removed code are left out. */
#ifndef USPI_SYMBOLIZE_DWARF_LINE_TABLE_H
#define USPI_SYMBOLIZE_DWARF_LINE_TABLE_H

#include "lib/symbolize/dwarf/unit.h"

struct uspi_line_row {
    uint64_t address;
    uint32_t file; /* as the table numbers them */
    uint32_t line, column;
};

/* Rows that are adjacent in memory and describe the code from `low` up to `high` without a gap. */
struct uspi_line_sequence {
    uint64_t low, high;
    uint64_t offset; /* of its first instruction in .debug_line */
    size_t first, count;
    bool is_preferred; /* a function names it as its own (DW_AT_LLVM_stmt_sequence) */
};

struct uspi_line_file {
    uint64_t name;   /* reference to a string */
    uint64_t folder; /* number of a directory, as the table numbers them */
};

/* All zero: empty. Its memory is reused for the next table. */
struct uspi_line_table {
    uint8_t version; /* 0: there is no table */
    uint64_t *folders;
    size_t folder_count, folder_capacity;
    struct uspi_line_file *files;
    size_t file_count, file_capacity;
    struct uspi_line_row *rows;
    size_t row_count, row_capacity;
    struct uspi_line_sequence *sequences;
    size_t sequence_count, sequence_capacity;
    uint64_t program, end; /* offsets in .debug_line */
    uint8_t minimum, operations, range, opcode_base, address_size;
    int8_t line_base;
    uint8_t lengths[256];
};

void uspi_line_table_free(struct uspi_line_table *table);

/* Reads the header and the files of a unit's table. `lines` is the file whose .debug_line has it. If the unit has no
 * table or a damaged one, returns USP_OK with version 0; *error says what is damaged. Returns USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_line_table_open(struct uspi_line_table *table, const struct uspi_dwarf_file *lines,
                         const struct uspi_dwarf_unit *unit, struct uspi_error *error);

/* Runs the program, then sorts the sequences: by their start; for the same start, the preferred one first, then in the
 * table's order. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_line_table_run(struct uspi_line_table *table, const struct uspi_dwarf_file *lines, struct uspi_error *error);

void uspi_line_table_sort(struct uspi_line_table *table);

/* Returns file `number`, as the table and the unit's entries number files; NULL: none. */
const struct uspi_line_file *uspi_line_table_file(const struct uspi_line_table *table, uint64_t number);

#endif
