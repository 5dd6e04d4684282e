/* SPDX-License-Identifier: MIT */
/* The calls that a unit's functions make, as its call sites describe them (DWARF 5, 3.4; GNU's DW_TAG_GNU_call_site
 * before that). They are gathered while the unit is walked. When its functions have names, the callee of each call is
 * found. */
#ifndef USPI_SYMBOLIZE_DWARF_CALLS_H
#define USPI_SYMBOLIZE_DWARF_CALLS_H

#include "lib/base/numbers.h"
#include "lib/symbolize/dwarf/ranges.h"
#include "lib/symbolize/lines/builder.h"

/* A function with code in the unit, identified by the entry that describes it. */
struct uspi_dwarf_root {
    uint64_t offset;         /* of its entry, in the unit's file */
    uint32_t node, function; /* the builder's numbers */
    bool knows_tail_calls;   /* the entry says that each tail call of the function has a call site */
    bool has_unknown_callee; /* one of these call sites does not say what it calls */
};

/* A call site. */
struct uspi_dwarf_site {
    uint64_t address; /* first address past the call instruction; with is_start, the instruction's own */
    uint32_t root;    /* number of the enclosing function, from 1 */
    uint32_t callee;  /* number of the callee, from 1 */
    bool is_tail, is_start;
};

/* An entry that call sites refer to. */
struct uspi_dwarf_callee {
    const struct uspi_dwarf_file *file;
    uint64_t offset;
    uint64_t text; /* the name of a function without code in the unit; 0: it has code here, or is not known */
    uint32_t node; /* of a function with code in the unit; 0: it has none, or is not known */
};

/* A root by its name. */
struct uspi_dwarf_root_name {
    uint64_t text;
    uint32_t node;
};

struct uspi_dwarf_calls {
    struct uspi_dwarf_root *roots; /* sorted by offset */
    size_t root_count, root_capacity;
    struct uspi_dwarf_site *sites;
    size_t site_count, site_capacity;
    struct uspi_dwarf_callee *callees;
    size_t callee_count, callee_capacity;
    struct uspi_numbers callee_numbers; /* numbers of callees by offset */
    struct uspi_dwarf_root_name *names; /* sorted by name */
    size_t name_capacity;
};

void uspi_dwarf_calls_reset(struct uspi_dwarf_calls *calls);
void uspi_dwarf_calls_free(struct uspi_dwarf_calls *calls);

struct uspi_dwarf_reader;

/* Notes a function with code. Must be called in the order of the entries. Its tail calls count as known if
 * root->knows_tail_calls is set and the entry says that they all have call sites. *number becomes its number, from 1.
 * Returns false when memory is exhausted. */
bool uspi_dwarf_note_root(struct uspi_dwarf_reader *reader, const struct uspi_attributes *attributes,
                          const struct uspi_dwarf_root *root, uint32_t *number);

/* Notes a call site of function number `root`, whose code is the `count` ranges from `ranges` on. Returns false when
 * memory is exhausted. */
bool uspi_dwarf_note_site(struct uspi_dwarf_reader *reader, const struct uspi_attributes *attributes, uint32_t root,
                          const struct uspi_address_range *ranges, size_t count);

/* Gives the builder the calls whose callees are known. Must be called after all functions have their names. Returns
 * false when memory is exhausted. (callees.c) */
bool uspi_dwarf_give_calls(struct uspi_dwarf_reader *reader);

#endif
