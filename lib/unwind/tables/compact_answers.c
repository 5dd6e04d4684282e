/* SPDX-License-Identifier: MIT */
/* See compact_encoding.h. Answers that the encodings of all processors can have. */
#include "lib/unwind/tables/compact_encoding.h"

#include <inttypes.h>

#define CFI_OFFSET 0x00ffffffu

enum uspi_described uspi_compact_by_cfi(uint32_t encoding, struct uspi_table_entry *entry) {
    entry->cfi_offset = encoding & CFI_OFFSET;
    return USPI_DESCRIBED_BY_CFI;
}

enum uspi_described uspi_compact_corrupt(const struct uspi_compact_table *table, uint32_t encoding, const char *why,
                                         struct uspi_error *error) {
    uspi_bytes_error(error, table->section, 0, USP_ERROR_FORMAT, "compact encoding 0x%" PRIx32 ": %s", encoding, why);
    return USPI_TABLE_CORRUPT;
}
