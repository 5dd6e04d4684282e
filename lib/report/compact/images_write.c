/* SPDX-License-Identifier: MIT */
/* usp_compact_images_write: writes the same bytes as Swift's encoder, unless the paths define more than KEPT_MAX
 * prefixes. It allocates nothing: prefixes are parts of the images' paths. */
#include "lib/report/compact/bytes.h"
#include "lib/report/compact/prefixes.h"

#include <unspool/compact.h>

/* Maximum number of defined prefixes that are used. Swift writes the numbers after these wrongly: 64 + 256 is the first
 * that needs two bytes. */
#define KEPT_MAX (USPI_PATH_FAR + 256 - USPI_PREFIX_FIRST)

/* Maximum length of the platform's name: its length is written as one byte. */
#define PLATFORM_MAX 255

struct writer {
    struct uspi_compact_out out;
    uint64_t base; /* load address of the previous image */
    size_t kept;
    struct uspi_span prefixes[KEPT_MAX];
};

/* Returns the number of the longest prefix that a text begins with; SIZE_MAX: there is none. */
static size_t find_prefix(const struct writer *writer, struct uspi_span text, size_t *length) {
    size_t found = SIZE_MAX;
    *length = 0;
    for (size_t i = 0; i < USPI_PREFIX_FIXED; i++) {
        const struct uspi_span prefix = uspi_fixed_prefixes[i];
        if (prefix.length <= *length || !uspi_span_begins(text, prefix)) continue;
        *length = prefix.length;
        found = i;
    }
    for (size_t i = 0; i < writer->kept; i++) {
        const struct uspi_span prefix = writer->prefixes[i];
        if (prefix.length <= *length || !uspi_span_begins(text, prefix)) continue;
        *length = prefix.length;
        found = USPI_PREFIX_FIRST + i;
    }
    return found;
}

static void put_prefix(struct writer *writer, size_t number) {
    if (number < USPI_PATH_FAR) {
        uspi_compact_put(&writer->out, (uint8_t)(USPI_PATH_PREFIX | number));
        return;
    }
    uspi_compact_put(&writer->out, USPI_PATH_FAR_PREFIX);
    uspi_compact_put(&writer->out, (uint8_t)(number - USPI_PATH_FAR));
}

static void define_prefixes(struct writer *writer, struct uspi_span text) {
    for (size_t i = 1; i < text.length && writer->kept < KEPT_MAX; i++) {
        if (uspi_is_separator(text.bytes[i])) writer->prefixes[writer->kept++] = uspi_span_part(text, 0, i);
    }
}

/* Returns the last component of a path. */
static struct uspi_span name_of(struct uspi_span path) {
    size_t from = path.length;
    while (from > 0 && !uspi_is_separator(path.bytes[from - 1])) from--;
    return uspi_span_after(path, from);
}

/* Writes "/NAME.framework/Versions/V/NAME", where V is one character, in its short form. Returns false for any other
 * text. */
static bool put_framework(struct writer *writer, struct uspi_span text, struct uspi_span name) {
    static const struct uspi_span versions = USPI_SPAN_INIT(".framework/Versions/");
    const size_t at = 1 + name.length + versions.length;
    if (name.length == 0 || name.length > USPI_PATH_COUNT_MAX + 1) return false;
    if (text.length != at + 2 + name.length || text.bytes[0] != '/' || text.bytes[at + 1] != '/') return false;
    if (!uspi_span_has_at(text, 1, name) || !uspi_span_has_at(text, 1 + name.length, versions)) return false;
    uspi_compact_put(&writer->out, (uint8_t)(USPI_PATH_FRAMEWORK | (name.length - 1)));
    uspi_compact_put(&writer->out, (uint8_t)text.bytes[at]);
    uspi_compact_put_bytes(&writer->out, name.bytes, name.length);
    return true;
}

static void put_path(struct writer *writer, struct uspi_span path) {
    struct uspi_span rest = path;
    size_t number, length;
    while (rest.length > 0 && (number = find_prefix(writer, rest, &length)) != SIZE_MAX) {
        put_prefix(writer, number);
        rest = uspi_span_after(rest, length);
    }
    if (put_framework(writer, rest, name_of(path))) return;
    define_prefixes(writer, rest);
    while (rest.length > 0) {
        const size_t part = rest.length < USPI_PATH_COUNT_MAX ? rest.length : USPI_PATH_COUNT_MAX;
        uspi_compact_put(&writer->out, (uint8_t)part);
        uspi_compact_put_bytes(&writer->out, rest.bytes, part);
        rest = uspi_span_after(rest, part);
    }
    uspi_compact_put(&writer->out, USPI_PATH_END);
}

/* Returns an address as a signed number of 64 bits. Swift computes with these for every size of addresses. */
static uint64_t extend(uint64_t address, unsigned width) {
    const uint64_t cut = uspi_compact_cut(address, width);
    return width < 8 && cut >> (8 * width - 1) != 0 ? cut | UINT64_MAX << 8 * width : cut;
}

static void put_image(struct writer *writer, const struct usp_image *image) {
    const unsigned width = writer->out.width;
    const uint64_t end = image->text_high > image->text_low ? image->text_high : image->end;
    const uint64_t base = extend(image->load_address, width), delta = base - writer->base;
    const uint64_t text = extend(end, width) - base;
    const unsigned whole = uspi_compact_signed_size(base, 8), part = uspi_compact_signed_size(delta, 8);
    const unsigned text_size = uspi_compact_signed_size(text, 8);
    const bool is_whole = whole <= part;
    writer->base = base;
    uspi_compact_put(&writer->out,
                     (uint8_t)((is_whole ? 0 : 0x80) | ((is_whole ? whole : part) - 1) << 3 | (text_size - 1)));
    uspi_compact_put_number(&writer->out, is_whole ? base : delta, is_whole ? whole : part);
    uspi_compact_put_number(&writer->out, text, text_size);
    uspi_compact_put_count(&writer->out, image->build_id_size);
    uspi_compact_put_bytes(&writer->out, image->build_id, image->build_id_size);
    put_path(writer, uspi_span_of(image->path));
}

int usp_compact_images_write(const struct usp_images *images, uint32_t arch, const char *platform, uint8_t *bytes,
                             size_t capacity, size_t *size) {
    struct writer writer = {.base = 0};
    struct uspi_span name = uspi_span_of(platform);
    if (images == NULL || size == NULL || (bytes == NULL && capacity > 0)) return USP_ERROR_ARGUMENT;
    if (name.length > PLATFORM_MAX) return USP_ERROR_ARGUMENT;
    uspi_compact_open(&writer.out, bytes, capacity, arch);
    uspi_compact_put(&writer.out, (uint8_t)name.length);
    uspi_compact_put_bytes(&writer.out, name.bytes, name.length);
    uspi_compact_put_count(&writer.out, usp_images_count(images));
    for (size_t i = 0; i < usp_images_count(images); i++) put_image(&writer, usp_images_get(images, i));
    return uspi_compact_close(&writer.out, size);
}
