/* SPDX-License-Identifier: MIT */
/* See reading.h: the functions by which both formats add to a block. */
#include "lib/symbolize/symfile/reading.h"

uint32_t uspi_symfile_keep(struct uspi_symfile_reading *r, struct uspi_numbers *numbers, uint64_t key,
                           uint32_t number) {
    if (number != 0 && !uspi_numbers_keep(numbers, key, number)) r->is_out_of_memory = true;
    return number;
}

uint32_t uspi_symfile_root(struct uspi_symfile_reading *r, uint64_t name) {
    const uint32_t root = uspi_builder_root(r->builder, uspi_builder_function(r->builder, name, 0, 0));
    uspi_builder_range(r->builder, r->low, r->high, root);
    uspi_builder_part(r->builder, r->low, r->high, root, false);
    return root;
}

void uspi_symfile_range(struct uspi_symfile_reading *r, usp_addr low, usp_addr high, uint32_t node) {
    uspi_builder_range(r->builder, low > r->low ? low : r->low, high < r->high ? high : r->high, node);
}

void uspi_symfile_row(struct uspi_symfile_reading *r, const struct uspi_row *row) {
    struct uspi_row cut = *row;
    if (cut.address < r->low) cut.address = r->low;
    if (cut.address < r->high) uspi_builder_row(r->builder, &cut);
}
