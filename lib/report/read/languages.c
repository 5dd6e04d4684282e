/* SPDX-License-Identifier: MIT */
/* Reads the stacks that the runtimes of Rust, Go and Java print when a program fails. None of them lists the images
 * near the frames, but hs_err has a copy of /proc/PID/maps.
 *
 *      3:     0x5648b3a92bff - <unknown>              Rust, RUST_BACKTRACE=full
 *      3: prog::main                                Rust, RUST_BACKTRACE=1; in the next line:
 *                at ./src/prog.rs:2:40
 *       pc=0x401139                                Go, after a tab, below "non-Go function"
 *   main.work(0x1)                                 Go; in the next line, after a tab:
 *       /src/prog.go:16 +0x25
 *   C  [libboom.so+0x1109]  inner+0x0               HotSpot; C  0x… outside of libraries; other kinds: V, v, j and J
 *
 * Sources: the programs themselves; OpenJDK frame.cpp (print_C_frame), Go runtime/traceback.go. */
#include "lib/report/read/line.h"

/* ---- Rust ---- */

/* A lower address ends a stack. */
#define LOWEST 0x1000

static bool find_rust(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = 0;
    uspi_skip_blanks(line, &at);
    if (from > 0 || at == 0 || !uspi_scan_decimal(line, &at, &frame->index)) return false;
    if (!uspi_skip(line, &at, USPI_SPAN(": "))) return false;
    uspi_skip_blanks(line, &at);
    frame->flags |= USPI_FRAME_INDEX;
    size_t next = at;
    if (uspi_scan_hex(line, &next, &frame->address) && uspi_skip(line, &next, USPI_SPAN(" - "))) {
        if (frame->address < LOWEST) return false;
        frame->flags |= USPI_FRAME_ADDRESS;
        at = next;
    } else {
        frame->flags |= USPI_FRAME_UNSURE;
    }
    frame->name = frame->replaced = uspi_span_trim_right(uspi_span_after(line, at));
    if (!uspi_is_placeholder(frame->name)) frame->flags |= USPI_FRAME_NAMED;
    return frame->name.length > 0 && (frame->flags & (USPI_FRAME_ADDRESS | USPI_FRAME_NAMED)) != 0;
}

/* "             at ./src/p.rs:2:40" */
static bool rust_source(struct uspi_span line, struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim(line);
    const bool is_indented = line.length > 0 && uspi_is_blank(line.bytes[0]);
    return is_indented && uspi_span_begins(text, USPI_SPAN("at ")) &&
           uspi_take_file_line(uspi_span_after(text, 3), frame);
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
    .frame_begins = USPI_BEGINS_DIGIT,
    .frame = find_rust,
    .source = rust_source,
    .heading = rust_heading,
    .put = put_rust,
};

/* Sets the text that an answer replaces: from `at` to the end of `whole`, which is the name and its offset. A source
 * line after it stays. */
static void take_replaced(struct uspi_span line, size_t at, struct uspi_span whole, struct uspi_frame *frame) {
    size_t end = (size_t)(whole.bytes - line.bytes) + whole.length;
    if (frame->file.length > 0) end = (size_t)(frame->name.bytes - line.bytes) + frame->name.length;
    frame->replaced = uspi_span_part(line, at, end);
}

/* ---- Go ---- */

static bool find_go(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = uspi_span_find(line, 0, USPI_SPAN("pc=0x"));
    bool is_signal = uspi_span_begins(line, USPI_SPAN("[signal "));
    if (from > 0 || at == line.length || (at != 1 && !is_signal) || (at == 1 && line.bytes[0] != '\t')) return false;
    at += 3;
    if (!uspi_scan_hex(line, &at, &frame->address)) return false;
    frame->replaced = uspi_span_part(line, at, at);
    frame->flags |= USPI_FRAME_ADDRESS;
    if (is_signal) frame->flags |= USPI_FRAME_CALL_SITE | USPI_FRAME_ONE_LINE;
    frame->name = uspi_span_trim(uspi_span_after(line, at));
    if (is_signal && uspi_span_ends(frame->name, USPI_SPAN("]"))) frame->name.length--;
    if (frame->name.length == 0) return true;
    frame->flags |= USPI_FRAME_NAMED;
    const struct uspi_span whole = frame->name;
    uspi_take_name_offset(line, frame);
    take_replaced(line, at, whole, frame);
    return true;
}

