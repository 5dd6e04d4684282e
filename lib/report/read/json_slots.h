/* SPDX-License-Identifier: MIT */
/* The members of JSON objects that frames and images are described by. */
#ifndef USPI_JSON_SLOTS_H
#define USPI_JSON_SLOTS_H

#include "lib/report/read/read.h"

/* Finds the members of object->node that have a slot. */
void uspi_slots_read(struct uspi_json_object *object);

/* A whole number, in decimal or as a string in decimal or hexadecimal. */
bool uspi_json_uint(const struct uspi_json_document *document, size_t node, uint64_t *value, bool *is_hex);

/* For shapes: the member's number; its string. False, empty: the object has no such member. */
bool uspi_slot_uint(const struct uspi_json_object *object, enum uspi_slot slot, uint64_t *value);
struct uspi_span uspi_slot_text(const struct uspi_json_object *object, enum uspi_slot slot);

/* The same for a member of any key: its string; its number, 0 where there is none. */
struct uspi_span uspi_member_text(const struct uspi_json_object *object, struct uspi_span key);
bool uspi_member_uint(const struct uspi_json_object *object, struct uspi_span key, uint64_t *value);

/* The addresses of an image of `size` bytes at `base`. A size of 0 is not known. */
void uspi_set_range(struct uspi_read_image *image, uint64_t base, uint64_t size);

/* For shapes: what hardly any frame has otherwise: the id in a string member. */
void uspi_slot_id(const struct uspi_json_object *object, enum uspi_slot slot, struct uspi_frame *frame);

/* For shapes: by these two members names are replaced if they hold none. */
void uspi_take_json_name(const struct uspi_json_object *object, enum uspi_slot name, enum uspi_slot offset,
                         struct uspi_json_frame *frame);

#endif
