/* SPDX-License-Identifier: MIT */
/* See dyld_cache.h. */
#include "lib/object/dyld_cache.h"

#include "lib/object/macho.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MAGIC "dyld_v1"

/* Of aot_shared_cache (github.com/FFRI/ProjectChampollion, AotSharedCacheExtractor). */
#define ROSETTA_MAGIC "AotCache"

/* Offsets in the header. */
#define MAPPING_OFFSET   0x10
#define MAPPING_COUNT    0x14
#define OLD_IMAGES       0x18
#define SLIDE_INFO       0x38
#define LOCAL_SYMBOLS    0x48
#define UUID             0x58
#define BRANCH_POOLS     0x70
#define IMAGES_TEXT      0x88
#define PLATFORM         0xd8
#define SLID_MAPPINGS    0x138
#define SUB_CACHES       0x188
#define SYMBOL_FILE_UUID 0x190
#define IMAGES           0x1c0
#define OBJC_OPTIONS     0x1d0

/* The least header, and a limit: the largest known one has 0x238 bytes. */
#define HEADER_LEAST 0x20
#define HEADER_MOST  0x10000

#define MAPPING      32
#define SLID_MAPPING 56
#define IMAGE        32
#define PART_1       24
#define PART_2       56
#define LOCALS       24

/* A file with a header of at least this size has the second form of entries for files. */
#define HEADER_OF_PART_2 0x1c9
/* From this size of the header on, entries of local symbols count from the base of the cache in 64 bits. */
#define HEADER_OF_LOCALS_64 0x190

static bool begins_with(struct uspi_bytes bytes, const char *magic, size_t size) {
    char own[sizeof ROSETTA_MAGIC];
    return uspi_bytes_read(bytes, 0, own, size, "magic", NULL) == USP_OK && memcmp(own, magic, size) == 0;
}

bool uspi_dyld_is_cache(struct uspi_bytes bytes) { return begins_with(bytes, MAGIC, sizeof MAGIC - 1); }

bool uspi_dyld_is_rosetta(struct uspi_bytes bytes) {
    return begins_with(bytes, ROSETTA_MAGIC, sizeof ROSETTA_MAGIC - 1);
}

/* Reads a field of the header; 0 if the header does not have it. */
static uint64_t field(const struct uspi_dyld_header *header, uint64_t offset, unsigned width) {
    uint64_t value;
    if (offset + width > header->size) return 0;
    return uspi_bytes_load(header->bytes, offset, width, &value, "header", NULL) == USP_OK ? value : 0;
}

static void read_uuid(const struct uspi_dyld_header *header, uint64_t offset, uint8_t uuid[16]) {
    memset(uuid, 0, 16);
    if (offset + 16 > header->size) return;
    if (uspi_bytes_read(header->bytes, offset, uuid, 16, "UUID", NULL) != USP_OK) memset(uuid, 0, 16);
}

static struct uspi_dyld_table table_at(const struct uspi_dyld_header *header, uint64_t offset, unsigned width) {
    return (struct uspi_dyld_table){field(header, offset, width), field(header, offset + width, width)};
}

/* Reads entry i of a table whose entries have `size` bytes. */
static int read_entry(const struct uspi_dyld_header *header, const struct uspi_dyld_table *table, size_t size,
                      uint64_t i, uint8_t *raw, struct uspi_error *error) {
    struct uspi_bytes entries;
    const struct uspi_array array = {table->offset, table->count, size, "table of the cache"};
    int status = uspi_bytes_array(header->bytes, array, &entries, error);
    return status == USP_OK ? uspi_bytes_read(entries, i * size, raw, size, "entry", error) : status;
}

/* ---- mappings ---- */

static int read_mapping(const struct uspi_dyld_header *header, const struct uspi_dyld_table *table, bool is_slid,
                        uint32_t i, struct uspi_error *error, struct uspi_dyld_mapping *mapping) {
    uint8_t raw[SLID_MAPPING];
    const size_t size = is_slid ? SLID_MAPPING : MAPPING;
    usp_addr end;
    int status = read_entry(header, table, size, i, raw, error);
    if (status != USP_OK) return status;
    *mapping = (struct uspi_dyld_mapping){
        .address = uspi_le64(raw), .size = uspi_le64(raw + 8), .file_offset = uspi_le64(raw + 16)};
    if (is_slid) {
        mapping->slide_offset = uspi_le64(raw + 24);
        mapping->slide_size = uspi_le64(raw + 32);
        mapping->flags = uspi_le64(raw + 40);
    }
    const bool is_whole =
        uspi_sum(mapping->address, mapping->size, &end) && uspi_sum(mapping->file_offset, mapping->size, &end);
    if (is_whole) return USP_OK;
    return uspi_bytes_error(error, header->bytes, table->offset + i * size, USP_ERROR_FORMAT,
                            "a mapping wraps around the address space");
}

