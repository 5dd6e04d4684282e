/* SPDX-License-Identifier: MIT */
/* The compile units of a file's debugging information: their headers, what their first entries say, and the meaning of values
 * that depend on the unit: addresses, strings, references. What is below a unit's first entry is walk.h's. */
#ifndef USPI_DWARF_UNIT_H
#define USPI_DWARF_UNIT_H

#include "lib/images/debug_sections.h"
#include "lib/symbolize/dwarf/abbreviations.h"
#include "lib/symbolize/lines/strings.h"

/* What a unit's first entry says of its code, as uspi_dwarf_ranges reads it. */
struct uspi_unit_code {
    uint32_t has; /* as in struct uspi_attributes */
    struct uspi_value low, high, ranges;
};

struct uspi_dwarf_unit {
    uint64_t offset; /* of its header in the section */
    uint64_t first;  /* of its first entry */
    uint64_t end;    /* behind its last byte */
    uint64_t abbreviations;
    uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
    uint64_t line_table;               /* offset in .debug_line; NO_OFFSET: none */
    uint64_t base;                     /* what its range lists count from: DW_AT_low_pc */
    uint64_t split_id;                 /* of a skeleton or a split unit; 0: neither */
    uint64_t name, folder, split_name; /* references to strings; 0: none */
    struct uspi_encoding encoding;
    uint8_t type;      /* DW_UT_… */
    bool is_partial;   /* has no code of its own */
    bool is_split;     /* its first entry is a skeleton */
    uint16_t language; /* 0 unknown */
    struct uspi_unit_code code;
};

#define USPI_NO_OFFSET UINT64_MAX

/* The debugging information of one file. */
struct uspi_dwarf_file {
    struct uspi_debug_sections sections;
    struct uspi_dwarf_unit *units; /* ascending */
    size_t count, room;
    /* The kinds of its strings. */
    enum uspi_text_kind str, line_str, info;
    const struct uspi_dwarf_file *addresses; /* that has .debug_addr: of split units the other file */
    const struct uspi_dwarf_file *shared;    /* by dwz; NULL: none */
};

/* Reads the headers of all units, and their first entries. A unit whose header is damaged ends the list when the next one
 * cannot be found. *error says what was wrong (USP_OK is returned all the same). USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_dwarf_list_units(struct uspi_dwarf_file *file, struct uspi_error *error);

/* The unit that holds an offset of .debug_info; NULL: none does. */
const struct uspi_dwarf_unit *uspi_dwarf_unit_at(const struct uspi_dwarf_file *file, uint64_t offset);

/* The unit whose header is at an offset; NULL: none is. */
const struct uspi_dwarf_unit *uspi_dwarf_unit_from(const struct uspi_dwarf_file *file, uint64_t offset);

/* Reads the header at an offset. False when there is none that makes sense; then *unit is filled as far as unit->end, if that
 * is not 0. */
bool uspi_dwarf_read_header(const struct uspi_dwarf_file *file, uint64_t offset, struct uspi_dwarf_unit *unit);

/* ---- values ---- */

/* Entry `index` of the unit's part of .debug_addr. */
bool uspi_dwarf_indexed_address(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit, uint64_t index,
                                uint64_t *address);

/* An attribute's address. False when it is none. */
bool uspi_dwarf_address(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                        const struct uspi_value *value, uint64_t *address);

/* A reference to an attribute's string; 0 when it is none, or not terminated. */
uint64_t uspi_dwarf_text(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                         const struct uspi_value *value);

/* What another entry is referred to by: the file it is in, and its offset there. False when it is none. */
bool uspi_dwarf_reference(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                          const struct uspi_value *value, const struct uspi_dwarf_file **in, uint64_t *offset);

/* Whether code from low up to high is there: linkers write 0, 1, −1 or −2 for what they have removed, and code at 0 is there where
 * a section of code begins there. `highest`: the largest address that there can be. */
bool uspi_dwarf_is_code(const struct uspi_debug_sections *sections, uint64_t highest, uint64_t low, uint64_t high);

/* Sets *error to what is wrong at an offset of a section, unless it already says something. */
void uspi_dwarf_describe(const struct uspi_dwarf_file *file, enum uspi_debug_section section, uint64_t offset,
                         const char *what, struct uspi_error *error);

/* Whether an attribute is a number rather than an address: DW_AT_high_pc is either. */
bool uspi_dwarf_is_address(const struct uspi_value *value);

#endif
