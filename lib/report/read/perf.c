/* SPDX-License-Identifier: MIT */
/* Reads the output of Linux's `perf script`: samples with their call chains, and, with --show-mmap-events, mappings.
 *
 *       55d0c0001139 [unknown] (/opt/prog)        perf 5.13 and before: the address
 *       13ef [unknown] (/opt/prog)                later: the offset in the file
 *       55d0c0001139 [unknown] (/opt/prog+0x1139)     -F +dsoff
 *       13ef inner+0x8 (inlined)                      inlined into the frame of the next line
 *   prog 2566 3751.38: PERF_RECORD_MMAP2 2566/2566: [0x5591d1435000(0x1000) @ 0x1000 fe:00 16 21]: r-xp /opt/prog
 *
 * A tab and blanks precede addresses. Source: the program itself; linux tools/perf/util/evsel_fprintf.c. */
#include "lib/report/read/line.h"

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    static const struct uspi_span unknown = USPI_SPAN_INIT("[unknown] (");
    size_t at = 0, begin, end, name;
    if (from > 0) return false;
    uspi_skip_blanks(line, &at);
    begin = at;
    if (at == 0 || !uspi_scan_hex_digits(line, &at, &frame->address) || at >= line.length || line.bytes[at] != ' ') {
        return false;
    }
    name = at + 1;
    end = uspi_span_trim_right(line).length;
    if (!uspi_span_ends(uspi_span_part(line, begin, end), USPI_SPAN(")"))) return false;
    size_t open = uspi_span_find_last(uspi_span_part(line, 0, end), USPI_SPAN(" ("));
    if (open == end || open < name) return false;
    frame->image = uspi_span_part(line, open + 2, end - 1);
    frame->name = frame->replaced = uspi_span_part(line, name, open);
    frame->flags |= USPI_FRAME_ADDRESS;
    if (!uspi_span_has_at(line, name, unknown)) {
        const bool is_inlined = uspi_span_is(frame->image, USPI_SPAN("inlined"));
        uspi_take_name_offset(line, frame);
        frame->flags |= USPI_FRAME_NAMED;
        if (is_inlined) {
            frame->flags |= USPI_FRAME_INLINED;
            frame->image = (struct uspi_span){"", 0};
        }
        /* Other lines end with parentheses as well, so a name must have an offset. */
        return is_inlined || (frame->flags & USPI_FRAME_NAME_OFFSET) != 0;
    }
    /* The image is the kernel, the vdso, or memory without a file. The address 0 ends a stack. */
    if (uspi_span_begins(frame->image, USPI_SPAN("["))) {
        if (uspi_span_is(frame->image, USPI_SPAN("[unknown]"))) frame->image = (struct uspi_span){"", 0};
        frame->flags |= USPI_FRAME_NOWHERE;
        return frame->address != 0;
    }
    size_t plus = uspi_span_find_last(frame->image, USPI_SPAN("+0x")), offset = plus + 1;
    frame->flags |= USPI_FRAME_OFFSET;
    frame->base = USP_PLACE_FILE;
    frame->offset = frame->address;
    if (plus < frame->image.length && uspi_scan_hex(frame->image, &offset, &frame->offset) &&
        offset == frame->image.length) {
        frame->image = uspi_span_part(frame->image, 0, plus);
    }
    return frame->image.length > 0;
}

static bool find_image(struct uspi_span line, struct uspi_read_image *image) {
    static const struct uspi_span mark = USPI_SPAN_INIT("PERF_RECORD_MMAP");
    size_t at = uspi_span_find(line, 0, mark), word;
    uint64_t size;
    if (at == line.length) return false;
    at = uspi_span_find(line, at, USPI_SPAN(": ["));
    if (at == line.length) return false;
    at += 3;
    if (!uspi_scan_hex(line, &at, &image->first) || !uspi_skip(line, &at, USPI_SPAN("("))) return false;
    if (!uspi_scan_hex(line, &at, &size) || !uspi_skip(line, &at, USPI_SPAN(") @ "))) return false;
    if (size == 0 || size - 1 > UINT64_MAX - image->first) return false;
    image->last = image->first + size - 1;
    uspi_skip(line, &at, USPI_SPAN("0x"));
    if (!uspi_scan_hex_digits(line, &at, &image->base_offset)) return false;
    /* The device and the inode follow, or the build id, which newer versions write in angle brackets. */
    word = at;
    uspi_skip_blanks(line, &word);
    uspi_skip(line, &word, USPI_SPAN("<"));
    struct uspi_span id = uspi_scan_word(line, &word);
    while (id.length > 0 && memchr(">]:", id.bytes[id.length - 1], 3) != NULL) id.length--;
    image->id_size = uspi_scan_id(id, image->id, sizeof image->id);
    size_t rights = uspi_span_find(line, at, USPI_SPAN("]: "));
    if (rights == line.length) return false;
    rights += 3;
    uspi_scan_word(line, &rights);
    uspi_skip_blanks(line, &rights);
    image->path = image->ident = uspi_span_trim_right(uspi_span_after(line, rights));
    image->base = USP_PLACE_FILE;
    image->is_scattered = true;
    return image->path.length > 0;
}

/* "prog 25668  3751.393860:     250000 cpu-clock: " */
static bool find_heading(struct uspi_span line, struct uspi_heading *heading) {
    size_t at = 0, dots;
    uint64_t number;
    struct uspi_span text = uspi_span_trim_right(line);
    if (text.length == 0 || uspi_is_blank(text.bytes[0]) || !uspi_span_ends(text, USPI_SPAN(":"))) return false;
    struct uspi_span name = uspi_scan_word(text, &at);
    uspi_skip_blanks(text, &at);
    if (!uspi_scan_decimal(text, &at, &heading->id)) return false;
    uspi_skip_blanks(text, &at);
    for (dots = at; dots < text.length && (uspi_is_digit(text.bytes[dots]) || text.bytes[dots] == '.');) dots++;
    if (!uspi_scan_decimal(text, &at, &number) || !uspi_skip(text, &dots, USPI_SPAN(": "))) return false;
    heading->kind = USPI_HEADING_THREAD;
    heading->flags = USPI_THREAD_ID | USPI_THREAD_SAMPLE;
    heading->name = name;
    return true;
}

const struct uspi_line_shape uspi_perf_lines = {
    .name = "perf-script",
    .frame_bytes = USPI_HAS_PAREN,
    .frame_begins = USPI_BEGINS_DIGIT | USPI_BEGINS_LETTER,
    .image_bytes = USPI_HAS_BRACKET | USPI_HAS_X | USPI_HAS_PAREN,
    .frame = find_frame,
    .image = find_image,
    .heading = find_heading,
    .put = uspi_put_symbol_hex,
};
