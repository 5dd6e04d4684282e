/* SPDX-License-Identifier: MIT */
/* See fixups.h. */
#include "lib/object/fixups.h"
#include "lib/base/bisect.h"

#include "lib/base/array.h"
#include "lib/object/bind_opcodes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LINKEDIT_DATA 8 /* linkedit_data_command.dataoff; datasize follows */

/* struct dyld_chained_fixups_header, dyld_chained_starts_in_segment. */
#define FIXUPS_HEADER 28
#define STARTS_HEADER 22
#define PAGE_NONE     0xffff /* DYLD_CHAINED_PTR_START_NONE */

/* dyld_chained_import, dyld_chained_import_addend, dyld_chained_import_addend64. */
enum import_format { IMPORT = 1, IMPORT_ADDEND = 2, IMPORT_ADDEND64 = 3 };

/* ---- one word ---- */

static uint64_t bits(uint64_t raw, unsigned from, unsigned width) { return raw >> from & ((UINT64_C(1) << width) - 1); }

/* Decodes a word of the arm64e formats. Bit 63: signed; bit 62: import. A signed pointer is an offset from the header.
 * An unsigned one is an address, or an offset if is_offset. */
static void decode_arm64e(bool is_offset, bool is_long_ordinal, uint64_t raw, usp_addr header,
                          struct uspi_chained_word *word) {
    word->is_import = bits(raw, 62, 1) != 0;
    if (word->is_import) {
        word->ordinal = (uint32_t)bits(raw, 0, is_long_ordinal ? 24 : 16);
    } else if (bits(raw, 63, 1) != 0) {
        word->target = header + bits(raw, 0, 32);
    } else {
        word->target = bits(raw, 0, 43) + (is_offset ? header : 0);
    }
}

static void decode_64(bool is_offset, uint64_t raw, usp_addr header, struct uspi_chained_word *word) {
    word->is_import = bits(raw, 63, 1) != 0;
    if (word->is_import) {
        word->ordinal = (uint32_t)bits(raw, 0, 24);
    } else {
        word->target = bits(raw, 0, 36) + (is_offset ? header : 0);
    }
}

static void decode_32(uint64_t raw, uint32_t max_valid, struct uspi_chained_word *word) {
    word->is_import = bits(raw, 31, 1) != 0;
    if (word->is_import) {
        word->ordinal = (uint32_t)bits(raw, 0, 20);
    } else {
        word->target = bits(raw, 0, 26);
        /* A value above max_valid is a number: it was moved by this bias into the part of the range that no pointer
         * uses. */
        uint64_t bias = ((UINT64_C(1) << 26) + max_valid) / 2;
        if (word->target > max_valid) word->target = (uint32_t)(word->target - bias);
    }
}

bool uspi_chained_decode(uint32_t format, uint64_t raw, usp_addr header, uint32_t max_valid,
                         struct uspi_chained_word *word) {
    *word = (struct uspi_chained_word){0};
    switch (format) {
    case USPI_CHAINED_ARM64E:
    case USPI_CHAINED_ARM64E_FIRMWARE:
        if (raw != 0) decode_arm64e(false, false, raw, header, word);
        return true;
    case USPI_CHAINED_ARM64E_KERNEL:
    case USPI_CHAINED_ARM64E_USERLAND:
        if (raw != 0) decode_arm64e(true, false, raw, header, word);
        return true;
    case USPI_CHAINED_ARM64E_USERLAND24:
        if (raw != 0) decode_arm64e(true, true, raw, header, word);
        return true;
    case USPI_CHAINED_64:
    case USPI_CHAINED_64_OFFSET:
        if (raw != 0) decode_64(format == USPI_CHAINED_64_OFFSET, raw, header, word);
        return true;
    case USPI_CHAINED_32:
        if (raw != 0) decode_32(raw, max_valid, word);
        return true;
    case USPI_CHAINED_32_CACHE:
        if (raw != 0) word->target = header + bits(raw, 0, 30);
        return true;
    case USPI_CHAINED_32_FIRMWARE: word->target = bits(raw, 0, 26); return true;
    default: return false;
    }
}

static unsigned width_of(uint32_t format) {
    return format == USPI_CHAINED_32 || format == USPI_CHAINED_32_CACHE || format == USPI_CHAINED_32_FIRMWARE ? 4 : 8;
}

/* ---- opening ---- */