/* Reads "\t/src/prog.go:16 +0x25 fp=0xc00004af80 sp=0xc00004af60 pc=0x400140"; everything after the line number may be
 * missing. */
static bool go_source(struct uspi_span line, struct uspi_frame *frame) {
    size_t at = uspi_span_find(line, 0, USPI_SPAN(" pc=0x")) + 4;
    const size_t end = uspi_span_find(line, 0, USPI_SPAN(" +0x"));
    if (!uspi_span_begins(line, USPI_SPAN("\t"))) return false;
    if (!uspi_take_file_line(uspi_span_trim(uspi_span_part(line, 1, end)), frame)) return false;
    if (at < line.length && uspi_scan_hex(line, &at, &frame->address)) frame->flags |= USPI_FRAME_ADDRESS;
    return true;
}

/* Whether a text may be the name of a function. It begins with a letter; only the path of a package may begin with a
 * digit ("9fans.net/go/acme.Open"). */
static bool is_go_name(struct uspi_span name) {
    const char c = name.length > 0 ? name.bytes[0] : '\0';
    if (uspi_is_digit(c)) return uspi_span_has(name, USPI_SPAN("."));
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}

/* "main.(*T).work(0xc000012345, {0x4, 0x5})"; "created by main.main in goroutine 1". */
static bool find_go_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    static const struct uspi_span created = USPI_SPAN_INIT("created by ");
    struct uspi_span text = uspi_span_trim_right(line);
    if (from > 0 || text.length == 0 || uspi_is_blank(text.bytes[0])) return false;
    frame->flags |= USPI_FRAME_NAMED | USPI_FRAME_UNSURE;
    if (uspi_span_begins(text, created)) {
        frame->name = uspi_span_part(text, 0, uspi_span_find(text, 0, USPI_SPAN(" in goroutine ")));
        return true;
    }
    if (text.bytes[text.length - 1] != ')') return false;
    size_t open = text.length - 1;
    for (size_t depth = 1; depth > 0;) {
        if (open == 0) return false;
        open--;
        depth += text.bytes[open] == ')';
        depth -= text.bytes[open] == '(';
    }
    frame->name = uspi_span_part(text, 0, open);
    return is_go_name(frame->name) && !uspi_is_blank(text.bytes[open - 1]);
}

