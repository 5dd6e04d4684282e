/* SPDX-License-Identifier: MIT */
/* Finds the members of JSON objects that describe frames and images. See json_slots.h. */
#include "lib/report/read/json_slots.h"

#include "lib/report/read/line.h"

#include <string.h>

static const struct {
    struct uspi_span key;
    enum uspi_slot slot;
} slot_keys[] = {
    {USPI_SPAN_INIT("address"), USPI_SLOT_ADDRESS},
    {USPI_SPAN_INIT("base"), USPI_SLOT_BASE},
    {USPI_SPAN_INIT("binary_images"), USPI_SLOT_BINARY_IMAGES},
    {USPI_SPAN_INIT("binaryImages"), USPI_SLOT_BINARY_IMAGES_APPLE},
    {USPI_SPAN_INIT("binaryName"), USPI_SLOT_BINARY_NAME},
    {USPI_SPAN_INIT("binaryUUID"), USPI_SLOT_BINARY_UUID},
    {USPI_SPAN_INIT("build_id"), USPI_SLOT_BUILD_ID},
    {USPI_SPAN_INIT("callStackTree"), USPI_SLOT_CALL_STACK_TREE},
    {USPI_SPAN_INIT("debug_meta"), USPI_SLOT_DEBUG_META},
    {USPI_SPAN_INIT("exact"), USPI_SLOT_EXACT},
    {USPI_SPAN_INIT("frames"), USPI_SLOT_FRAMES},
    {USPI_SPAN_INIT("function"), USPI_SLOT_FUNCTION},
    {USPI_SPAN_INIT("image"), USPI_SLOT_IMAGE},
    {USPI_SPAN_INIT("image_addr"), USPI_SLOT_IMAGE_ADDR},
    {USPI_SPAN_INIT("imageIndex"), USPI_SLOT_IMAGE_INDEX},
    {USPI_SPAN_INIT("imageMap"), USPI_SLOT_IMAGE_MAP},
    {USPI_SPAN_INIT("imageOffset"), USPI_SLOT_IMAGE_OFFSET},
    {USPI_SPAN_INIT("instruction_addr"), USPI_SLOT_INSTRUCTION_ADDR},
    {USPI_SPAN_INIT("kind"), USPI_SLOT_KIND},
    {USPI_SPAN_INIT("load_address"), USPI_SLOT_LOAD_ADDRESS},
    {USPI_SPAN_INIT("object_addr"), USPI_SLOT_OBJECT_ADDR},
    {USPI_SPAN_INIT("object_name"), USPI_SLOT_OBJECT_NAME},
    {USPI_SPAN_INIT("object_uuid"), USPI_SLOT_OBJECT_UUID},
    {USPI_SPAN_INIT("offset"), USPI_SLOT_OFFSET},
    {USPI_SPAN_INIT("offsetIntoBinaryTextSegment"), USPI_SLOT_TEXT_OFFSET},
    {USPI_SPAN_INIT("offsetIntoSymbol"), USPI_SLOT_OFFSET_INTO_SYMBOL},
    {USPI_SPAN_INIT("package"), USPI_SLOT_PACKAGE},
    {USPI_SPAN_INIT("sampleCount"), USPI_SLOT_SAMPLE_COUNT},
    {USPI_SPAN_INIT("subFrames"), USPI_SLOT_SUB_FRAMES},
    {USPI_SPAN_INIT("symbol"), USPI_SLOT_SYMBOL},
    {USPI_SPAN_INIT("symbol_addr"), USPI_SLOT_SYMBOL_ADDR},
    {USPI_SPAN_INIT("symbolLocation"), USPI_SLOT_SYMBOL_LOCATION},
    {USPI_SPAN_INIT("symbol_name"), USPI_SLOT_SYMBOL_NAME},
    {USPI_SPAN_INIT("symbolName"), USPI_SLOT_SYMBOL_NAME_APPLE},
    {USPI_SPAN_INIT("symbol_offset"), USPI_SLOT_SYMBOL_OFFSET},
    {USPI_SPAN_INIT("usedImages"), USPI_SLOT_USED_IMAGES},
    {USPI_SPAN_INIT("uuid"), USPI_SLOT_UUID},
};

/* The lengths of all keys above, as bits, so that one test rejects most other keys. */
#define KEY_LENGTH_MAX 27
#define LENGTH(n)      (UINT32_C(1) << (n))
static const uint32_t key_lengths = LENGTH(4) | LENGTH(5) | LENGTH(6) | LENGTH(7) | LENGTH(8) | LENGTH(10) |
                                    LENGTH(11) | LENGTH(12) | LENGTH(13) | LENGTH(14) | LENGTH(16) | LENGTH(27);

