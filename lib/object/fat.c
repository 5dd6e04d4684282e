/* SPDX-License-Identifier: MIT */
/* See fat.h. */
#include "lib/object/fat.h"

#include "lib/base/processor.h"
#include "lib/object/identify.h"

#include <string.h>

#define FAT_MAGIC    0xcafebabe
#define FAT_MAGIC_64 0xcafebabf
#define HEADER       8
#define ENTRY_32     20
#define ENTRY_64     32

/* Returns whether b begins in a. */
static bool begins_in(struct uspi_bytes b, struct uspi_bytes a) { return b.from >= a.from && b.from - a.from < a.size; }

/* Returns whether two slices share bytes. A slice that reaches past the end of the file shares none: it cannot be
 * read. */
static bool is_overlapping(const struct uspi_fat *fat) {
    struct uspi_bytes slices[USPI_FAT_SLICES_MAX];
    uint32_t count = 0;
    for (uint32_t i = 0; i < fat->count; i++) {
        struct uspi_bytes slice;
        if (uspi_fat_slice(fat, i, &slice, NULL) != USP_OK || slice.size == 0) continue;
        for (uint32_t k = 0; k < count; k++) {
            if (begins_in(slice, slices[k]) || begins_in(slices[k], slice)) return true;
        }
        slices[count++] = slice;
    }
    return false;
}

int uspi_fat_open(struct uspi_fat *fat, struct uspi_bytes bytes, struct uspi_error *error) {
    uint8_t raw[HEADER];
    int status = uspi_bytes_read(bytes, 0, raw, sizeof raw, "fat header", error);
    if (status != USP_OK) return status;
    uint32_t magic = uspi_be32(raw);
    if (magic != FAT_MAGIC && magic != FAT_MAGIC_64) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "not a fat Mach-O file");
    }
    *fat = (struct uspi_fat){.bytes = bytes, .wide = magic == FAT_MAGIC_64, .count = uspi_be32(raw + 4)};
    const struct uspi_array table = {HEADER, fat->count, fat->wide ? ENTRY_64 : ENTRY_32, "table of slices"};
    status = uspi_bytes_array(bytes, table, &fat->table, error);
    if (status != USP_OK) return status;
    if (fat->count > USPI_FAT_SLICES_MAX) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "more than %u slices", USPI_FAT_SLICES_MAX);
    }
    if (is_overlapping(fat)) return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "slices that overlap");
    return USP_OK;
}

int uspi_fat_slice(const struct uspi_fat *fat, uint32_t i, struct uspi_bytes *slice, struct uspi_error *error) {
    uint8_t raw[ENTRY_64];
    size_t size = fat->wide ? ENTRY_64 : ENTRY_32;
    unsigned word = fat->wide ? 8 : 4;
    if (i >= fat->count) return uspi_bytes_error(error, fat->bytes, 0, USP_ERROR_NOT_FOUND, "no slice %u", (unsigned)i);
    int status = uspi_bytes_read(fat->table, (uint64_t)i * size, raw, size, "slice", error);
    if (status != USP_OK) return status;
    return uspi_bytes_sub(fat->bytes, uspi_be(raw + 8, word), uspi_be(raw + 8 + word, word), "slice", slice, error);
}

/* Opens a thin file. Returns USP_OK if it is the wanted one. */
static int open_wanted(struct uspi_bytes bytes, const struct uspi_wanted_slice *wanted, struct uspi_macho *macho,
                       struct uspi_error *error) {
    uint8_t own[USPI_UUID_SIZE];
    int status = uspi_macho_open(macho, bytes, error);
    if (status != USP_OK) return status;
    if (wanted->uuid == NULL) {
        if (uspi_slice_fits(wanted, macho->arch, macho->variant)) return USP_OK;
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_NOT_FOUND, "made for %s, not for %s",
                                uspi_variant_string(macho->arch, macho->variant),
                                uspi_variant_string(wanted->arch, wanted->variant));
    }
    status = uspi_macho_uuid(macho, own, error);
    if (status == USP_OK && memcmp(own, wanted->uuid, sizeof own) == 0) return USP_OK;
    if (status != USP_OK && status != USP_ERROR_NOT_FOUND) return status;
    return uspi_bytes_error(error, bytes, 0, USP_ERROR_MISMATCH,
                            status == USP_OK ? "the UUID differs" : "it has no UUID to compare");
}

int uspi_fat_pick(struct uspi_bytes bytes, const struct uspi_wanted_slice *wanted, struct uspi_macho *macho,
                  struct uspi_error *error) {
    struct uspi_fat fat;
    struct uspi_bytes slice;
    if (uspi_identify(bytes) != USPI_FORMAT_FAT) return open_wanted(bytes, wanted, macho, error);
    int status = uspi_fat_open(&fat, bytes, error);
    if (status != USP_OK) return status;
    /* A damaged slice does not end the search. If no slice fits, the last one's status is returned. */
    status = uspi_bytes_error(error, bytes, 0, USP_ERROR_NOT_FOUND, "an empty table of slices");
    for (uint32_t i = 0; i < fat.count; i++) {
        status = uspi_fat_slice(&fat, i, &slice, error);
        if (status == USP_OK) status = open_wanted(slice, wanted, macho, error);
        if (status == USP_OK) return USP_OK;
    }
    return status;
}