static void put_go(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                   uint32_t which) {
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

const struct uspi_line_shape uspi_go_frames = {
    .name = "go",
    .frame_begins = USPI_BEGINS_0X | USPI_BEGINS_DIGIT | USPI_BEGINS_LETTER | USPI_BEGINS_M | USPI_BEGINS_OTHER,
    .frame = find_go_frame,
    .source = go_source,
};

/* ---- Java ---- */

static bool find_java(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = 0, plus;
    uspi_skip(line, &at, USPI_SPAN("# "));
    if (from == 0 && uspi_skip(line, &at, USPI_SPAN("C  0x"))) {
        frame->flags |= USPI_FRAME_ADDRESS | USPI_FRAME_NOWHERE;
        return uspi_scan_hex_digits(line, &at, &frame->address) &&
               uspi_span_trim(uspi_span_after(line, at)).length == 0;
    }
    if (from > 0 || (!uspi_skip(line, &at, USPI_SPAN("C  [")) && !uspi_skip(line, &at, USPI_SPAN("V  ["))))
        return false;
    plus = uspi_span_find(line, at, USPI_SPAN("+0x"));
    if (plus == line.length || plus == at) return false;
    frame->image = uspi_span_part(line, at, plus);
    at = plus + 1;
    if (!uspi_scan_hex(line, &at, &frame->offset) || !uspi_skip(line, &at, USPI_SPAN("]"))) return false;
    frame->flags |= USPI_FRAME_OFFSET;
    /* The problematic frame, marked by #, is also the first one of the stack. */
    if (line.bytes[0] == '#') frame->flags |= USPI_FRAME_CALL_SITE;
    const size_t after = at;
    frame->replaced = uspi_span_part(line, at, at);
    uspi_skip_blanks(line, &at);
    frame->name = uspi_span_trim_right(uspi_span_after(line, at));
    if (frame->name.length == 0) return true;
    frame->flags |= USPI_FRAME_NAMED;
    const struct uspi_span whole = frame->name;
    uspi_take_name_offset(line, frame);
    take_replaced(line, after, whole, frame);
    return true;
}

/* "j  Crash.main()V+13", "v  ~StubRoutines::call_stub", and compiled code:
 * "J 12% c2 Crash.run()V java.base@17 (5 bytes) @ 0x00007f5cdc0d1a54 [0x00007f5cdc0d1a20+0x0000000000000034]" */
static bool find_java_code(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim_right(line);
    size_t at = 3;
    uint64_t number;
    if (from > 0 || text.length < 4) return false;
    frame->flags |= USPI_FRAME_NAMED;
    if (uspi_span_begins(text, USPI_SPAN("v  ~"))) {
        frame->name = uspi_span_after(text, 3);
        return true;
    }
    if (uspi_span_begins(text, USPI_SPAN("j  "))) {
        const struct uspi_span method = uspi_scan_word(text, &at);
        const size_t plus = uspi_span_find_last(method, USPI_SPAN("+"));
        size_t digits = plus + 1;
        frame->name = uspi_span_part(method, 0, plus);
        frame->flags |= USPI_FRAME_NAME_OFFSET;
        return plus < method.length && uspi_span_has(frame->name, USPI_SPAN("(")) &&
               uspi_scan_decimal(method, &digits, &frame->name_offset) && digits == method.length;
    }
    const size_t code = uspi_span_find(text, 0, USPI_SPAN(" bytes) @ 0x"));
    at = 2;
    if (code == text.length || !uspi_span_begins(text, USPI_SPAN("J ")) || !uspi_scan_decimal(text, &at, &number))
        return false;
    uspi_scan_word(text, &at);
    uspi_skip_blanks(text, &at);
    if (uspi_skip(text, &at, USPI_SPAN("c1 ")) || uspi_skip(text, &at, USPI_SPAN("c2 "))) uspi_skip_blanks(text, &at);
    frame->name = uspi_scan_word(text, &at);
    at = code + 10;
    frame->flags |= USPI_FRAME_ADDRESS;
    return frame->name.length > 0 && uspi_scan_hex(text, &at, &frame->address);
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
    static const struct uspi_span stacks[] = {USPI_SPAN_INIT("# Problematic frame:"), USPI_SPAN_INIT("Java frames: ")};
    for (size_t i = 0; i < 2; i++) {
        if (!uspi_span_begins(line, stacks[i])) continue;
        heading->kind = USPI_HEADING_STACK;
        heading->name = uspi_span_part(stacks[i], i == 0 ? 2 : 0, uspi_span_find(stacks[i], 0, USPI_SPAN(":")));
        return true;
    }
    if (uspi_span_begins(line, USPI_SPAN("Registers:"))) {
        heading->kind = USPI_HEADING_END;
        return true;
    }
    return uspi_take_field(line, labels, sizeof labels / sizeof *labels, heading);
}

const struct uspi_line_shape uspi_java_lines = {
    .name = "hs_err",
    .frame_bytes = USPI_HAS_X,
    .frame_begins = USPI_BEGINS_HASH | USPI_BEGINS_OTHER,
    .frame = find_java,
    .heading = java_heading,
    .put = put_java,
};

const struct uspi_line_shape uspi_java_code = {
    .name = "hs_err",
    .frame_begins = USPI_BEGINS_OTHER,
    .frame = find_java_code,
};
