/* SPDX-License-Identifier: MIT */
/* Reads lldb's `bt` and `image list`.
 *
 *   * thread #1, queue = 'com.apple.main-thread', stop reason = EXC_BAD_ACCESS (code=1, address=0x0)
 *     * frame #0: 0x0000000104e60004 App`___lldb_unnamed_symbol17$$App + 4
 *       frame #1: 0x0000000104e60104 App`-[View draw:](self=0x0, _cmd="draw:") + 44 at view.m:14:3
 *       frame #2: 0x0000000104e6005c                            in no image
 *       frame #3: 0x0000000104e60120 App                        its function has no name
 *   [  0] 4C4C44A5-5555-3144-A1B2-0123456789AB 0x0000000104e5c000 /private/var/App.app/App
 *         /Users/x/App.app.dSYM/Contents/Resources/DWARF/App
 *   [  1]                                      0x0000000105e5c000 /private/var/App.app/plugin.dylib
 *
 * Source: lldb (FormatEntity.cpp, Options of `target modules list`). */
#include "lib/report/read/line.h"

/* Reads "SYMBOL + OFFSET at FILE:LINE:COLUMN"; all but the symbol may be missing. */
static void take_name(struct uspi_span text, struct uspi_frame *frame) {
    static const struct uspi_span inlined = USPI_SPAN_INIT(" [inlined]");
    static const struct uspi_span optimized = USPI_SPAN_INIT(" [opt]");
    frame->replaced = text;
    if (uspi_span_ends(text, optimized)) text.length -= optimized.length;
    frame->name = text;
    const size_t file = uspi_span_find_last(text, USPI_SPAN(" at "));
    if (file < text.length && uspi_take_file_line(uspi_span_after(text, file + 4), frame)) frame->name.length = file;
    const size_t plus = uspi_span_find_last(frame->name, USPI_SPAN(" + "));
    size_t end = plus + 3;
    if (plus < frame->name.length && uspi_scan_decimal(frame->name, &end, &frame->name_offset) &&
        end == frame->name.length) {
        frame->name.length = plus;
        frame->flags |= USPI_FRAME_NAME_OFFSET;
    }
    if (uspi_is_placeholder(frame->name)) {
        frame->flags &= ~(unsigned)USPI_FRAME_NAME_OFFSET;
        return;
    }
    frame->flags |= USPI_FRAME_NAMED;
    if (uspi_span_ends(frame->name, inlined)) {
        frame->name.length -= inlined.length;
        frame->flags |= USPI_FRAME_INLINED;
    }
}

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim_right(line);
    size_t at = 0;
    uspi_skip_blanks(text, &at);
    if (uspi_skip(text, &at, USPI_SPAN("*")) || uspi_skip(text, &at, USPI_SPAN("->"))) uspi_skip_blanks(text, &at);
    if (from > 0 || !uspi_skip(text, &at, USPI_SPAN("frame #")) || !uspi_scan_decimal(text, &at, &frame->index))
        return false;
    if (!uspi_skip(text, &at, USPI_SPAN(": ")) || !uspi_scan_hex(text, &at, &frame->address)) return false;
    frame->flags |= USPI_FRAME_INDEX | USPI_FRAME_ADDRESS;
    frame->replaced = uspi_span_part(line, at, at);
    if (at == text.length) {
        frame->flags |= USPI_FRAME_NOWHERE;
        return true;
    }
    const size_t mark = uspi_span_find(text, at, USPI_SPAN("`"));
    if (!uspi_skip(text, &at, USPI_SPAN(" "))) return false;
    frame->image = uspi_span_part(text, at, mark);
    if (mark == text.length) {
        /* A function without a name; other tools write "IMAGE + OFFSET". */
        frame->replaced = uspi_span_after(text, mark);
        return frame->image.length > 0 && !uspi_span_has(frame->image, USPI_SPAN(" + "));
    }
    take_name(uspi_span_after(text, mark + 1), frame);
    return frame->name.length > 0;
}

static void put(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                uint32_t which) {
    const struct usp_source_frame *source = &answer->frames[which];
    if (frame->replaced.length == 0) uspi_put_string(out, "`");
    uspi_put_source_name(out, answer, which);
    if (uspi_has_source_offset(answer, which)) {
        uspi_put_string(out, " + ");
        uspi_put_decimal(out, answer->offset, 0);
    }
    if (source->file == NULL) return;
    uspi_put_string(out, " at ");
    uspi_put_harmless(out, uspi_span_file_name(uspi_span_of(source->file)), "");
    uspi_put_string(out, ":");
    uspi_put_decimal(out, source->line, 0);
}

#define UUID_WIDTH 36

