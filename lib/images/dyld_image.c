/* SPDX-License-Identifier: MIT */
/* See dyld_image.h. */
#include "lib/images/dyld_image.h"

#include "lib/object/macho_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits: the bytes of one segment, and of all. */
#define SEGMENT_MAX   ((uint64_t)1 << 30)
#define FILE_SIZE_MAX ((uint64_t)2 << 30)
#define SEGMENTS_MAX  64

#define ALIGNMENT UINT64_C(0x4000)

/* Section types without bytes in the file: zerofill, large zerofill, thread-local zerofill. */
#define S_ZEROFILL              0x1
#define S_GB_ZEROFILL           0xc
#define S_THREAD_LOCAL_ZEROFILL 0x12

/* Returns whether a command refers to data in the shared __LINKEDIT that the image does not keep: a code signature, split
 * information, a table of data in code, requirements, optimization hints, atoms, variants of functions, libraries that
 * are loaded later, fixups (dyld removes most of them). */
static bool is_dropped(uint32_t kind) {
    return kind == 0x1d || kind == 0x1e || kind == 0x21 || kind == 0x29 || (kind >= 0x2b && kind <= 0x2e) ||
           (kind >= 0x36 && kind <= 0x38) || kind == 0x3a || kind == USPI_LC_DYLD_CHAINED_FIXUPS;
}

/* A part of the made file. */
struct part {
    uint64_t offset, size;
    usp_addr address;     /* of its bytes in the cache */
    const uint8_t *bytes; /* NULL: these */
};

struct image {
    struct uspi_dyld_source source;
    uint8_t *original; /* a copy of the header and the load commands, which the file may change meanwhile */
    struct uspi_source original_source;
    struct uspi_pointers pointers;
    struct part parts[SEGMENTS_MAX + 2]; /* the segments by offset; the header with the commands; __LINKEDIT */
    uint32_t part_count;
    uint8_t *commands; /* the Mach-O header and the load commands, which replace those of the cache */
    size_t command_size;
    uint64_t linkedit_offset, size; /* of the made file */
    struct uspi_dyld_linkedit linkedit;
};

static void close_image(void *context) {
    struct image *image = context;
    free(image->original);
    free(image->commands);
    free(image->linkedit.bytes);
    free(image);
}

/* ---- reading ---- */

