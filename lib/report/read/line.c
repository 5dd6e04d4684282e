/* SPDX-License-Identifier: MIT */
/* Functions that the shapes of lines share. See line.h. */
#include "lib/report/read/line.h"

#define UUID_LENGTH 36

#if defined(__GNUC__)
/* Compares sixteen bytes at a time, because each line of each text is scanned. */
typedef uint8_t vector __attribute__((vector_size(16)));

static unsigned has_any(vector found) {
    uint64_t halves[2];
    memcpy(halves, &found, sizeof halves);
    return (halves[0] | halves[1]) != 0;
}

/* Returns the kinds of bytes in the part of a line that fills whole vectors. *done becomes the size of that part. */
static unsigned kinds_in_vectors(const unsigned char *at, size_t length, size_t *done) {
    vector plus = {0}, hash = {0}, paren = {0}, bracket = {0}, angle = {0}, brace = {0}, x = {0}, equal = {0},
           quote = {0};
    for (*done = 0; length - *done >= sizeof(vector); *done += sizeof(vector)) {
        vector bytes;
        memcpy(&bytes, at + *done, sizeof bytes);
        plus |= (vector)(bytes == '+');
        hash |= (vector)(bytes == '#');
        paren |= (vector)(bytes == '(');
        bracket |= (vector)(bytes == '[');
        angle |= (vector)(bytes == '<');
        brace |= (vector)(bytes == '{');
        x |= (vector)(bytes == 'x');
        equal |= (vector)(bytes == '=');
        quote |= (vector)(bytes == '&') | (vector)(bytes == '\\') | (vector)(bytes == 0xc2);
    }
    return has_any(plus) * USPI_HAS_PLUS | has_any(hash) * USPI_HAS_HASH | has_any(paren) * USPI_HAS_PAREN |
           has_any(bracket) * USPI_HAS_BRACKET | has_any(angle) * USPI_HAS_ANGLE | has_any(brace) * USPI_HAS_BRACE |
           has_any(x) * USPI_HAS_X | has_any(equal) * USPI_HAS_EQUAL | has_any(quote) * USPI_HAS_QUOTE;
}
#else
static unsigned kinds_in_vectors(const unsigned char *at, size_t length, size_t *done) {
    (void)at, (void)length;
    *done = 0;
    return 0;
}
#endif

unsigned uspi_line_bytes_of(struct uspi_span line) {
    static const uint16_t kinds[256] = {
        ['+'] = USPI_HAS_PLUS,  ['#'] = USPI_HAS_HASH,   ['('] = USPI_HAS_PAREN,  ['['] = USPI_HAS_BRACKET,
        ['<'] = USPI_HAS_ANGLE, ['{'] = USPI_HAS_BRACE,  ['x'] = USPI_HAS_X,      ['='] = USPI_HAS_EQUAL,
        ['&'] = USPI_HAS_QUOTE, [0xc2] = USPI_HAS_QUOTE, ['\\'] = USPI_HAS_QUOTE,
    };
    const unsigned char *bytes = (const unsigned char *)line.bytes;
    size_t at;
    unsigned has = kinds_in_vectors(bytes, line.length, &at);
    for (; at < line.length; at++) has |= kinds[bytes[at]];
    return has;
}

unsigned uspi_line_begins_of(struct uspi_span line) {
    static const uint8_t kinds[256] = {
        ['0'] = USPI_BEGINS_DIGIT,  ['1'] = USPI_BEGINS_DIGIT,   ['2'] = USPI_BEGINS_DIGIT,  ['3'] = USPI_BEGINS_DIGIT,
        ['4'] = USPI_BEGINS_DIGIT,  ['5'] = USPI_BEGINS_DIGIT,   ['6'] = USPI_BEGINS_DIGIT,  ['7'] = USPI_BEGINS_DIGIT,
        ['8'] = USPI_BEGINS_DIGIT,  ['9'] = USPI_BEGINS_DIGIT,   ['a'] = USPI_BEGINS_LETTER, ['b'] = USPI_BEGINS_LETTER,
        ['c'] = USPI_BEGINS_LETTER, ['d'] = USPI_BEGINS_LETTER,  ['e'] = USPI_BEGINS_LETTER, ['f'] = USPI_BEGINS_LETTER,
        ['#'] = USPI_BEGINS_HASH,   ['['] = USPI_BEGINS_BRACKET, ['*'] = USPI_BEGINS_MARK,   ['+'] = USPI_BEGINS_MARK,
        ['!'] = USPI_BEGINS_MARK,   [':'] = USPI_BEGINS_MARK,    ['|'] = USPI_BEGINS_MARK,   ['M'] = USPI_BEGINS_M,
    };
    size_t at = 0;
    while (at < line.length && uspi_is_blank(line.bytes[at])) at++;
    if (at == line.length) return USPI_BEGINS_OTHER;
    if (uspi_span_has_at(line, at, USPI_SPAN("0x"))) return USPI_BEGINS_0X;
    unsigned kind = kinds[(unsigned char)line.bytes[at]];
    return kind != 0 ? kind : USPI_BEGINS_OTHER;
}

