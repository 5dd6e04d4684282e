/* SPDX-License-Identifier: MIT */
/* The encodings of compact unwind (compact.h), each read by the file of its processor. */
#ifndef USPI_UNWIND_TABLES_COMPACT_ENCODING_H
#define USPI_UNWIND_TABLES_COMPACT_ENCODING_H

#include "lib/unwind/tables/table.h"

struct uspi_compact_table {
    const struct uspi_backend *backend;
    usp_addr image; /* target address of the image's header */
    /* The image's bytes, beginning with its header; some encodings refer to an instruction. */
    struct uspi_bytes text;
    struct uspi_bytes section; /* __unwind_info */
};

/* Modes, which all processors number differently. The other bits of an encoding depend on them. */
#define USPI_COMPACT_MODE(encoding) ((encoding) >> 24 & 0xf)

/* Like uspi_compact_decode, for an encoding other than 0. */
enum uspi_described uspi_compact_arm64(const struct uspi_compact_table *table, uint32_t encoding,
                                       struct uspi_table_entry *entry, struct uspi_error *error);
enum uspi_described uspi_compact_armv7(const struct uspi_compact_table *table, uint32_t encoding,
                                       struct uspi_table_entry *entry, struct uspi_error *error);
enum uspi_described uspi_compact_x86(const struct uspi_compact_table *table, uint32_t encoding,
                                     struct uspi_table_entry *entry, struct uspi_error *error);

/* Answers that the processors share. */
enum uspi_described uspi_compact_by_cfi(uint32_t encoding, struct uspi_table_entry *entry);
enum uspi_described uspi_compact_corrupt(const struct uspi_compact_table *table, uint32_t encoding, const char *why,
                                         struct uspi_error *error);

#endif