/* The `read` of the made file. What no part has is zero. */
static int read_image(void *context, uint64_t at, void *to, size_t n) {
    const struct image *image = context;
    uint8_t *bytes = to;
    if (at > image->size || n > image->size - at) return USP_ERROR_TRUNCATED;
    memset(bytes, 0, n);
    for (uint32_t i = 0; i < image->part_count; i++) {
        const struct part *part = &image->parts[i];
        const uint64_t low = at > part->offset ? at : part->offset, part_end = part->offset + part->size;
        const uint64_t high = at + n < part_end ? at + n : part_end;
        if (low >= high) continue;
        const uint64_t inside = low - part->offset;
        uint8_t *there = bytes + (size_t)(low - at);
        if (part->bytes != NULL) {
            memcpy(there, part->bytes + (size_t)inside, (size_t)(high - low));
            continue;
        }
        int status =
            uspi_dyld_read((void *)(uintptr_t)image->source.cache, part->address + inside, there, (size_t)(high - low));
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

/* ---- load commands ---- */

static void put_32(uint8_t *to, uint64_t value) { uspi_store_le32(to, (uint32_t)value); }

/* Writes where a table lies in the made file. */
static void put_piece(const struct image *image, uint8_t *to, const struct uspi_dyld_piece *piece) {
    put_32(to, piece->size > 0 ? image->linkedit_offset + piece->offset : 0);
    put_32(to + 4, piece->size);
}

/* Sets the file offsets of a segment's sections. */
static void place_sections(uint8_t *command, const struct uspi_macho_sizes *sizes, const struct part *part,
                           uint32_t count) {
    uint8_t *section = command + sizes->segment;
    for (uint32_t i = 0; i < count; i++, section += sizes->section) {
        uint8_t *rest = section + 32 + 2 * sizes->word;
        const uint64_t inside = uspi_le(section + 32, sizes->word) - part->address;
        const uint32_t type = uspi_le32(rest + 16) & USPI_S_TYPE;
        const bool is_empty = type == S_ZEROFILL || type == S_GB_ZEROFILL || type == S_THREAD_LOCAL_ZEROFILL;
        put_32(rest, !is_empty && inside < part->size ? part->offset + inside : 0);
        /* Relocations are not kept. */
        put_32(rest + 8, 0);
        put_32(rest + 12, 0);
    }
}

/* Whether a segment shares addresses with an earlier one. The made file would have these bytes several times. */
static bool overlaps(const struct image *image, usp_addr address, uint64_t size) {
    for (uint32_t i = 0; i < image->part_count; i++) {
        const struct part *part = &image->parts[i];
        const bool is_inside =
            address >= part->address ? address - part->address < part->size : part->address - address < size;
        if (size > 0 && part->size > 0 && is_inside) return true;
    }
    return false;
}

/* Gives a segment its place in the made file. Of one whose file is missing, no bytes are there. */
static int place_segment(struct image *image, const struct uspi_macho_command *command, uint8_t *raw,
                         struct uspi_error *error) {
    const struct uspi_macho_sizes sizes = uspi_macho_sizes(image->source.macho.wide);
    struct uspi_macho_segment segment;
    int status = uspi_macho_segment(command, &segment, error);
    if (status != USP_OK) return status;
    if (strcmp(segment.name, "__LINKEDIT") == 0) {
        image->source.linkedit = segment;
        return USP_OK;
    }
    const bool is_first = image->part_count == 0;
    uint64_t size = segment.file_size < segment.memory_size ? segment.file_size : segment.memory_size;
    if (size > SEGMENT_MAX) size = SEGMENT_MAX;
    size = uspi_dyld_extent(image->source.cache, segment.address, size);
    const bool is_elsewhere = is_first && segment.address != image->source.member->address;
    if (image->part_count == SEGMENTS_MAX || image->size + size > FILE_SIZE_MAX || is_elsewhere ||
        overlaps(image, segment.address, size)) {
        return uspi_bytes_error(error, command->bytes, 0, USP_ERROR_FORMAT, "segment %s cannot be placed",
                                segment.name);
    }
    struct part *part = &image->parts[image->part_count++];
    *part = (struct part){.offset = image->size, .size = size, .address = segment.address};
    uspi_store_le(raw + 24 + 2 * sizes.word, part->offset, sizes.word);
    uspi_store_le(raw + 24 + 3 * sizes.word, size, sizes.word);
    place_sections(raw, &sizes, part, segment.section_count);
    image->size = (image->size + size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
    return USP_OK;
}

/* Reads the header and the load commands. */
static int read_commands(struct image *image, struct uspi_error *error) {
    const struct uspi_dyld_cache *cache = image->source.cache;
    struct uspi_macho macho;
    int status = uspi_dyld_open_member(cache, image->source.member, &macho, error);
    if (status != USP_OK) return status;
    const size_t size = uspi_macho_sizes(macho.wide).header + (size_t)macho.commands.size;
    image->original = malloc(size);
    if (image->original == NULL) return USP_ERROR_NO_MEMORY;
    status = uspi_bytes_read(macho.bytes, 0, image->original, size, "load commands", error);
    image->original_source = (struct uspi_source){.name = cache->path, .base = image->original};
    const struct uspi_bytes copy = {&image->original_source, 0, size};
    return status == USP_OK ? uspi_macho_open(&image->source.macho, copy, error) : status;
}

/* Copies the header and the commands that are kept, and places the segments. */
static int copy_commands(struct image *image, struct uspi_error *error) {
    const struct uspi_macho *macho = &image->source.macho;
    const size_t header = uspi_macho_sizes(macho->wide).header;
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_command command;
    uint32_t count = 0;
    int got;
    image->command_size = header + (size_t)macho->commands.size;
    image->commands = calloc(1, image->command_size);
    if (image->commands == NULL) return USP_ERROR_NO_MEMORY;
    int status = uspi_bytes_read(macho->bytes, 0, image->commands, header, "Mach-O header", error);
    if (status != USP_OK) return status;
    uint8_t *to = image->commands + header;
    while ((got = uspi_macho_next(macho, &cursor, &command, error)) > 0) {
        if (is_dropped(command.kind)) continue;
        status = uspi_bytes_read(command.bytes, 0, to, (size_t)command.bytes.size, "load command", error);
        const bool is_segment = command.kind == (macho->wide ? USPI_LC_SEGMENT_64 : USPI_LC_SEGMENT);
        if (status == USP_OK && is_segment) status = place_segment(image, &command, to, error);
        if (status != USP_OK) return status;
        to += command.bytes.size;
        count++;
    }
    if (got < 0) return got;
    put_32(image->commands + 16, count);
    put_32(image->commands + 20, (uint64_t)(to - image->commands) - header);
    return USP_OK;
}

/* ---- the commands of the made __LINKEDIT ---- */

static void place_linkedit(const struct image *image, uint8_t *command, size_t size) {
    const struct uspi_macho_sizes sizes = uspi_macho_sizes(image->source.macho.wide);
    const unsigned word = sizes.word;
    if (size < sizes.segment || memcmp(command + 8, "__LINKEDIT", sizeof "__LINKEDIT") != 0) return;
    uspi_store_le(command + 24 + word, (image->linkedit.size + ALIGNMENT - 1) & ~(ALIGNMENT - 1), word);
    uspi_store_le(command + 24 + 2 * word, image->linkedit_offset, word);
    uspi_store_le(command + 24 + 3 * word, image->linkedit.size, word);
}

static void place_symbols(const struct image *image, uint8_t *command) {
    const struct uspi_dyld_linkedit *linkedit = &image->linkedit;
    put_32(command + 8, linkedit->symbol_count > 0 ? image->linkedit_offset + linkedit->symbols.offset : 0);
    put_32(command + 12, linkedit->symbol_count);
    put_piece(image, command + 16, &linkedit->strings);
}

static void place_dynamic_symbols(const struct image *image, uint8_t *command) {
    const struct uspi_dyld_linkedit *linkedit = &image->linkedit;
    memset(command + 8, 0, 72);
    put_32(command + 12, linkedit->local_count);
    put_32(command + 16, linkedit->local_count);
    put_32(command + 20, linkedit->external_count);
    put_32(command + 24, (uint64_t)linkedit->local_count + linkedit->external_count);
    put_32(command + 28, linkedit->undefined_count);
    put_piece(image, command + 56, &linkedit->indirect);
    put_32(command + 60, linkedit->indirect.size / 4);
}

/* Writes the places of the tables into the copied commands, which uspi_macho_next has checked. */
static void place_tables(const struct image *image) {
    const uint32_t count = uspi_le32(image->commands + 16);
    uint8_t *command = image->commands + uspi_macho_sizes(image->source.macho.wide).header;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t kind = uspi_le32(command), size = uspi_le32(command + 4);
        switch (kind) {
        case USPI_LC_SEGMENT:
        case USPI_LC_SEGMENT_64: place_linkedit(image, command, size); break;
        case USPI_LC_SYMTAB:
            if (size >= 24) place_symbols(image, command);
            break;
        case USPI_LC_DYSYMTAB:
            if (size >= 80) place_dynamic_symbols(image, command);
            break;
        case USPI_LC_FUNCTION_STARTS:
            if (size >= 16) put_piece(image, command + 8, &image->linkedit.starts);
            break;
        case USPI_LC_DYLD_EXPORTS_TRIE:
            if (size >= 16) put_piece(image, command + 8, &image->linkedit.exports);
            break;
        case USPI_LC_DYLD_INFO:
        case USPI_LC_DYLD_INFO_ONLY:
            if (size < 48) break;
            /* Rebasing and binding are done. */
            memset(command + 8, 0, 32);
            put_piece(image, command + 40, &image->linkedit.exports);
            break;
        default: break;
        }
        command += size;
    }
}

/* ---- opening ---- */

static int make_image(struct image *image, struct uspi_error *error) {
    const struct uspi_dyld_cache *cache = image->source.cache;
    int status = read_commands(image, error);
    if (status == USP_OK) status = copy_commands(image, error);
    if (status == USP_OK) status = uspi_dyld_linkedit_make(&image->source, &image->linkedit);
    if (status != USP_OK) return status;
    image->linkedit_offset = image->size;
    image->size += image->linkedit.size;
    image->parts[image->part_count++] = (struct part){.size = image->command_size, .bytes = image->commands};
    image->parts[image->part_count++] =
        (struct part){.offset = image->linkedit_offset, .size = image->linkedit.size, .bytes = image->linkedit.bytes};
    place_tables(image);
    image->pointers = (struct uspi_pointers){.shared_cache = cache->base, .selectors = cache->selectors};
    return USP_OK;
}

/* The `read` of the file of a range of stubs. */
static int read_stubs(void *context, uint64_t at, void *to, size_t n) {
    const struct uspi_dyld_stubs *stubs = context;
    return uspi_dyld_read((void *)(uintptr_t)stubs->cache, stubs->address + at, to, n);
}

uint32_t uspi_dyld_withheld(const struct uspi_dyld_cache *cache) {
    uint32_t withheld = 0;
    for (uint32_t i = 0; i < cache->file_count; i++) {
        if (cache->files[i] != NULL) withheld |= uspi_file_withheld(cache->files[i]->file);
    }
    return withheld;
}

static int make_file(const struct uspi_dyld_source *source, const struct uspi_made_bytes *made,
                     struct uspi_file **file) {
    const struct uspi_dyld_cache *cache = source->cache;
    struct uspi_made_bytes bytes = *made;
    char path[2048];
    /* An image may have bytes of each file. */
    bytes.withheld |= uspi_dyld_withheld(cache);
    snprintf(path, sizeof path, "%s(%s)", cache->path, source->member->path);
    return uspi_file_of_made(path, &bytes, file);
}

static int open_stubs(const struct uspi_dyld_source *source, struct uspi_file **file) {
    struct uspi_dyld_stubs *stubs = malloc(sizeof *stubs);
    if (stubs == NULL) return USP_ERROR_NO_MEMORY;
    *stubs = (struct uspi_dyld_stubs){source->cache, source->member->address, source->member->text_size};
    const struct uspi_made_bytes made = {.size = stubs->size, .read = read_stubs, .close = free, .context = stubs};
    const int status = make_file(source, &made, file);
    if (status != USP_OK) free(stubs);
    return status;
}

/* Frees the made __LINKEDIT once the file has it in its memory: it is the most that an image takes. */
static void keep_once(struct image *image, const struct uspi_file *file) {
    const struct uspi_dyld_linkedit *linkedit = &image->linkedit;
    if (linkedit->size == 0) return;
    const uint8_t *there = uspi_bytes_in_place(uspi_file_bytes(file), image->linkedit_offset, linkedit->size);
    if (there == NULL) return;
    image->parts[image->part_count - 1].bytes = there;
    free(image->linkedit.bytes);
    image->linkedit.bytes = NULL;
}

static int open_image(const struct uspi_dyld_source *source, struct uspi_file **file, struct uspi_error *error) {
    struct image *image = calloc(1, sizeof *image);
    if (image == NULL) return USP_ERROR_NO_MEMORY;
    image->source = *source;
    int status = make_image(image, error);
    const struct uspi_made_bytes made = {
        .size = image->size, .read = read_image, .close = close_image, .context = image};
    if (status == USP_OK) status = make_file(source, &made, file);
    if (status == USP_OK) keep_once(image, *file);
    if (status != USP_OK) close_image(image);
    return status;
}

static int open_member(const struct uspi_dyld_cache *cache, const struct uspi_dyld_member *member,
                       struct uspi_file **file, struct uspi_error *error) {
    const struct uspi_dyld_source source = {.cache = cache, .member = member};
    *file = NULL;
    const int status = member->is_stubs ? open_stubs(&source, file) : open_image(&source, file, error);
    return status == USP_ERROR_NO_MEMORY ? uspi_error_set(error, status, "%s: out of memory", cache->path) : status;
}

int uspi_dyld_image_open(const struct usp_dyld_caches *caches, const uint8_t uuid[16], struct uspi_file **file,
                         struct uspi_error *error) {
    const struct uspi_dyld_cache *cache;
    const struct uspi_dyld_member *member;
    *file = NULL;
    if (uspi_dyld_find(caches, uuid, &cache, &member)) return open_member(cache, member, file, error);
    return uspi_error_set(error, USP_ERROR_NOT_FOUND, "no shared cache has the image");
}

int uspi_dyld_image_open_at(const struct uspi_dyld_cache *cache, usp_addr address, struct uspi_file **file,
                            struct uspi_error *error) {
    const struct uspi_dyld_member *member = uspi_dyld_member_at(cache, address);
    *file = NULL;
    if (member != NULL && !member->is_stubs) return open_member(cache, member, file, error);
    return uspi_error_set(error, USP_ERROR_NOT_FOUND, "%s: no image is at the address", cache->path);
}

bool uspi_dyld_stubs_of(const struct uspi_file *file, struct uspi_dyld_stubs *stubs) {
    const struct uspi_dyld_stubs *found = uspi_file_context(file, read_stubs);
    if (found != NULL) *stubs = *found;
    return found != NULL;
}

bool uspi_dyld_image_in_cache(const struct uspi_file *file, struct uspi_bytes *bytes, struct uspi_pointers *pointers) {
    const struct image *image = uspi_file_context(file, read_image);
    if (image == NULL) return false;
    *bytes = uspi_bytes_at(&image->source.cache->source, image->source.member->address);
    *pointers = image->pointers;
    return true;
}
