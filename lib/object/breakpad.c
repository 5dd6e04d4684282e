/* SPDX-License-Identifier: MIT */
/* See breakpad.h. */
#include "lib/object/breakpad.h"

#include <string.h>

/* How many lines after MODULE are searched for CODE_ID. Records that describe the image are at the beginning. */
#define LINES_SEARCHED 8u

/* Digits of the UUID in MODULE, and at most of the age that follows it. */
#define UUID_DIGITS 32u
#define AGE_DIGITS  8u

static const struct uspi_span module = USPI_SPAN_INIT("MODULE "), code_id = USPI_SPAN_INIT("INFO CODE_ID ");

/* Returns the line at *at without its line end, and moves *at to the next line. */
static struct uspi_span take_line(struct uspi_span text, size_t *at) {
    const char *from = text.bytes + *at, *end = memchr(from, '\n', text.length - *at);
    const size_t length = end != NULL ? (size_t)(end - from) : text.length - *at;
    *at += length + (end != NULL ? 1 : 0);
    return (struct uspi_span){from, length > 0 && from[length - 1] == '\r' ? length - 1 : length};
}

/* Returns the text up to the next space, and removes both from *text. */
static struct uspi_span take_word(struct uspi_span *text) {
    const char *end = text->length > 0 ? memchr(text->bytes, ' ', text->length) : NULL;
    const size_t length = end != NULL ? (size_t)(end - text->bytes) : text->length;
    const struct uspi_span word = uspi_span_part(*text, 0, length);
    *text = uspi_span_after(*text, end != NULL ? length + 1 : length);
    return word;
}

static bool take_hex(struct uspi_span *text, uint64_t *value) {
    const struct uspi_span word = take_word(text);
    size_t at = 0;
    return uspi_scan_hex_digits(word, &at, value) && at == word.length;
}

static bool take_decimal(struct uspi_span *text, uint64_t *value) {
    const struct uspi_span word = take_word(text);
    size_t at = 0;
    return uspi_scan_decimal(word, &at, value) && at == word.length;
}

/* ---- the image ---- */

static bool read_bytes(struct uspi_span digits, uint8_t *to, uint32_t *size) {
    if (digits.length % 2 != 0 || digits.length < 4 || digits.length > 2 * USP_BUILD_ID_MAX) return false;
    for (size_t i = 0; i < digits.length; i += 2) {
        const int high = uspi_hex_digit(digits.bytes[i]), low = uspi_hex_digit(digits.bytes[i + 1]);
        if (high < 0 || low < 0) return false;
        to[i / 2] = (uint8_t)(high << 4 | low);
    }
    *size = (uint32_t)(digits.length / 2);
    return true;
}

/* Restores the first 16 bytes of an ELF build id from the UUID in MODULE. MODULE writes them as a GUID, whose first
 * three fields are numbers with the high digits first (symbolicator, docs/advanced/symbol-server-compatibility.md). */
static void unswap(uint8_t *id) {
    static const uint8_t order[8] = {3, 2, 1, 0, 5, 4, 7, 6};
    uint8_t fields[8];
    for (unsigned i = 0; i < sizeof fields; i++) fields[i] = id[order[i]];
    memcpy(id, fields, sizeof fields);
}

static bool is_apple(struct uspi_span os) {
    static const struct uspi_span all[] = {
        USPI_SPAN_INIT("mac"),  USPI_SPAN_INIT("macos"),   USPI_SPAN_INIT("Mac"),      USPI_SPAN_INIT("ios"),
        USPI_SPAN_INIT("tvos"), USPI_SPAN_INIT("watchos"), USPI_SPAN_INIT("visionos"),
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (uspi_span_is(os, all[i])) return true;
    }
    return false;
}

bool uspi_breakpad_is(struct uspi_bytes bytes) {
    const uint8_t *first = uspi_bytes_in_place(bytes, 0, module.length);
    return first != NULL && memcmp(first, module.bytes, module.length) == 0;
}

/* Reads the whole build id of an ELF image, if the file has it. */
static void find_code_id(struct uspi_breakpad *b) {
    size_t at = b->first;
    for (unsigned i = 0; i < LINES_SEARCHED && at < b->text.length; i++) {
        const struct uspi_span line = take_line(b->text, &at);
        if (!uspi_span_begins(line, code_id)) continue;
        struct uspi_span rest = uspi_span_after(line, code_id.length);
        uint8_t id[USP_BUILD_ID_MAX];
        uint32_t size;
        if (!read_bytes(take_word(&rest), id, &size)) return;
        b->build_id_size = size;
        memcpy(b->build_id, id, size);
        return;
    }
}

