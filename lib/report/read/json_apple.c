/* SPDX-License-Identifier: MIT */
/* Apple's JSON: .ips reports, stackshots, MetricKit's payloads and the diagnostics of App Store Connect (Xcode's Organizer).
 *
 * Sources: Apple, "Interpreting the JSON format of a crash report", MXDiagnosticPayload, App Store Connect API
 * DiagnosticLogs; xnu tools/lldbmacros/core kcdata.py (stackshots); payloads in the tests of ChimeHQ/Meter and
 * getsentry/sentry-cocoa. */
#include "lib/report/read/json_slots.h"
#include "lib/report/read/line.h"
#include "lib/report/read/shapes.h"

/* ---- .ips ---- */

static bool find_ips_frame(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    if (!uspi_slot_uint(object, USPI_SLOT_IMAGE_OFFSET, &frame->frame.offset)) return false;
    if (!uspi_slot_uint(object, USPI_SLOT_IMAGE_INDEX, &frame->image_index)) return false;
    frame->has_image_index = true;
    frame->frame.flags = USPI_FRAME_OFFSET;
    /* The first frame is where the thread stood, the others are where calls return to. */
    if (object->is_first || object->list_key.length == 0) frame->frame.flags |= USPI_FRAME_CALL_SITE;
    frame->anchor = object->slots[USPI_SLOT_IMAGE_OFFSET];
    uspi_take_json_name(object, USPI_SLOT_SYMBOL, USPI_SLOT_SYMBOL_LOCATION, frame);
    return true;
}

/* The member of an element with a key, as a string or a number. */
static struct uspi_span text_of(const struct uspi_json_object *object, struct uspi_span key) {
    size_t member = uspi_json_member(object->document, object->node, key);
    if (member == USPI_JSON_NONE || object->document->nodes[member].kind != USPI_JSON_STRING) {
        return (struct uspi_span){"", 0};
    }
    return uspi_json_text(object->document, member);
}

static uint64_t number_of(const struct uspi_json_object *object, struct uspi_span key) {
    size_t member = uspi_json_member(object->document, object->node, key);
    uint64_t value;
    bool is_hex;
    return member != USPI_JSON_NONE && uspi_json_uint(object->document, member, &value, &is_hex) ? value : 0;
}

static void set_range(struct uspi_read_image *image, uint64_t base, uint64_t size) {
    image->first = base;
    image->last = size > UINT64_MAX - base ? UINT64_MAX : base + (size > 0 ? size - 1 : 0);
}

static bool find_ips_image(const struct uspi_json_object *object, struct uspi_read_image *image) {
    struct uspi_span id = text_of(object, USPI_SPAN("uuid"));
    image->path = text_of(object, USPI_SPAN("path"));
    image->ident = text_of(object, USPI_SPAN("name"));
    image->arch = uspi_scan_arch(text_of(object, USPI_SPAN("arch")), &image->variant);
    image->id_size = uspi_scan_id(id, image->id, sizeof image->id);
    set_range(image, number_of(object, USPI_SPAN("base")), number_of(object, USPI_SPAN("size")));
    return true;
}

const struct uspi_json_shape uspi_ips_json = {
    .name = "ips",
    .needs = USPI_SLOT_BIT(USPI_SLOT_IMAGE_OFFSET) | USPI_SLOT_BIT(USPI_SLOT_IMAGE_INDEX),
    .frame = find_ips_frame,
    .name_key = USPI_SPAN_INIT("symbol"),
    .offset_key = USPI_SPAN_INIT("symbolLocation"),
    .file_key = USPI_SPAN_INIT("sourceFile"),
    .line_key = USPI_SPAN_INIT("sourceLine"),
    .inlined_are_frames = true,
    .images_key = USPI_SPAN_INIT("usedImages"),
    .images_above = 1,
    .image = find_ips_image,
};

/* ---- stackshots: frames are [image index, offset], images [UUID, load address, kind] ---- */

static bool find_stackshot_frame(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    const struct uspi_json_document *document = object->document;
    const size_t first = object->node + 1, end = document->nodes[object->node].next;
    bool is_hex;
    if (end < first + 2 || !uspi_json_uint(document, first, &frame->image_index, &is_hex)) return false;
    if (document->nodes[first].next != first + 1) return false;
    if (!uspi_json_uint(document, first + 1, &frame->frame.offset, &is_hex)) return false;
    frame->has_image_index = true;
    frame->frame.flags = USPI_FRAME_OFFSET;
    if (object->is_first) frame->frame.flags |= USPI_FRAME_CALL_SITE;
    if (end > first + 2) frame->frame.flags |= USPI_FRAME_NAMED;
    return true;
}

