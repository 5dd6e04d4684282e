/* SPDX-License-Identifier: MIT */
/* The ranges of code of an entry: DW_AT_low_pc and DW_AT_high_pc, or a list in .debug_ranges or .debug_rnglists. Each
 * range whose code was removed, that lies in no code or that is inverted is left out. */
#ifndef USPI_SYMBOLIZE_DWARF_RANGES_H
#define USPI_SYMBOLIZE_DWARF_RANGES_H

#include "lib/symbolize/dwarf/unit.h"

struct uspi_address_range {
    uint64_t low, high;
};

/* A growing list of ranges. */
struct uspi_range_list {
    struct uspi_address_range *all;
    size_t count, capacity;
    uint64_t budget; /* how many more list entries may be read or intersections appended; counts down */
    struct uspi_piece_capacity *apart; /* for lists that are far apart; NULL: many lists are read that lie together */
};

/* Appends the ranges of an entry, sorted and without overlaps. *first: where the entry begins, its DW_AT_low_pc or the
 * first range of its list. Returns false when memory is exhausted. */
bool uspi_dwarf_ranges(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                       const struct uspi_attributes *attributes, struct uspi_range_list *list, uint64_t *first);

/* A set of .debug_aranges: code that a unit claims in addition to its first entry. */
struct uspi_claim_set {
    uint64_t next;               /* offset of the next set */
    uint64_t unit;               /* offset of the unit's header in .debug_info */
    struct uspi_cursor_at pairs; /* of addresses and lengths */
    uint8_t address_size;
};

/* Finds the next set. Begin with {0}. Returns false after the last set that can be read. */
bool uspi_dwarf_next_claims(const struct uspi_dwarf_file *file, struct uspi_claim_set *set);

/* Appends the ranges of a set. Returns false when memory is exhausted. */
bool uspi_dwarf_claims(const struct uspi_dwarf_file *file, const struct uspi_claim_set *set,
                       struct uspi_range_list *list);

/* Appends the intersections of the `count` ranges from `from` on with the `outer_count` ranges from `outer` on. All are
 * in `list`, and sorted. It stops when the budget is used up. Returns false when memory is exhausted. */
bool uspi_dwarf_intersect(struct uspi_range_list *list, size_t from, size_t count, size_t outer, size_t outer_count);

#endif
