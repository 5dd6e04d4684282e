/* SPDX-License-Identifier: MIT */
/* Reads the output of spindump and tailspin, and the microstackshots of resource limits (CPU, disk writes, wakeups):
 * trees and heaviest stacks.
 *
 *   49  start + 462 (dyld + 21806) [0x115b4652e] 1-49
 *     49  ??? (App + 17460153) [0x10772dbb9] 1-49
 *      *1   ??? (kernel + 1113914) [0xffffff800031ff3a]
 *   60  ??? (<32AA34A5-8A47-3BE0-97AF-CF3E2BF70B62> + 1053172) [0x10feb91f4]
 *   2    ??? [0x4800047383]                                   code that is in no image
 *
 * An answer replaces ???. Each process is followed by its list of images. Old reports have no addresses.
 * Sources: reports in the "iOS Crash Dump Analysis" book (resource limits of iOS 14) and hang reports of macOS 12 and
 * 10.15 in public issues. */
#include "lib/report/read/apple.h"
#include "lib/report/read/line.h"

/* Reads "File.swift:31,1"; the column follows a comma. */
static void take_source_line(struct uspi_span text, struct uspi_frame *frame) {
    const size_t comma = uspi_span_find_last(text, USPI_SPAN(","));
    size_t at = comma + 1;
    uint64_t column = 0;
    const bool has_column = comma < text.length && uspi_scan_decimal(text, &at, &column) && at == text.length;
    if (has_column) text.length = comma;
    if (uspi_take_file_line(text, frame) && has_column) frame->column = column < UINT32_MAX ? (uint32_t)column : 0;
}

/* Finds "(IMAGE + OFFSET)". A source file may precede the image: "(File.swift:31,1 in App + 12)". */
static bool find_image(struct uspi_span line, size_t from, size_t *open, size_t *close, struct uspi_frame *frame) {
    for (size_t at = from; (at = uspi_span_find(line, at, USPI_SPAN(" ("))) < line.length; at++) {
        size_t end = uspi_span_find(line, at, USPI_SPAN(")")), number;
        /* Names may contain parentheses, too; those of the image end with a number. */
        for (; end < line.length; end = uspi_span_find(line, end + 1, USPI_SPAN(")"))) {
            struct uspi_span inside = uspi_span_part(line, at + 2, end);
            size_t plus = uspi_span_find_last(inside, USPI_SPAN(" + "));
            number = plus + 3;
            if (plus == inside.length || !uspi_scan_decimal(inside, &number, &frame->offset) ||
                number != inside.length) {
                continue;
            }
            struct uspi_span image = uspi_span_part(inside, 0, plus);
            size_t in = uspi_span_find_last(image, USPI_SPAN(" in ")),
                   inner = uspi_span_find_last(image, USPI_SPAN("("));
            if (inner < image.length) break; /* the parenthesis of the image comes later */
            if (in < image.length) {
                take_source_line(uspi_span_part(image, 0, in), frame);
                image = uspi_span_after(image, in + 4);
            }
            frame->image = image;
            *open = at + 1;
            *close = end + 1;
            return true;
        }
    }
    return false;
}

/* Number of blanks before a root. */
#define ROOT_DEPTH 2

