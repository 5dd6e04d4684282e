/* SPDX-License-Identifier: MIT */
/* Reads stacks of .NET programs: exceptions of Native AOT without names, what Mono prints of native code when it
 * crashes, and what Unity prints then on Windows.
 *
 *      at App!<BaseAddress>+0x4104                   Native AOT: an offset from the load address
 *      at App.Main() + 0x1d
 *   \t0x104e60104 - /private/var/App.app/App : (null)
 *   \t0x104e60104 - mono : main                     the program as it was called, or a path from the current folder
 *   \t0x104e60104 - Unknown
 *   0x00007FF9DDEA436A (mono-2.0-bdwgc) [c:\build\mini-runtime.c:2620] mono_jit_runtime_invoke
 *   0x00007FF9DDEA436A (mono-2.0-bdwgc) mono_jit_runtime_invoke (at c:/build/mini-runtime.c:2620)
 *   0x000000001F68CACC (Mono JIT Code) Queue:Take ()
 *   0x00007FF6B83D1AB4 (UnityPlayer) (function-name not available)
 *
 * The first two write return addresses alone.
 * Sources: dotnet/runtime, Internal/DeveloperExperience/DeveloperExperience.cs; mono/mini/mini-posix.c
 * (mono_dump_native_crash_info); Tencent/puerts issue 1735, Shmaug/UnityPlanets issue 1, thmsndk/Screeps3D issue 233. */
#include "lib/report/read/line.h"

static bool find_aot(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    static const struct uspi_span base = USPI_SPAN_INIT("!<BaseAddress>+0x");
    const size_t mark = uspi_span_find(line, 0, base);
    size_t begin = mark, at = mark + base.length - 2;
    if (from > 0 || mark == line.length || !uspi_scan_hex(line, &at, &frame->offset)) return false;
    /* The name may contain blanks, but not two of them; the word "at" before it may be translated. */
    const size_t word = uspi_span_find_last(uspi_span_part(line, 0, mark), USPI_SPAN(" at "));
    if (word < mark) {
        begin = word + 4;
    } else {
        while (begin > 0 && !uspi_is_blank(line.bytes[begin - 1])) begin--;
    }
    frame->image = uspi_span_part(line, begin, mark);
    frame->flags |= USPI_FRAME_OFFSET | USPI_FRAME_RETURN;
    frame->replaced = uspi_span_part(line, mark + 1, at);
    return frame->image.length > 0;
}

/* "   at System.Text.Json.Parse(String) + 0x1d", and with the image "   at App!name + 0x7 (view.m:14)", as answers are
 * written. */
static bool find_named(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    struct uspi_span text = uspi_span_trim_right(line);
    size_t at = 0;
    uspi_skip_blanks(text, &at);
    if (from > 0 || at == 0 || !uspi_skip(text, &at, USPI_SPAN("at "))) return false;
    const size_t image = uspi_span_find(text, at, USPI_SPAN("!")), plus = uspi_span_find_last(text, USPI_SPAN(" + 0x"));
    size_t end = plus + 3;
    frame->flags |= USPI_FRAME_NAMED;
    if (plus < text.length && uspi_scan_hex(text, &end, &frame->name_offset)) {
        frame->name = frame->replaced = uspi_span_part(text, at, plus);
        frame->flags |= USPI_FRAME_NAME_OFFSET;
        frame->replaced.length = end - at;
        if (end != text.length && uspi_end_of_source(text, end) != text.length) return false;
    } else {
        frame->name = uspi_span_after(text, at);
        uspi_take_source(line, frame);
        if ((frame->flags & USPI_FRAME_INLINED) == 0) return false;
    }
    if (image < text.length && image > at && image - at < frame->name.length) {
        frame->image = uspi_span_part(text, at, image);
        frame->name = uspi_span_after(frame->name, image + 1 - at);
    }
    return frame->name.length > 0;
}

/* Whether this is a file as the loader names it: a path, or a word. */
static bool is_image_of_mono(struct uspi_span image) {
    if (uspi_span_begins(image, USPI_SPAN("/"))) return true;
    return image.length > 0 && !uspi_span_has(image, USPI_SPAN(" ")) && !uspi_span_begins(image, USPI_SPAN("0x"));
}

