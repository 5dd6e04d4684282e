/* SPDX-License-Identifier: MIT */
/* Protocol Buffers' encoding (https://protobuf.dev/programming-guides/encoding): reads the fields of a message that is
 * in memory, and writes messages. */
#ifndef USPI_BASE_PROTOBUF_H
#define USPI_BASE_PROTOBUF_H

#include "lib/base/gathered.h"

/* How a field is encoded. */
enum uspi_proto_wire {
    USPI_PROTO_VARINT = 0,
    USPI_PROTO_FIXED64 = 1,
    USPI_PROTO_BYTES = 2, /* text, a message, or packed numbers */
    USPI_PROTO_FIXED32 = 5
};

/* A field of a message. */
struct uspi_proto_field {
    uint64_t number, value; /* value: of a field that is a number */
    struct uspi_span bytes; /* of a field with USPI_PROTO_BYTES; otherwise empty */
    uint32_t wire;          /* enum uspi_proto_wire */
};

/* Reads a number in base 128 at *at, and moves *at past it. Returns false if it is cut off or too long. */
bool uspi_proto_varint(struct uspi_span message, size_t *at, uint64_t *value);

/* Reads the field at *at, and moves *at past it. Returns false at the end, and where it is damaged: *at then is not the
 * end. */
bool uspi_proto_next(struct uspi_span message, size_t *at, struct uspi_proto_field *field);

/* Finds the first field of a message with a number; if there is none, the result's number is 0. */
struct uspi_proto_field uspi_proto_find(struct uspi_span message, uint64_t number);

/* A message that is written. After a failed allocation nothing more is added. All zero: empty. */
struct uspi_proto {
    struct uspi_gathered out;
    bool has_failed;
};

void uspi_proto_put(struct uspi_proto *message, const void *bytes, size_t n);
void uspi_proto_put_varint(struct uspi_proto *message, uint64_t value);

/* Adds a number as a field. 0 is the default of an absent field, so it is not written. */
void uspi_proto_put_number(struct uspi_proto *message, uint64_t field, uint64_t value);

void uspi_proto_put_bytes(struct uspi_proto *message, uint64_t field, const void *bytes, size_t n);

/* Adds a message as a field of another one, and empties it. */
void uspi_proto_put_message(struct uspi_proto *message, uint64_t field, struct uspi_proto *inner);

#endif