/* ---- words ---- */

bool uspi_begins_word(struct uspi_span text, size_t at) {
    if (at == 0) return true;
    char c = text.bytes[at - 1];
    return c == ' ' || c == '\t' || c == '"' || c == '(';
}

bool uspi_ends_word(struct uspi_span text, size_t at) {
    if (at >= text.length) return true;
    char c = text.bytes[at];
    return !uspi_is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && c != '_' && c != '.';
}

bool uspi_take_uuid(struct uspi_span text, struct uspi_frame *frame) {
    if (text.length != UUID_LENGTH || text.bytes[8] != '-') return false;
    frame->id_size = uspi_scan_id(text, frame->id, sizeof frame->id);
    return frame->id_size != 0 || uspi_span_is(text, USPI_SPAN("00000000-0000-0000-0000-000000000000"));
}

size_t uspi_length_of_long_index(struct uspi_span text) {
    size_t n = 0;
    while (n < text.length && uspi_is_digit(text.bytes[n])) n++;
    return n >= USPI_INDEX_WIDTH ? n : 0;
}

void uspi_take_index_before(struct uspi_span text, struct uspi_frame *frame) {
    text = uspi_span_trim_right(text);
    size_t from = text.length;
    while (from > 0 && uspi_is_digit(text.bytes[from - 1])) from--;
    if (!uspi_begins_word(text, from) || !uspi_scan_decimal(text, &from, &frame->index)) return;
    frame->flags |= USPI_FRAME_INDEX;
}

bool uspi_take_hash_index(struct uspi_span line, size_t *at, struct uspi_frame *frame) {
    size_t here = uspi_span_find(line, *at, USPI_SPAN("#"));
    if (here == line.length || !uspi_begins_word(line, here++)) return false;
    if (!uspi_scan_decimal(line, &here, &frame->index) || here == line.length || !uspi_is_blank(line.bytes[here])) {
        return false;
    }
    uspi_skip_blanks(line, &here);
    frame->flags |= USPI_FRAME_INDEX;
    *at = here;
    return true;
}

/* Reads NAME + OFFSET; `scan` reads the offset. */
static bool take_symbol(struct uspi_span rest, bool (*scan)(struct uspi_span, size_t *, uint64_t *),
                        struct uspi_frame *frame, uint64_t *offset) {
    for (size_t plus = 0; (plus = uspi_span_find(rest, plus, USPI_SPAN(" + "))) < rest.length; plus++) {
        size_t at = plus + 3;
        if (scan(rest, &at, offset) && uspi_ends_word(rest, at)) {
            frame->name = uspi_span_part(rest, 0, plus);
            frame->replaced = uspi_span_part(rest, 0, at);
            return frame->name.length > 0;
        }
    }
    return false;
}

bool uspi_take_symbol(struct uspi_span rest, struct uspi_frame *frame, uint64_t *offset) {
    return take_symbol(rest, uspi_scan_decimal, frame, offset);
}

bool uspi_take_symbol_hex(struct uspi_span rest, struct uspi_frame *frame, uint64_t *offset) {
    return take_symbol(rest, uspi_scan_hex, frame, offset);
}

