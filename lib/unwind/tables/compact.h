/* SPDX-License-Identifier: MIT */
/* Compact unwind: 32 bits for each function that say what its frame looks like between prologue and epilogue, in the
 * section __unwind_info of Mach-O images. Within a prologue or an epilogue the rule does not hold; the encoding does not
 * say where they are, so a caller with an exact pc has to look at the instructions. At a call it always holds.
 * Source: libunwind include/mach-o/compact_unwind_encoding.h. */
#ifndef USPI_COMPACT_H
#define USPI_COMPACT_H

#include "lib/unwind/tables/table.h"

struct uspi_compact_table {
    const struct uspi_backend *backend;
    usp_addr image;            /* the target address of the image's header */
    struct uspi_bytes text;    /* the image from its header on; some encodings refer to an instruction */
    struct uspi_bytes section; /* __unwind_info */
};

/* What the table says of the code at pc (of a caller: of the call, not of what follows it). *entry is written completely.
 * *error, if not NULL, says what is wrong after USPI_TABLE_CORRUPT. Thread-safe; without `error` as async-signal-safe as the
 * sources of the bytes are. */
enum uspi_described uspi_compact_find(const struct uspi_compact_table *table, usp_addr pc,
                                      struct uspi_table_entry *entry, struct uspi_error *error);

/* What an encoding says of the function at entry->start; rule and cfi_offset are filled. As uspi_compact_find. */
enum uspi_described uspi_compact_decode(const struct uspi_compact_table *table, uint32_t encoding,
                                        struct uspi_table_entry *entry, struct uspi_error *error);

/* ---- between compact.c and the files for each processor ---- */

/* Modes that all processors number differently; what else is in an encoding depends on them. */
#define USPI_COMPACT_MODE(encoding) ((encoding) >> 24 & 0xf)

/* As uspi_compact_decode, of an encoding that is not 0. */
enum uspi_described uspi_compact_arm64(const struct uspi_compact_table *table, uint32_t encoding,
                                       struct uspi_table_entry *entry, struct uspi_error *error);
enum uspi_described uspi_compact_armv7(const struct uspi_compact_table *table, uint32_t encoding,
                                       struct uspi_table_entry *entry, struct uspi_error *error);
enum uspi_described uspi_compact_x86(const struct uspi_compact_table *table, uint32_t encoding,
                                     struct uspi_table_entry *entry, struct uspi_error *error);

/* Their answers. */
enum uspi_described uspi_compact_by_cfi(uint32_t encoding, struct uspi_table_entry *entry);
enum uspi_described uspi_compact_corrupt(const struct uspi_compact_table *table, uint32_t encoding, const char *why,
                                         struct uspi_error *error);

#endif