static int open_chains(struct uspi_fixups *fixups, struct uspi_error *error) {
    const struct uspi_macho *macho = &fixups->space->macho;
    struct uspi_macho_command command;
    uint8_t raw[FIXUPS_HEADER];
    int status = uspi_macho_find(macho, USPI_LC_DYLD_CHAINED_FIXUPS, &command, error);
    if (status == USP_ERROR_NOT_FOUND) return USP_OK;
    if (status == USP_OK) status = uspi_bytes_read(command.bytes, LINKEDIT_DATA, raw, 8, "chained fixups", error);
    if (status != USP_OK) return status;
    status = uspi_macho_part(macho, uspi_le32(raw), uspi_le32(raw + 4), "chained fixups", &fixups->chains, error);
    if (status == USP_OK) status = uspi_bytes_read(fixups->chains, 0, raw, sizeof raw, "chained fixups", error);
    if (status != USP_OK) return status;
    fixups->starts = uspi_le32(raw + 4);
    fixups->imports = uspi_le32(raw + 8);
    fixups->symbols = uspi_le32(raw + 12);
    fixups->import_count = uspi_le32(raw + 16);
    fixups->import_format = uspi_le32(raw + 20);
    if (uspi_le32(raw + 24) == 0) return USP_OK;
    return uspi_bytes_error(error, fixups->chains, 24, USP_ERROR_UNSUPPORTED,
                            "chained fixups: compressed names are not supported");
}

struct collection {
    struct uspi_fixups *fixups;
    const char *prefix;
    size_t length, capacity;
};

/* A uspi_bind_visit: keeps binds whose names begin with the prefix. */
static int collect(void *context, usp_addr location, uint64_t name, struct uspi_error *error) {
    struct collection *collection = context;
    struct uspi_fixups *fixups = collection->fixups;
    const struct uspi_bytes file = fixups->space->macho.bytes;
    for (size_t i = 0; i < collection->length; i++) {
        uint64_t byte;
        int status = uspi_bytes_load(file, name + i, 1, &byte, "imported name", error);
        if (status != USP_OK) return status;
        if (byte != (uint8_t)collection->prefix[i]) return USP_OK;
    }
    struct uspi_bind *grown =
        uspi_array_reserve(fixups->binds, &collection->capacity, fixups->bind_count + 1, sizeof *grown);
    if (grown == NULL) return uspi_error_set(error, USP_ERROR_NO_MEMORY, "out of memory");
    fixups->binds = grown;
    fixups->binds[fixups->bind_count++] = (struct uspi_bind){location, name};
    return USP_OK;
}

