/* SPDX-License-Identifier: MIT */
/* Makes the block of a compile unit. It walks the unit's entries, runs its line program, and adds what it finds to a
 * builder (lib/symbolize/lines/builder.h). A reader keeps its memory for the next unit. Each thread has its own
 * reader. */
#ifndef USPI_SYMBOLIZE_DWARF_READER_H
#define USPI_SYMBOLIZE_DWARF_READER_H

#include "lib/base/array.h"
#include "lib/symbolize/dwarf/calls.h"
#include "lib/symbolize/dwarf/line_table.h"
#include "lib/symbolize/dwarf/ranges.h"
#include "lib/symbolize/lines/builder.h"

/* A unit to read, and the files that have its parts. For a split unit, `file` has its entries, `unit` has the
 * skeleton's addresses, and `lines` is the file with the skeleton. */
struct uspi_dwarf_source {
    const struct uspi_dwarf_file *file;
    const struct uspi_dwarf_unit *unit;
    const struct uspi_dwarf_file *lines;
    const struct uspi_texts *texts;
};

struct uspi_dwarf_reader;

struct uspi_dwarf_reader *uspi_dwarf_reader_create(void);

void uspi_dwarf_reader_free(struct uspi_dwarf_reader *reader);

/* Makes the block. *bytes stays valid until the reader's next call; size 0: the unit has no code. *error says the first
 * thing that was wrong with the unit, even if the rest is used (USP_OK). Returns USP_OK, USP_ERROR_NO_MEMORY,
 * USP_ERROR_FULL. */
int uspi_dwarf_read_unit(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_source *source,
                         const uint8_t **bytes, size_t *size, struct uspi_error *error);

/* ---- shared by the files of the reader ---- */

/* A function, identified by the entry that describes it. */
struct uspi_dwarf_origin {
    const struct uspi_dwarf_file *file;
    uint64_t offset;
    uint32_t function; /* its number in the builder */
};

/* A scope whose name is part of the names in it: a namespace, a class or a function. */
struct uspi_name_scope {
    uint64_t name;   /* reference to a string; 0: it has none */
    uint32_t around; /* number of the enclosing scope, from 1; 0: none */
    uint16_t tag;
};

/* An entry of a function that has a name but no linkage name, and the scope that encloses it. */
struct uspi_scoped_entry {
    uint64_t offset;
    uint32_t scope;
};

/* The named scopes of a unit. */
struct uspi_scopes {
    const struct uspi_dwarf_file *file;
    const struct uspi_dwarf_unit *unit; /* whose scopes they are; NULL: there are none */
    struct uspi_name_scope *all;
    size_t count, capacity;
    struct uspi_scoped_entry *entries; /* sorted by offset */
    size_t entry_count, entry_capacity;
};

#define USPI_SCOPE_UNKNOWN UINT32_MAX

/* What applies to the children of an entry. */
struct uspi_walk_scope {
    uint32_t node;                        /* of the enclosing function; 0: it has no code in the file */
    uint32_t name_scope;                  /* for their names, from 1; 0: none; USPI_SCOPE_UNKNOWN: not asked for yet */
    uint64_t named;                       /* offset of the entry whose name that scope has; 0: none */
    size_t ranges, range_count;           /* of the enclosing function or inlined call */
    uint32_t root;                        /* number of the enclosing function that was not inlined (calls.h); 0: none */
    size_t root_ranges, root_range_count; /* the ranges of that function */
};

/* A function, identified by its first range. */
struct uspi_seen_function {
    uint64_t low, high; /* both 0: the slot is free */
    uint32_t node;
};

struct uspi_dwarf_reader {
    struct uspi_builder *builder;
    struct uspi_abbreviation_cache *tables, *other_tables; /* of the unit being read; of units that it refers to */
    struct uspi_line_table lines;
    struct uspi_range_list ranges;
    struct uspi_dwarf_source source;
    struct uspi_error *error;
    struct uspi_section_piece entries; /* the unit being read, in .debug_info */
    struct uspi_piece_capacity entries_capacity;
    const struct uspi_abbreviation_table *table; /* of the unit being read */
    struct uspi_scopes scopes;
    struct uspi_scopes
        foreign_scopes; /* of the unit that was last referred to, since the next units may refer to it too */
    struct uspi_walk_scope *stack;
    size_t stack_capacity;
    struct uspi_dwarf_origin *origins;
    size_t origin_count, origin_capacity;
    uint32_t *origin_hash; /* numbers of origins, from 1; 0: the slot is free */
    size_t origin_hash_size;
    struct uspi_dwarf_calls calls;
    uint64_t *function_texts; /* by the builder's number − 1: names without their scopes; 0: none */
    size_t function_text_capacity;
    struct uspi_seen_function *seen; /* a hash table of functions by their first range */
    size_t seen_count, seen_capacity;
    uint32_t *file_numbers; /* the builder's numbers, by the line table's; 0: not asked for yet */
    size_t file_number_capacity;
    uint64_t *sequences; /* offsets of the line sequences that functions name as theirs */
    size_t sequence_count, sequence_capacity;
    char *text; /* the name or path that is being composed */
    size_t text_length, text_capacity;
};

/* Returns the builder's number for a file of the line table; 0: none. */
uint32_t uspi_dwarf_file_number(struct uspi_dwarf_reader *reader, uint64_t number);

/* Reports a problem at an offset of .debug_info. Only the first one is kept. */
void uspi_dwarf_complain(struct uspi_dwarf_reader *reader, uint64_t offset, const char *what);

/* Returns whether functions of a language (DW_LANG_*) are named with their scopes, as in C++. (names.c) */
bool uspi_dwarf_names_scopes(uint16_t language);

/* Walks the entries of the unit being read. With `needs_scopes` it also notes the scopes of names. Returns false when
 * memory is exhausted. */
bool uspi_dwarf_walk_unit(struct uspi_dwarf_reader *reader, bool needs_scopes);

/* Notes the scopes of another unit in reader->foreign_scopes. Returns false when memory is exhausted. */
bool uspi_dwarf_note_scopes(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_file *file,
                            const struct uspi_dwarf_unit *unit);

void uspi_scopes_reset(struct uspi_scopes *scopes, const struct uspi_dwarf_file *file,
                       const struct uspi_dwarf_unit *unit);

/* What was found in the chain of entries that describe a function. */
struct uspi_dwarf_found {
    bool wants_place;       /* the file and line of the declaration are wanted */
    bool is_visible;        /* other units can refer to it by its name */
    uint64_t linkage, name; /* references to strings; 0: none */
    uint32_t file, line;    /* where it is declared; 0: not known */
    const struct uspi_dwarf_file *last_file;
    const struct uspi_dwarf_unit *last_unit;
    uint64_t last_offset;
};

/* Follows an entry to its origins and specifications, through other units and files. */
void uspi_dwarf_follow(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_file *file, uint64_t offset,
                       struct uspi_dwarf_found *found);

/* Finds the names of all origins and gives them to the builder. Returns false when memory is exhausted. */
bool uspi_dwarf_name_origins(struct uspi_dwarf_reader *reader);

/* Appends text to reader->text. Returns false when memory is exhausted. */
bool uspi_dwarf_put(struct uspi_dwarf_reader *reader, const char *bytes, size_t n);

/* Reads an entry of any unit of any file. Returns false when there is no entry at the offset. */
bool uspi_dwarf_read_entry(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_file *file, uint64_t offset,
                           const struct uspi_dwarf_unit **unit, struct uspi_attributes *attributes);

#endif
