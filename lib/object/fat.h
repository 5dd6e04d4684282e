/* SPDX-License-Identifier: MIT */
/* Reads fat Mach-O files: a table of slices, each a thin file for one processor, with 32- or 64-bit offsets. Source:
 * xnu EXTERNAL_HEADERS/mach-o/fat.h (big-endian). macho.h reads the slices. */
#ifndef USPI_OBJECT_FAT_H
#define USPI_OBJECT_FAT_H

#include "lib/object/macho.h"

/* The maximum number of slices. Each image of a fat file is found again by reading all slices, so a file may not have
 * many of them, nor one part of it as several slices. */
#define USPI_FAT_SLICES_MAX 64u

struct uspi_fat {
    struct uspi_bytes bytes; /* the whole file */
    struct uspi_bytes table;
    bool wide; /* FAT_MAGIC_64 */
    uint32_t count;
};

/* Opens a fat file. Returns USP_OK, USP_ERROR_FORMAT when it is not a fat file, has more than USPI_FAT_SLICES_MAX
 * slices, or has slices that overlap, USP_ERROR_TRUNCATED when its table reaches past the end. */
int uspi_fat_open(struct uspi_fat *fat, struct uspi_bytes bytes, struct uspi_error *error);

/* Gives the bytes of slice i: a thin file, whose header says which processor it is for. USP_ERROR_NOT_FOUND past the
 * last slice, USP_ERROR_TRUNCATED when the slice reaches past the end of the file. */
int uspi_fat_slice(const struct uspi_fat *fat, uint32_t i, struct uspi_bytes *slice, struct uspi_error *error);

/* Describes the wanted thin file. */
struct uspi_wanted_slice {
    const uint8_t *uuid; /* USPI_UUID_SIZE bytes; if not NULL, the other fields are ignored */
    uint32_t arch;       /* enum usp_arch; USP_ARCH_NONE: any */
    uint32_t variant;    /* enum usp_variant; USP_VARIANT_NONE: any */
};

/* Returns whether code for a processor and variant is wanted; ignores the UUID. USP_VARIANT_NONE counts as
 * USP_VARIANT_PLAIN. */
static inline bool uspi_slice_fits(const struct uspi_wanted_slice *wanted, uint32_t arch, uint32_t variant) {
    if (wanted->arch != USP_ARCH_NONE && wanted->arch != arch) return false;
    if (variant == USP_VARIANT_NONE) variant = USP_VARIANT_PLAIN;
    return wanted->variant == USP_VARIANT_NONE || wanted->variant == variant;
}

/* Opens the first wanted thin file in `bytes`, which may be a fat or a thin file. USP_ERROR_MISMATCH when none has the
 * UUID, USP_ERROR_NOT_FOUND when none is for the processor. */
int uspi_fat_pick(struct uspi_bytes bytes, const struct uspi_wanted_slice *wanted, struct uspi_macho *macho,
                  struct uspi_error *error);

#endif