/* Reads the blanks, which tell the depth, and the count. *at moves to the name. */
static bool take_count(struct uspi_span line, size_t *at, struct uspi_frame *frame) {
    uspi_skip_blanks(line, at);
    const bool is_kernel = uspi_skip(line, at, USPI_SPAN("*"));
    frame->depth = (uint32_t)(*at < UINT32_MAX ? *at : UINT32_MAX) - is_kernel;
    /* The heaviest stack is a list at the depth of a tree's root. */
    if (frame->depth <= ROOT_DEPTH) frame->flags |= USPI_FRAME_FLAT;
    if (*at == 0 || !uspi_scan_decimal(line, at, &frame->count)) return false;
    const size_t begin = *at;
    uspi_skip_blanks(line, at);
    return *at > begin;
}

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    size_t at = 0, open, close;
    if (from > 0 || !take_count(line, &at, frame) || !find_image(line, at - 1, &open, &close, frame)) return false;
    frame->flags |= USPI_FRAME_NODE | USPI_FRAME_OFFSET;
    frame->name = uspi_span_trim(uspi_span_part(line, at, open));
    frame->replaced = frame->name;
    size_t end = close;
    if (uspi_skip(line, &end, USPI_SPAN(" [")) && uspi_scan_hex(line, &end, &frame->address) &&
        uspi_skip(line, &end, USPI_SPAN("]"))) {
        frame->flags |= USPI_FRAME_ADDRESS;
        if (frame->offset > frame->address) return false;
    }
    /* A frame with a name must have an address, because too many other lines look like a frame without one. */
    bool is_named = !uspi_is_placeholder(frame->name);
    if (is_named && (frame->flags & USPI_FRAME_ADDRESS) == 0) return false;
    if (is_named) {
        uint64_t name_offset;
        frame->flags |= USPI_FRAME_NAMED;
        if (uspi_take_symbol(frame->name, frame, &name_offset)) {
            frame->flags |= USPI_FRAME_NAME_OFFSET;
            frame->name_offset = name_offset;
        }
    }
    if (uspi_span_begins(frame->image, USPI_SPAN("<")) && uspi_span_ends(frame->image, USPI_SPAN(">"))) {
        struct uspi_span id = uspi_span_part(frame->image, 1, frame->image.length - 1);
        frame->id_size = uspi_scan_id(id, frame->id, sizeof frame->id);
        if (frame->id_size > 0) frame->image = (struct uspi_span){"", 0};
    }
    return true;
}

/* Finds a frame of which only the address is known: "??? [0x4800047383]", "??? [0x4800047383] 1-49". */
static bool find_unknown(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    static const struct uspi_span unknown = USPI_SPAN_INIT("???");
    size_t at = 0;
    if (from > 0 || !take_count(line, &at, frame)) return false;
    frame->name = frame->replaced = uspi_span_part(line, at, at + unknown.length);
    frame->flags |= USPI_FRAME_NODE | USPI_FRAME_ADDRESS;
    return uspi_skip(line, &at, unknown) && uspi_skip(line, &at, USPI_SPAN(" [")) &&
           uspi_scan_hex(line, &at, &frame->address) && uspi_skip(line, &at, USPI_SPAN("]"));
}

/* Reads these lines:
 *   Powerstats for:   App [7877]
 *     Thread 0x2ca9e    DispatchQueue "com.apple.main-thread"(1)    49 samples (1-49)    priority 47 (base 47) */
static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    size_t at = 0;
    if (uspi_span_begins(line, USPI_SPAN("Heaviest stack for "))) {
        heading->kind = USPI_HEADING_STACK;
        heading->flags = USPI_THREAD_TREE;
        heading->name = uspi_span_trim(line);
        if (uspi_span_ends(heading->name, USPI_SPAN(":"))) heading->name.length--;
        return true;
    }
    if (uspi_skip(line, &at, USPI_SPAN("Powerstats for:"))) {
        heading->kind = USPI_HEADING_THREAD;
        heading->flags = USPI_THREAD_TREE;
        heading->name = uspi_span_trim(uspi_span_after(line, at));
        return true;
    }
    uspi_skip_blanks(line, &at);
    if (at == 0 || !uspi_skip(line, &at, USPI_SPAN("Thread ")) || !uspi_scan_hex(line, &at, &heading->id)) return false;
    heading->kind = USPI_HEADING_THREAD;
    heading->flags = USPI_THREAD_TREE | USPI_THREAD_ID;
    static const struct uspi_span queue = USPI_SPAN_INIT("DispatchQueue \""), name = USPI_SPAN_INIT("Thread name \"");
    size_t from = uspi_span_find(line, at, queue);
    if (from < line.length) {
        from += queue.length;
        heading->queue = uspi_span_part(line, from, uspi_span_find(line, from, USPI_SPAN("\"")));
    }
    from = uspi_span_find(line, at, name);
    if (from < line.length) {
        from += name.length;
        heading->name = uspi_span_part(line, from, uspi_span_find(line, from, USPI_SPAN("\"")));
    }
    return true;
}

const struct uspi_line_shape uspi_spindump_lines = {
    .name = "spindump",
    .frame_bytes = USPI_HAS_PAREN | USPI_HAS_PLUS,
    .frame_begins = USPI_BEGINS_DIGIT | USPI_BEGINS_MARK,
    .frame = find_frame,
    .heading = find_heading,
};

const struct uspi_line_shape uspi_spindump_unknown = {
    .name = "spindump",
    .frame_bytes = USPI_HAS_X,
    .frame_begins = USPI_BEGINS_DIGIT | USPI_BEGINS_MARK,
    .frame = find_unknown,
};