/* Reads an image's line. If the list has a load address besides that in the file, it is last, in parentheses. */
static bool take_image(struct uspi_span line, struct uspi_read_image *image) {
    const struct uspi_span text = uspi_span_trim_right(line);
    size_t at = 0, load;
    uint64_t index;
    uspi_skip_blanks(text, &at);
    if (!uspi_skip(text, &at, USPI_SPAN("["))) return false;
    uspi_skip_blanks(text, &at);
    if (!uspi_scan_decimal(text, &at, &index) || !uspi_skip(text, &at, USPI_SPAN("] "))) return false;
    /* The column of the UUID is blank if the image has none. In `image list -o` another number follows, the slide. */
    const size_t column = at;
    uspi_skip_blanks(text, &at);
    if (at < column + UUID_WIDTH) {
        at = column;
        image->id_size = uspi_scan_id(uspi_scan_word(text, &at), image->id, sizeof image->id);
        if (image->id_size == 0 || !uspi_skip(text, &at, USPI_SPAN(" "))) return false;
    }
    if (!uspi_scan_hex(text, &at, &image->first)) return false;
    image->path = uspi_span_trim(uspi_span_after(text, at));
    const size_t open = uspi_span_find_last(image->path, USPI_SPAN(" (0x"));
    load = open + 2;
    if (open < image->path.length && uspi_scan_hex(image->path, &load, &image->first)) image->path.length = open;
    image->ident = image->path;
    uspi_set_range(image, image->first, USPI_IMAGE_SIZE_MAX);
    return image->path.length > 0;
}

/* The line after an image's may have the file of its debug information, which is part of the list. */
static bool find_image(struct uspi_span line, struct uspi_read_image *image) {
    size_t at = 0;
    uspi_skip_blanks(line, &at);
    if (at >= line.length || line.bytes[at] != '/') return take_image(line, image);
    image->base = USP_PLACE_FILE;
    return at >= 4 && uspi_span_has(line, USPI_SPAN(".dSYM/Contents/Resources/DWARF/"));
}

/* Keeps why the thread stopped, unless the debugger stopped it: "EXC_BAD_ACCESS (code=1, address=0x0)", "signal
 * SIGABRT", "Fatal error: Index out of range". */
static void take_reason(struct uspi_span text, struct uspi_heading *heading) {
    size_t at = 0;
    const bool is_signal = uspi_skip(text, &at, USPI_SPAN("signal ")),
               is_fatal = uspi_span_begins(text, USPI_SPAN("Fatal "));
    if (!is_signal && !is_fatal && !uspi_span_begins(text, USPI_SPAN("EXC_"))) return;
    heading->field = is_fatal ? USPI_FIELD_EXCEPTION_REASON : USPI_FIELD_EXCEPTION_TYPE;
    heading->value = uspi_span_after(text, at);
}

/* "* thread #1, queue = 'com.apple.main-thread', stop reason = …", "  thread #2, name = 'x'",
 * "* thread #1: tid = 0x1f03, 0x… App`main, …" */
static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_span queue = USPI_SPAN_INIT("queue = '"), name = USPI_SPAN_INIT("name = '"),
                                  reason = USPI_SPAN_INIT("stop reason = ");
    size_t at = 0;
    uspi_skip_blanks(line, &at);
    if (uspi_skip(line, &at, USPI_SPAN("*"))) uspi_skip_blanks(line, &at);
    if (!uspi_skip(line, &at, USPI_SPAN("thread #")) || !uspi_scan_decimal(line, &at, &heading->number)) return false;
    heading->kind = USPI_HEADING_THREAD;
    heading->flags = USPI_THREAD_NUMBER;
    const size_t stop = uspi_span_find(line, at, reason);
    if (stop < line.length) {
        heading->flags |= USPI_THREAD_CRASHED;
        take_reason(uspi_span_trim(uspi_span_after(line, stop + reason.length)), heading);
    }
    const size_t has_queue = uspi_span_find(line, at, queue), has_name = uspi_span_find(line, at, name);
    if (has_queue < line.length) {
        const size_t begin = has_queue + queue.length;
        heading->queue = uspi_span_part(line, begin, uspi_span_find(line, begin, USPI_SPAN("'")));
    }
    if (has_name < line.length) {
        const size_t begin = has_name + name.length;
        heading->name = uspi_span_part(line, begin, uspi_span_find(line, begin, USPI_SPAN("'")));
    }
    return true;
}

const struct uspi_line_shape uspi_lldb_lines = {
    .name = "lldb",
    .frame_bytes = USPI_HAS_HASH | USPI_HAS_X,
    .frame_begins = USPI_BEGINS_MARK | USPI_BEGINS_LETTER | USPI_BEGINS_OTHER,
    .image_begins = USPI_BEGINS_BRACKET | USPI_BEGINS_OTHER,
    .frame = find_frame,
    .image = find_image,
    .heading = find_heading,
    .put = put,
};
