/* SPDX-License-Identifier: MIT */
/* Reads crash logs of Swift's own runtime (swift-backtrace of Swift 5.9 and later).
 *
 *   0      0x00007fd144d6df7f                                  symbolicate=off
 *   3 [ra] 0x0000557e9de8505d <unknown> in sw0                 otherwise
 *   4 [ra] [inlined] 0x… name + 12 in prog at /src/main.swift:3:4
 *   0x0000557e9de84000–0x0000557e9de85390 c4c144a1… sw0     /opt/sw0         with an en dash
 *
 * Source: the program itself. */
#include "lib/report/read/line.h"

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = 0;
    uspi_skip_blanks(line, &at);
    if (from > 0 || !uspi_scan_decimal(line, &at, &frame->index) || !uspi_skip(line, &at, USPI_SPAN(" "))) return false;
    uspi_skip_blanks(line, &at);
    /* An address or a mark follows; Apple's frames, which are more frequent, have the image here. */
    if (at >= line.length || (line.bytes[at] != '0' && line.bytes[at] != '[')) return false;
    bool is_return = false, is_inlined = false;
    while (uspi_span_has_at(line, at, USPI_SPAN("["))) {
        size_t close = uspi_span_find(line, at, USPI_SPAN("] "));
        if (close == line.length) return false;
        is_return = is_return || uspi_span_has_at(line, at, USPI_SPAN("[ra]"));
        is_inlined = is_inlined || uspi_span_has_at(line, at, USPI_SPAN("[inlined]"));
        at = close + 2;
        uspi_skip_blanks(line, &at);
    }
    /* Swift writes all digits of a pointer; other numbered lists with addresses have fewer. */
    size_t digits = at;
    if (!uspi_scan_hex(line, &at, &frame->address) || (at - digits != 18 && at - digits != 10)) return false;
    frame->flags |= USPI_FRAME_ADDRESS | USPI_FRAME_INDEX;
    if (!is_return) frame->flags |= USPI_FRAME_CALL_SITE;
    struct uspi_span rest = uspi_span_trim_right(uspi_span_after(line, at));
    frame->replaced = uspi_span_part(line, at, at);
    if (rest.length == 0) return true;
    if (!uspi_skip(line, &at, USPI_SPAN(" "))) return false;
    rest = uspi_span_trim_right(uspi_span_after(line, at));
    size_t file = uspi_span_find_last(rest, USPI_SPAN(" at "));
    const bool has_file = file < rest.length && uspi_take_file_line(uspi_span_after(rest, file + 4), frame);
    if (has_file) rest.length = file;
    size_t in = uspi_span_find_last(rest, USPI_SPAN(" in "));
    /* If there is no image, a reader has written the name. */
    if (in < rest.length) {
        frame->image = uspi_span_after(rest, in + 4);
        /* A file without a line: "//<compiler-generated>". */
        frame->image.length = uspi_span_find(frame->image, 0, USPI_SPAN(" at "));
    }
    frame->name = frame->replaced = uspi_span_part(rest, 0, in);
    if (uspi_span_is(frame->name, USPI_SPAN("<unknown>"))) return in < rest.length;
    frame->flags |= USPI_FRAME_NAMED;
    if (is_inlined) frame->flags |= USPI_FRAME_INLINED;
    const bool has_offset = uspi_take_symbol(frame->name, frame, &frame->name_offset);
    if (has_offset) frame->flags |= USPI_FRAME_NAME_OFFSET;
    /* "LOAD + OFFSET": a line of Apple's whose image's name was removed. */
    if (has_offset && uspi_is_placeholder(frame->name)) return false;
    uspi_take_source(line, frame);
    return has_offset || frame->file.length > 0 || (frame->flags & USPI_FRAME_INLINED) != 0;
}

static void put(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                uint32_t which) {
    if (frame->replaced.length == 0) uspi_put_string(out, " ");
    uspi_put_symbol(out, frame, answer, which);
}

static bool find_image(struct uspi_span line, struct uspi_read_image *image) {
    size_t at = 0;
    uint64_t end;
    uspi_skip_blanks(line, &at);
    if (!uspi_scan_hex(line, &at, &image->first) || !uspi_skip(line, &at, USPI_SPAN("\xe2\x80\x93"))) return false;
    if (!uspi_scan_hex(line, &at, &end) || end <= image->first) return false;
    image->last = end - 1;
    uspi_skip_blanks(line, &at);
    struct uspi_span id = uspi_scan_word(line, &at);
    image->id_size = uspi_scan_id(id, image->id, sizeof image->id);
    uspi_skip_blanks(line, &at);
    image->ident = uspi_scan_word(line, &at);
    image->path = uspi_span_trim(uspi_span_after(line, at));
    if (image->path.length == 0) image->path = image->ident;
    return true;
}

/* "Thread 0 "sw0" crashed:", "Thread 1:" */
static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_field_label labels[] = {
        {USPI_SPAN_INIT("*** Program crashed: "), USPI_FIELD_EXCEPTION_TYPE, false},
        {USPI_SPAN_INIT("Platform: "), USPI_FIELD_OS_VERSION, false},
    };
    size_t at = 0;
    if (uspi_take_field(line, labels, sizeof labels / sizeof *labels, heading)) {
        if (uspi_span_ends(heading->value, USPI_SPAN(" ***"))) heading->value.length -= 4;
        return true;
    }
    if (!uspi_skip(line, &at, USPI_SPAN("Thread ")) || !uspi_scan_decimal(line, &at, &heading->number)) return false;
    if (!uspi_skip(line, &at, USPI_SPAN(" \""))) return false;
    size_t end = uspi_span_find(line, at, USPI_SPAN("\""));
    if (end == line.length) return false;
    heading->kind = USPI_HEADING_THREAD;
    heading->flags = USPI_THREAD_NUMBER;
    heading->name = uspi_span_part(line, at, end);
    if (uspi_span_has_at(line, end, USPI_SPAN("\" crashed"))) heading->flags |= USPI_THREAD_CRASHED;
    return true;
}

const struct uspi_line_shape uspi_swift_lines = {
    .name = "swift",
    .frame_bytes = USPI_HAS_X,
    .frame_begins = USPI_BEGINS_DIGIT,
    .image_bytes = USPI_HAS_X,
    .image_begins = USPI_BEGINS_0X,
    .frame = find_frame,
    .image = find_image,
    .heading = find_heading,
    .put = put,
};
