/* SPDX-License-Identifier: MIT */
/* Reads the output of macOS's sample(1): a tree of samples.
 *
 *     2797 Thread_1382747   DispatchQueue_1: com.apple.main-thread  (serial)
 *     + 2797 start  (in dyld) + 3457  [0x7ff808443781]
 *     +   2797 ???  (in App)  load address 0x109c5a000 + 0xcb908  [0x109d25908]
 *     +   ! 2197 draw  (in App) + 16,24,...  [0x109d25910,0x109d25918,...]  View.m:31
 *
 * An answer replaces everything from ??? to the offset by "name  (in App) + 12 (View.m:31)". sample(1) itself writes
 * file and line after the address.
 * A list of the innermost functions follows the tree:
 *
 *   Sort by top of stack, same collapsed (when >= 5):
 *           mach_msg2_trap  (in libsystem_kernel.dylib)        2797
 *           ???  (in App)  load address 0x109c5a000 + 0xcb908  [0x109d25908]        50
 *
 * Sources: reports in gerdstolpmann/omake issue 2757 and electron/symbolicate-mac's tests (published); sample(1);
 * owncloud/client issue 5613 for merged threads. */
#include "lib/report/read/apple.h"
#include "lib/report/read/line.h"

/* Skips the marks of branches before a count. *at becomes the position of the count, which is the depth. Returns false
 * if there is no count. */
static bool skip_marks(struct uspi_span line, size_t *at) {
    while (*at < line.length && memchr(" +!:|", line.bytes[*at], 5) != NULL) ++*at;
    return *at > 0 && *at < line.length && uspi_is_digit(line.bytes[*at]);
}

/* Reads ")  load address 0x109c5a000 + 0xcb908" at `close` of a frame without a name. An answer then replaces the text
 * from `at` to its end. */
static void take_offset(struct uspi_span line, size_t at, size_t close, struct uspi_frame *frame) {
    size_t end = close;
    uint64_t load;
    if (uspi_skip(line, &end, USPI_SPAN(")  load address ")) && uspi_scan_hex(line, &end, &load) &&
        uspi_skip(line, &end, USPI_SPAN(" + ")) && uspi_scan_hex(line, &end, &frame->offset)) {
        frame->flags |= USPI_FRAME_OFFSET;
        frame->replaced = uspi_span_part(line, at, end);
    }
    if (uspi_span_is(frame->image, USPI_SPAN("<unknown binary>"))) frame->image = (struct uspi_span){"", 0};
}

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = 0, end;
    if (from > 0 || !skip_marks(line, &at)) return false;
    frame->depth = (uint32_t)(at < UINT32_MAX ? at : UINT32_MAX);
    if (!uspi_scan_decimal(line, &at, &frame->count) || !uspi_skip(line, &at, USPI_SPAN(" "))) return false;
    size_t in = uspi_span_find(line, at, USPI_SPAN("  (in ")), open = uspi_span_find_last(line, USPI_SPAN("  [0x"));
    if (in == line.length || open == line.length || open < in) return false;
    frame->name = uspi_span_part(line, at, in);
    end = open + 3;
    if (!uspi_scan_hex(line, &end, &frame->address) || end == line.length) return false;
    if (line.bytes[end] != ']' && line.bytes[end] != ',') return false;
    frame->flags |= USPI_FRAME_ADDRESS | USPI_FRAME_NODE;
    size_t close = uspi_span_find(line, in, USPI_SPAN(")"));
    frame->image = uspi_span_part(line, in + 6, close < open ? close : open);
    if (!uspi_is_placeholder(frame->name)) {
        size_t offset = close, bracket = uspi_span_find(line, end, USPI_SPAN("]")) + 1;
        frame->flags |= USPI_FRAME_NAMED;
        if (uspi_skip(line, &offset, USPI_SPAN(") + ")) && uspi_scan_decimal(line, &offset, &frame->name_offset) &&
            offset <= open && line.bytes[offset] != ',') {
            frame->flags |= USPI_FRAME_NAME_OFFSET;
        }
        frame->replaced = uspi_span_part(line, at, offset < open ? offset : open);
        if (bracket < line.length) uspi_take_file_line(uspi_span_trim(uspi_span_after(line, bracket)), frame);
        return true;
    }
    frame->replaced = uspi_span_part(line, at, open);
    take_offset(line, at, close, frame);
    return true;
}

