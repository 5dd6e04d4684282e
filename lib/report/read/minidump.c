/* SPDX-License-Identifier: MIT */
/* Reads the text of minidump-stackwalk (Breakpad's and Rust's), and its list of modules.
 *
 *   Thread 0 (crashed)                           Rust's tool: Thread 0 main (crashed) - tid: 4611
 *    0  App + 0x4004
 *       x0 = 0x0000000000000000   pc = 0x0000000104e60004
 *       Found by: given as instruction pointer in context
 *    1  App!-[View draw:] [view.m : 14 + 0x4]
 *    2  0x7fff5fbff8a0
 *    3  0xf00800 (unloaded many.dll@0x460)       modules that were there before; Rust's tool
 *   Loaded modules:
 *   0x104e5c000 - 0x104e6ffff  App  ???  (main)  (WARNING: No symbols, App, 4C4C44A555553144A1B20123456789AB0)
 *
 * Breakpad writes the offsets of return addresses, Rust's tool those of the calls, which are 1 or 4 less; both are read
 * as return addresses. A debug id is a UUID and an age; on other systems than Apple's it is not the file's build id.
 * Sources: breakpad src/processor/stackwalk_common.cc; rust-minidump minidump-processor/src/process_state.rs. */
#include "lib/report/read/line.h"

/* Number of digits of a UUID. */
#define ID_DIGITS 32

/* Reads " [FILE : LINE + 0x4]" at the end of a name. */
static void take_file(struct uspi_frame *frame) {
    struct uspi_span *name = &frame->name;
    const size_t open = uspi_span_find_last(*name, USPI_SPAN(" ["));
    if (open == name->length || !uspi_span_ends(*name, USPI_SPAN("]"))) return;
    const struct uspi_span place = uspi_span_part(*name, open + 2, name->length - 1);
    const size_t plus = uspi_span_find_last(place, USPI_SPAN(" + 0x"));
    struct uspi_span file = uspi_span_part(place, 0, plus);
    const size_t colon = uspi_span_find_last(file, USPI_SPAN(":"));
    size_t at = colon + 1;
    uint64_t number;
    if (colon == file.length) return;
    uspi_skip_blanks(file, &at);
    if (!uspi_scan_decimal(file, &at, &number) || at != file.length) return;
    frame->file = uspi_span_trim(uspi_span_part(file, 0, colon));
    frame->line = number < UINT32_MAX ? (uint32_t)number : UINT32_MAX;
    name->length = open;
}

/* Reads "NAME + 0x7" or "NAME [FILE : LINE + 0x4]", and what answers have after it. */
static void take_name(struct uspi_span line, struct uspi_span text, struct uspi_frame *frame) {
    frame->flags |= USPI_FRAME_NAMED;
    frame->name = text;
    take_file(frame);
    uspi_take_source(line, frame);
    const size_t plus = uspi_span_find_last(frame->name, USPI_SPAN(" + 0x"));
    size_t end = plus + 3;
    if (plus == frame->name.length || !uspi_scan_hex(frame->name, &end, &frame->name_offset) ||
        end != frame->name.length)
        return;
    frame->name.length = plus;
    frame->flags |= USPI_FRAME_NAME_OFFSET;
}

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim_right(line);
    size_t at = 0;
    uspi_skip_blanks(text, &at);
    if (from > 0 || at > 1 || !uspi_scan_decimal(text, &at, &frame->index) || !uspi_skip(text, &at, USPI_SPAN("  ")))
        return false;
    if (at >= text.length || text.bytes[at] == ' ') return false;
    const size_t begin = at, mark = uspi_span_find(text, at, USPI_SPAN("!")),
                 plus = uspi_span_find_last(text, USPI_SPAN(" + 0x"));
    size_t end = plus + 3;
    frame->flags |= USPI_FRAME_INDEX;
    if (uspi_scan_hex(text, &at, &frame->address) &&
        (at == text.length || uspi_span_has_at(text, at, USPI_SPAN(" (unloaded ")))) {
        frame->flags |= USPI_FRAME_ADDRESS | USPI_FRAME_NOWHERE;
        frame->replaced = uspi_span_part(line, at, at);
        return true;
    }
    if (mark < text.length && mark > begin) {
        frame->image = uspi_span_part(text, begin, mark);
        take_name(line, uspi_span_after(text, mark + 1), frame);
        return frame->name.length > 0;
    }
    if (plus == text.length || plus <= begin || !uspi_scan_hex(text, &end, &frame->offset) || end != text.length)
        return false;
    frame->image = uspi_span_part(text, begin, plus);
    frame->flags |= USPI_FRAME_OFFSET;
    frame->replaced = uspi_span_part(line, begin, end);
    return !uspi_span_has(frame->image, USPI_SPAN(" 0x"));
}

