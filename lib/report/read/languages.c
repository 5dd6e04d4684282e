/* SPDX-License-Identifier: MIT */
/* What run times of languages print when they give up: Rust, Go, Java. None of them tells its images where a frame is, but
 * hs_err has a copy of /proc/PID/maps.
 *
 *      3:     0x5648b3a92bff - <unknown>              Rust, RUST_BACKTRACE=full
 *       pc=0x401139                                Go, behind a tab, below "non-Go function"
 *   C  [libboom.so+0x1109]  inner+0x0               HotSpot; V, v, j and J are its other kinds
 *
 * Sources: the programs themselves; OpenJDK frame.cpp (print_C_frame), Go runtime/traceback.go. */
#include "lib/report/read/line.h"

/* ---- Rust ---- */

/* Lower ones end a stack. */
#define LOWEST 0x1000

static bool find_rust(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = 0;
    uspi_skip_blanks(line, &at);
    if (from > 0 || at == 0 || !uspi_scan_decimal(line, &at, &frame->index)) return false;
    if (!uspi_skip(line, &at, USPI_SPAN(": "))) return false;
    uspi_skip_blanks(line, &at);
    if (!uspi_scan_hex(line, &at, &frame->address) || frame->address < LOWEST) return false;
    if (!uspi_skip(line, &at, USPI_SPAN(" - "))) return false;
    frame->name = frame->replaced = uspi_span_trim_right(uspi_span_behind(line, at));
    frame->flags |= USPI_FRAME_ADDRESS | USPI_FRAME_INDEX;
    if (!uspi_is_placeholder(frame->name)) frame->flags |= USPI_FRAME_NAMED;
    return frame->name.length > 0;
}

static void put_rust(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                     uint32_t which) {
    (void)frame;
    uspi_put_source_name(out, answer, which);
    uspi_put_source_line(out, answer, which);
}

static bool rust_heading(struct uspi_span line, struct uspi_heading *heading) {
    size_t at = 0;
    if (!uspi_skip(line, &at, USPI_SPAN("thread '"))) return false;
    size_t end = uspi_span_find(line, at, USPI_SPAN("'")),
           panicked = uspi_span_find(line, at, USPI_SPAN("panicked at"));
    if (panicked == line.length) return false;
    heading->kind = USPI_HEADING_THREAD;
    heading->flags = USPI_THREAD_CRASHED;
    heading->name = uspi_span_part(line, at, end);
    return true;
}

const struct uspi_line_shape uspi_rust_lines = {
    .name = "rust",
    .frame_bytes = USPI_HAS_X,
    .frame_begins = USPI_BEGINS_DIGIT,
    .frame = find_rust,
    .heading = rust_heading,
    .put = put_rust,
};

/* ---- Go ---- */

static bool find_go(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = uspi_span_find(line, 0, USPI_SPAN("pc=0x"));
    bool is_signal = uspi_span_begins(line, USPI_SPAN("[signal "));
    if (from > 0 || at == line.length || (at != 1 && !is_signal) || (at == 1 && line.bytes[0] != '\t')) return false;
    at += 3;
    if (!uspi_scan_hex(line, &at, &frame->address)) return false;
    if (!is_signal && uspi_span_trim(uspi_span_behind(line, at)).length > 0) return false;
    frame->replaced = uspi_span_part(line, at, at);
    frame->flags |= USPI_FRAME_ADDRESS;
    if (is_signal) frame->flags |= USPI_FRAME_CALL_SITE;
    return true;
}

static void put_go(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                   uint32_t which) {
    if (which > 0 && (frame->flags & USPI_FRAME_CALL_SITE) != 0) return;
    uspi_put_string(out, " ");
    uspi_put_symbol_hex(out, frame, answer, which);
}