int uspi_breakpad_open(struct uspi_breakpad *b, struct uspi_bytes bytes, struct uspi_error *error) {
    memset(b, 0, sizeof *b);
    if (!uspi_breakpad_is(bytes)) return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "no symbols of Breakpad");
    if (bytes.size <= SIZE_MAX) b->text.bytes = (const char *)uspi_bytes_in_place(bytes, 0, (size_t)bytes.size);
    if (b->text.bytes == NULL && uspi_bytes_place(bytes) != NULL)
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_TRUNCATED, "it was cut off while it was read");
    if (b->text.bytes == NULL)
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED, "too large to be read in one piece");
    b->text.length = (size_t)bytes.size;
    struct uspi_span rest = uspi_span_after(take_line(b->text, &b->first), module.length);
    const struct uspi_span os = take_word(&rest), arch = take_word(&rest), id = take_word(&rest);
    if (uspi_span_is(os, USPI_SPAN("windows")))
        return uspi_bytes_error(error, bytes, 0, USP_ERROR_UNSUPPORTED, "the symbols of a Windows image");
    const bool has_id = id.length >= UUID_DIGITS && id.length <= UUID_DIGITS + AGE_DIGITS &&
                        read_bytes(uspi_span_part(id, 0, UUID_DIGITS), b->build_id, &b->build_id_size);
    if (!has_id) return uspi_bytes_error(error, bytes, 0, USP_ERROR_FORMAT, "MODULE has no UUID");
    b->name = rest;
    b->arch = uspi_scan_arch(arch, &b->variant);
    /* Breakpad's name for i386; its other names are the usual ones. */
    if (uspi_span_is(arch, USPI_SPAN("x86"))) b->arch = USP_ARCH_I386;
    b->is_macho = is_apple(os);
    if (b->is_macho) return USP_OK;
    unswap(b->build_id);
    find_code_id(b);
    return USP_OK;
}

/* ---- records ---- */

static bool read_extent(struct uspi_span *rest, struct uspi_breakpad_record *r) {
    uint64_t end;
    return take_hex(rest, &r->address) && take_hex(rest, &r->size) && uspi_sum(r->address, r->size, &end);
}

static bool read_named(struct uspi_span rest, struct uspi_breakpad_record *r) {
    const bool is_read = take_decimal(&rest, &r->number);
    r->text = rest;
    return is_read;
}

/* Skips "m", which means that several symbols share this code. */
static void skip_multiple(struct uspi_span *rest) {
    if (uspi_span_begins(*rest, USPI_SPAN("m "))) *rest = uspi_span_after(*rest, 2);
}

static bool read_function(struct uspi_span rest, struct uspi_breakpad_record *r) {
    skip_multiple(&rest);
    const bool is_read = read_extent(&rest, r);
    take_word(&rest);
    r->text = rest;
    return is_read;
}

static bool read_public(struct uspi_span rest, struct uspi_breakpad_record *r) {
    skip_multiple(&rest);
    const bool is_read = take_hex(&rest, &r->address);
    take_word(&rest);
    r->text = rest;
    return is_read;
}

static bool read_inline(struct uspi_span rest, struct uspi_breakpad_record *r) {
    const bool is_read = take_decimal(&rest, &r->level) && take_decimal(&rest, &r->line) &&
                         take_decimal(&rest, &r->file) && take_decimal(&rest, &r->number);
    r->text = rest;
    return is_read;
}

static bool read_row(struct uspi_span rest, struct uspi_breakpad_record *r) {
    return read_extent(&rest, r) && take_decimal(&rest, &r->line) && take_decimal(&rest, &r->file);
}

static const struct {
    struct uspi_span word;
    /* NULL: records of this kind are skipped. */
    bool (*read)(struct uspi_span rest, struct uspi_breakpad_record *record);
    enum uspi_breakpad_kind kind;
} records[] = {
    {USPI_SPAN_INIT("FUNC "), read_function, USPI_BREAKPAD_FUNC},
    {USPI_SPAN_INIT("STACK "), NULL, USPI_BREAKPAD_OTHER},
    {USPI_SPAN_INIT("INLINE "), read_inline, USPI_BREAKPAD_INLINE},
    {USPI_SPAN_INIT("PUBLIC "), read_public, USPI_BREAKPAD_PUBLIC},
    {USPI_SPAN_INIT("FILE "), read_named, USPI_BREAKPAD_FILE},
    {USPI_SPAN_INIT("INLINE_ORIGIN "), read_named, USPI_BREAKPAD_ORIGIN},
};

bool uspi_breakpad_next(const struct uspi_breakpad *b, size_t *at, struct uspi_breakpad_record *record) {
    if (*at >= b->text.length) return false;
    const struct uspi_span line = take_line(b->text, at);
    *record = (struct uspi_breakpad_record){.kind = USPI_BREAKPAD_OTHER};
    /* Most records are lines of code, which nearly always begin with a digit below F: skip the comparison for them. */
    for (size_t i = 0; line.length > 0 && line.bytes[0] >= 'F' && i < sizeof records / sizeof *records; i++) {
        if (!uspi_span_begins(line, records[i].word)) continue;
        const bool is_read =
            records[i].read != NULL && records[i].read(uspi_span_after(line, records[i].word.length), record);
        record->kind = is_read ? records[i].kind : USPI_BREAKPAD_OTHER;
        return true;
    }
    if (line.length > 0 && uspi_hex_digit(line.bytes[0]) >= 0 && read_row(line, record))
        record->kind = USPI_BREAKPAD_LINE;
    return true;
}

bool uspi_breakpad_range(struct uspi_span *ranges, usp_addr *low, usp_addr *high) {
    uint64_t size;
    return ranges->length > 0 && take_hex(ranges, low) && take_hex(ranges, &size) && uspi_sum(*low, size, high);
}
