/* SPDX-License-Identifier: MIT */
/* Abbreviation tables, compiled: for each kind of entry what it is to us, which of its attributes we read, and how the others
 * are passed over, several at a step. A table is compiled once for all units that share it, for their width of addresses and
 * offsets. */
#ifndef USPI_ABBREVIATIONS_H
#define USPI_ABBREVIATIONS_H

#include "lib/symbolize/dwarf/cursor.h"

/* What the width of some forms depends on. */
struct uspi_encoding {
    uint8_t address_size; /* 2, 4 or 8 */
    uint8_t offset_size;  /* 4 or 8 */
    uint8_t version;
};

/* The attributes that are read, by bit and by place. */
enum uspi_attribute {
    USPI_AT_SIBLING,
    USPI_AT_NAME,
    USPI_AT_LINKAGE_NAME,
    USPI_AT_LOW_PC,
    USPI_AT_HIGH_PC,
    USPI_AT_RANGES,
    USPI_AT_ORIGIN,
    USPI_AT_SPECIFICATION,
    USPI_AT_DECLARED_FILE,
    USPI_AT_DECLARED_LINE,
    USPI_AT_CALL_FILE,
    USPI_AT_CALL_LINE,
    USPI_AT_CALL_COLUMN,
    USPI_AT_STMT_LIST,
    USPI_AT_COMP_DIR,
    USPI_AT_LANGUAGE,
    USPI_AT_LANGUAGE_NAME,
    USPI_AT_STR_OFFSETS_BASE,
    USPI_AT_ADDR_BASE,
    USPI_AT_RNGLISTS_BASE,
    USPI_AT_RANGES_BASE,
    USPI_AT_DWO_NAME,
    USPI_AT_DWO_ID,
    USPI_AT_STMT_SEQUENCE,
    USPI_AT_DECLARATION,
    USPI_AT_EXTERNAL,
    USPI_AT_ALL_TAIL_CALLS,
    USPI_AT_RETURN_PC,
    USPI_AT_CALL_PC,
    USPI_AT_TAIL_CALL,
    USPI_AT_CALL_ORIGIN,
    USPI_ATTRIBUTES
};

/* A value as it stands in the entry: what its form means is unit.h's. */
struct uspi_value {
    uint64_t number; /* of a string in the entry itself its offset in the section */
    uint16_t form;
};

struct uspi_attributes {
    uint32_t has; /* a bit for each */
    struct uspi_value all[USPI_ATTRIBUTES];
};

static inline bool uspi_has(const struct uspi_attributes *a, enum uspi_attribute which) {
    return (a->has >> which & 1) != 0;
}

/* What an entry is to a search for code. */
enum uspi_entry_kind {
    USPI_ENTRY_OTHER,
    USPI_ENTRY_UNIT,
    USPI_ENTRY_FUNCTION,
    USPI_ENTRY_INLINED,
    USPI_ENTRY_SCOPE, /* a namespace, a class: its name belongs to those in it */
    USPI_ENTRY_CALL_SITE,
    USPI_ENTRY_LEAF /* a type without code in it: what is below it can be passed over */
};

/* A step over attributes that are not read: so many bytes, and then something whose length stands there. */
struct uspi_skip {
    uint32_t bytes;
    uint16_t form; /* 0: nothing more */
};

/* How an attribute is read, of those that have nothing to do with the unit. */
enum uspi_reading { USPI_READ_FIXED, USPI_READ_CONSTANT, USPI_READ_ULEB, USPI_READ_OTHER };

struct uspi_attribute_form {
    uint8_t which;   /* enum uspi_attribute; USPI_ATTRIBUTES: it is passed over */
    uint8_t reading; /* enum uspi_reading */
    uint8_t width;   /* of a fixed one, in bytes: 1 … 8 */
    uint16_t form;
    uint32_t before;  /* bytes of attributes before it that are passed over */
    int64_t implicit; /* a constant */
};

struct uspi_abbreviation {
    uint64_t code;
    uint16_t tag;
    uint8_t kind; /* enum uspi_entry_kind */
    bool has_children;
    uint32_t fixed; /* the entry's bytes behind its code, when all of its forms have a fixed width; else UINT32_MAX */
    uint32_t skips, skip_count; /* how to pass over the whole entry */
    uint32_t reads, read_count; /* how to read it, and how many bytes are left then */
    uint32_t rest;
};

