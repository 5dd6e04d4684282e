/* SPDX-License-Identifier: MIT */
/* Fat Mach-O files: a table of slices, each a thin file for one processor; with 32- or 64-bit offsets.
 * Source: xnu EXTERNAL_HEADERS/mach-o/fat.h (big-endian). What is in a slice is macho.h's. */
#ifndef USPI_FAT_H
#define USPI_FAT_H

#include "lib/object/macho.h"

struct uspi_fat {
    struct uspi_bytes bytes; /* the whole file */
    struct uspi_bytes table;
    bool wide; /* FAT_MAGIC_64 */
    uint32_t count;
};

/* USP_OK, USP_ERROR_FORMAT when it is no fat file, USP_ERROR_TRUNCATED when its table does not fit. */
int uspi_fat_open(struct uspi_fat *fat, struct uspi_bytes bytes, struct uspi_error *error);

struct uspi_fat_slice {
    uint32_t cpu_type, cpu_subtype;
    struct uspi_bytes bytes; /* the thin file */
};

/* Slice i; USP_ERROR_NOT_FOUND behind the last, USP_ERROR_TRUNCATED when it reaches out of the file. */
int uspi_fat_slice(const struct uspi_fat *fat, uint32_t i, struct uspi_fat_slice *slice, struct uspi_error *error);

/* Opens the thin file that is wanted, whether `bytes` is fat or thin already.
 *   uuid  NULL, or the one that it must have: then nothing else counts, and USP_ERROR_MISMATCH says that none has it
 *   arch  enum usp_arch, used without a uuid; USP_ARCH_NONE takes the first. USP_ERROR_NOT_FOUND when there is none */
int uspi_fat_pick(struct uspi_bytes bytes, const uint8_t uuid[USPI_UUID_SIZE], uint32_t arch, struct uspi_macho *macho,
                  struct uspi_error *error);

#endif