/* "goroutine 1 [running]:", "panic: …", "fatal error: …" */
static bool go_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_field_label labels[] = {
        {USPI_SPAN_INIT("panic: "), USPI_FIELD_EXCEPTION_TYPE, true},
        {USPI_SPAN_INIT("fatal error: "), USPI_FIELD_EXCEPTION_TYPE, true},
    };
    size_t at = 0;
    if (uspi_skip(line, &at, USPI_SPAN("goroutine ")) && uspi_scan_decimal(line, &at, &heading->number)) {
        heading->kind = USPI_HEADING_THREAD;
        heading->flags = USPI_THREAD_NUMBER;
        return uspi_skip(line, &at, USPI_SPAN(" ["));
    }
    return uspi_take_field(line, labels, sizeof labels / sizeof *labels, heading);
}

const struct uspi_line_shape uspi_go_lines = {
    .name = "go",
    .frame_bytes = USPI_HAS_X | USPI_HAS_EQUAL,
    .frame_begins = USPI_BEGINS_BRACKET | USPI_BEGINS_OTHER,
    .frame = find_go,
    .heading = go_heading,
    .put = put_go,
};

/* ---- Java ---- */

static bool find_java(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = 0, plus;
    uspi_skip(line, &at, USPI_SPAN("# "));
    if (from > 0 || (!uspi_skip(line, &at, USPI_SPAN("C  [")) && !uspi_skip(line, &at, USPI_SPAN("V  ["))))
        return false;
    plus = uspi_span_find(line, at, USPI_SPAN("+0x"));
    if (plus == line.length || plus == at) return false;
    frame->image = uspi_span_part(line, at, plus);
    at = plus + 1;
    if (!uspi_scan_hex(line, &at, &frame->offset) || !uspi_skip(line, &at, USPI_SPAN("]"))) return false;
    frame->flags |= USPI_FRAME_OFFSET;
    /* The problematic frame comes a second time, as the first of the stack. */
    if (line.bytes[0] == '#') frame->flags |= USPI_FRAME_CALL_SITE;
    frame->replaced = uspi_span_part(line, at, at);
    uspi_skip_blanks(line, &at);
    frame->name = uspi_span_trim_right(uspi_span_behind(line, at));
    if (frame->name.length > 0) frame->flags |= USPI_FRAME_NAMED;
    return true;
}

static void put_java(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                     uint32_t which) {
    uspi_put_string(out, "  ");
    uspi_put_symbol_hex(out, frame, answer, which);
}

static bool java_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_field_label labels[] = {
        {USPI_SPAN_INIT("siginfo: "), USPI_FIELD_EXCEPTION_TYPE, false},
        {USPI_SPAN_INIT("Host: "), USPI_FIELD_HARDWARE, false},
        {USPI_SPAN_INIT("Time: "), USPI_FIELD_DATE, false},
        {USPI_SPAN_INIT("vm_info: "), USPI_FIELD_VERSION, false},
        {USPI_SPAN_INIT("Command Line: "), USPI_FIELD_PATH, false},
    };
    static const struct uspi_span current = USPI_SPAN_INIT("Current thread (");
    if (uspi_span_begins(line, current)) {
        size_t from = uspi_span_find(line, 0, USPI_SPAN("\"")) + 1;
        heading->kind = USPI_HEADING_THREAD;
        heading->flags = USPI_THREAD_CRASHED;
        if (from <= line.length)
            heading->name = uspi_span_part(line, from, uspi_span_find(line, from, USPI_SPAN("\"")));
        return true;
    }
    if (uspi_span_begins(line, USPI_SPAN("Java frames: ")) || uspi_span_begins(line, USPI_SPAN("Registers:"))) {
        heading->kind = USPI_HEADING_END;
        return true;
    }
    return uspi_take_field(line, labels, sizeof labels / sizeof *labels, heading);
}

const struct uspi_line_shape uspi_java_lines = {
    .name = "hs_err",
    .frame_bytes = USPI_HAS_BRACKET | USPI_HAS_PLUS | USPI_HAS_X,
    .frame_begins = USPI_BEGINS_HASH | USPI_BEGINS_OTHER,
    .frame = find_java,
    .heading = java_heading,
    .put = put_java,
};