static bool find_stackshot_image(const struct uspi_json_object *object, struct uspi_read_image *image) {
    const struct uspi_json_document *document = object->document;
    const size_t first = object->node + 1, end = document->nodes[object->node].next;
    bool is_hex;
    if (document->nodes[object->node].kind != USPI_JSON_ARRAY || end < first + 2) return false;
    if (document->nodes[first].kind != USPI_JSON_STRING) return false;
    image->id_size = uspi_scan_id(uspi_json_text(document, first), image->id, sizeof image->id);
    if (!uspi_json_uint(document, first + 1, &image->first, &is_hex)) return false;
    image->last = image->first;
    return true;
}

const struct uspi_json_shape uspi_stackshot_json = {
    .name = "stackshot",
    .is_array = true,
    .list_keys = {USPI_SPAN_INIT("userFrames"), USPI_SPAN_INIT("kernelFrames")},
    .frame = find_stackshot_frame,
    .images_key = USPI_SPAN_INIT("binaryImages"),
    .images_above = 1,
    .image = find_stackshot_image,
};

/* ---- MetricKit ---- */

/* Nothing is loaded to another address. */
#define PAGE UINT64_C(0x1000)

/* What an "offset" is. iPhone OS 14, 15 and macOS 12 write the load address instead in crashes; in trees of samples it is
 * that of the call, one less than the address says (seen in payloads of iOS 16 and 17). */
static void take_text_offset(uint64_t address, uint64_t offset, struct uspi_frame *frame) {
    bool is_load = offset > address || offset > UINT32_MAX || (offset % PAGE == 0 && (address - offset) % PAGE > 1);
    if (is_load) {
        frame->offset = address >= offset ? address - offset : 0;
        return;
    }
    bool is_call = (address - offset) % PAGE == 1;
    frame->offset = is_call ? offset + 1 : offset;
    /* The address is one that a call returns to; otherwise a leaf, or the first frame of a crash. */
    if (!is_call) frame->flags |= USPI_FRAME_LEAF;
}

/* In crashes the root is where the thread stood, and what is below it calls it; in trees of samples it is the other way
 * round. */
static bool find_metrickit_frame(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    uint64_t offset, count;
    if (!uspi_slot_uint(object, USPI_SLOT_TEXT_OFFSET, &offset)) return false;
    if (!uspi_slot_uint(object, USPI_SLOT_ADDRESS, &frame->frame.address)) return false;
    const bool has_parts = (object->has & USPI_SLOT_BIT(USPI_SLOT_SUB_FRAMES)) != 0;
    frame->frame.flags = USPI_FRAME_ADDRESS | USPI_FRAME_OFFSET;
    take_text_offset(frame->frame.address, offset, &frame->frame);
    const bool is_plain = (frame->frame.flags & USPI_FRAME_LEAF) != 0;
    const bool is_root = uspi_span_is(object->list_key, USPI_SPAN("callStackRootFrames"));
    frame->frame.flags &= ~(unsigned)USPI_FRAME_LEAF;
    bool is_exact = object->is_in_crash ? is_root : is_plain && !has_parts;
    if (is_exact) frame->frame.flags |= USPI_FRAME_CALL_SITE;
    if (uspi_slot_uint(object, USPI_SLOT_SAMPLE_COUNT, &count)) frame->frame.count = count;
    frame->frame.image = uspi_slot_text(object, USPI_SLOT_BINARY_NAME);
    uspi_slot_id(object, USPI_SLOT_BINARY_UUID, &frame->frame);
    frame->anchor = object->slots[USPI_SLOT_ADDRESS];
    uspi_take_json_name(object, USPI_SLOT_SYMBOL_NAME_APPLE, USPI_SLOT_OFFSET_INTO_SYMBOL, frame);
    return true;
}

const struct uspi_json_shape uspi_metrickit_json = {
    .name = "metrickit",
    .needs = USPI_SLOT_BIT(USPI_SLOT_TEXT_OFFSET) | USPI_SLOT_BIT(USPI_SLOT_ADDRESS),
    .frame = find_metrickit_frame,
    .name_key = USPI_SPAN_INIT("symbolName"),
    .offset_key = USPI_SPAN_INIT("offsetIntoSymbol"),
    .file_key = USPI_SPAN_INIT("fileName"),
    .line_key = USPI_SPAN_INIT("lineNumber"),
};
