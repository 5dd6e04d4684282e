/* SPDX-License-Identifier: MIT */
/* usp_compact_images_read: reads Swift's compact image maps. */
#include "arch/backend.h"
#include "lib/base/array.h"
#include "lib/report/compact/bytes.h"
#include "lib/report/compact/prefixes.h"

#include <unspool/compact.h>

/* Limits. Prefixes may contain prefixes, so that a few bytes could become a path of any length. */
#define PATH_MAX_BYTES   ((size_t)4096)  /* bytes of one path; Linux's PATH_MAX */
#define EXPANSION_MAX    64              /* bytes of all paths for each byte of the map; real programs need about two */
#define EXPANSION_ALWAYS ((size_t)65536) /* bytes of all paths in addition to that */

/* A part of `text`. */
struct piece {
    size_t at, length;
};

struct reader {
    struct uspi_compact_in in;
    char *text; /* all paths, each NUL-terminated */
    size_t text_size, text_capacity, text_max;
    struct piece *prefixes;
    size_t prefix_count, prefix_capacity;
    struct usp_image *images; /* they get their paths when all have been read */
    size_t *paths;            /* the position of each image's path in `text` */
    size_t count, image_capacity, path_capacity;
    size_t path;        /* where the current path begins in `text` */
    size_t path_prefix; /* where its first characters begin that are not a prefix; SIZE_MAX: none came yet */
};

static void clear(struct reader *reader) {
    free(reader->text);
    free(reader->prefixes);
    free(reader->images);
    free(reader->paths);
}

/* ---- paths ---- */

static int append(struct reader *reader, struct uspi_span span) {
    const size_t size = reader->text_size - reader->path;
    if (span.length > PATH_MAX_BYTES - size || span.length > reader->text_max - reader->text_size)
        return USP_ERROR_FORMAT;
    if (!uspi_room_for(&reader->text, &reader->text_capacity, reader->text_size, span.length + 1, 1)) {
        return USP_ERROR_NO_MEMORY;
    }
    if (span.length > 0) memcpy(reader->text + reader->text_size, span.bytes, span.length);
    reader->text_size += span.length;
    return USP_OK;
}

/* Takes the next `length` bytes. */
static int take(struct reader *reader, uint64_t length, struct uspi_span *span) {
    if (length > uspi_compact_left(&reader->in)) return USP_ERROR_TRUNCATED;
    *span = (struct uspi_span){(const char *)reader->in.at, (size_t)length};
    reader->in.at += length;
    return USP_OK;
}

static int define_prefix(struct reader *reader) {
    if (!uspi_room_for(&reader->prefixes, &reader->prefix_capacity, reader->prefix_count, 1,
                       sizeof *reader->prefixes)) {
        return USP_ERROR_NO_MEMORY;
    }
    const size_t at = reader->path_prefix;
    reader->prefixes[reader->prefix_count++] = (struct piece){at, reader->text_size - at};
    return USP_OK;
}

static int read_characters(struct reader *reader, unsigned count) {
    struct uspi_span span;
    int status = take(reader, count, &span);
    if (status != USP_OK) return status;
    if (reader->path_prefix == SIZE_MAX) reader->path_prefix = reader->text_size;
    for (size_t i = 0; status == USP_OK && i < count; i++) {
        if (span.bytes[i] == '\0') return USP_ERROR_FORMAT;
        if (reader->text_size > reader->path_prefix && uspi_is_separator(span.bytes[i])) status = define_prefix(reader);
        if (status == USP_OK) status = append(reader, uspi_span_part(span, i, i + 1));
    }
    return status;
}

static int read_framework(struct reader *reader, unsigned count) {
    struct uspi_span version, name;
    int status = take(reader, 1, &version);
    if (status == USP_OK) status = take(reader, count, &name);
    if (status != USP_OK) return status;
    if (version.bytes[0] == '\0' || memchr(name.bytes, '\0', name.length) != NULL) return USP_ERROR_FORMAT;
    const struct uspi_span parts[] = {USPI_SPAN("/"), name,           USPI_SPAN(".framework/Versions/"),
                                      version,        USPI_SPAN("/"), name};
    for (size_t i = 0; status == USP_OK && i < sizeof parts / sizeof *parts; i++) status = append(reader, parts[i]);
    return status;
}

static int read_prefix(struct reader *reader, uint8_t byte) {
    const unsigned low = byte & USPI_PATH_COUNT_MAX;
    uint64_t number = low;
    if (byte >= USPI_PATH_FAR_PREFIX) {
        if (low + 1 > 8) return USP_ERROR_FORMAT;
        int status = uspi_compact_number(&reader->in, low + 1, &number);
        if (status != USP_OK) return status;
        if (number > SIZE_MAX - USPI_PATH_FAR) return USP_ERROR_FORMAT;
        number += USPI_PATH_FAR;
    }
    if (number < USPI_PREFIX_FIXED) return append(reader, uspi_fixed_prefixes[number]);
    if (number < USPI_PREFIX_FIRST || number - USPI_PREFIX_FIRST >= reader->prefix_count) return USP_ERROR_FORMAT;
    const struct piece piece = reader->prefixes[number - USPI_PREFIX_FIRST];
    /* Making room may move the text, which contains the prefix. */
    if (!uspi_room_for(&reader->text, &reader->text_capacity, reader->text_size, piece.length + 1, 1)) {
        return USP_ERROR_NO_MEMORY;
    }
    return append(reader, (struct uspi_span){reader->text + piece.at, piece.length});
}

