/* SPDX-License-Identifier: MIT */
/* Reads the stacks that glog and Abseil print when a check fails or a signal arrives.
 *
 *   PC: @        0x104e60004  (unknown)
 *       @        0x104e60104  (unknown)                    glog: the name, or "(unknown)"
 *       @     0x55d0c0001139         80  main               Abseil: the frame's size, or "(unknown)", then the name
 *   (pid=gcs_server)     @     0x55d0c0001139         80  main     Ray
 *   #     @     0x55d0c0001139         80  main                    in a comment
 *
 * The addresses are return addresses, but that after "PC:". A program without its symbolizer writes no name.
 * Sources: glog src/utilities.cc (DumpPCAndSymbol); abseil-cpp absl/debugging/internal/examine_stack.cc. */
#include "lib/report/read/line.h"

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    static const struct uspi_span unknown = USPI_SPAN_INIT("(unknown)");
    const struct uspi_span text = uspi_span_trim_right(line);
    size_t at = uspi_span_find(text, 0, USPI_SPAN("@ ")) + 1, next;
    uint64_t size;
    if (from > 0 || at > text.length || !uspi_begins_word(text, at - 1)) return false;
    const struct uspi_span before = uspi_span_trim_right(uspi_span_part(text, 0, at - 1));
    const bool is_pc = uspi_span_ends(before, USPI_SPAN("PC:"));
    /* Without "PC:" the mark is in a column of its own. Logs may write their own fields before it. */
    if (!is_pc && at - 1 - before.length < 4) return false;
    uspi_skip_blanks(text, &at);
    if (!uspi_scan_hex(text, &at, &frame->address) || (at < text.length && text.bytes[at] != ' ')) return false;
    frame->flags |= USPI_FRAME_ADDRESS | (is_pc ? USPI_FRAME_CALL_SITE : USPI_FRAME_RETURN);
    frame->replaced = uspi_span_part(line, at, at);
    next = at;
    uspi_skip_blanks(text, &next);
    /* A number, or the first of two columns, is the frame's size. */
    const size_t column = next;
    bool is_size = uspi_skip(text, &next, unknown) || uspi_scan_decimal(text, &next, &size);
    is_size = is_size && (next == text.length || uspi_span_has_at(text, next, USPI_SPAN("  ")));
    if (next == text.length && uspi_span_is(uspi_span_after(text, column), unknown)) next = column;
    if (!is_size) next = column;
    uspi_skip_blanks(text, &next);
    frame->name = uspi_span_after(text, next);
    if (frame->name.length == 0) {
        frame->replaced = uspi_span_part(line, text.length, text.length);
        return true;
    }
    frame->replaced = frame->name;
    if (uspi_span_is(frame->name, unknown)) return true;
    frame->flags |= USPI_FRAME_NAMED;
    uspi_take_name_offset(line, frame);
    return true;
}

static void put(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                uint32_t which) {
    if (frame->replaced.length == 0) uspi_put_string(out, "  ");
    uspi_put_symbol_hex(out, frame, answer, which);
}

/* "*** SIGSEGV received at time=1767323045 on cpu 3 ***", "*** Check failure stack trace: ***" */
static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_span stacks[] = {USPI_SPAN_INIT(" received at time="),
                                              USPI_SPAN_INIT("Check failure stack trace"),
                                              USPI_SPAN_INIT("; stack trace: ***")};
    /* Logs may write their own fields before it. */
    const size_t mark = uspi_span_find(line, 0, USPI_SPAN("*** "));
    if (mark == line.length || !uspi_begins_word(line, mark)) return false;
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        if (!uspi_span_has(uspi_span_after(line, mark), stacks[i])) continue;
        heading->kind = USPI_HEADING_STACK;
        heading->name = uspi_span_after(line, mark + 4);
        if (uspi_span_ends(heading->name, USPI_SPAN(" ***"))) heading->name.length -= 4;
        if (uspi_span_ends(heading->name, USPI_SPAN(":"))) heading->name.length--;
        return true;
    }
    return false;
}

const struct uspi_line_shape uspi_glog_lines = {
    .name = "glog",
    .frame_bytes = USPI_HAS_X,
    .frame_begins = USPI_BEGINS_OTHER | USPI_BEGINS_BRACKET | USPI_BEGINS_HASH,
    .frame = find_frame,
    .heading = find_heading,
    .put = put,
};
