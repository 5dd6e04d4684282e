/* SPDX-License-Identifier: MIT */
/* Compact unwind, from the section __unwind_info of Mach-O images: 32 bits for each function that describe its frame
 * between prologue and epilogue. The rule does not hold within a prologue or an epilogue, and the encoding does not
 * say where they are. So for an exact pc the caller has to examine the instructions. At a call the rule always holds.
 * Source: libunwind include/mach-o/compact_unwind_encoding.h. */
#ifndef USPI_UNWIND_TABLES_COMPACT_H
#define USPI_UNWIND_TABLES_COMPACT_H

#include "lib/unwind/tables/compact_encoding.h"

/* Looks up the code at pc (for a caller: of the call, not of the instruction after it). *entry is written completely.
 * For USPI_TABLE_CORRUPT, *error, if not NULL, says what is wrong. Thread-safe. Without `error`, async-signal-safe if
 * the sources of the bytes are. */
enum uspi_described uspi_compact_find(const struct uspi_compact_table *table, usp_addr pc,
                                      struct uspi_table_entry *entry, struct uspi_error *error);

/* Decodes the encoding of the function at entry->start; fills rule and cfi_offset. Otherwise like uspi_compact_find. */
enum uspi_described uspi_compact_decode(const struct uspi_compact_table *table, uint32_t encoding,
                                        struct uspi_table_entry *entry, struct uspi_error *error);

#endif