static bool find_mono(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim_right(line);
    size_t at = 0;
    uspi_skip_blanks(text, &at);
    const bool is_indented = at > 0;
    if (from > 0 || !uspi_scan_hex(text, &at, &frame->address) || !uspi_skip(text, &at, USPI_SPAN(" - "))) return false;
    frame->flags |= USPI_FRAME_ADDRESS | USPI_FRAME_RETURN;
    frame->name = uspi_span_after(text, at);
    /* A text that was copied may have lost the blank at the beginning. */
    if (!is_indented && !uspi_span_begins(frame->name, USPI_SPAN("/"))) return false;
    if (uspi_span_is(frame->name, USPI_SPAN("Unknown"))) {
        frame->replaced = frame->name;
        return true;
    }
    const size_t colon = uspi_span_find(text, at, USPI_SPAN(" : "));
    if (colon == text.length && !uspi_span_ends(text, USPI_SPAN(" :"))) return false;
    frame->image = uspi_span_part(text, at, colon < text.length ? colon : text.length - 2);
    if (!is_image_of_mono(frame->image)) return false;
    frame->name = frame->replaced = uspi_span_after(text, colon + 3);
    if (colon == text.length) frame->replaced = uspi_span_part(line, text.length, text.length);
    if (uspi_is_placeholder(frame->name) || uspi_span_is(frame->name, USPI_SPAN("(null)"))) return true;
    frame->flags |= USPI_FRAME_NAMED;
    if (uspi_take_symbol(frame->name, frame, &frame->name_offset)) frame->flags |= USPI_FRAME_NAME_OFFSET;
    return true;
}

/* Reads "[FILE:LINE] NAME" or "NAME (at FILE:LINE)". */
static bool take_unity_name(struct uspi_span text, struct uspi_frame *frame) {
    const size_t close = uspi_span_find(text, 0, USPI_SPAN("] ")), at = uspi_span_find_last(text, USPI_SPAN(" (at "));
    if (uspi_span_begins(text, USPI_SPAN("[")) && uspi_take_file_line(uspi_span_part(text, 1, close), frame)) {
        text = uspi_span_trim_left(uspi_span_after(text, close + 2));
    } else if (uspi_span_ends(text, USPI_SPAN(")")) && at < text.length &&
               uspi_take_file_line(uspi_span_part(text, at + 5, text.length - 1), frame)) {
        text.length = at;
    }
    frame->name = frame->replaced = text;
    return text.length > 0;
}

static bool find_unity(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim_right(line);
    size_t at = 0;
    uspi_skip_blanks(text, &at);
    if (from > 0 || !uspi_scan_hex(text, &at, &frame->address) || !uspi_skip(text, &at, USPI_SPAN(" ("))) return false;
    const size_t close = uspi_span_find(text, at, USPI_SPAN(") "));
    if (close >= text.length) return false;
    frame->image = uspi_span_part(text, at, close);
    /* Lines with errors between the frames hide which one is the first. */
    frame->flags = USPI_FRAME_ADDRESS | USPI_FRAME_RETURN;
    if (uspi_span_is(frame->image, USPI_SPAN("Mono JIT Code"))) {
        frame->image = USPI_SPAN("");
    } else if (uspi_span_has(frame->image, USPI_SPAN(" ")) || uspi_span_begins(frame->image, USPI_SPAN("0x"))) {
        return false;
    }
    if (!take_unity_name(uspi_span_after(text, close + 2), frame)) return false;
    if (uspi_span_is(frame->name, USPI_SPAN("(function-name not available)"))) return true;
    frame->flags |= USPI_FRAME_NAMED;
    if (uspi_take_symbol(frame->name, frame, &frame->name_offset)) frame->flags |= USPI_FRAME_NAME_OFFSET;
    return true;
}

static void put_mono(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                     uint32_t which) {
    if (frame->replaced.length == 0) uspi_put_string(out, " ");
    uspi_put_symbol(out, frame, answer, which);
}

/* "Unhandled Exception: System.InvalidCastException: …", "\tNative stacktrace:" */
static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    static const struct uspi_field_label labels[] = {
        {USPI_SPAN_INIT("Unhandled Exception: "), USPI_FIELD_EXCEPTION_TYPE, false},
        {USPI_SPAN_INIT("Unhandled exception. "), USPI_FIELD_EXCEPTION_TYPE, false},
    };
    if (uspi_take_field(line, labels, sizeof labels / sizeof *labels, heading)) return true;
    if (!uspi_span_is(uspi_span_trim(line), USPI_SPAN("Native stacktrace:"))) return false;
    heading->kind = USPI_HEADING_STACK;
    heading->name = USPI_SPAN("Native stacktrace");
    return true;
}

const struct uspi_line_shape uspi_dotnet_lines = {
    .name = "dotnet",
    .frame_bytes = USPI_HAS_X | USPI_HAS_PLUS | USPI_HAS_ANGLE,
    .frame = find_aot,
    .heading = find_heading,
    .put = uspi_put_symbol_spaced_hex,
};

const struct uspi_line_shape uspi_dotnet_named = {
    .name = "dotnet",
    .frame_begins = USPI_BEGINS_LETTER,
    .frame = find_named,
};

const struct uspi_line_shape uspi_mono_lines = {
    .name = "mono",
    .frame_bytes = USPI_HAS_X,
    .frame_begins = USPI_BEGINS_0X,
    .frame = find_mono,
    .put = put_mono,
};

const struct uspi_line_shape uspi_unity_lines = {
    .name = "unity",
    .frame_bytes = USPI_HAS_X | USPI_HAS_PAREN,
    .frame_begins = USPI_BEGINS_0X,
    .frame = find_unity,
};
