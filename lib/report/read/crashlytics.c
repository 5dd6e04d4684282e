/* SPDX-License-Identifier: MIT */
/* Reads the text of Firebase Crashlytics: what its console copies, and its "Download stack trace (.txt)".
 *
 *   0  App                            0x4104 (Missing UUID 4c4c44a555553144a1b20123456789ab)
 *   1  App                            0x1006d4d74 (Missing)      the UUID is not known; other words in translated pages
 *   2  libdyld.dylib                  0x1234 start + 4
 *   3  App                            0x392a25 CLSHandler (CLSHandler.m:26)
 *   4  CoreFoundation                 0x99288 __exceptionPreprocess
 *   5  CoreFoundation                 0x89a18 <redacted> + 160
 *   6  App                            0x246e35c -[View draw] + 636 (View.m:636)      here the line, not an offset
 *   7  App 0x246e35c -[View draw] + 12                           copies have lost the columns
 *
 * The number counts from the image's load address. Numbers of 4 GB and more, which old versions wrote, are addresses.
 * Sources: reports in firebase/firebase-ios-sdk issue 10606, firebase/quickstart-ios issue 933, fabric/fabric issue
 * 1563, bugsnag/bugsnag-cocoa issue 850; Firebase, "Get readable crash reports in the Crashlytics dashboard". */
#include "lib/report/read/line.h"

/* Reads "INDEX  IMAGE   0xNUMBER " at the line's beginning. *at moves past the blank. */
static bool take_columns(struct uspi_span line, size_t *at, struct uspi_frame *frame) {
    size_t begin = 0, end;
    uspi_skip_blanks(line, &begin);
    end = begin;
    if (!uspi_scan_decimal(line, &end, &frame->index) || !uspi_skip(line, &end, USPI_SPAN(" "))) return false;
    uspi_skip_blanks(line, &end);
    const size_t number = uspi_span_find(line, end, USPI_SPAN(" 0x")) + 1;
    if (number >= line.length) return false;
    frame->flags |= USPI_FRAME_INDEX;
    frame->image = uspi_span_trim_right(uspi_span_part(line, end, number));
    *at = number;
    if (!uspi_scan_hex(line, at, &frame->offset) || !uspi_skip(line, at, USPI_SPAN(" "))) return false;
    if (frame->offset > UINT32_MAX) {
        frame->address = frame->offset;
        frame->flags |= USPI_FRAME_ADDRESS;
    } else {
        frame->flags |= USPI_FRAME_OFFSET;
    }
    return frame->image.length > 0;
}

/* The column of the numbers, if number and name of the image fit their own. A wider number moves it by one. */
#define NUMBER_COLUMN 34

/* Whether the columns of a frame are exactly Crashlytics'. All lines may be indented. */
static bool has_columns(struct uspi_span line, const struct uspi_frame *frame) {
    size_t indent = 0, begin = (size_t)(frame->image.bytes - line.bytes);
    uspi_skip_blanks(line, &indent);
    const size_t number = uspi_span_find(line, begin, USPI_SPAN(" 0x")) + 1 - indent;
    begin -= indent;
    return begin >= 3 && begin <= 4 && (number == NUMBER_COLUMN || number == NUMBER_COLUMN + 1);
}

/* Crashlytics' columns of frame and image are narrower than Apple's; a copy may have lost blanks. Its numbers have no
 * leading zeros, and no program of a system of today is in the first 4 GB. */
bool uspi_is_crashlytics_offset(struct uspi_span line, size_t at, uint64_t number) {
    size_t begin = 0, end;
    uint64_t index;
    uspi_skip_blanks(line, &begin);
    end = begin;
    if (number == 0 || number > UINT32_MAX || line.bytes[at + 2] == '0' || at == 0 || line.bytes[at - 1] != ' ') {
        return false;
    }
    if (!uspi_scan_decimal(line, &end, &index) || !uspi_span_has_at(line, end, USPI_SPAN(" "))) return false;
    size_t image = end;
    uspi_skip_blanks(line, &image);
    if (image >= at || uspi_span_has(uspi_span_part(line, image, at), USPI_SPAN(" 0x"))) return false;
    return image == end + 1 || image - begin == 3;
}

/* Reads "(WORD)" at the line's end: a browser has translated "(Missing)". */
static bool take_translated(struct uspi_span line, size_t *at, const struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim_right(line);
    size_t end = *at;
    if (!has_columns(text, frame) || !uspi_skip(text, &end, USPI_SPAN("("))) return false;
    while (end < text.length && memchr(" ()", text.bytes[end], 3) == NULL) end++;
    if (end == *at + 1 || !uspi_skip(text, &end, USPI_SPAN(")")) || end != text.length) return false;
    *at = end;
    return true;
}

static bool find_missing(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    static const struct uspi_span missing = USPI_SPAN_INIT("(Missing");
    size_t at = 0;
    if (from > 0 || !take_columns(line, &at, frame)) return false;
    uspi_skip_blanks(line, &at);
    const size_t begin = at;
    uint64_t offset;
    if (uspi_span_has_at(line, at, USPI_SPAN("<redacted> + "))) {
        return (frame->flags & USPI_FRAME_OFFSET) != 0 && uspi_take_symbol(uspi_span_after(line, at), frame, &offset);
    }
    if (!uspi_skip(line, &at, missing)) {
        if (!take_translated(line, &at, frame)) return false;
        frame->replaced = uspi_span_part(line, begin, at);
        return true;
    }
    if (uspi_skip(line, &at, USPI_SPAN(" UUID "))) {
        const size_t close = uspi_span_find(line, at, USPI_SPAN(")"));
        frame->id_size = uspi_scan_id(uspi_span_part(line, at, close), frame->id, sizeof frame->id);
        at = close;
    }
    if (!uspi_skip(line, &at, USPI_SPAN(")"))) return false;
    frame->replaced = uspi_span_part(line, begin, at);
    return true;
}

