/* SPDX-License-Identifier: MIT */
/* The ranges of code of an entry: DW_AT_low_pc and DW_AT_high_pc, or a list in .debug_ranges or .debug_rnglists. What was
 * removed from the file, lies in no code or is inverted is left out, range by range. */
#ifndef USPI_DWARF_RANGES_H
#define USPI_DWARF_RANGES_H

#include "lib/symbolize/dwarf/unit.h"

struct uspi_address_range {
    uint64_t low, high;
};

/* Ranges, appended to. */
struct uspi_range_list {
    struct uspi_address_range *all;
    size_t count, room;
    uint64_t budget; /* so many entries of lists may be read; counts down */
};

/* Appends those of an entry, sorted and without overlaps. *first: where the entry begins by itself: its DW_AT_low_pc, or the
 * first range of the list. False when memory lacks. */
bool uspi_dwarf_ranges(const struct uspi_dwarf_file *file, const struct uspi_dwarf_unit *unit,
                       const struct uspi_attributes *attributes, struct uspi_range_list *list, uint64_t *first);

/* Where a set of .debug_aranges stands, and the unit that it is of. */
struct uspi_claim_set {
    uint64_t offset; /* of the next set */
    uint64_t unit;   /* offset of its header in .debug_info */
};

/* Appends the ranges of the next set: what a unit claims besides its first entry. 1, 0 behind the last one that can be read, or
 * USP_ERROR_NO_MEMORY. */
int uspi_dwarf_next_claims(const struct uspi_dwarf_file *file, struct uspi_claim_set *set,
                           struct uspi_range_list *list);

/* Appends what of the ranges from `from` on (as many as `count`) lies in those from `outer` on. False when memory lacks. All are
 * in `list`, sorted; more than `limit` are not written. */
bool uspi_dwarf_intersect(struct uspi_range_list *list, size_t from, size_t count, size_t outer, size_t outer_count);

#endif