/* Finds a line of the list "Sort by top of stack" that has an address. */
static bool find_top(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim_right(line);
    const size_t open = uspi_span_find_last(text, USPI_SPAN("  [0x"));
    size_t at = 0, end = open + 3;
    uspi_skip_blanks(text, &at);
    if (from > 0 || at < 4 || open == text.length || !uspi_span_has_at(text, at, USPI_SPAN("???  (in "))) return false;
    const size_t close = uspi_span_find(text, at, USPI_SPAN(")"));
    if (close > open || !uspi_scan_hex(text, &end, &frame->address) || !uspi_skip(text, &end, USPI_SPAN("]  ")))
        return false;
    uspi_skip_blanks(text, &end);
    if (!uspi_scan_decimal(text, &end, &frame->count) || end != text.length) return false;
    frame->flags |= USPI_FRAME_ADDRESS | USPI_FRAME_CALL_SITE | USPI_FRAME_ONE_LINE;
    frame->image = uspi_span_part(text, at + 9, close);
    frame->replaced = uspi_span_part(text, at, open);
    take_offset(text, at, close, frame);
    return true;
}

static void put(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                uint32_t which) {
    uspi_put_source_name(out, answer, which);
    uspi_put_string(out, "  (in ");
    uspi_put(out, frame->image.bytes, frame->image.length);
    uspi_put_string(out, ")");
    if (uspi_has_source_offset(answer, which)) {
        uspi_put_string(out, " + ");
        uspi_put_decimal(out, answer->offset, 0);
    }
    uspi_put_source_line(out, answer, which);
}

/* "    2797 Thread_1382747   DispatchQueue_1: com.apple.main-thread  (serial)"; "2757 Thread_1167037: name";
 * "    4 Thread_<multiple>   DispatchQueue_14: com.apple.root.user-interactive-qos  (serial)" */
static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    size_t at = 0;
    uint64_t count;
    if (uspi_span_begins(line, USPI_SPAN("Total number in stack"))) {
        heading->kind = USPI_HEADING_END;
        return true;
    }
    uspi_skip_blanks(line, &at);
    if (!uspi_scan_decimal(line, &at, &count) || !uspi_skip(line, &at, USPI_SPAN(" Thread_"))) return false;
    heading->kind = USPI_HEADING_THREAD;
    heading->flags = USPI_THREAD_TREE;
    /* Samples of several threads may be merged. */
    if (!uspi_skip(line, &at, USPI_SPAN("<multiple>"))) {
        if (!uspi_scan_decimal(line, &at, &heading->id)) return false;
        heading->flags |= USPI_THREAD_ID;
    }
    struct uspi_span rest = uspi_span_trim(uspi_span_after(line, at));
    size_t queue = uspi_span_find(rest, 0, USPI_SPAN("DispatchQueue_")), label = queue;
    if (queue < rest.length) {
        label = uspi_span_find(rest, queue, USPI_SPAN(": "));
        size_t end = uspi_span_find(rest, queue, USPI_SPAN("  ("));
        if (label < end) heading->queue = uspi_span_trim(uspi_span_part(rest, label + 2, end));
    }
    heading->name = uspi_span_trim(uspi_span_part(rest, 0, queue));
    if (uspi_span_begins(heading->name, USPI_SPAN(":"))) {
        heading->name = uspi_span_trim(uspi_span_after(heading->name, 1));
    }
    return true;
}

const struct uspi_line_shape uspi_sample_lines = {
    .name = "sample",
    .frame_bytes = USPI_HAS_PAREN | USPI_HAS_BRACKET | USPI_HAS_X,
    .frame_begins = USPI_BEGINS_DIGIT | USPI_BEGINS_MARK,
    .frame = find_frame,
    .heading = find_heading,
    .put = put,
};

const struct uspi_line_shape uspi_sample_top_lines = {
    .name = "sample",
    .frame_bytes = USPI_HAS_PAREN | USPI_HAS_BRACKET | USPI_HAS_X,
    .frame_begins = USPI_BEGINS_OTHER,
    .frame = find_top,
    .put = put,
};
