/* SPDX-License-Identifier: MIT */
/* Reads and writes what Swift's compact backtraces and compact image maps have in common: a first byte with the size of
 * addresses, and numbers with the highest byte first. Internal to this folder.
 *
 * Sources: swiftlang/swift docs/CompactBacktraceFormat.md and docs/CompactImageMapFormat.md; CompactBacktrace.swift and
 * CompactImageMap.swift in stdlib/public/RuntimeModule for what the documents leave open. */
#ifndef USPI_REPORT_COMPACT_BYTES_H
#define USPI_REPORT_COMPACT_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- reading ---- */

struct uspi_compact_in {
    const uint8_t *at, *end;
    unsigned width; /* size of an address in bytes: 2, 4 or 8 */
};

/* Reads the first byte. Returns USP_OK; USP_ERROR_TRUNCATED if there is none; USP_ERROR_UNSUPPORTED if the version is
 * not 0; USP_ERROR_FORMAT if the size of addresses is invalid. */
int uspi_compact_begin(struct uspi_compact_in *in, const uint8_t *bytes, size_t n);

static inline size_t uspi_compact_left(const struct uspi_compact_in *in) { return (size_t)(in->end - in->at); }

/* Reads a byte. Returns false at the end. */
static inline bool uspi_compact_byte(struct uspi_compact_in *in, uint8_t *byte) {
    if (in->at == in->end) return false;
    *byte = *in->at++;
    return true;
}

/* Reads a signed number of 1 … 8 bytes as an address: modulo 2^(8 * width). Returns false if fewer bytes are left. */
bool uspi_compact_address(struct uspi_compact_in *in, unsigned bytes, uint64_t *value);

/* Reads an unsigned number of 1 … 32 bytes. Returns USP_OK, USP_ERROR_TRUNCATED, or USP_ERROR_FORMAT if the number does
 * not fit in 64 bits. */
int uspi_compact_number(struct uspi_compact_in *in, unsigned bytes, uint64_t *value);

/* Reads an unsigned number in groups of seven bits; each byte but the last one has its top bit set. Returns as
 * uspi_compact_number. */
int uspi_compact_count(struct uspi_compact_in *in, uint64_t *value);

/* ---- writing ---- */

struct uspi_compact_out {
    uint8_t *bytes;
    size_t capacity;
    size_t size; /* number of bytes that were put, including those beyond `capacity` */
    unsigned width;
};

/* Returns the size of an address of a processor (enum usp_arch) in bytes; 8 if the processor is not known. */
unsigned uspi_compact_width(uint32_t arch);

/* Begins to write into `bytes`, and puts the first byte. */
void uspi_compact_open(struct uspi_compact_out *out, uint8_t *bytes, size_t capacity, uint32_t arch);

static inline void uspi_compact_put(struct uspi_compact_out *out, uint8_t byte) {
    if (out->size < out->capacity) out->bytes[out->size] = byte;
    out->size++;
}

/* Puts the lowest `bytes` bytes of a number, highest first. */
void uspi_compact_put_number(struct uspi_compact_out *out, uint64_t value, unsigned bytes);

void uspi_compact_put_bytes(struct uspi_compact_out *out, const void *from, size_t n);

/* Puts a number in groups of seven bits. */
void uspi_compact_put_count(struct uspi_compact_out *out, uint64_t value);

/* Returns how many bytes an address needs as a signed number: at least 1. */
unsigned uspi_compact_signed_size(uint64_t address, unsigned width);

/* Returns how many bytes a number needs: at least 1. */
unsigned uspi_compact_unsigned_size(uint64_t value);

/* Returns an address modulo 2^(8 * width). */
static inline uint64_t uspi_compact_cut(uint64_t address, unsigned width) {
    return width < 8 ? address & ((UINT64_C(1) << 8 * width) - 1) : address;
}

/* Stores the size. Returns USP_OK, or USP_ERROR_FULL if there was too little room. */
int uspi_compact_close(const struct uspi_compact_out *out, size_t *size);

#endif