void uspi_take_name_offset(struct uspi_span line, struct uspi_frame *frame) {
    uspi_take_source(line, frame);
    const size_t plus = uspi_span_find_last(frame->name, USPI_SPAN("+"));
    size_t hex = plus + 1, decimal = hex;
    uint64_t offset;
    const bool is_number = plus < frame->name.length && plus > 0 &&
                           ((uspi_scan_hex(frame->name, &hex, &offset) && hex == frame->name.length) ||
                            (uspi_scan_decimal(frame->name, &decimal, &offset) && decimal == frame->name.length));
    if (!is_number) return;
    frame->name.length = plus;
    frame->name_offset = offset;
    frame->flags |= USPI_FRAME_NAME_OFFSET;
}

/* Reads the number after the text's last colon, and cuts both off. Returns false if there is none. */
static bool cut_number(struct uspi_span *text, uint32_t *number) {
    const size_t colon = uspi_span_find_last(*text, USPI_SPAN(":"));
    size_t at = colon + 1;
    uint64_t value;
    if (colon == text->length || !uspi_scan_decimal(*text, &at, &value) || at != text->length) return false;
    /* Crashlytics can write an address instead of a line. */
    *number = value <= UINT32_MAX ? (uint32_t)value : 0;
    text->length = colon;
    return true;
}

bool uspi_take_file_line(struct uspi_span text, struct uspi_frame *frame) {
    uint32_t last, before;
    if (!cut_number(&text, &last)) return false;
    struct uspi_span file = text;
    const bool has_column = cut_number(&file, &before);
    if (has_column && file.length > 0) text = file;
    if (text.length == 0) return false;
    frame->file = text;
    frame->line = has_column ? before : last;
    frame->column = has_column ? last : 0;
    return true;
}

/* Reads " (FILE:LINE)" at `at`. */
static bool take_file_at(struct uspi_span line, size_t at, struct uspi_frame *frame) {
    if (!uspi_skip(line, &at, USPI_SPAN(" ("))) return false;
    const size_t close = uspi_span_find(line, at, USPI_SPAN(")"));
    return close < line.length && uspi_take_file_line(uspi_span_part(line, at, close), frame);
}

size_t uspi_end_of_source(struct uspi_span line, size_t at) {
    struct uspi_frame frame = {.line = 0};
    return take_file_at(line, at, &frame) ? uspi_span_find(line, at, USPI_SPAN(")")) + 1 : at;
}

void uspi_take_source(struct uspi_span line, struct uspi_frame *frame) {
    static const struct uspi_span inlined = USPI_SPAN_INIT(" [inlined]");
    struct uspi_span *name = &frame->name;
    const size_t open = uspi_span_find_last(*name, USPI_SPAN(" ("));
    if (frame->file.length == 0 && open < name->length && open > 0 && uspi_span_ends(*name, USPI_SPAN(")")) &&
        take_file_at(*name, open, frame)) {
        name->length = open;
    }
    if (frame->file.length == 0) {
        /* Searches after the name or the replaced text, whichever ends later. */
        const char *end = name->bytes + name->length;
        if (frame->replaced.length > 0 && frame->replaced.bytes + frame->replaced.length > end) {
            end = frame->replaced.bytes + frame->replaced.length;
        }
        take_file_at(line, (size_t)(end - line.bytes), frame);
    }
    if (name->length <= inlined.length || !uspi_span_ends(*name, inlined)) return;
    name->length -= inlined.length;
    frame->flags |= USPI_FRAME_INLINED;
}

void uspi_take_build_id(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = uspi_span_find(line, from, USPI_SPAN("(BuildId: "));
    if (at == line.length) return;
    size_t end = uspi_span_find(line, at, USPI_SPAN(")"));
    if (end < line.length)
        frame->id_size = uspi_scan_id(uspi_span_part(line, at + 10, end), frame->id, sizeof frame->id);
}

/* ---- names ---- */

static bool is_one_of(struct uspi_span name, const struct uspi_span *names, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (uspi_span_is(name, names[i])) return true;
    }
    return false;
}

bool uspi_is_header(struct uspi_span name) {
    static const struct uspi_span headers[] = {
        USPI_SPAN_INIT("_mh_execute_header"),
        USPI_SPAN_INIT("_mh_dylib_header"),
        USPI_SPAN_INIT("_mh_bundle_header"),
    };
    while (uspi_span_begins(name, USPI_SPAN("__"))) name = uspi_span_after(name, 1);
    return name.length >= 16 && is_one_of(name, headers, sizeof headers / sizeof *headers);
}