static int read_path(struct reader *reader, size_t *path) {
    uint8_t byte = USPI_PATH_END;
    int status = USP_OK;
    *path = reader->path = reader->text_size;
    reader->path_prefix = SIZE_MAX;
    do {
        if (!uspi_compact_byte(&reader->in, &byte)) return USP_ERROR_TRUNCATED;
        const unsigned low = byte & USPI_PATH_COUNT_MAX;
        if (byte >= USPI_PATH_PREFIX) {
            status = read_prefix(reader, byte);
        } else if (byte >= USPI_PATH_FRAMEWORK) {
            status = read_framework(reader, low + 1);
            byte = USPI_PATH_END;
        } else if (byte != USPI_PATH_END) {
            status = read_characters(reader, low);
        }
    } while (status == USP_OK && byte != USPI_PATH_END);
    if (status == USP_OK) status = append(reader, (struct uspi_span){"", 0});
    if (status == USP_OK) reader->text[reader->text_size++] = '\0';
    return status;
}

/* ---- images ---- */

static int read_build_id(struct reader *reader, struct usp_image *image) {
    struct uspi_span id;
    uint64_t size;
    int status = uspi_compact_count(&reader->in, &size);
    if (status == USP_OK) status = take(reader, size, &id);
    if (status != USP_OK) return status;
    image->build_id_size = size < USP_BUILD_ID_MAX ? (uint32_t)size : USP_BUILD_ID_MAX;
    if (size > 0) memcpy(image->build_id, id.bytes, image->build_id_size);
    return USP_OK;
}

static int read_image(struct reader *reader, uint32_t arch, uint64_t *base) {
    struct usp_image image = {.arch = arch};
    uint64_t address, text;
    uint8_t head;
    size_t path;
    if (!uspi_compact_byte(&reader->in, &head)) return USP_ERROR_TRUNCATED;
    if (!uspi_compact_address(&reader->in, (head >> 3 & 7) + 1, &address)) return USP_ERROR_TRUNCATED;
    if (!uspi_compact_address(&reader->in, (head & 7) + 1, &text)) return USP_ERROR_TRUNCATED;
    *base = uspi_compact_cut((head & 0x80) != 0 ? *base + address : address, reader->in.width);
    image.load_address = image.slide = *base;
    image.end = uspi_compact_cut(*base + text, reader->in.width);
    /* An image that ends before its beginning contains no address. */
    if (image.end < image.load_address) image.end = image.load_address;
    int status = read_build_id(reader, &image);
    if (status == USP_OK) status = read_path(reader, &path);
    if (status != USP_OK) return status;
    if (!uspi_room_for(&reader->images, &reader->image_capacity, reader->count, 1, sizeof image) ||
        !uspi_room_for(&reader->paths, &reader->path_capacity, reader->count, 1, sizeof path)) {
        return USP_ERROR_NO_MEMORY;
    }
    reader->images[reader->count] = image;
    reader->paths[reader->count++] = path;
    return USP_OK;
}

static int read_platform(struct reader *reader, char *platform, size_t capacity) {
    struct uspi_span name;
    uint8_t length;
    if (!uspi_compact_byte(&reader->in, &length)) return USP_ERROR_TRUNCATED;
    int status = take(reader, length, &name);
    if (status != USP_OK || platform == NULL || capacity == 0) return status;
    size_t kept = length < capacity ? length : capacity - 1;
    memcpy(platform, name.bytes, kept);
    platform[kept] = '\0';
    return USP_OK;
}

static int read_map(struct reader *reader, uint32_t arch, struct usp_images **images) {
    uint64_t count, base = 0;
    int status = uspi_compact_count(&reader->in, &count);
    for (uint64_t i = 0; status == USP_OK && i < count; i++) status = read_image(reader, arch, &base);
    if (status != USP_OK) return status;
    for (size_t i = 0; i < reader->count; i++) reader->images[i].path = reader->text + reader->paths[i];
    status = usp_images_create(reader->images, reader->count, images);
    /* USP_ERROR_ARGUMENT can only mean that images overlap. */
    return status == USP_ERROR_ARGUMENT ? USP_ERROR_FORMAT : status;
}

int usp_compact_images_read(const uint8_t *bytes, size_t n, uint32_t arch, struct usp_images **images, char *platform,
                            size_t platform_size) {
    struct reader reader = {.text_max = SIZE_MAX};
    if (images == NULL || (bytes == NULL && n > 0) || !uspi_arch_is_known(arch)) return USP_ERROR_ARGUMENT;
    *images = NULL;
    if (platform != NULL && platform_size > 0) platform[0] = '\0';
    if (n <= (SIZE_MAX - EXPANSION_ALWAYS) / EXPANSION_MAX) reader.text_max = n * EXPANSION_MAX + EXPANSION_ALWAYS;
    int status = uspi_compact_begin(&reader.in, bytes, n);
    if (status == USP_OK) status = read_platform(&reader, platform, platform_size);
    if (status == USP_OK) status = read_map(&reader, arch, images);
    clear(&reader);
    return status;
}
