/* SPDX-License-Identifier: MIT */
/* Reads Android's tombstones, their lines in logcat, and lines of ndk-stack.
 *
 *       #00 pc 000000000001402c  /system/lib64/libc.so (abort+164) (BuildId: b64f959e4b1a8b5e9c1b0b5f5a1b7c3d)
 *       #01 pc 0001402c  /data/app/base.apk!libapp.so (offset 0x5000) (BuildId: …)
 *
 * The pc is an address as the file was linked. It is the address of the call, not the return address (libunwindstack
 * Unwinder.cpp FillInFrame, debuggerd tombstone_proto_to_text.cpp). */
#include "lib/report/read/line.h"

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = 0;
    if (from > 0 || !uspi_take_hash_index(line, &at, frame) || !uspi_skip(line, &at, USPI_SPAN("pc "))) return false;
    uspi_skip(line, &at, USPI_SPAN("0x"));
    if (!uspi_scan_hex_digits(line, &at, &frame->offset)) return false;
    size_t begin = at;
    uspi_skip_blanks(line, &at);
    if (at == begin) return false;
    /* The path goes up to " (", or to the end of the line. It may contain blanks. */
    size_t end = uspi_span_find(line, at, USPI_SPAN(" (")), after = end;
    struct uspi_span rest = uspi_span_trim_right(uspi_span_after(line, at));
    if (end == line.length) after = at + rest.length;
    frame->image = uspi_span_trim(uspi_span_part(line, at, after));
    size_t inner = uspi_span_find_last(frame->image, USPI_SPAN("!"));
    if (inner < frame->image.length) frame->image = uspi_span_after(frame->image, inner + 1);
    frame->flags |= USPI_FRAME_OFFSET | USPI_FRAME_CALL_SITE;
    frame->base = USP_PLACE_LINKED;
    uspi_take_build_id(line, after, frame);
    size_t next = after;
    if (uspi_skip(line, &next, USPI_SPAN(" (offset 0x"))) {
        after = uspi_span_find(line, next, USPI_SPAN(")")) + 1;
        if (after > line.length) return false;
    }
    frame->replaced = uspi_span_part(line, after, after);
    next = after;
    if (uspi_skip(line, &next, USPI_SPAN(" (")) && !uspi_span_has_at(line, next, USPI_SPAN("BuildId: "))) {
        size_t close = uspi_span_find(line, next, USPI_SPAN(")"));
        const size_t id = uspi_span_find(line, next, USPI_SPAN(" (BuildId: ")),
                     found = uspi_span_find(line, next, USPI_SPAN("+"));
        /* A demangled name may contain parentheses: the closing one is the first after the offset. */
        if (found < id) close = uspi_span_find(line, found, USPI_SPAN(")"));
        frame->name = uspi_span_part(line, next, close);
        frame->replaced = uspi_span_part(line, after, close < line.length ? close + 1 : close);
        frame->flags |= USPI_FRAME_NAMED;
        uspi_take_name_offset(line, frame);
    }
    /* "<anonymous:7b1d>": memory to which no file is mapped. */
    if (uspi_span_begins(frame->image, USPI_SPAN("<"))) frame->flags |= USPI_FRAME_NOWHERE;
    return frame->image.length > 0;
}

static void put(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                uint32_t which) {
    (void)frame;
    uspi_put_string(out, " (");
    uspi_put_source_name(out, answer, which);
    if (uspi_has_source_offset(answer, which)) {
        uspi_put_string(out, "+");
        uspi_put_decimal(out, answer->offset, 0);
    }
    uspi_put_string(out, ")");
    uspi_put_source_line(out, answer, which);
}

/* Reads these lines:
 *   pid: 1600, tid: 1664, name: worker  >>> com.example <<<
 *   signal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x38 */
static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_field_label labels[] = {
        {USPI_SPAN_INIT("Build fingerprint: "), USPI_FIELD_OS_VERSION, false},
        {USPI_SPAN_INIT("ABI: "), USPI_FIELD_CODE_TYPE, false},
        {USPI_SPAN_INIT("Timestamp: "), USPI_FIELD_DATE, false},
        {USPI_SPAN_INIT("signal "), USPI_FIELD_EXCEPTION_TYPE, true},
        {USPI_SPAN_INIT("Abort message: "), USPI_FIELD_INFORMATION, false},
        {USPI_SPAN_INIT("Cause: "), USPI_FIELD_EXCEPTION_SUBTYPE, false},
    };
    /* logcat writes its own fields before the text. */
    size_t tag = uspi_span_find(line, 0, USPI_SPAN(" DEBUG   : "));
    if (tag < line.length) line = uspi_span_after(line, tag + 11);
    size_t at = uspi_span_find(line, 0, USPI_SPAN(", tid: ")), name = uspi_span_find(line, at, USPI_SPAN(", name: "));
    size_t process = uspi_span_find(line, name, USPI_SPAN("  >>> "));
    if (uspi_span_begins(line, USPI_SPAN("pid: ")) && name < line.length) {
        at += 7;
        heading->kind = USPI_HEADING_THREAD;
        if (uspi_scan_decimal(line, &at, &heading->id)) heading->flags = USPI_THREAD_ID;
        heading->name = uspi_span_trim(uspi_span_part(line, name + 8, process));
        return true;
    }
    if (uspi_span_begins(line, USPI_SPAN("signal ")) && !uspi_span_has(line, USPI_SPAN("(SIG"))) return false;
    return uspi_take_field(line, labels, sizeof labels / sizeof *labels, heading);
}

const struct uspi_line_shape uspi_android_lines = {
    .name = "android",
    .frame_bytes = USPI_HAS_HASH,
    .frame = find_frame,
    .heading = find_heading,
    .put = put,
};