bool uspi_is_invented(struct uspi_span name) {
    static const struct uspi_span unnamed = USPI_SPAN_INIT("lldb_unnamed_");
    if (name.length == 0 || name.bytes[0] != '_') return false;
    while (uspi_span_begins(name, USPI_SPAN("_"))) name = uspi_span_after(name, 1);
    return uspi_span_begins(name, unnamed);
}

bool uspi_is_placeholder(struct uspi_span name) {
    static const struct uspi_span placeholders[] = {
        USPI_SPAN_INIT(""),    USPI_SPAN_INIT("<redacted>"), USPI_SPAN_INIT("???"),       USPI_SPAN_INIT("??"),
        USPI_SPAN_INIT("n/a"), USPI_SPAN_INIT("[unknown]"),  USPI_SPAN_INIT("<unknown>"), USPI_SPAN_INIT("<null>"),
    };
    uint64_t address;
    size_t at = 0;
    if (is_one_of(name, placeholders, sizeof placeholders / sizeof *placeholders) || uspi_is_header(name)) return true;
    if (uspi_is_invented(name)) return true;
    return uspi_scan_hex(name, &at, &address) && at == name.length;
}

/* ---- answers ---- */

bool uspi_has_source_offset(const struct usp_answer *answer, uint32_t which) { return which + 1 == answer->count; }

void uspi_put_source_name(struct uspi_text *out, const struct usp_answer *answer, uint32_t which) {
    const struct usp_source_frame *frame = &answer->frames[which];
    uspi_put_harmless(out, uspi_span_of(frame->function), "");
    if ((frame->flags & USP_SOURCE_INLINED) != 0) uspi_put_string(out, " [inlined]");
}

void uspi_put_source_line(struct uspi_text *out, const struct usp_answer *answer, uint32_t which) {
    const struct usp_source_frame *frame = &answer->frames[which];
    if (frame->file == NULL) return;
    uspi_put_string(out, " (");
    uspi_put_harmless(out, uspi_span_file_name(uspi_span_of(frame->file)), "");
    if (frame->line > 0) {
        uspi_put_string(out, ":");
        uspi_put_decimal(out, frame->line, 0);
    }
    uspi_put_string(out, ")");
}

void uspi_put_symbol(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                     uint32_t which) {
    (void)frame;
    uspi_put_source_name(out, answer, which);
    if (uspi_has_source_offset(answer, which)) {
        uspi_put_string(out, " + ");
        uspi_put_decimal(out, answer->offset, 0);
    }
    uspi_put_source_line(out, answer, which);
}

void uspi_put_symbol_hex(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                         uint32_t which) {
    (void)frame;
    uspi_put_source_name(out, answer, which);
    if (uspi_has_source_offset(answer, which)) {
        uspi_put_string(out, "+");
        uspi_put_hex(out, answer->offset, 1);
    }
    uspi_put_source_line(out, answer, which);
}

void uspi_put_symbol_spaced_hex(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                                uint32_t which) {
    (void)frame;
    uspi_put_source_name(out, answer, which);
    if (uspi_has_source_offset(answer, which)) {
        uspi_put_string(out, " + ");
        uspi_put_hex(out, answer->offset, 1);
    }
    uspi_put_source_line(out, answer, which);
}

/* ---- images ---- */

void uspi_set_range(struct uspi_read_image *image, uint64_t base, uint64_t size) {
    image->first = base;
    image->last = size > UINT64_MAX - base ? UINT64_MAX : base + (size > 0 ? size - 1 : 0);
}

/* ---- headings ---- */

bool uspi_take_field(struct uspi_span line, const struct uspi_field_label *labels, size_t count,
                     struct uspi_heading *heading) {
    for (size_t i = 0; i < count; i++) {
        /* Every line is compared with all labels, and the first byte excludes nearly all of them. */
        if (line.length == 0 || line.bytes[0] != labels[i].label.bytes[0]) continue;
        if (!uspi_span_begins(line, labels[i].label)) continue;
        heading->kind = USPI_HEADING_FIELD;
        heading->field = labels[i].field;
        heading->value = uspi_span_trim(uspi_span_after(line, labels[i].is_in_value ? 0 : labels[i].label.length));
        return true;
    }
    return false;
}