struct uspi_abbreviation_table {
    uint64_t offset; /* in .debug_abbrev */
    struct uspi_encoding encoding;
    struct uspi_abbreviation *all; /* by code, ascending unless is_dense */
    size_t count;
    uint32_t *by_code; /* numbers in `all`, one more, by code; 0: none. NULL where codes are too far apart */
    size_t code_count;
    struct uspi_skip *skips;
    struct uspi_attribute_form *reads;
    size_t memory;
    uint64_t length; /* of the table in .debug_abbrev, in bytes */
};

/* Compiles the table at an offset. NULL with *status: USP_ERROR_NO_MEMORY, USP_ERROR_FORMAT. A table that is cut off or has a
 * form that is not known ends before it: entries behind that have no abbreviation. */
struct uspi_abbreviation_table *uspi_abbreviations_compile(const uint8_t *section, size_t size, uint64_t offset,
                                                           struct uspi_encoding encoding, int *status);

void uspi_abbreviations_free(struct uspi_abbreviation_table *table);

/* NULL: there is none with that code. */
static inline const struct uspi_abbreviation *uspi_abbreviation(const struct uspi_abbreviation_table *table,
                                                                uint64_t code) {
    if (table->by_code != NULL) {
        if (code >= table->code_count || table->by_code[code] == 0) return NULL;
        return &table->all[table->by_code[code] - 1];
    }
    size_t low = 0, high = table->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (table->all[middle].code < code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < table->count && table->all[low].code == code ? &table->all[low] : NULL;
}

/* ---- entries ---- */

/* Passes over a value. False when its form is not known. */
bool uspi_form_skip(struct uspi_cursor_at *c, uint64_t form, struct uspi_encoding encoding);

/* Passes over an entry behind its code. */
static inline void uspi_entry_skip(const struct uspi_abbreviation_table *table, const struct uspi_abbreviation *a,
                                   struct uspi_cursor_at *c) {
    if (a->fixed != UINT32_MAX) {
        uspi_cursor_skip(c, a->fixed);
        return;
    }
    const struct uspi_skip *skip = table->skips + a->skips;
    for (uint32_t i = 0; i < a->skip_count; i++) {
        uspi_cursor_skip(c, skip[i].bytes);
        if (skip[i].form != 0 && !uspi_form_skip(c, skip[i].form, table->encoding)) uspi_cursor_fail(c);
    }
}

/* Reads the attributes of an entry behind its code; `section` is where offsets count from. */
void uspi_entry_read(const struct uspi_abbreviation_table *table, const struct uspi_abbreviation *a,
                     struct uspi_cursor_at *c, const uint8_t *section, struct uspi_attributes *attributes);

/* Finds the abbreviation of a code in a table that is not compiled: *a begins at the table and ends behind the code. False when
 * the table has none with that code, or cannot be read so far. */
bool uspi_abbreviation_seek(struct uspi_cursor_at *a, uint64_t code);

/* Reads an entry behind its code by an abbreviation that *a is at, behind its code as well. *tag: of the entry. False when it
 * cannot be read. */
bool uspi_entry_read_by(struct uspi_cursor_at *a, struct uspi_encoding encoding, struct uspi_cursor_at *c,
                        const uint8_t *section, uint64_t *tag, struct uspi_attributes *attributes);

/* ---- a few tables that are kept ---- */

struct uspi_abbreviation_cache;

struct uspi_abbreviation_cache *uspi_abbreviation_cache_create(void);
void uspi_abbreviation_cache_free(struct uspi_abbreviation_cache *cache);

/* The table of a section, compiled when it is not kept; it stays until the second call behind this one at least. Returns as
 * uspi_abbreviations_compile. */
const struct uspi_abbreviation_table *uspi_abbreviation_cache_get(struct uspi_abbreviation_cache *cache,
                                                                  const uint8_t *section, size_t size, uint64_t offset,
                                                                  struct uspi_encoding encoding, int *status);

/* The bytes of .debug_abbrev that were compiled for the cache so far; a table that was given up and compiled again counts
 * again. */
uint64_t uspi_abbreviation_cache_compiled(const struct uspi_abbreviation_cache *cache);

#endif
