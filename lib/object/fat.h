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

/* Reads where slice i is: a thin file, whose header says for which processor it is. USP_ERROR_NOT_FOUND behind the last one,
 * USP_ERROR_TRUNCATED when the slice reaches out of the file. */
int uspi_fat_slice(const struct uspi_fat *fat, uint32_t i, struct uspi_bytes *slice, struct uspi_error *error);

/* Which thin file is wanted. */
struct uspi_wanted_slice {
    const uint8_t *uuid; /* of USPI_UUID_SIZE bytes; when it is not NULL, nothing else counts */
    uint32_t arch;       /* enum usp_arch; USP_ARCH_NONE: any */
    uint32_t variant;    /* enum usp_variant; USP_VARIANT_NONE: any */
};

/* Whether code for a processor and its variant is wanted, whatever its UUID. What has no variant counts as USP_VARIANT_PLAIN. */
static inline bool uspi_slice_fits(const struct uspi_wanted_slice *wanted, uint32_t arch, uint32_t variant) {
    if (wanted->arch != USP_ARCH_NONE && wanted->arch != arch) return false;
    if (variant == USP_VARIANT_NONE) variant = USP_VARIANT_PLAIN;
    return wanted->variant == USP_VARIANT_NONE || wanted->variant == variant;
}

/* Opens the thin file that is wanted, the first one of several, whether `bytes` is fat or thin already. USP_ERROR_MISMATCH when
 * none has the UUID, USP_ERROR_NOT_FOUND when none is for the processor. */
int uspi_fat_pick(struct uspi_bytes bytes, const struct uspi_wanted_slice *wanted, struct uspi_macho *macho,
                  struct uspi_error *error);

#endif