static int read_mappings(struct uspi_dyld_header *header, struct uspi_error *error) {
    struct uspi_dyld_table table = table_at(header, SLID_MAPPINGS, 4);
    const bool is_slid = table.count > 0;
    if (!is_slid) table = table_at(header, MAPPING_OFFSET, 4);
    if (table.count > USPI_DYLD_MAPPINGS) {
        return uspi_bytes_error(error, header->bytes, MAPPING_COUNT, USP_ERROR_FORMAT, "%" PRIu64 " mappings",
                                table.count);
    }
    for (uint32_t i = 0; i < table.count; i++) {
        int status = read_mapping(header, &table, is_slid, i, error, &header->mappings[i]);
        if (status != USP_OK) return status;
    }
    header->mapping_count = (uint32_t)table.count;
    /* Before mappings had their own slide information, the file had one, of the second mapping. */
    if (!is_slid && table.count > 1) {
        header->mappings[1].slide_offset = field(header, SLIDE_INFO, 8);
        header->mappings[1].slide_size = field(header, SLIDE_INFO + 8, 8);
    }
    return USP_OK;
}

int uspi_dyld_open(struct uspi_dyld_header *header, struct uspi_bytes bytes, struct uspi_error *error) {
    *header = (struct uspi_dyld_header){.bytes = bytes, .size = HEADER_LEAST};
    if (!uspi_dyld_is_cache(bytes)) {
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "%s",
                                uspi_dyld_is_rosetta(bytes) ? USPI_DYLD_ROSETTA : "not a dyld shared cache");
    }
    int status = uspi_bytes_load(bytes, MAPPING_OFFSET, 4, &header->size, "header", error);
    if (status != USP_OK) return status;
    if (header->size < HEADER_LEAST || header->size > HEADER_MOST) {
        return uspi_bytes_error(error, bytes, MAPPING_OFFSET, USP_ERROR_FORMAT, "a header of %" PRIu64 " bytes",
                                header->size);
    }
    struct uspi_bytes whole;
    status = uspi_bytes_sub(bytes, 0, header->size, "header", &whole, error);
    if (status == USP_OK) status = read_mappings(header, error);
    if (status != USP_OK) return status;
    read_uuid(header, UUID, header->uuid);
    read_uuid(header, SYMBOL_FILE_UUID, header->symbols_uuid);
    header->platform = (uint32_t)field(header, PLATFORM, 4);
    header->images = table_at(header, IMAGES, 4);
    if (header->images.count == 0) header->images = table_at(header, OLD_IMAGES, 4);
    header->texts = table_at(header, IMAGES_TEXT, 8);
    header->branch_pools = table_at(header, BRANCH_POOLS, 4);
    header->files = table_at(header, SUB_CACHES, 4);
    header->objc_options = field(header, OBJC_OPTIONS, 8);
    header->locals_offset = field(header, LOCAL_SYMBOLS, 8);
    return USP_OK;
}

/* ---- images ---- */

uint64_t uspi_dyld_image_count(const struct uspi_dyld_header *header) {
    return header->texts.count > 0 ? header->texts.count : header->images.count;
}

int uspi_dyld_image(const struct uspi_dyld_header *header, uint64_t i, struct uspi_dyld_image *image,
                    struct uspi_error *error) {
    const bool has_texts = header->texts.count > 0;
    uint8_t raw[IMAGE];
    int status = read_entry(header, has_texts ? &header->texts : &header->images, sizeof raw, i, raw, error);
    if (status != USP_OK) return status;
    if (!has_texts) {
        *image = (struct uspi_dyld_image){.address = uspi_le64(raw), .path = uspi_le32(raw + 24)};
        return USP_OK;
    }
    *image = (struct uspi_dyld_image){
        .address = uspi_le64(raw + 16), .text_size = uspi_le32(raw + 24), .path = uspi_le32(raw + 28)};
    memcpy(image->uuid, raw, 16);
    return USP_OK;
}

/* ---- further files ---- */

static bool is_suffix(const char *suffix) {
    static const char letters[] = "._0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return suffix[0] == '.' && suffix[1] != '\0' && strstr(suffix, "..") == NULL &&
           suffix[strspn(suffix, letters)] == '\0';
}

