/* SPDX-License-Identifier: MIT */
/* Reads the lines of glibc's backtrace_symbols(3), and of backtrace_symbols_fd(3), which omits the blank:
 *
 *   PATH(…) [ADDRESS]     … is +OFFSET, NAME+OFFSET or nothing
 *   [ADDRESS]             outside of files
 *
 * The offset counts from the address where the file's address 0 is loaded (glibc debug/backtracesyms.c: l_addr). In a
 * file that was linked for a fixed address l_addr is 0, so the offset is the address itself. */
#include "lib/report/read/line.h"

/* Finds the first ") [0x", or otherwise the first ")[0x". *address becomes the position of the address. */
static bool find_close(struct uspi_span line, size_t *close, size_t *address) {
    static const struct uspi_span forms[] = {USPI_SPAN_INIT(") [0x"), USPI_SPAN_INIT(")[0x")};
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        *close = uspi_span_find(line, 0, forms[i]);
        *address = *close + forms[i].length - 2;
        if (*close < line.length) return true;
    }
    return false;
}

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t close, at = 1, open;
    const struct uspi_span text = uspi_span_trim_right(line);
    if (from == 0 && uspi_span_begins(text, USPI_SPAN("[0x")) && uspi_scan_hex(text, &at, &frame->address) &&
        at + 1 == text.length && text.bytes[at] == ']') {
        frame->flags |= USPI_FRAME_ADDRESS | USPI_FRAME_NOWHERE;
        return true;
    }
    at = 0;
    if (from > 0 || !find_close(line, &close, &at) || !uspi_scan_hex(line, &at, &frame->address)) return false;
    if (!uspi_skip(line, &at, USPI_SPAN("]"))) return false;
    /* Names and paths may contain parentheses, so the matching one is searched for backwards. */
    size_t depth = 1;
    for (open = close; open > 0 && depth > 0;) {
        open--;
        depth += line.bytes[open] == ')';
        depth -= line.bytes[open] == '(';
    }
    if (open == 0 || uspi_is_blank(line.bytes[open - 1])) return false;
    struct uspi_span inside = uspi_span_part(line, open + (line.bytes[open] == '('), close);
    frame->flags |= USPI_FRAME_ADDRESS;
    frame->before = uspi_span_part(line, 0, open);
    frame->image = uspi_span_trim_left(frame->before);
    frame->replaced = inside;
    at = 1;
    if (frame->image.length == 0) return false;
    if (inside.length == 0) {
        frame->flags |= USPI_FRAME_OFFSET;
        frame->base = USP_PLACE_LINKED;
        frame->offset = frame->address;
        return true;
    }
    if (uspi_span_is(inside, USPI_SPAN("+0")) ||
        (inside.bytes[0] == '+' && uspi_scan_hex(inside, &at, &frame->offset) && at == inside.length)) {
        frame->flags |= USPI_FRAME_OFFSET;
        frame->base = frame->offset == frame->address ? USP_PLACE_LINKED : USP_PLACE_LOAD;
        return frame->offset <= frame->address;
    }
    frame->name = inside;
    frame->flags |= USPI_FRAME_NAMED;
    uspi_take_name_offset(line, frame);
    return true;
}

static void put(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                uint32_t which) {
    if (answer->offset != 0 || !uspi_has_source_offset(answer, which)) {
        uspi_put_symbol_hex(out, frame, answer, which);
        return;
    }
    uspi_put_source_name(out, answer, which);
    uspi_put_string(out, "+0");
    uspi_put_source_line(out, answer, which);
}

const struct uspi_line_shape uspi_glibc_lines = {
    .name = "backtrace_symbols",
    .frame_bytes = USPI_HAS_BRACKET | USPI_HAS_X,
    .frame = find_frame,
    .put = put,
};