static bool find_slot(struct uspi_span key, enum uspi_slot *slot) {
    if (key.length > KEY_LENGTH_MAX || (key_lengths & LENGTH(key.length)) == 0) return false;
    for (size_t i = 0; i < sizeof slot_keys / sizeof *slot_keys; i++) {
        if (slot_keys[i].key.length != key.length ||
            slot_keys[i].key.bytes[key.length - 1] != key.bytes[key.length - 1]) {
            continue;
        }
        if (memcmp(slot_keys[i].key.bytes, key.bytes, key.length) != 0) continue;
        *slot = slot_keys[i].slot;
        return true;
    }
    return false;
}

void uspi_slots_read(struct uspi_json_object *object) {
    const struct uspi_json_document *document = object->document;
    const size_t end = document->nodes[object->node].next;
    enum uspi_slot slot;
    object->has = 0;
    if (document->nodes[object->node].kind != USPI_JSON_OBJECT) return;
    for (size_t i = object->node + 1; i < end; i = document->nodes[i].next) {
        if (!find_slot(uspi_json_key(document, i), &slot) || (object->has & USPI_SLOT_BIT(slot)) != 0) continue;
        object->has |= USPI_SLOT_BIT(slot);
        object->slots[slot] = (uint32_t)i;
    }
}

bool uspi_json_uint(const struct uspi_json_document *document, size_t node, uint64_t *value, bool *is_hex) {
    const struct uspi_json_node *n = &document->nodes[node];
    struct uspi_span text = uspi_json_text(document, node);
    size_t at = 0;
    *is_hex = n->kind == USPI_JSON_STRING && uspi_span_begins(text, USPI_SPAN("0x"));
    if (*is_hex) return uspi_scan_hex(text, &at, value) && at == text.length;
    return (n->kind == USPI_JSON_NUMBER || n->kind == USPI_JSON_STRING) && uspi_json_whole(text, value);
}

bool uspi_slot_uint(const struct uspi_json_object *object, enum uspi_slot slot, uint64_t *value) {
    bool is_hex;
    return (object->has & USPI_SLOT_BIT(slot)) != 0 &&
           uspi_json_uint(object->document, object->slots[slot], value, &is_hex);
}

struct uspi_span uspi_slot_text(const struct uspi_json_object *object, enum uspi_slot slot) {
    if ((object->has & USPI_SLOT_BIT(slot)) == 0) return (struct uspi_span){"", 0};
    if (object->document->nodes[object->slots[slot]].kind != USPI_JSON_STRING) return (struct uspi_span){"", 0};
    return uspi_json_text(object->document, object->slots[slot]);
}

struct uspi_span uspi_member_text(const struct uspi_json_object *object, struct uspi_span key) {
    size_t member = uspi_json_member(object->document, object->node, key);
    if (member == USPI_JSON_NONE || object->document->nodes[member].kind != USPI_JSON_STRING) {
        return (struct uspi_span){"", 0};
    }
    return uspi_json_text(object->document, member);
}

bool uspi_member_uint(const struct uspi_json_object *object, struct uspi_span key, uint64_t *value) {
    size_t member = uspi_json_member(object->document, object->node, key);
    bool is_hex;
    if (member != USPI_JSON_NONE && uspi_json_uint(object->document, member, value, &is_hex)) return true;
    *value = 0;
    return false;
}

void uspi_set_range(struct uspi_read_image *image, uint64_t base, uint64_t size) {
    image->first = base;
    image->last = size > UINT64_MAX - base ? UINT64_MAX : base + (size > 0 ? size - 1 : 0);
}

void uspi_slot_id(const struct uspi_json_object *object, enum uspi_slot slot, struct uspi_frame *frame) {
    if (frame->id_size > 0) return;
    frame->id_size = uspi_scan_id(uspi_slot_text(object, slot), frame->id, sizeof frame->id);
}

void uspi_take_json_name(const struct uspi_json_object *object, enum uspi_slot name, enum uspi_slot offset,
                         struct uspi_json_frame *frame) {
    frame->name_member = frame->offset_member = USPI_JSON_NONE;
    if ((object->has & USPI_SLOT_BIT(name)) != 0) frame->name_member = object->slots[name];
    if ((object->has & USPI_SLOT_BIT(offset)) != 0) frame->offset_member = object->slots[offset];
    frame->frame.name = uspi_slot_text(object, name);
    if (uspi_is_placeholder(frame->frame.name)) return;
    frame->frame.flags |= USPI_FRAME_NAMED;
    if (frame->shape->offset_is_start || !uspi_slot_uint(object, offset, &frame->frame.name_offset)) return;
    frame->frame.flags |= USPI_FRAME_NAME_OFFSET;
}