int uspi_dyld_part(const struct uspi_dyld_header *header, uint64_t i, struct uspi_dyld_part *part,
                   struct uspi_error *error) {
    const bool has_suffix = header->size >= HEADER_OF_PART_2;
    const size_t size = has_suffix ? PART_2 : PART_1;
    uint8_t raw[PART_2];
    int status = read_entry(header, &header->files, size, i, raw, error);
    if (status != USP_OK) return status;
    memcpy(part->uuid, raw, 16);
    memset(part->suffix, 0, sizeof part->suffix);
    if (has_suffix) {
        memcpy(part->suffix, raw + PART_1, PART_2 - PART_1);
    } else {
        snprintf(part->suffix, sizeof part->suffix, ".%" PRIu64, i + 1);
    }
    if (is_suffix(part->suffix)) return USP_OK;
    return uspi_bytes_error(error, header->bytes, header->files.offset + i * size, USP_ERROR_FORMAT,
                            "no suffix of a file");
}

/* ---- local symbols ---- */

/* Finds an image's entry. They are looked for by the image's offset, since their order is not that of the images. */
static int find_entry(struct uspi_bytes entries, size_t size, uint64_t offset, uint64_t *start, uint64_t *count,
                      struct uspi_error *error) {
    uint8_t raw[64 * 16];
    const uint64_t all = entries.size / size;
    for (uint64_t i = 0; i < all; i += 64) {
        const uint64_t n = all - i < 64 ? all - i : 64;
        int status = uspi_bytes_read(entries, i * size, raw, (size_t)n * size, "index of local symbols", error);
        if (status != USP_OK) return status;
        for (size_t k = 0; k < n; k++) {
            const uint8_t *entry = raw + k * size, *rest = entry + (size - 8);
            if (uspi_le(entry, size == 16 ? 8 : 4) != offset) continue;
            *start = uspi_le32(rest);
            *count = uspi_le32(rest + 4);
            return USP_OK;
        }
    }
    return uspi_bytes_error(error, entries, 0, USP_ERROR_NOT_FOUND, "no local symbols of the image");
}

/* The tables of local symbols. */
struct local_tables {
    struct uspi_bytes entries, symbols, strings;
    size_t entry, nlist; /* the sizes of one entry and of one symbol in bytes */
};

static int find_tables(const struct uspi_dyld_header *header, bool wide, struct local_tables *tables,
                       struct uspi_error *error) {
    struct uspi_bytes all;
    uint8_t raw[LOCALS];
    tables->entry = header->size >= HEADER_OF_LOCALS_64 ? 16 : 12;
    tables->nlist = uspi_macho_sizes(wide).symbol;
    if (header->locals_offset == 0) {
        return uspi_bytes_error(error, header->bytes, 0, USP_ERROR_NOT_FOUND, "no local symbols");
    }
    int status =
        uspi_bytes_read(header->bytes, header->locals_offset, raw, sizeof raw, "header of local symbols", error);
    if (status != USP_OK) return status;
    all = (struct uspi_bytes){header->bytes.source, header->bytes.from + header->locals_offset,
                              header->bytes.size - header->locals_offset};
    if (uspi_le32(raw + 20) > USPI_DYLD_IMAGES) {
        return uspi_bytes_error(error, all, 20, USP_ERROR_FORMAT, "local symbols of %" PRIu32 " images",
                                uspi_le32(raw + 20));
    }
    const struct uspi_array by_image = {uspi_le32(raw + 16), uspi_le32(raw + 20), tables->entry,
                                        "index of local symbols"};
    const struct uspi_array nlists = {uspi_le32(raw), uspi_le32(raw + 4), tables->nlist, "table of local symbols"};
    status = uspi_bytes_array(all, by_image, &tables->entries, error);
    if (status == USP_OK) status = uspi_bytes_array(all, nlists, &tables->symbols, error);
    if (status != USP_OK) return status;
    return uspi_bytes_sub(all, uspi_le32(raw + 8), uspi_le32(raw + 12), "string table of local symbols",
                          &tables->strings, error);
}

int uspi_dyld_check_locals(const struct uspi_dyld_header *header, bool wide, struct uspi_error *error) {
    struct local_tables tables;
    return find_tables(header, wide, &tables, error);
}

int uspi_dyld_locals(const struct uspi_dyld_header *header, uint64_t offset, bool wide, struct uspi_dyld_locals *locals,
                     struct uspi_error *error) {
    struct local_tables tables;
    uint64_t start = 0;
    int status = find_tables(header, wide, &tables, error);
    if (status == USP_OK) status = find_entry(tables.entries, tables.entry, offset, &start, &locals->count, error);
    if (status != USP_OK) return status;
    locals->strings = tables.strings;
    return uspi_bytes_sub(tables.symbols, start * tables.nlist, locals->count * tables.nlist,
                          "list of the image's local symbols", &locals->entries, error);
}
