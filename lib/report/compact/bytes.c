/* SPDX-License-Identifier: MIT */
/* Numbers and addresses in Swift's compact formats. See bytes.h. */
#include "lib/report/compact/bytes.h"
#include "arch/any.h"

#include <unspool/base.h>

#include <string.h>

enum { SIZE_16 = 0, SIZE_32 = 1, SIZE_64 = 2 };

int uspi_compact_begin(struct uspi_compact_in *in, const uint8_t *bytes, size_t n) {
    static const unsigned widths[] = {[SIZE_16] = 2, [SIZE_32] = 4, [SIZE_64] = 8};
    uint8_t first;
    *in = (struct uspi_compact_in){.at = bytes, .end = n > 0 ? bytes + n : bytes};
    if (!uspi_compact_byte(in, &first)) return USP_ERROR_TRUNCATED;
    if (first >> 2 != 0) return USP_ERROR_UNSUPPORTED;
    if (first > SIZE_64) return USP_ERROR_FORMAT;
    in->width = widths[first];
    return USP_OK;
}

bool uspi_compact_address(struct uspi_compact_in *in, unsigned bytes, uint64_t *value) {
    if (uspi_compact_left(in) < bytes) return false;
    uint64_t word = (*in->at & 0x80) != 0 ? UINT64_MAX : 0;
    while (bytes-- > 0) word = word << 8 | *in->at++;
    *value = uspi_compact_cut(word, in->width);
    return true;
}

int uspi_compact_number(struct uspi_compact_in *in, unsigned bytes, uint64_t *value) {
    *value = 0;
    if (uspi_compact_left(in) < bytes) return USP_ERROR_TRUNCATED;
    while (bytes-- > 0) {
        if (*value >> 56 != 0) return USP_ERROR_FORMAT;
        *value = *value << 8 | *in->at++;
    }
    return USP_OK;
}

int uspi_compact_count(struct uspi_compact_in *in, uint64_t *value) {
    uint8_t byte;
    *value = 0;
    do {
        if (!uspi_compact_byte(in, &byte)) return USP_ERROR_TRUNCATED;
        if (*value >> 57 != 0) return USP_ERROR_FORMAT;
        *value = *value << 7 | (byte & 0x7f);
    } while ((byte & 0x80) != 0);
    return USP_OK;
}

unsigned uspi_compact_width(uint32_t arch) {
    const struct uspi_backend *b = uspi_backend_any(arch);
    return b != NULL ? b->word : 8;
}

void uspi_compact_open(struct uspi_compact_out *out, uint8_t *bytes, size_t capacity, uint32_t arch) {
    *out = (struct uspi_compact_out){.bytes = bytes, .capacity = capacity, .width = uspi_compact_width(arch)};
    uspi_compact_put(out, out->width == 4 ? SIZE_32 : SIZE_64);
}

void uspi_compact_put_number(struct uspi_compact_out *out, uint64_t value, unsigned bytes) {
    while (bytes-- > 0) uspi_compact_put(out, (uint8_t)(value >> 8 * bytes));
}

void uspi_compact_put_bytes(struct uspi_compact_out *out, const void *from, size_t n) {
    const size_t left = out->size < out->capacity ? out->capacity - out->size : 0;
    const size_t kept = n < left ? n : left;
    if (kept > 0) memcpy(out->bytes + out->size, from, kept);
    out->size += n;
}

/* Writes numbers as Swift does: those of 7, 14, … bits take one group more than they need. */
void uspi_compact_put_count(struct uspi_compact_out *out, uint64_t value) {
    unsigned bits = 0;
    while (bits < 64 && value >> bits != 0) bits++;
    for (unsigned shift = bits / 7 * 7; shift > 0; shift -= 7) uspi_compact_put(out, 0x80 | (value >> shift & 0x7f));
    uspi_compact_put(out, value & 0x7f);
}

unsigned uspi_compact_signed_size(uint64_t address, unsigned width) {
    unsigned size = width;
    while (size > 1) {
        /* The top byte can be dropped if it and the bit below it only repeat the sign. */
        uint64_t top = address >> (8 * size - 9) & 0x1ff;
        if (top != 0 && top != 0x1ff) break;
        size--;
    }
    return size;
}

unsigned uspi_compact_unsigned_size(uint64_t value) {
    unsigned size = 1;
    while (size < 8 && value >> 8 * size != 0) size++;
    return size;
}

int uspi_compact_close(const struct uspi_compact_out *out, size_t *size) {
    *size = out->size;
    return out->size <= out->capacity ? USP_OK : USP_ERROR_FULL;
}
