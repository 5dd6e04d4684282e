/* SPDX-License-Identifier: MIT */
/* Reads reports of AddressSanitizer, LeakSanitizer, ThreadSanitizer, UndefinedBehaviorSanitizer and MemorySanitizer.
 *
 *     #0 0x55ef3675de91  (/opt/prog+0x10be91) (BuildId: 29bed4cc5b66b9c9dbb0839e2e7f99682b3c8c5d)
 *     #0 0x55ef3675de91 in main (/opt/prog+0x10be91) (BuildId: …)
 *     #0 <null> <null> (prog+0xe458e) (BuildId: …)             ThreadSanitizer
 *     #0 0x55ef3675de91 in main /src/prog.c:17:3               with a symbolizer
 *     #0 main /src/prog.c:17 (prog+0x1249)                     ThreadSanitizer with one
 *     #0 0x104e60004  (App:arm64+0x100004004)                  on Apple's systems
 *   SUMMARY: AddressSanitizer: SEGV (/opt/prog+0x10bd52) (BuildId: …)
 *   SUMMARY: AddressSanitizer: SEGV /src/prog.c:10 in main
 *
 * Their addresses are those of the calls, not return addresses. Offsets count from the address where the file's address
 * 0 is loaded (compiler-rt sanitizer_stacktrace_libcdep.cpp, sanitizer_linux_libcdep.cpp). On Apple's systems they
 * count from an image's first segment (sanitizer_procmaps_mac.cpp): for a program that is the unmapped one at address
 * 0, so that they are addresses as it was linked; for a library its load address. An answer keeps the image and the
 * build id. */
#include "lib/report/read/line.h"

/* Where a program of Apple's 64-bit systems is linked to begin. */
#define PROGRAM_BEGINS UINT64_C(0x100000000)

/* Reads ":arm64e" at the end of an image's name, as Apple's systems write it. */
static void take_arch(struct uspi_frame *frame) {
    const size_t colon = uspi_span_find_last(frame->image, USPI_SPAN(":"));
    uint32_t variant;
    if (colon == frame->image.length || colon == 0) return;
    const uint32_t arch = uspi_scan_arch(uspi_span_after(frame->image, colon + 1), &variant);
    if (arch == USP_ARCH_NONE) return;
    frame->image.length = colon;
    frame->arch = arch;
    if (usp_arch_pointer_size(arch) == 8 && frame->offset < PROGRAM_BEGINS) frame->base = USP_PLACE_LOAD;
}

/* Finds "(PATH+0xOFFSET)" at or after `from`. */
static bool find_module(struct uspi_span line, size_t from, size_t *open, struct uspi_frame *frame) {
    for (size_t at = from; (at = uspi_span_find(line, at, USPI_SPAN("+0x"))) < line.length; at++) {
        size_t end = at + 1;
        if (!uspi_scan_hex(line, &end, &frame->offset) || !uspi_skip(line, &end, USPI_SPAN(")"))) continue;
        for (*open = at; *open > from && line.bytes[*open] != '(';) --*open;
        if (line.bytes[*open] != '(' || at == *open + 1) continue;
        frame->image = uspi_span_part(line, *open + 1, at);
        frame->flags |= USPI_FRAME_OFFSET | USPI_FRAME_CALL_SITE;
        frame->base = USP_PLACE_LINKED;
        take_arch(frame);
        uspi_take_build_id(line, end, frame);
        return true;
    }
    return false;
}

/* Reads "NAME FILE:LINE:COLUMN"; the file may be missing or, in ThreadSanitizer's reports, <null>. Names and absolute
 * paths may contain blanks; an absolute path begins at the first " /". Other paths contain no blanks. */
static void take_name(struct uspi_span text, struct uspi_frame *frame) {
    static const struct uspi_span null = USPI_SPAN_INIT(" <null>");
    if (uspi_span_ends(text, null)) text.length -= null.length;
    size_t file = uspi_span_find(text, 0, USPI_SPAN(" /"));
    if (file == text.length) file = uspi_span_find_last(text, USPI_SPAN(" "));
    frame->flags |= USPI_FRAME_NAMED;
    frame->name = text;
    if (file == text.length || !uspi_take_file_line(uspi_span_after(text, file + 1), frame)) return;
    frame->name.length = file;
}

