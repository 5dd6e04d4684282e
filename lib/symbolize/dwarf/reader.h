/* SPDX-License-Identifier: MIT */
/* Makes the block of a compile unit: walks its entries, carries out its line program, and tells a builder
 * (lib/symbolize/lines/builder.h) what it finds. A reader keeps its memory for the next unit; each thread has its own. */
#ifndef USPI_DWARF_READER_H
#define USPI_DWARF_READER_H

#include "lib/base/array.h"
#include "lib/symbolize/dwarf/calls.h"
#include "lib/symbolize/dwarf/line_table.h"
#include "lib/symbolize/dwarf/ranges.h"
#include "lib/symbolize/lines/builder.h"

/* A unit to be read, and where its parts are. Of a split unit `file` is the file of its entries, `unit` has the skeleton's
 * addresses, and `lines` is the file with the skeleton. */
struct uspi_dwarf_source {
    const struct uspi_dwarf_file *file;
    const struct uspi_dwarf_unit *unit;
    const struct uspi_dwarf_file *lines;
    const struct uspi_texts *texts;
};

struct uspi_dwarf_reader;

struct uspi_dwarf_reader *uspi_dwarf_reader_create(void);

void uspi_dwarf_reader_free(struct uspi_dwarf_reader *reader);

/* Makes the block. *bytes stays until the reader's next call; size 0: the unit has no code. *error tells the first thing that
 * was wrong with the unit, of which the rest is used (USP_OK). USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_FULL. */
int uspi_dwarf_read_unit(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_source *source,
                         const uint8_t **bytes, size_t *size, struct uspi_error *error);

/* The same as uspi_builder_translate_block. */
struct uspi_builder *uspi_dwarf_reader_builder(struct uspi_dwarf_reader *reader);

/* ---- between the files of the reader ---- */

/* A function, by the entry that describes it. */
struct uspi_dwarf_origin {
    const struct uspi_dwarf_file *file;
    uint64_t offset;
    uint32_t function; /* its number in the builder */
};

/* A name that belongs to the names of those in it. */
struct uspi_name_scope {
    uint64_t name;   /* reference to a string; 0: it has none */
    uint32_t around; /* number of the scope around it, from 1; 0: none */
    uint16_t tag;
};

/* An entry of a function that has a name but no linkage name, and the scope around it. */
struct uspi_scoped_entry {
    uint64_t offset;
    uint32_t scope;
};

/* What has a name in a unit. */
struct uspi_scopes {
    const struct uspi_dwarf_file *file;
    const struct uspi_dwarf_unit *unit; /* whose they are; NULL: no unit's */
    struct uspi_name_scope *all;
    size_t count, room;
    struct uspi_scoped_entry *entries; /* ascending */
    size_t entry_count, entry_room;
};

/* What holds for the children of an entry. */
struct uspi_walk_scope {
    uint32_t node;                        /* of the function around them; 0: they are in no code that is there */
    uint32_t name_scope;                  /* for their names, from 1 */
    size_t ranges, range_count;           /* of the function or inlined call around them */
    uint32_t root;                        /* number of the function that was not inlined (calls.h); 0: none */
    size_t root_ranges, root_range_count; /* and its ranges */
};

/* The first range of a function. */
struct uspi_seen_function {
    uint64_t low, high; /* both 0: an empty place of the table */
    uint32_t node;
};

struct uspi_dwarf_reader {
    struct uspi_builder *builder;
    struct uspi_abbreviation_cache *tables, *other_tables; /* of the unit that is read; of those that it refers to */
    struct uspi_line_table lines;
    struct uspi_range_list ranges;
    struct uspi_dwarf_source source;
    struct uspi_error *error;
    const struct uspi_abbreviation_table *table; /* of the unit that is read */
    struct uspi_scopes scopes;
    struct uspi_scopes
        foreign_scopes; /* of the unit that was last referred to; the next units may refer to it as well */
    struct uspi_walk_scope *stack;
    size_t stack_room;
    struct uspi_dwarf_origin *origins;
    size_t origin_count, origin_room;
    uint32_t *origin_hash; /* numbers of origins, from 1 */
    size_t origin_hash_size;
    struct uspi_dwarf_calls calls;
    uint64_t *function_texts; /* by the builder's numbers, from 1: names without what is around them; 0: none */
    size_t function_text_room;
    struct uspi_seen_function *seen; /* functions by where they begin */
    size_t seen_count, seen_room;
    uint32_t *file_numbers; /* the builder's, by those of the line table; 0: not asked for */
    size_t file_number_room;
    uint64_t *sequences; /* offsets that functions name as their own */
    size_t sequence_count, sequence_room;
    char *text; /* a name or a path that is being put together */
    size_t text_length, text_room;
};

/* The number of the builder for a file of the line table; 0: none. */
uint32_t uspi_dwarf_file_number(struct uspi_dwarf_reader *reader, uint64_t number);

/* What is wrong at a place of .debug_info; the first thing is kept. */
void uspi_dwarf_complain(struct uspi_dwarf_reader *reader, uint64_t offset, const char *what);

/* Whether functions of this language (DW_LANG_*) are named by what is around them: C++. (names.c) */
bool uspi_dwarf_names_scopes(uint16_t language);

/* Walks the entries of the unit that is read; notes the scopes of names where that is wanted. False when memory lacks. */
bool uspi_dwarf_walk_unit(struct uspi_dwarf_reader *reader, bool needs_scopes);

/* Notes the scopes of another unit in reader->foreign_scopes. False when memory lacks. */
bool uspi_dwarf_note_scopes(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_file *file,
                            const struct uspi_dwarf_unit *unit);

void uspi_scopes_reset(struct uspi_scopes *scopes, const struct uspi_dwarf_file *file,
                       const struct uspi_dwarf_unit *unit);

/* What is found along the chain of entries of a function. */
struct uspi_dwarf_found {
    bool wants_place;       /* the file and the line of the declaration are wanted */
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

/* Finds the names of all origins, and gives them to the builder. False when memory lacks. */
bool uspi_dwarf_name_origins(struct uspi_dwarf_reader *reader);

/* Gathers text in reader->text; false when memory lacks. */
bool uspi_dwarf_put(struct uspi_dwarf_reader *reader, const char *bytes, size_t n);

/* Reads an entry of any unit of any file. False when it is none. */
bool uspi_dwarf_read_entry(struct uspi_dwarf_reader *reader, const struct uspi_dwarf_file *file, uint64_t offset,
                           const struct uspi_dwarf_unit **unit, struct uspi_attributes *attributes);

#endif
