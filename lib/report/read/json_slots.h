/* SPDX-License-Identifier: MIT */
/* The members of JSON objects that describe frames and images. */
#ifndef USPI_REPORT_READ_JSON_SLOTS_H
#define USPI_REPORT_READ_JSON_SLOTS_H

#include "lib/report/read/read.h"

/* Returns whether a key has a slot, and sets *slot. */
bool uspi_slot_find(struct uspi_span key, enum uspi_slot *slot);

/* Finds the members of object->node that have a slot. */
void uspi_slots_read(struct uspi_json_object *object);

/* Reads a whole number: a decimal number, or a string in decimal or hexadecimal. */
bool uspi_json_uint(const struct uspi_json_document *document, size_t node, uint64_t *value, bool *is_hex);

/* For shapes: read a member as number or string. If the object does not have it, they return false or an empty span. */
bool uspi_slot_uint(const struct uspi_json_object *object, enum uspi_slot slot, uint64_t *value);
struct uspi_span uspi_slot_text(const struct uspi_json_object *object, enum uspi_slot slot);

/* Read a member with any key as string or number. If the object does not have it, the span is empty, or *value 0. */
struct uspi_span uspi_member_text(const struct uspi_json_object *object, struct uspi_span key);
bool uspi_member_uint(const struct uspi_json_object *object, struct uspi_span key, uint64_t *value);

/* For shapes: reads an image's id from a string member. */
void uspi_slot_id(const struct uspi_json_object *object, enum uspi_slot slot, struct uspi_frame *frame);

/* For shapes: sets the two members whose values are replaced by a name and its offset, unless they contain a name. */
void uspi_take_json_name(const struct uspi_json_object *object, enum uspi_slot name, enum uspi_slot offset,
                         struct uspi_json_frame *frame);

/* The same by the keys of frame->shape, for shapes without slots. A name that is null is replaced. */
void uspi_take_json_members(const struct uspi_json_object *object, struct uspi_json_frame *frame);

/* For shapes: reads an image's id from a string member. */
void uspi_member_id(const struct uspi_json_object *object, struct uspi_span key, struct uspi_frame *frame);

/* Returns whether a member of an object is true. */
bool uspi_member_true(const struct uspi_json_document *document, size_t object, struct uspi_span key);

#endif