/* Whether arguments follow a name, as gdb writes them: "f (x=1)". Types in names have " (" as well: "int (*)(void)",
 * "void (A::*)()", "g(int, (anonymous namespace)::T)". */
static bool has_arguments(struct uspi_span name) {
    for (size_t at = 0; (at = uspi_span_find(name, at, USPI_SPAN(" ("))) < name.length;) {
        at += 2;
        const struct uspi_span inside = uspi_span_part(name, at, uspi_span_find(name, at, USPI_SPAN(")")));
        if (uspi_span_begins(inside, USPI_SPAN("*")) || uspi_span_begins(inside, USPI_SPAN("&"))) continue;
        if (uspi_span_has(inside, USPI_SPAN("::*")) || uspi_span_is(inside, USPI_SPAN("anonymous namespace"))) continue;
        return true;
    }
    return false;
}

/* Reads a frame without a module. It has a name after its address, but no arguments after that, unlike frames of
 * gdb. */
static bool take_symbolized(struct uspi_span line, size_t at, struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim_right(uspi_span_after(line, at));
    if ((frame->flags & USPI_FRAME_ADDRESS) == 0 || !uspi_span_begins(text, USPI_SPAN("in "))) return false;
    take_name(uspi_span_after(text, 3), frame);
    if (frame->file.length > 0) return !uspi_span_ends(frame->name, USPI_SPAN(") at"));
    return frame->name.length > 0 && !has_arguments(frame->name);
}

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    static const struct uspi_span null = USPI_SPAN_INIT("<null> <null>");
    size_t at = 0, open, begin;
    if (from > 0) return false;
    uspi_skip_blanks(line, &at);
    begin = at;
    if (!uspi_take_hash_index(line, &at, frame) || line.bytes[begin] != '#') return false;
    bool has_address = uspi_scan_hex(line, &at, &frame->address);
    if (has_address) frame->flags |= USPI_FRAME_ADDRESS;
    if (has_address && !uspi_skip(line, &at, USPI_SPAN(" "))) return false;
    if (uspi_span_has_at(line, at, USPI_SPAN(" (<unknown module>)"))) {
        frame->flags |= USPI_FRAME_NOWHERE;
        return has_address;
    }
    if (begin == 0 || !find_module(line, at, &open, frame)) return take_symbolized(line, at, frame);
    /* dyld's images may have been moved below the address for which they were linked, so that the offset wraps. */
    if (has_address && frame->offset > frame->address) {
        if (frame->arch == USP_ARCH_NONE) return false;
        frame->flags &= ~(unsigned)USPI_FRAME_OFFSET;
    }
    struct uspi_span between = uspi_span_trim_right(uspi_span_part(line, at, open));
    if (uspi_span_is(between, null)) {
        frame->replaced = between;
    } else if (has_address && between.length == 0) {
        frame->replaced = uspi_span_part(line, at, at);
    } else {
        take_name(uspi_span_begins(between, USPI_SPAN("in ")) ? uspi_span_after(between, 3) : between, frame);
        frame->replaced = between;
    }
    return true;
}

static void put(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                uint32_t which) {
    if ((frame->flags & USPI_FRAME_ADDRESS) != 0) uspi_put_string(out, "in ");
    uspi_put_source_name(out, answer, which);
    uspi_put_source_line(out, answer, which);
    /* A copy may have lost one of the two blanks before the image. */
    if (frame->replaced.length == 0 && frame->replaced.bytes[0] == '(') uspi_put_string(out, " ");
}

