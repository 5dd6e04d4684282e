/* SPDX-License-Identifier: MIT */
/* See protobuf.h. */
#include "lib/base/protobuf.h"

bool uspi_proto_varint(struct uspi_span message, size_t *at, uint64_t *value) {
    *value = 0;
    for (unsigned shift = 0; shift < 64 && *at < message.length; shift += 7) {
        const uint8_t byte = (uint8_t)message.bytes[(*at)++];
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) return true;
    }
    return false;
}

/* Reads n bytes as a little-endian number. */
static bool take_fixed(struct uspi_span message, size_t *at, size_t n, uint64_t *value) {
    *value = 0;
    if (message.length - *at < n) return false;
    for (size_t i = 0; i < n; i++) *value |= (uint64_t)(uint8_t)message.bytes[*at + i] << 8 * i;
    *at += n;
    return true;
}

bool uspi_proto_next(struct uspi_span message, size_t *at, struct uspi_proto_field *field) {
    size_t here = *at;
    uint64_t tag, length;
    *field = (struct uspi_proto_field){.bytes = {"", 0}};
    if (here >= message.length || !uspi_proto_varint(message, &here, &tag)) return false;
    field->number = tag >> 3;
    field->wire = (uint32_t)(tag & 7);
    switch (field->wire) {
    case USPI_PROTO_VARINT:
        if (!uspi_proto_varint(message, &here, &field->value)) return false;
        break;
    case USPI_PROTO_FIXED64:
        if (!take_fixed(message, &here, 8, &field->value)) return false;
        break;
    case USPI_PROTO_BYTES:
        if (!uspi_proto_varint(message, &here, &length) || length > message.length - here) return false;
        field->bytes = uspi_span_part(message, here, here + (size_t)length);
        here += (size_t)length;
        break;
    case USPI_PROTO_FIXED32:
        if (!take_fixed(message, &here, 4, &field->value)) return false;
        break;
    default: return false;
    }
    *at = here;
    return true;
}

struct uspi_proto_field uspi_proto_find(struct uspi_span message, uint64_t number) {
    struct uspi_proto_field field;
    for (size_t at = 0; uspi_proto_next(message, &at, &field);) {
        if (field.number == number) return field;
    }
    return (struct uspi_proto_field){.bytes = {"", 0}};
}

void uspi_proto_put(struct uspi_proto *message, const void *bytes, size_t n) {
    if (message->has_failed || n == 0) return;
    message->has_failed = uspi_gathered_append(&message->out, bytes, n) != USP_OK;
}

void uspi_proto_put_varint(struct uspi_proto *message, uint64_t value) {
    uint8_t bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (uint8_t)(value & 0x7f) | (value > 0x7f ? 0x80 : 0);
        value >>= 7;
    } while (value > 0);
    uspi_proto_put(message, bytes, n);
}

void uspi_proto_put_number(struct uspi_proto *message, uint64_t field, uint64_t value) {
    if (value == 0) return;
    uspi_proto_put_varint(message, field << 3 | USPI_PROTO_VARINT);
    uspi_proto_put_varint(message, value);
}

void uspi_proto_put_bytes(struct uspi_proto *message, uint64_t field, const void *bytes, size_t n) {
    uspi_proto_put_varint(message, field << 3 | USPI_PROTO_BYTES);
    uspi_proto_put_varint(message, n);
    uspi_proto_put(message, bytes, n);
}

void uspi_proto_put_message(struct uspi_proto *message, uint64_t field, struct uspi_proto *inner) {
    uspi_proto_put_bytes(message, field, inner->out.bytes, inner->out.size);
    message->has_failed = message->has_failed || inner->has_failed;
    inner->out.size = 0;
}