static int by_location(const void *a, const void *b) {
    const struct uspi_bind *x = a, *y = b;
    if (x->location != y->location) return x->location < y->location ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

int uspi_fixups_open(struct uspi_fixups *fixups, const struct uspi_macho_space *space, const char *prefix,
                     struct uspi_error *error) {
    struct collection collection = {fixups, prefix, strlen(prefix), 0};
    *fixups = (struct uspi_fixups){.space = space};
    int status = open_chains(fixups, error);
    if (status == USP_OK) status = uspi_bind_opcodes_walk(space, collect, &collection, error);
    if (fixups->bind_count > 0) qsort(fixups->binds, fixups->bind_count, sizeof *fixups->binds, by_location);
    if (status != USP_OK) uspi_fixups_close(fixups);
    return status;
}

void uspi_fixups_close(struct uspi_fixups *fixups) {
    free(fixups->binds);
    memset(fixups, 0, sizeof *fixups);
}

/* ---- one pointer ---- */

static int import_name(const struct uspi_fixups *fixups, uint32_t ordinal, uint64_t *name, struct uspi_error *error) {
    const struct uspi_bytes chains = fixups->chains;
    unsigned format = fixups->import_format;
    unsigned size = format == IMPORT ? 4 : format == IMPORT_ADDEND ? 8 : 16;
    struct uspi_bytes imports;
    uint64_t raw;
    if (format < IMPORT || format > IMPORT_ADDEND64) {
        return uspi_bytes_error(error, chains, 20, USP_ERROR_UNSUPPORTED, "import format %u is not known", format);
    }
    if (ordinal >= fixups->import_count) {
        return uspi_bytes_error(error, chains, fixups->imports, USP_ERROR_FORMAT, "no import %" PRIu32, ordinal);
    }
    int status = uspi_bytes_array(chains, (struct uspi_array){fixups->imports, fixups->import_count, size, "imports"},
                                  &imports, error);
    /* The offset of the name is in the upper 23 bits of 32, or the upper 32 bits of 64. */
    if (status == USP_OK) {
        status = uspi_bytes_load(imports, (uint64_t)ordinal * size, format == IMPORT_ADDEND64 ? 8 : 4, &raw, "import",
                                 error);
    }
    if (status != USP_OK) return status;
    uint64_t offset = (uint64_t)fixups->symbols + (format == IMPORT_ADDEND64 ? raw >> 32 : raw >> 9);
    if (offset >= chains.size) {
        return uspi_bytes_error(error, chains, offset, USP_ERROR_TRUNCATED, "an import's name lies past the fixups");
    }
    *name = chains.from - fixups->space->macho.bytes.from + offset;
    return USP_OK;
}

/* Gives the format of the pointers in the page that contains an address; 0 when the page has no chain. */
static int page_format(const struct uspi_fixups *fixups, usp_addr location, uint32_t *format, uint32_t *max_valid,
                       struct uspi_error *error) {
    const struct uspi_macho_space *space = fixups->space;
    const struct uspi_macho_range *range = uspi_macho_space_find(space, location);
    uint64_t offset, count, page;
    struct uspi_bytes starts, segment;
    uint8_t raw[STARTS_HEADER];
    *format = 0;
    if (fixups->chains.size == 0 || range == NULL) return USP_OK;
    uint64_t all = fixups->chains.size - (fixups->starts < fixups->chains.size ? fixups->starts : 0);
    int status = uspi_bytes_sub(fixups->chains, fixups->starts, all, "chain starts", &starts, error);
    if (status == USP_OK) status = uspi_bytes_load(starts, 0, 4, &count, "chain starts", error);
    if (status != USP_OK || range->segment >= count) return status;
    status = uspi_bytes_load(starts, 4 + (uint64_t)range->segment * 4, 4, &offset, "chain starts", error);
    if (status != USP_OK || offset == 0) return status;
    status = uspi_bytes_sub(starts, offset, STARTS_HEADER, "segment's chain starts", &segment, error);
    if (status == USP_OK) status = uspi_bytes_read(segment, 0, raw, sizeof raw, "segment's chain starts", error);
    if (status != USP_OK) return status;
    uint32_t page_size = uspi_le16(raw + 4), page_count = uspi_le16(raw + 20);
    if (page_size == 0) {
        return uspi_bytes_error(error, segment, 4, USP_ERROR_FORMAT, "pages of 0 bytes");
    }
    uint64_t index = (location - (space->header + uspi_le64(raw + 8))) / page_size;
    if (index >= page_count) return USP_OK;
    status = uspi_bytes_load(starts, offset + STARTS_HEADER + index * 2, 2, &page, "page's chain start", error);
    if (status != USP_OK || page == PAGE_NONE) return status;
    *format = uspi_le16(raw + 6);
    *max_valid = uspi_le32(raw + 16);
    return USP_OK;
}

static const struct uspi_bind *find_bind(const struct uspi_fixups *fixups, usp_addr location) {
    size_t i;
    USPI_FIRST(i, 0, fixups->bind_count, fixups->binds[i].location >= location);
    bool is_there = i < fixups->bind_count && fixups->binds[i].location == location;
    return is_there ? &fixups->binds[i] : NULL;
}

int uspi_fixups_pointer(const struct uspi_fixups *fixups, usp_addr location, struct uspi_pointer *pointer,
                        struct uspi_error *error) {
    const struct uspi_macho_space *space = fixups->space;
    unsigned width = space->macho.wide ? 8 : 4;
    uint32_t format, max_valid = 0;
    struct uspi_chained_word word;
    struct uspi_bytes bytes;
    uint64_t raw;
    *pointer = (struct uspi_pointer){0};
    int status = uspi_macho_space_at(space, location, "pointer", &bytes, error);
    if (status == USP_OK) status = uspi_bytes_load(bytes, 0, width, &raw, "pointer", error);
    if (status == USP_OK) status = page_format(fixups, location, &format, &max_valid, error);
    if (status != USP_OK) return status;
    if (format == 0) {
        const struct uspi_bind *bind = find_bind(fixups, location);
        pointer->is_import = bind != NULL;
        pointer->name = bind != NULL ? bind->name : 0;
        pointer->target = bind != NULL ? 0 : raw;
        return USP_OK;
    }
    if (width != width_of(format) || !uspi_chained_decode(format, raw, space->header, max_valid, &word)) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED, "chained pointer format %" PRIu32, format);
    }
    pointer->target = word.target;
    pointer->is_import = word.is_import;
    return word.is_import ? import_name(fixups, word.ordinal, &pointer->name, error) : USP_OK;
}