/* Reads a line above frames: the error, or the heading of another stack that belongs to it. */
static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_span errors[] = {
        USPI_SPAN_INIT("ERROR: AddressSanitizer: "),           USPI_SPAN_INIT("ERROR: LeakSanitizer: "),
        USPI_SPAN_INIT("WARNING: ThreadSanitizer: "),          USPI_SPAN_INIT("WARNING: MemorySanitizer: "),
        USPI_SPAN_INIT("ERROR: UndefinedBehaviorSanitizer: "), USPI_SPAN_INIT(": runtime error: "),
    };
    static const struct uspi_span stacks[] = {
        USPI_SPAN_INIT("freed by thread "),
        USPI_SPAN_INIT("previously allocated by thread "),
        USPI_SPAN_INIT("READ of size "),
        USPI_SPAN_INIT("WRITE of size "),
        USPI_SPAN_INIT("Direct leak of "),
        USPI_SPAN_INIT("Indirect leak of "),
        USPI_SPAN_INIT("allocated by thread "),
        USPI_SPAN_INIT("Uninitialized value was "),
        USPI_SPAN_INIT("  Write of size "),
        USPI_SPAN_INIT("  Read of size "),
        USPI_SPAN_INIT("  Previous write of size "),
        USPI_SPAN_INIT("  Previous read of size "),
        USPI_SPAN_INIT("  Atomic write of size "),
        USPI_SPAN_INIT("  Previous atomic write of size "),
        USPI_SPAN_INIT("  Location is "),
        USPI_SPAN_INIT("  Thread T"),
        USPI_SPAN_INIT("Thread T"),
        USPI_SPAN_INIT("  Mutex M"),
        USPI_SPAN_INIT("  As if synchronized "),
    };
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        size_t at = uspi_span_find(line, 0, errors[i]);
        if (at == line.length) continue;
        heading->kind = USPI_HEADING_FIELD;
        heading->field = USPI_FIELD_EXCEPTION_TYPE;
        size_t from = uspi_span_begins(errors[i], USPI_SPAN(": "))
                          ? at + 2
                          : at + uspi_span_find(errors[i], 0, USPI_SPAN(" ")) + 1;
        heading->value = uspi_span_trim(uspi_span_after(line, from));
        return true;
    }
    for (size_t i = 0; i < sizeof stacks / sizeof *stacks; i++) {
        if (!uspi_span_begins(line, stacks[i])) continue;
        heading->kind = USPI_HEADING_STACK;
        heading->name = uspi_span_trim(line);
        if (uspi_span_ends(heading->name, USPI_SPAN(":"))) heading->name.length--;
        return true;
    }
    return false;
}

const struct uspi_line_shape uspi_sanitizer_lines = {
    .name = "sanitizer",
    .frame_bytes = USPI_HAS_HASH,
    .frame_begins = USPI_BEGINS_HASH,
    .frame = find_frame,
    .heading = find_heading,
    .put = put,
};

/* Whether a line is the last one of a report, which has the place of the error. */
static bool is_summary(struct uspi_span line) {
    return uspi_span_begins(line, USPI_SPAN("SUMMARY: ")) && uspi_span_has(line, USPI_SPAN("Sanitizer: "));
}

static bool find_summary(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    if (from > 0 || !is_summary(line)) return false;
    const struct uspi_span text = uspi_span_trim_right(line);
    const size_t in = uspi_span_find_last(text, USPI_SPAN(" in "));
    size_t open = text.length;
    const bool has_module = find_module(text, 9, &open, frame);
    frame->flags |= USPI_FRAME_ONE_LINE;
    if (in < open) {
        frame->flags |= USPI_FRAME_NAMED | USPI_FRAME_CALL_SITE;
        frame->name = uspi_span_trim(uspi_span_part(text, in + 4, open));
        size_t file = uspi_span_find(uspi_span_part(text, 0, in), 9, USPI_SPAN(" /"));
        if (file == in) file = uspi_span_find_last(uspi_span_part(text, 0, in), USPI_SPAN(" "));
        return uspi_take_file_line(uspi_span_part(text, file + 1, in), frame) || has_module;
    }
    frame->replaced = uspi_span_part(line, open, open);
    return has_module;
}

static bool summary_heading(struct uspi_span line, struct uspi_heading *heading) {
    heading->kind = USPI_HEADING_STACK;
    heading->name = USPI_SPAN("SUMMARY");
    return is_summary(line);
}

static void put_summary(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                        uint32_t which) {
    (void)frame;
    uspi_put_string(out, "in ");
    uspi_put_source_name(out, answer, which);
    uspi_put_source_line(out, answer, which);
    uspi_put_string(out, " ");
}

const struct uspi_line_shape uspi_sanitizer_summary = {
    .name = "sanitizer",
    .frame_begins = USPI_BEGINS_OTHER,
    .frame = find_summary,
    .heading = summary_heading,
    .put = put_summary,
};
