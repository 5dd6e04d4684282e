/* SPDX-License-Identifier: MIT */
/* Reads stack traces of Dart programs without names (Flutter with --split-debug-info or --obfuscate), and such frames
 * in Crashlytics' lines.
 *
 *   *** *** *** *** *** *** *** *** *** *** *** *** *** *** *** ***
 *   pid: 4711, tid: 6101234560, name io.flutter.1.ui
 *   os: ios arch: arm64 comp: no sim: no
 *   build_id: '4c4c44a555553144a1b20123456789ab'
 *   isolate_dso_base: 104e5c000, vm_dso_base: 104e5c000
 *   isolate_instructions: 104e60000, vm_instructions: 104e5f000
 *       #00 abs 0000000104e60103 virt 0000000000004103 _kDartIsolateSnapshotInstructions+0x103
 *   0  ???    0x0 (null).    #00 abs 0000000104e60103 _kDartIsolateSnapshotInstructions+0x103
 *
 * `virt` counts from the base. The number after the name counts from a symbol; it is the one that is right for debug
 * information in a file of its own (--split-debug-info), which need not be laid out as the program is. The addresses
 * are those of calls: a return address minus 1. Versions that wrote the return address itself are recognized by their
 * multiples of 4. Sources: Dart, runtime/vm/object.cc and runtime/docs/dwarf_stack_traces_mode.md; dart-lang/native
 * pkgs/native_stack_traces. */
#include "lib/report/read/line.h"

/* Whether the name is one that the linker has, of a part with all functions, instead of a function's. */
static bool is_part(struct uspi_span name) {
    while (name.length > 0 && name.bytes[0] == '_') name = uspi_span_after(name, 1);
    return uspi_span_begins(name, USPI_SPAN("kDart")) && uspi_span_has(name, USPI_SPAN("SnapshotInstructions"));
}

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    const struct uspi_span text = uspi_span_trim_right(line);
    size_t at = 0;
    if (from > 0 || !uspi_take_hash_index(text, &at, frame) || !uspi_skip(text, &at, USPI_SPAN("abs "))) return false;
    if (!uspi_scan_hex_digits(text, &at, &frame->address) || (at < text.length && !uspi_is_blank(text.bytes[at])))
        return false;
    frame->flags |= USPI_FRAME_ADDRESS | (frame->address % 4 == 0 ? USPI_FRAME_RETURN : USPI_FRAME_CALL_SITE);
    if (uspi_skip(text, &at, USPI_SPAN(" virt "))) {
        if (!uspi_scan_hex_digits(text, &at, &frame->offset) || frame->offset > frame->address) return false;
        frame->flags |= USPI_FRAME_OFFSET;
    }
    frame->replaced = uspi_span_part(line, at, at);
    if (!uspi_skip(text, &at, USPI_SPAN(" "))) return at == text.length;
    const size_t end = uspi_span_find(text, at, USPI_SPAN(" <asynchronous suspension>"));
    frame->name = uspi_span_part(text, at, end);
    frame->replaced = uspi_span_part(line, at - 1, end);
    const bool is_of_part = is_part(frame->name);
    if (!is_of_part) frame->flags |= USPI_FRAME_NAMED;
    uspi_take_name_offset(line, frame);
    if (is_of_part && (frame->flags & USPI_FRAME_NAME_OFFSET) != 0) {
        frame->flags &= ~(unsigned)USPI_FRAME_NAME_OFFSET;
        frame->flags |= USPI_FRAME_FROM_SYMBOL;
    }
    return frame->name.length > 0;
}

static void put(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                uint32_t which) {
    uspi_put_string(out, " ");
    uspi_put_symbol_hex(out, frame, answer, which);
}

/* Returns the line without what Flutter's tools and Android's log write before it. */
static struct uspi_span without_prefix(struct uspi_span line) {
    struct uspi_span text = uspi_span_trim(line);
    if (uspi_span_begins(text, USPI_SPAN("flutter: "))) return uspi_span_trim_left(uspi_span_after(text, 9));
    if (uspi_span_has_at(text, 1, USPI_SPAN("/flutter"))) {
        return uspi_span_trim_left(uspi_span_after(text, uspi_span_find(text, 0, USPI_SPAN(": ")) + 2));
    }
    return text;
}

/* Returns the processor that Dart names, an enum usp_arch. */
static uint32_t arch_of(struct uspi_span name) {
    static const struct {
        struct uspi_span name;
        uint32_t arch;
    } names[] = {
        {USPI_SPAN_INIT("arm64"), USP_ARCH_ARM64},
        {USPI_SPAN_INIT("arm"), USP_ARCH_ARMV7},
        {USPI_SPAN_INIT("x64"), USP_ARCH_X86_64},
        {USPI_SPAN_INIT("ia32"), USP_ARCH_I386},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (uspi_span_is(name, names[i].name)) return names[i].arch;
    }
    return USP_ARCH_NONE;
}

/* Reads the lines about the program: its processor, its build id, and where it is loaded. */
static bool find_image(struct uspi_span line, struct uspi_read_image *image) {
    const struct uspi_span text = without_prefix(line);
    size_t at = 0;
    image->is_scattered = true;
    if (uspi_span_begins(text, USPI_SPAN("*** *** *** ***"))) {
        image->module_is = USPI_MODULE_RESET;
        return true;
    }
    if (uspi_skip(text, &at, USPI_SPAN("os: "))) {
        at = uspi_span_find(text, at, USPI_SPAN(" arch: ")) + 7;
        if (at > text.length) return false;
        image->module_is = USPI_MODULE_TOLD;
        image->ident = USPI_SPAN("App");
        image->arch = arch_of(uspi_scan_word(text, &at));
        return image->arch != USP_ARCH_NONE;
    }
    if (uspi_skip(text, &at, USPI_SPAN("build_id: "))) {
        uspi_skip(text, &at, USPI_SPAN("'"));
        const size_t end = uspi_span_find(text, at, USPI_SPAN("'"));
        image->module_is = USPI_MODULE_TOLD;
        image->ident = USPI_SPAN("App");
        image->id_size = uspi_scan_id(uspi_span_part(text, at, end), image->id, sizeof image->id);
        return image->id_size > 0;
    }
    if (!uspi_skip(text, &at, USPI_SPAN("isolate_dso_base: ")) || !uspi_scan_hex_digits(text, &at, &image->first))
        return false;
    image->module_is = USPI_MODULE_PLACE;
    image->ident = USPI_SPAN("App");
    uspi_set_range(image, image->first, USPI_IMAGE_SIZE_MAX);
    return true;
}

/* "pid: 4711, tid: 6101234560, name io.flutter.1.ui" */
static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    const struct uspi_span text = without_prefix(line);
    size_t at = uspi_span_find(text, 0, USPI_SPAN(", tid: ")), name = uspi_span_find(text, at, USPI_SPAN(", name "));
    if (!uspi_span_begins(text, USPI_SPAN("pid: ")) || name == text.length) return false;
    at += 7;
    heading->kind = USPI_HEADING_THREAD;
    heading->flags = USPI_THREAD_CRASHED;
    if (uspi_scan_decimal(text, &at, &heading->id)) heading->flags |= USPI_THREAD_ID;
    heading->name = uspi_span_after(text, name + 7);
    return true;
}

const struct uspi_line_shape uspi_dart_lines = {
    .name = "dart",
    .frame_bytes = USPI_HAS_HASH,
    .image_begins = USPI_BEGINS_MARK | USPI_BEGINS_LETTER | USPI_BEGINS_OTHER,
    .frame = find_frame,
    .image = find_image,
    .heading = find_heading,
    .put = put,
};
