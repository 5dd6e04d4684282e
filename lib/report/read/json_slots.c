/* SPDX-License-Identifier: MIT */
/* Finds the members of JSON objects that describe frames and images. See json_slots.h. */
#include "lib/report/read/json_slots.h"

#include "lib/report/read/line.h"

#include <string.h>

#define KEY_OF(slot, key) [USPI_SLOT_##slot] = USPI_SPAN_INIT(key),
static const struct uspi_span keys[USPI_SLOT_COUNT] = {USPI_SLOTS(KEY_OF)};

/* The lengths of all keys, as bits, so that one test rejects most other keys. */
#define LENGTH_BITS          32
#define LENGTH_OF(slot, key) | UINT32_C(1) << (sizeof(key) - 1)
static const uint32_t key_lengths = 0 USPI_SLOTS(LENGTH_OF);

/* One bit of `has` for each key, one bit of key_lengths for each length. */
#define FITS(slot, key) sizeof(key) - 1 < LENGTH_BITS &&
_Static_assert(USPI_SLOTS(FITS) USPI_SLOT_COUNT <= 64, "a key is too long, or there are too many");

bool uspi_slot_find(struct uspi_span key, enum uspi_slot *slot) {
    if (key.length >= LENGTH_BITS || (key_lengths >> key.length & 1) == 0) return false;
    for (unsigned i = 0; i < USPI_SLOT_COUNT; i++) {
        if (keys[i].length != key.length || keys[i].bytes[key.length - 1] != key.bytes[key.length - 1]) continue;
        if (memcmp(keys[i].bytes, key.bytes, key.length) != 0) continue;
        *slot = (enum uspi_slot)i;
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
        if (!uspi_slot_find(uspi_json_key(document, i), &slot) || (object->has & USPI_SLOT_BIT(slot)) != 0) continue;
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

void uspi_take_json_members(const struct uspi_json_object *object, struct uspi_json_frame *frame) {
    const struct uspi_json_shape *shape = frame->shape;
    frame->name_member = uspi_json_member(object->document, object->node, shape->name_key);
    frame->offset_member = uspi_json_member(object->document, object->node, shape->offset_key);
    frame->frame.name = uspi_member_text(object, shape->name_key);
    if (uspi_is_placeholder(frame->frame.name)) return;
    frame->frame.flags |= USPI_FRAME_NAMED;
    if (shape->offset_is_start || !uspi_member_uint(object, shape->offset_key, &frame->frame.name_offset)) return;
    frame->frame.flags |= USPI_FRAME_NAME_OFFSET;
}

void uspi_member_id(const struct uspi_json_object *object, struct uspi_span key, struct uspi_frame *frame) {
    if (frame->id_size == 0) frame->id_size = uspi_scan_id(uspi_member_text(object, key), frame->id, sizeof frame->id);
}

bool uspi_member_true(const struct uspi_json_document *document, size_t object, struct uspi_span key) {
    const size_t member = uspi_json_member(document, object, key);
    return member != USPI_JSON_NONE && uspi_span_is(uspi_json_text(document, member), USPI_SPAN("true"));
}
