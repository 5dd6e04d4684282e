/* SPDX-License-Identifier: MIT */
/* Reads the mappings of a Linux process: /proc/PID/maps, as hs_err and many logs contain it; gdb's `info proc
 * mappings`; Android's tombstones.
 *
 *   55d0c0000000-55d0c0001000 r-xp 00001000 08:01 1234    /opt/prog
 *         0x555555555000     0x555555556000     0x1000     0x1000  r-xp   /opt/prog
 *       00000074'1b5f2000-00000074'1b5f2fff r-x         0      1000  /system/lib64/libc.so (BuildId: …)
 *
 * Sources: proc(5); gdb; debuggerd tombstone_proto_to_text.cpp. */
#include "lib/report/read/line.h"

/* Reads an address. Tombstones write a quote in the middle of it. */
static bool scan_address(struct uspi_span line, size_t *at, uint64_t *value) {
    uint64_t low;
    if (!uspi_scan_hex_digits(line, at, value)) return false;
    if (!uspi_skip(line, at, USPI_SPAN("'"))) return true;
    if (*value > UINT32_MAX || !uspi_scan_hex_digits(line, at, &low) || low > UINT32_MAX) return false;
    *value = *value << 32 | low;
    return true;
}

static bool scan_rights(struct uspi_span line, size_t *at) {
    struct uspi_span rights = uspi_scan_word(line, at);
    if (rights.length != 3 && rights.length != 4) return false;
    for (size_t i = 0; i < rights.length; i++) {
        if (memchr("rwxps-", rights.bytes[i], 6) == NULL) return false;
    }
    return rights.bytes[0] == 'r' || rights.bytes[0] == '-';
}

/* Reads the path of a mapped file. Any other mapping belongs to the list, but is not an image. */
static bool take_path(struct uspi_span text, struct uspi_read_image *image) {
    text = uspi_span_trim(text);
    size_t end = uspi_span_find(text, 0, USPI_SPAN(" (BuildId: ")), id = end + 11;
    if (end < text.length) {
        struct uspi_span digits = uspi_span_part(text, id, uspi_span_find(text, id, USPI_SPAN(")")));
        image->id_size = uspi_scan_id(digits, image->id, sizeof image->id);
    } else {
        end = uspi_span_find(text, 0, USPI_SPAN(" (load bias "));
        size_t deleted = uspi_span_find(text, 0, USPI_SPAN(" (deleted)"));
        if (deleted < end) end = deleted;
    }
    if (uspi_span_begins(text, USPI_SPAN("/"))) image->path = image->ident = uspi_span_part(text, 0, end);
    return true;
}

static bool find_maps(struct uspi_span line, struct uspi_read_image *image) {
    size_t at = 0;
    uint64_t size;
    uspi_skip_blanks(line, &at);
    if (at >= line.length || uspi_hex_digit(line.bytes[at]) < 0) return false;
    if (!scan_address(line, &at, &image->first) || !uspi_skip(line, &at, USPI_SPAN("-"))) return false;
    if (!scan_address(line, &at, &image->last) || !uspi_skip(line, &at, USPI_SPAN(" "))) return false;
    bool is_kernels = scan_rights(line, &at) && uspi_skip(line, &at, USPI_SPAN(" ")) && image->last > image->first;
    if (!is_kernels) return false;
    bool is_tombstone = uspi_span_has_at(line, at, USPI_SPAN(" "));
    uspi_skip_blanks(line, &at);
    if (!uspi_scan_hex_digits(line, &at, &image->base_offset) || !uspi_skip(line, &at, USPI_SPAN(" "))) return false;
    uspi_skip_blanks(line, &at);
    if (is_tombstone) {
        if (!uspi_scan_hex_digits(line, &at, &size)) return false;
    } else {
        image->last--;
        if (uspi_scan_word(line, &at).length < 3) return false; /* the device */
        uspi_skip_blanks(line, &at);
        if (!uspi_scan_decimal(line, &at, &size)) return false; /* the inode */
    }
    image->base = USP_PLACE_FILE;
    return take_path(uspi_span_after(line, at), image);
}

static bool find_gdb_maps(struct uspi_span line, struct uspi_read_image *image) {
    size_t at = 0;
    uint64_t size;
    uspi_skip_blanks(line, &at);
    if (!uspi_scan_hex(line, &at, &image->first)) return false;
    uspi_skip_blanks(line, &at);
    if (!uspi_scan_hex(line, &at, &image->last) || image->last <= image->first) return false;
    uspi_skip_blanks(line, &at);
    if (!uspi_scan_hex(line, &at, &size) || size != image->last - image->first) return false;
    uspi_skip_blanks(line, &at);
    if (!uspi_scan_hex(line, &at, &image->base_offset)) return false;
    uspi_skip_blanks(line, &at);
    /* gdb before 12 shows no rights. */
    size_t rights = at;
    if (scan_rights(line, &rights)) at = rights;
    image->last--;
    image->base = USP_PLACE_FILE;
    return take_path(uspi_span_after(line, at), image);
}

const struct uspi_line_shape uspi_maps_lines = {
    .name = "maps", .image_begins = USPI_BEGINS_DIGIT | USPI_BEGINS_LETTER, .image = find_maps};
const struct uspi_line_shape uspi_gdb_maps_lines = {
    .name = "gdb", .image_bytes = USPI_HAS_X, .image_begins = USPI_BEGINS_0X, .image = find_gdb_maps};
