/* SPDX-License-Identifier: MIT */
/* Compiled abbreviation tables. For each kind of entry they say what it is, which of its attributes are read, and how
 * the others are skipped, several in one step. A table is compiled once for all units that share it and have the same
 * width of addresses and offsets. */
#ifndef USPI_SYMBOLIZE_DWARF_ABBREVIATIONS_H
#define USPI_SYMBOLIZE_DWARF_ABBREVIATIONS_H

#include "lib/base/bisect.h"
#include "lib/images/debug_sections.h"
#include "lib/object/dwarf_forms.h"

/* The attributes that are read. Each is a bit of `has` and an index of `all` in struct uspi_attributes. */
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

/* A value as it stands in the entry. unit.h says what it means in its form. */
struct uspi_attribute_value {
    uint64_t number; /* for a string in the entry itself, its offset in the section */
    uint16_t form;
};

struct uspi_attributes {
    uint32_t has; /* one bit for each attribute */
    struct uspi_attribute_value all[USPI_ATTRIBUTES];
};

static inline bool uspi_has(const struct uspi_attributes *a, enum uspi_attribute which) {
    return (a->has >> which & 1) != 0;
}

/* What an entry means when code is searched for. */
enum uspi_entry_kind {
    USPI_ENTRY_OTHER,
    USPI_ENTRY_UNIT,
    USPI_ENTRY_SCOPE,    /* a namespace or class: its name is part of the names in it */
    USPI_ENTRY_DECLARED, /* a function without code: a declaration, or the origin of inlined calls */
    USPI_ENTRY_FUNCTION, /* a function that may have code */
    USPI_ENTRY_INLINED,
    USPI_ENTRY_CALL_SITE,
    USPI_ENTRY_LEAF /* a type or a declaration, which has no code below it: that can be skipped */
};

/* How an attribute is read, for forms that do not depend on the unit. */
enum uspi_reading { USPI_READ_FIXED, USPI_READ_CONSTANT, USPI_READ_ULEB, USPI_READ_BLOCK, USPI_READ_OTHER };

/* An attribute that is read, or one that is skipped and whose length is in the entry. */
struct uspi_attribute_form {
    uint8_t which;   /* enum uspi_attribute; USPI_ATTRIBUTES: it is skipped */
    uint8_t reading; /* enum uspi_reading */
    uint8_t width;   /* of a fixed form, in bytes: 0 … 16 */
    uint16_t form;
    uint32_t before;  /* bytes of attributes to skip before it */
    uint64_t mask;    /* of a fixed form: the bits that its bytes have; otherwise 0 */
    int64_t implicit; /* the value of a constant; otherwise 0 */
};

/* An entry that is of no use here, nor is any below it. */
struct uspi_plain_entry {
    uint16_t bytes;   /* of the entry with its code; 0: other entries */
    uint16_t sibling; /* bytes before its DW_AT_sibling; 0: it has no children */
};

struct uspi_abbreviation {
    uint64_t code;
    uint16_t tag;
    uint8_t kind; /* enum uspi_entry_kind */
    bool has_children;
    uint32_t fixed;   /* bytes of the entry after its code if all forms have a fixed width; otherwise UINT32_MAX */
    uint32_t sibling; /* UINT32_MAX: no DW_AT_sibling of four bytes; otherwise, with `fixed`, bytes before it */
    uint32_t reads, read_count; /* elements of the table's `reads` */
    uint32_t rest;              /* bytes after them */
    uint32_t has;               /* the attributes that are read, as in struct uspi_attributes; 0 for USPI_ENTRY_OTHER */
};

struct uspi_abbreviation_table {
    uint64_t offset; /* in .debug_abbrev */
    struct uspi_encoding encoding;
    struct uspi_abbreviation *all; /* by code, with gaps of code 0; or sorted by code, where codes are too far apart */
    size_t count;
    bool is_by_code;
    bool lacks_code; /* no entry is a function with code: GCC's link-time optimization makes such units */
    struct uspi_attribute_form *reads;
    struct uspi_plain_entry plain[128]; /* by code */
    size_t memory;
    uint64_t length; /* of the table in .debug_abbrev, in bytes */
};

/* Compiles the table at an offset. Returns NULL with *status USP_ERROR_NO_MEMORY or USP_ERROR_FORMAT. A table that is
 * cut off ends there: later entries have no abbreviation. */
