/* SPDX-License-Identifier: MIT */
/* What Swift's compact backtraces and compact image maps have in common: a first byte with the size of addresses, and numbers with
 * the highest byte first. Internal to this folder.
 *
 * Sources: swiftlang/swift docs/CompactBacktraceFormat.md and docs/CompactImageMapFormat.md; CompactBacktrace.swift and
 * CompactImageMap.swift in stdlib/public/RuntimeModule for what the documents leave open. */
#ifndef USPI_COMPACT_BYTES_H
#define USPI_COMPACT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- reading ---- */

struct uspi_compact_in {
    const uint8_t *at, *end;
    unsigned width; /* of an address, in bytes: 2, 4 or 8 */
};

/* Reads the first byte. USP_OK; USP_ERROR_TRUNCATED when there is none; USP_ERROR_UNSUPPORTED for another version than 0;
 * USP_ERROR_FORMAT for a size of addresses that does not exist. */
int uspi_compact_begin(struct uspi_compact_in *in, const uint8_t *bytes, size_t n);

static inline size_t uspi_compact_left(const struct uspi_compact_in *in) { return (size_t)(in->end - in->at); }

/* A byte; false at the end. */
static inline bool uspi_compact_byte(struct uspi_compact_in *in, uint8_t *byte) {
    if (in->at == in->end) return false;
    *byte = *in->at++;
    return true;
}

/* A signed number of 1 … 8 bytes, as an address: modulo 2^(8 * width). False when fewer bytes are left. */
bool uspi_compact_address(struct uspi_compact_in *in, unsigned bytes, uint64_t *value);

/* An unsigned number of 1 … 32 bytes. USP_OK, USP_ERROR_TRUNCATED, USP_ERROR_FORMAT when it does not fit 64 bits. */
int uspi_compact_number(struct uspi_compact_in *in, unsigned bytes, uint64_t *value);

/* An unsigned number in groups of seven bits, the top bit of each byte but the last one set. As uspi_compact_number. */
int uspi_compact_count(struct uspi_compact_in *in, uint64_t *value);

/* ---- writing ---- */

struct uspi_compact_out {
    uint8_t *bytes;
    size_t room;
    size_t size; /* of all that was put, whether or not there was room */
    unsigned width;
};

/* Bytes of an address of a processor (enum usp_arch); of one that is not known: 8. */
unsigned uspi_compact_width(uint32_t arch);

/* Puts the first byte. */
void uspi_compact_open(struct uspi_compact_out *out, uint8_t *bytes, size_t room, uint32_t arch);

static inline void uspi_compact_put(struct uspi_compact_out *out, uint8_t byte) {
    if (out->size < out->room) out->bytes[out->size] = byte;
    out->size++;
}

/* The lowest `bytes` bytes of a number, highest first. */
void uspi_compact_put_number(struct uspi_compact_out *out, uint64_t value, unsigned bytes);

void uspi_compact_put_bytes(struct uspi_compact_out *out, const void *from, size_t n);

/* In groups of seven bits. */
void uspi_compact_put_count(struct uspi_compact_out *out, uint64_t value);

/* How many bytes an address needs as a signed number, and a number as an unsigned one: at least 1. */
unsigned uspi_compact_signed_size(uint64_t address, unsigned width);
unsigned uspi_compact_unsigned_size(uint64_t value);

/* An address modulo 2^(8 * width). */
static inline uint64_t uspi_compact_cut(uint64_t address, unsigned width) {
    return width < 8 ? address & ((UINT64_C(1) << 8 * width) - 1) : address;
}

/* Stores the size; USP_OK, or USP_ERROR_FULL when there was too little room. */
int uspi_compact_close(const struct uspi_compact_out *out, size_t *size);

#endif
