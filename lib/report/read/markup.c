/* SPDX-License-Identifier: MIT */
/* Reads LLVM's symbolizer markup, which the runtimes of Fuchsia and of the sanitizers write.
 *
 *   {{{reset}}}
 *   {{{module:0:/opt/prog:elf:29bed4cc5b66b9c9dbb0839e2e7f99682b3c8c5d}}}
 *   {{{mmap:0x560088077000:0xdff95:load:0:rx:0x2c000}}}       the last number is an address as the module was linked
 *   {{{bt:0:0x560088156e91:ra}}}                              becomes "#0 0x560088156e91 in name (prog+0x10be91)"
 *   {{{pc:0x560088156e91}}}, {{{symbol:_Z1fv}}}
 *
 * Without :ra or :pc an address in a backtrace is a return address, and elsewhere an instruction.
 * Source: LLVM, "Symbolizer Markup Format". */
#include "lib/report/read/line.h"

/* An element of a line. */
struct element {
    struct uspi_span tag;
    size_t begin, at, end; /* positions of its opening braces, of its next field's colon, and of its closing braces */
};

static bool find_element(struct uspi_span line, size_t from, struct element *element) {
    element->begin = uspi_span_find(line, from, USPI_SPAN("{{{"));
    if (element->begin == line.length) return false;
    element->end = uspi_span_find(line, element->begin, USPI_SPAN("}}}"));
    if (element->end == line.length) return false;
    size_t colon = uspi_span_find(line, element->begin, USPI_SPAN(":"));
    element->at = colon < element->end ? colon : element->end;
    element->tag = uspi_span_part(line, element->begin + 3, element->at);
    return true;
}

/* Reads the next field, which follows a colon. */
static bool next_field(struct uspi_span line, struct element *element, struct uspi_span *field) {
    if (element->at >= element->end || line.bytes[element->at] != ':') return false;
    size_t from = element->at + 1, to = uspi_span_find(line, from, USPI_SPAN(":"));
    element->at = to < element->end ? to : element->end;
    *field = uspi_span_part(line, from, element->at);
    return true;
}

static bool number_field(struct uspi_span line, struct element *element, uint64_t *value) {
    struct uspi_span field;
    size_t at = 0;
    if (!next_field(line, element, &field)) return false;
    if (uspi_span_begins(field, USPI_SPAN("0x"))) return uspi_scan_hex(field, &at, value) && at == field.length;
    return uspi_scan_decimal(field, &at, value) && at == field.length;
}

static bool find_frame(struct uspi_span line, size_t from, struct uspi_frame *frame) {
    struct element element;
    struct uspi_span kind = {"", 0};
    for (size_t at = from; find_element(line, at, &element); at = element.end + 3) {
        bool is_backtrace = uspi_span_is(element.tag, USPI_SPAN("bt"));
        if (!is_backtrace && !uspi_span_is(element.tag, USPI_SPAN("pc"))) continue;
        if (is_backtrace && !number_field(line, &element, &frame->index)) continue;
        if (!number_field(line, &element, &frame->address)) continue;
        next_field(line, &element, &kind);
        frame->flags = USPI_FRAME_ADDRESS;
        if (is_backtrace) frame->flags |= USPI_FRAME_INDEX;
        if (uspi_span_is(kind, USPI_SPAN("pc")) || (!is_backtrace && !uspi_span_is(kind, USPI_SPAN("ra")))) {
            frame->flags |= USPI_FRAME_CALL_SITE;
        }
        frame->replaced = uspi_span_part(line, element.begin, element.end + 3);
        frame->end = element.end + 3;
        return true;
    }
    return false;
}

static void put(struct uspi_text *out, const struct uspi_frame *frame, const struct usp_answer *answer,
                uint32_t which) {
    if ((frame->flags & USPI_FRAME_INDEX) != 0) {
        uspi_put_string(out, "#");
        uspi_put_decimal(out, frame->index, 0);
        uspi_put_string(out, " ");
        uspi_put_hex(out, frame->address, 1);
        uspi_put_string(out, " in ");
    } else if (which > 0) {
        return; /* inside a sentence there is room for only one name */
    }
    uspi_put_symbol_hex(out, frame, answer, which);
}

static bool find_image(struct uspi_span line, struct uspi_read_image *image) {
    struct element element;
    struct uspi_span field;
    uint64_t size;
    if (!find_element(line, 0, &element)) return false;
    image->is_scattered = true;
    if (uspi_span_is(element.tag, USPI_SPAN("reset"))) {
        image->module_is = USPI_MODULE_RESET;
        return true;
    }
    if (uspi_span_is(element.tag, USPI_SPAN("module"))) {
        image->module_is = USPI_MODULE_TOLD;
        if (!number_field(line, &element, &image->module) || !next_field(line, &element, &image->path)) return false;
        image->ident = image->path;
        if (next_field(line, &element, &field) && next_field(line, &element, &field)) {
            image->id_size = uspi_scan_id(field, image->id, sizeof image->id);
        }
        return true;
    }
    if (!uspi_span_is(element.tag, USPI_SPAN("mmap"))) return false;
    image->module_is = USPI_MODULE_PLACE;
    if (!number_field(line, &element, &image->first) || !number_field(line, &element, &size)) return false;
    if (!next_field(line, &element, &field) || !uspi_span_is(field, USPI_SPAN("load"))) return false;
    if (!number_field(line, &element, &image->module) || !next_field(line, &element, &field)) return false;
    if (!number_field(line, &element, &image->base_offset)) return false;
    if (size == 0 || size - 1 > UINT64_MAX - image->first) return false;
    image->last = image->first + size - 1;
    image->base = USP_PLACE_LINKED;
    return true;
}

const struct uspi_line_shape uspi_markup_lines = {
    .name = "llvm-markup",
    .frame_bytes = USPI_HAS_BRACE | USPI_HAS_X,
    .image_bytes = USPI_HAS_BRACE,
    .frame = find_frame,
    .image = find_image,
    .put = put,
};