struct uspi_abbreviation_table *uspi_abbreviations_compile(const uint8_t *section, size_t size, uint64_t offset,
                                                           struct uspi_encoding encoding, int *status);

void uspi_abbreviations_free(struct uspi_abbreviation_table *table);

/* Returns the abbreviation with a code; NULL: there is none. */
static inline const struct uspi_abbreviation *uspi_abbreviation(const struct uspi_abbreviation_table *table,
                                                                uint64_t code) {
    if (table->is_by_code) return code < table->count && table->all[code].code != 0 ? &table->all[code] : NULL;
    size_t i;
    USPI_FIRST(i, 0, table->count, table->all[i].code >= code);
    return i < table->count && table->all[i].code == code ? &table->all[i] : NULL;
}

/* ---- entries ---- */

/* Skips an entry, from after its code. */
void uspi_entry_skip(const struct uspi_abbreviation_table *table, const struct uspi_abbreviation *a,
                     struct uspi_cursor_at *c);

/* Skips entries that are of no use here, up to one that may be. Offsets of siblings count from the unit's header. */
static inline void uspi_plain_entries_skip(const struct uspi_abbreviation_table *table, struct uspi_cursor_at *c,
                                           const uint8_t *unit) {
    const uint8_t *p = c->p;
    while (p < c->end && *p < 128) {
        const struct uspi_plain_entry plain = table->plain[*p];
        if (plain.bytes == 0 || plain.bytes > c->end - p) break;
        if (plain.sibling == 0) {
            p += plain.bytes;
            continue;
        }
        const uint32_t sibling = uspi_le32(p + plain.sibling);
        /* An offset that leads backwards or out of the unit is invalid. */
        if (sibling <= (size_t)(p - unit) + plain.bytes || sibling >= (size_t)(c->end - unit)) break;
        p = unit + sibling;
    }
    c->p = p;
}

/* Reads the attributes of an entry, from after its code. The cursor is in the piece. */
void uspi_entry_read(const struct uspi_abbreviation_table *table, const struct uspi_abbreviation *a,
                     struct uspi_cursor_at *c, const struct uspi_section_piece *piece,
                     struct uspi_attributes *attributes);

/* Finds the abbreviation with a code in a table that is not compiled. *a begins at the table and ends after the code.
 * Returns false when the table has no such code, or cannot be read up to it. */
bool uspi_abbreviation_seek(struct uspi_cursor_at *a, uint64_t code);

/* Reads an entry, from after its code, by the abbreviation at *a, which is also after its code. *tag becomes the
 * entry's tag. Returns false when it cannot be read. */
bool uspi_entry_read_by(struct uspi_cursor_at *a, struct uspi_encoding encoding, struct uspi_cursor_at *c,
                        const struct uspi_section_piece *piece, uint64_t *tag, struct uspi_attributes *attributes);

/* ---- a cache of tables ---- */

struct uspi_abbreviation_cache;

/* Bytes that a cache may keep. Most units have a table that no other unit uses, so not many tables need to be kept of
 * units that are read. Entries can refer to many other units in turn. */
#define USPI_TABLES_OF_UNITS ((size_t)1 << 20)
#define USPI_TABLES_REFERRED ((size_t)32 << 20)

/* Returns a cache that keeps one table, or more as long as they take at most memory_max bytes. */
struct uspi_abbreviation_cache *uspi_abbreviation_cache_create(size_t memory_max);
void uspi_abbreviation_cache_free(struct uspi_abbreviation_cache *cache);

/* Returns the table at an offset of .debug_abbrev, and compiles it when it is not cached. It stays valid at least until
 * the next call. Returns as uspi_abbreviations_compile does. */
const struct uspi_abbreviation_table *uspi_abbreviation_cache_get(struct uspi_abbreviation_cache *cache,
                                                                  const struct uspi_debug_sections *sections,
                                                                  uint64_t offset, struct uspi_encoding encoding,
                                                                  int *status);

/* Returns how many bytes of .debug_abbrev were compiled for the cache. A table that was evicted and compiled again
 * counts again. */
uint64_t uspi_abbreviation_cache_compiled(const struct uspi_abbreviation_cache *cache);

#endif
