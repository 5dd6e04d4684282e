/* SPDX-License-Identifier: MIT */
/* The compile units of a file's debug information: their headers, what their first entries say, and the meaning of
 * values that depend on the unit (addresses, strings, references). reader.h reads the entries below the first one. */
#ifndef USPI_SYMBOLIZE_DWARF_UNIT_H
#define USPI_SYMBOLIZE_DWARF_UNIT_H

#include "lib/images/debug_sections.h"
#include "lib/symbolize/dwarf/abbreviations.h"
#include "lib/symbolize/lines/strings.h"

/* What a unit's first entry says about its code, for uspi_dwarf_ranges. */
struct uspi_unit_code {
    uint32_t has; /* as in struct uspi_attributes */
    struct uspi_attribute_value low, high, ranges;
};

struct uspi_dwarf_unit {
    uint64_t offset; /* of its header in the section */
    uint64_t first;  /* of its first entry */
    uint64_t end;    /* first offset past it */
    uint64_t abbreviations;
    uint64_t str_offsets_base, addr_base, rnglists_base, ranges_base;
    uint64_t line_table;               /* offset in .debug_line; NO_OFFSET: none */
    uint64_t base;                     /* the base of its range lists: DW_AT_low_pc */
    uint64_t split_id;                 /* of a skeleton or a split unit; 0: it is neither */
    uint64_t name, folder, split_name; /* references to strings; 0: none */
    struct uspi_encoding encoding;
    uint8_t type;      /* DW_UT_… */
    bool is_partial;   /* has no code of its own */
    bool is_split;     /* its first entry is a skeleton */
    uint16_t language; /* DW_LANG_…; 0: not known */
    struct uspi_unit_code code;
};

#define USPI_NO_OFFSET UINT64_MAX

/* The debug information of one file. */
struct uspi_dwarf_file {
    struct uspi_debug_sections sections;
    struct uspi_dwarf_unit *units; /* sorted by offset */
    size_t count, capacity;
    /* The kinds of references to its strings. */
    enum uspi_text_kind str, line_str, info;
    const struct uspi_dwarf_file *addresses; /* the file that has .debug_addr: for split units, the program */
    const struct uspi_dwarf_file *shared;    /* the file that dwz made for several files to share; NULL: none */
};

/* Reads the headers and the first entries of all units. The list ends at a damaged header after which the next unit
 * cannot be found. *error says what was wrong, even when USP_OK is returned. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_dwarf_list_units(struct uspi_dwarf_file *file, struct uspi_error *error);

/* Returns the unit that holds an offset of .debug_info; NULL: none. */
const struct uspi_dwarf_unit *uspi_dwarf_unit_at(const struct uspi_dwarf_file *file, uint64_t offset);

/* Returns the unit whose header is at an offset; NULL: none. */
const struct uspi_dwarf_unit *uspi_dwarf_unit_from(const struct uspi_dwarf_file *file, uint64_t offset);

/* ---- values ---- */

/* Reads the number of `width` bytes at an offset of a section. Returns false when it cannot be read. */
bool uspi_dwarf_number(const struct uspi_dwarf_file *file, enum uspi_debug_section which, uint64_t at, unsigned width,
                       uint64_t *number);

/* Reads entry `index` of the unit's part of .debug_addr. Returns false when there is none. */
bool uspi_dwarf_indexed_address(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit, uint64_t index,
                                uint64_t *address);

/* Finds the address that is an attribute's value. Returns false when it is not an address. */
bool uspi_dwarf_address(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                        const struct uspi_attribute_value *value, uint64_t *address);

/* Returns a reference to the string that is an attribute's value; 0 when it is not a string, or has no terminator. */
uint64_t uspi_dwarf_text(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                         const struct uspi_attribute_value *value);

/* Sets where the strings of a kind are: a section of the file. */
void uspi_dwarf_set_text(struct uspi_texts *texts, enum uspi_text_kind kind, const struct uspi_dwarf_file *file,
                         enum uspi_debug_section which);

/* Finds the entry to which an attribute refers: the file that has it, and its offset there. Returns false when it is
 * not a reference. */
bool uspi_dwarf_reference(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                          const struct uspi_attribute_value *value, const struct uspi_dwarf_file **in,
                          uint64_t *offset);

/* Returns whether the file has the code from `low` up to `high`. Linkers write 0, 1, −1 or −2 as the address of code
 * that they have removed. Code at 0 counts if a code section begins there. `highest`: the largest possible address. */
bool uspi_dwarf_is_code(const struct uspi_debug_sections *sections, uint64_t highest, uint64_t low, uint64_t high);

/* Sets *error to what is wrong at an offset of a section, unless it already has an error. */
void uspi_dwarf_describe(const struct uspi_dwarf_file *file, enum uspi_debug_section section, uint64_t offset,
                         const char *what, struct uspi_error *error);

/* Returns whether a value is an address rather than a number: DW_AT_high_pc can be either. */
bool uspi_dwarf_is_address(const struct uspi_attribute_value *value);

#endif