/* Finds frames that have a name. Their columns distinguish them from other numbered lines, or an offset after the
 * name. */
static bool find_named(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim_right(line);
    size_t at = 0;
    if (from > 0 || !take_columns(text, &at, frame)) return false;
    if (uspi_span_has(uspi_span_part(text, 0, at), USPI_SPAN(" 0x0"))) return false;
    frame->name = frame->replaced = uspi_span_after(text, at);
    if (frame->name.length == 0 || uspi_is_blank(frame->name.bytes[0]) || frame->name.bytes[0] == '(') return false;
    frame->flags |= USPI_FRAME_NAMED;
    const bool has_offset = uspi_take_symbol(frame->name, frame, &frame->name_offset);
    if (!has_columns(text, frame) && !has_offset) return false;
    uspi_take_source(text, frame);
    /* Where the source line is known, it is written as the offset, too; where it is not, the address may be. */
    if (has_offset && frame->name_offset <= UINT32_MAX && (frame->line == 0 || frame->name_offset != frame->line)) {
        frame->flags |= USPI_FRAME_NAME_OFFSET;
    }
    return true;
}

/* "EXC_BAD_ACCESS KERN_INVALID_ADDRESS 0x0000000000000010", "EXC_BREAKPOINT 0x0000000104e60004", "SIGABRT ABORT
 * 0x0000000104e60004" */
static bool find_signal(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_span exc = USPI_SPAN_INIT("EXC_"), sig = USPI_SPAN_INIT("SIG");
    const struct uspi_span text = uspi_span_trim(line);
    const size_t hex = uspi_span_find(text, 0, USPI_SPAN(" 0x")) + 1;
    size_t end = hex;
    uint64_t address;
    if (!uspi_span_begins(text, exc) && !uspi_span_begins(text, sig)) return false;
    if (hex >= text.length || !uspi_scan_hex(text, &end, &address) || end != text.length) return false;
    for (size_t i = 0; i + 1 < hex; i++) {
        const char c = text.bytes[i];
        if (c != '_' && c != ' ' && !uspi_is_digit(c) && (c < 'A' || c > 'Z')) return false;
    }
    heading->kind = USPI_HEADING_FIELD;
    heading->field = USPI_FIELD_EXCEPTION_TYPE;
    heading->value = text;
    return true;
}

/* "Fatal Exception: NSRangeException", "Crashed: com.apple.main-thread", "com.apple.uikit.eventfetch-thread" */
static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_field_label labels[] = {
        {USPI_SPAN_INIT("# Date: "), USPI_FIELD_DATE, false},
        {USPI_SPAN_INIT("# OS Version: "), USPI_FIELD_OS_VERSION, false},
        {USPI_SPAN_INIT("# Device: "), USPI_FIELD_HARDWARE, false},
        {USPI_SPAN_INIT("# Bundle Identifier: "), USPI_FIELD_IDENTIFIER, false},
        {USPI_SPAN_INIT("# Version: "), USPI_FIELD_VERSION, false},
    };
    static const struct uspi_span crashed = USPI_SPAN_INIT("Crashed: "), fatal = USPI_SPAN_INIT("Fatal Exception: ");
    size_t at = 0;
    line = uspi_span_trim_left(line);
    if (uspi_take_field(line, labels, sizeof labels / sizeof *labels, heading)) return true;
    if (uspi_skip(line, &at, fatal)) {
        heading->kind = USPI_HEADING_STACK;
        heading->flags = USPI_STACK_HAS_REASON;
        heading->name = uspi_span_trim(line);
        heading->field = USPI_FIELD_EXCEPTION_TYPE;
        heading->value = uspi_span_trim(uspi_span_after(line, at));
        return true;
    }
    if (find_signal(line, heading)) return true;
    /* The download numbers the threads: "#0. Crashed: com.apple.main-thread". */
    if (uspi_skip(line, &at, USPI_SPAN("#"))) {
        if (!uspi_scan_decimal(line, &at, &heading->number) || !uspi_skip(line, &at, USPI_SPAN(". "))) return false;
        heading->flags = USPI_THREAD_NUMBER;
    }
    const bool has_crashed = uspi_skip(line, &at, crashed);
    if (!has_crashed && heading->flags == 0) return false;
    heading->kind = USPI_HEADING_THREAD;
    if (has_crashed) heading->flags |= USPI_THREAD_CRASHED;
    heading->name = uspi_span_trim(uspi_span_after(line, at));
    return true;
}

const struct uspi_line_shape uspi_crashlytics_lines = {
    .name = "crashlytics",
    .frame_bytes = USPI_HAS_X,
    .frame_begins = USPI_BEGINS_DIGIT,
    .frame = find_missing,
    .heading = find_heading,
    .names_above = true,
};

const struct uspi_line_shape uspi_crashlytics_named = {
    .name = "crashlytics",
    .frame_bytes = USPI_HAS_X,
    .frame_begins = USPI_BEGINS_DIGIT,
    .frame = find_named,
    .names_above = true,
};
