/* SPDX-License-Identifier: MIT */
/* See compact.h. The part that all processors share. */
#include "lib/unwind/tables/compact.h"

#include "lib/object/macho_unwind_info.h"

/* Flags of every encoding that do not describe the frame: not a function's start, has an LSDA, number of the
 * personality routine. */
#define NOT_OF_THE_FRAME 0xf0000000u

enum uspi_described uspi_compact_decode(const struct uspi_compact_table *table, uint32_t encoding,
                                        struct uspi_table_entry *entry, struct uspi_error *error) {
    encoding &= ~NOT_OF_THE_FRAME;
    entry->rule = (struct uspi_rule){0};
    entry->cfi_offset = 0;
    if (encoding == 0) return USPI_NOT_DESCRIBED;
    switch (table->backend->arch) {
    case USP_ARCH_ARM64:
    case USP_ARCH_ARM64_32: return uspi_compact_arm64(table, encoding, entry, error);
    case USP_ARCH_ARMV7: return uspi_compact_armv7(table, encoding, entry, error);
    case USP_ARCH_X86_64:
    case USP_ARCH_I386: return uspi_compact_x86(table, encoding, entry, error);
    default: return USPI_NOT_DESCRIBED;
    }
}

enum uspi_described uspi_compact_find(const struct uspi_compact_table *table, usp_addr pc,
                                      struct uspi_table_entry *entry, struct uspi_error *error) {
    struct uspi_unwind_info info;
    struct uspi_unwind_entry found;
    *entry = (struct uspi_table_entry){0};
    if (pc < table->image) return USPI_NOT_DESCRIBED;
    int status = uspi_unwind_info(table->section, &info, error);
    if (status == USP_OK) status = uspi_unwind_find(&info, pc - table->image, &found, error);
    if (status == USP_ERROR_NOT_FOUND) return USPI_NOT_DESCRIBED;
    if (status != USP_OK) return USPI_TABLE_CORRUPT;
    /* The section's offsets have 32 bits. The image's address decides whether they fit into the address space. */
    if (!uspi_sum(table->image, found.start, &entry->start) || !uspi_sum(table->image, found.end, &entry->end)) {
        return uspi_compact_corrupt(table, found.encoding, "the function wraps around the address space", error);
    }
    return uspi_compact_decode(table, found.encoding, entry, error);
}
