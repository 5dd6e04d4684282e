/* SPDX-License-Identifier: MIT */
/* Reads lines without an address: USP_FORMAT_PORTABLE, whose offset is in hexadecimal, and USP_FORMAT_PLAIN, which must
 * be alone in its line.
 *
 *   INDEX ID + 0xOFFSET PATH     an answer replaces the id and the offset
 *   INDEX NAME + OFFSET (FILE:LINE) PATH     the line with an answer; (FILE:LINE) may be missing
 *   IMAGE + OFFSET, UUID + OFFSET     a frame only if there is an image of that name */
#include "lib/report/read/line.h"

#define UUID_LENGTH 36

/* Returns where the build id or UUID begins in a word. A long index of the frame may precede it without a blank. If
 * both are digits, the build id has one of the lengths that linkers make (xxhash, MD5 and UUID, SHA-1, SHA-256). */
static size_t begin_of_id(struct uspi_span line, size_t from, size_t end) {
    static const size_t lengths[] = {16, 32, UUID_LENGTH, 40, 64};
    struct uspi_span word = uspi_span_part(line, from, end);
    bool is_alone = uspi_span_trim(uspi_span_part(line, 0, from)).length == 0;
    size_t index = is_alone ? uspi_length_of_long_index(word) : 0, begin = from;
    for (size_t i = 0; index > 0 && i < sizeof lengths / sizeof *lengths; i++) {
        bool is_uuid = lengths[i] == UUID_LENGTH && word.length >= UUID_LENGTH && word.bytes[word.length - 13] == '-';
        if (lengths[i] == UUID_LENGTH && !is_uuid) continue;
        if (word.length == lengths[i]) return from;
        if (word.length < lengths[i] + USPI_INDEX_WIDTH || word.length - lengths[i] > index) continue;
        begin = end - lengths[i];
    }
    return begin;
}

static bool find_portable(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t plus = uspi_span_find(line, 0, USPI_SPAN(" + 0x")), at = plus + 3, begin = plus;
    if (from > 0 || plus == line.length || !uspi_scan_hex(line, &at, &frame->offset)) return false;
    if (at < line.length && !uspi_is_blank(line.bytes[at])) return false;
    while (begin > 0 && !uspi_begins_word(line, begin)) begin--;
    begin = begin_of_id(line, begin, plus);
    struct uspi_span id = uspi_span_part(line, begin, plus);
    frame->id_size = uspi_scan_id(id, frame->id, sizeof frame->id);
    if (frame->id_size == 0 && !uspi_span_is(id, USPI_SPAN("???"))) return false;
    frame->flags |= USPI_FRAME_OFFSET;
    frame->replaced = uspi_span_part(line, begin, at);
    frame->image = uspi_span_trim(uspi_span_after(line, at));
    uspi_take_index_before(uspi_span_part(line, 0, begin), frame);
    return frame->id_size != 0 || frame->image.length > 0;
}

static bool find_named(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    struct uspi_span text = uspi_span_trim_right(line);
    size_t at = 0;
    if (from > 0 || !uspi_scan_decimal(text, &at, &frame->index) || at >= text.length) return false;
    if (at < USPI_INDEX_WIDTH && !uspi_is_blank(text.bytes[at])) return false;
    const size_t path = uspi_span_find(text, at, USPI_SPAN(" /"));
    text = uspi_span_trim(uspi_span_part(text, at, path));
    if (path >= line.length) return false;
    frame->flags |= USPI_FRAME_INDEX | USPI_FRAME_NAMED;
    frame->image = uspi_span_trim(uspi_span_after(line, path));
    if (uspi_take_symbol(text, frame, &frame->name_offset)) {
        frame->flags |= USPI_FRAME_NAME_OFFSET;
        const struct uspi_span rest = uspi_span_after(text, frame->replaced.length);
        return rest.length == 0 || rest.bytes[1] == '(';
    }
    frame->name = text;
    uspi_take_source(line, frame);
    return (frame->flags & USPI_FRAME_INLINED) != 0;
}

static bool find_alone(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    struct uspi_span text = uspi_span_trim(line);
    if (from > 0 || !uspi_take_symbol(text, frame, &frame->offset) || frame->replaced.length != text.length)
        return false;
    frame->flags |= USPI_FRAME_OFFSET | USPI_FRAME_GUESS;
    if (!uspi_take_uuid(frame->name, frame)) frame->image = frame->name;
    return true;
}

const struct uspi_line_shape uspi_portable_lines = {
    .name = "unspool-portable",
    .frame_bytes = USPI_HAS_PLUS | USPI_HAS_X,
    .frame = find_portable,
};

const struct uspi_line_shape uspi_portable_named = {
    .name = "unspool-portable",
    .frame_begins = USPI_BEGINS_DIGIT,
    .frame = find_named,
};

const struct uspi_line_shape uspi_plain_lines = {
    .name = "unspool-plain",
    .frame_bytes = USPI_HAS_PLUS,
    .frame = find_alone,
};
