/* SPDX-License-Identifier: MIT */
/* A unit's line table (DWARF 5, 6.2; versions 2 to 5): its files, and its program carried out, as sequences of rows that can be
 * used: of code that is there, each in the order of its addresses. */
#ifndef USPI_LINE_TABLE_H
#define USPI_LINE_TABLE_H

#include "lib/symbolize/dwarf/unit.h"

struct uspi_line_row {
    uint64_t address;
    uint32_t file; /* as the table numbers them */
    uint32_t line, column;
};

/* Rows that stand next to each other in memory and describe the code from low up to high without a gap. */
struct uspi_line_sequence {
    uint64_t low, high;
    uint64_t offset; /* of its first instruction in .debug_line */
    size_t first, count;
    bool is_preferred; /* a function says that this is its own (DW_AT_LLVM_stmt_sequence) */
};

struct uspi_line_file {
    uint64_t name;   /* reference to a string */
    uint64_t folder; /* number of a directory, as the table counts them */
};

/* All zero is empty; its memory is used again for the next table. */
struct uspi_line_table {
    uint8_t version; /* 0: there is no table */
    uint64_t *folders;
    size_t folder_count, folder_room;
    struct uspi_line_file *files;
    size_t file_count, file_room;
    struct uspi_line_row *rows;
    size_t row_count, row_room;
    struct uspi_line_sequence *sequences;
    size_t sequence_count, sequence_room;
    uint64_t program, end; /* in .debug_line */
    uint8_t minimum, operations, range, opcode_base, address_size;
    int8_t line_base;
    uint8_t lengths[256];
};

void uspi_line_table_free(struct uspi_line_table *table);

/* Reads the header and the files of a unit's table. `lines` is the file whose .debug_line has it. A unit without a table, or
 * with a damaged one, has none (USP_OK, version 0, *error says what is wrong if anything is). USP_OK or
 * USP_ERROR_NO_MEMORY. */
int uspi_line_table_open(struct uspi_line_table *table, const struct uspi_dwarf_file *lines,
                         const struct uspi_dwarf_unit *unit, struct uspi_error *error);

/* Carries out the program. Sequences are sorted afterwards: by their beginning, of equal ones the preferred one and then the
 * first in the table in front. USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_line_table_run(struct uspi_line_table *table, const struct uspi_dwarf_file *lines, struct uspi_error *error);

void uspi_line_table_sort(struct uspi_line_table *table);

/* File `number` as the table and the unit's entries count them; NULL: none. */
const struct uspi_line_file *uspi_line_table_file(const struct uspi_line_table *table, uint64_t number);

#endif