static void put(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                uint32_t which) {
    uspi_put(out, frame->image.bytes, frame->image.length);
    uspi_put_string(out, "!");
    uspi_put_symbol_spaced_hex(out, frame, answer, which);
}

/* Whether a module's debug id has its file's UUID: it is not a library of Linux or a program of Windows. */
static bool has_uuid(struct uspi_span name) {
    return !uspi_span_has(name, USPI_SPAN(".so")) && !uspi_span_ends(name, USPI_SPAN(".dll")) &&
           !uspi_span_ends(name, USPI_SPAN(".exe"));
}

static bool find_image(struct uspi_span line, struct uspi_read_image *image) {
    static const struct uspi_span marks[] = {USPI_SPAN_INIT("(WARNING: No symbols, "),
                                             USPI_SPAN_INIT("(WARNING: Corrupt symbols, ")};
    const struct uspi_span text = uspi_span_trim_right(line);
    size_t at = 0, end;
    uspi_skip_blanks(text, &at);
    if (!uspi_scan_hex(text, &at, &image->first) || !uspi_skip(text, &at, USPI_SPAN(" - "))) return false;
    if (!uspi_scan_hex(text, &at, &image->last) || image->last < image->first) return false;
    if (!uspi_skip(text, &at, USPI_SPAN("  "))) return false;
    end = uspi_span_find(text, at, USPI_SPAN("  "));
    image->ident = image->path = uspi_span_part(text, at, end);
    at = end + 2;
    if (image->path.length == 0 || at >= text.length) return false;
    const struct uspi_span version = uspi_scan_word(text, &at);
    if (!uspi_span_is(version, USPI_SPAN("???")) && (version.length == 0 || !uspi_is_digit(version.bytes[0])))
        return false;
    for (size_t i = 0; i < 2; i++) {
        size_t id = uspi_span_find(text, at, marks[i]);
        if (id == text.length || !has_uuid(image->path)) continue;
        id = uspi_span_find(text, id + marks[i].length, USPI_SPAN(", ")) + 2;
        if (id + ID_DIGITS < text.length)
            image->id_size = uspi_scan_id(uspi_span_part(text, id, id + ID_DIGITS), image->id, sizeof image->id);
    }
    return true;
}

/* Reads " - tid: 4611" at the end of a heading, and cuts it off. Rust's tool writes it. */
static bool take_thread_id(struct uspi_span *text, struct uspi_heading *heading) {
    static const struct uspi_span label = USPI_SPAN_INIT(" - tid: ");
    const size_t begin = uspi_span_find_last(*text, label);
    size_t at = begin + label.length;
    if (begin == text->length || !uspi_scan_decimal(*text, &at, &heading->id) || at != text->length) return false;
    heading->flags |= USPI_THREAD_ID;
    text->length = begin;
    return true;
}

/* "Thread 0 (crashed)", "Thread 1"; and of Rust's tool "Thread 0 main (crashed) - tid: 4611" */
static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_field_label labels[] = {
        {USPI_SPAN_INIT("Operating system: "), USPI_FIELD_OS_VERSION, false},
        {USPI_SPAN_INIT("CPU: "), USPI_FIELD_CODE_TYPE, false},
        {USPI_SPAN_INIT("Crash reason:"), USPI_FIELD_EXCEPTION_TYPE, false},
        {USPI_SPAN_INIT("Crash address:"), USPI_FIELD_FAULT_ADDRESS, false},
        {USPI_SPAN_INIT("Assertion:"), USPI_FIELD_INFORMATION, false},
    };
    const struct uspi_span text = uspi_span_trim_right(line);
    size_t at = 0;
    if (uspi_span_is(text, USPI_SPAN("Loaded modules:"))) {
        heading->kind = USPI_HEADING_END;
        return true;
    }
    if (uspi_take_field(line, labels, sizeof labels / sizeof *labels, heading)) return heading->value.length > 0;
    if (!uspi_skip(text, &at, USPI_SPAN("Thread ")) || !uspi_scan_decimal(text, &at, &heading->number)) return false;
    heading->kind = USPI_HEADING_THREAD;
    heading->flags = USPI_THREAD_NUMBER;
    struct uspi_span rest = uspi_span_after(text, at);
    const bool has_id = take_thread_id(&rest, heading);
    if (uspi_span_ends(rest, USPI_SPAN(" (crashed)"))) {
        heading->flags |= USPI_THREAD_CRASHED;
        rest.length -= 10;
    } else if (!has_id && rest.length > 0) {
        return false;
    }
    heading->name = uspi_span_trim(rest);
    return true;
}

const struct uspi_line_shape uspi_minidump_lines = {
    .name = "minidump-stackwalk",
    .frame_begins = USPI_BEGINS_DIGIT,
    .image_bytes = USPI_HAS_X,
    .image_begins = USPI_BEGINS_0X,
    .frame = find_frame,
    .image = find_image,
    .heading = find_heading,
    .put = put,
};
