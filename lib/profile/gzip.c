/* SPDX-License-Identifier: MIT */
/* See gzip.h. */
#include "lib/profile/gzip.h"

#include "arch/little_endian.h"
#include "lib/base/crc32.h"

/* Maximum number of bytes in a stored block (RFC 1951, 3.2.4). */
#define BLOCK_MAX 65535u

static void put_bytes(struct uspi_text *text, const uint8_t *bytes, size_t n) {
    uspi_put(text, (const char *)bytes, n);
}

static void put_little(struct uspi_text *text, uint64_t value, unsigned width) {
    uint8_t bytes[8];
    uspi_store_le(bytes, value, width);
    put_bytes(text, bytes, width);
}

void uspi_put_gzip(struct uspi_text *text, const uint8_t *bytes, size_t n) {
    /* Magic, method deflate, no flags, no time, no hints, unknown system. */
    static const uint8_t header[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
    size_t at = 0;
    put_bytes(text, header, sizeof header);
    do {
        size_t part = n - at < BLOCK_MAX ? n - at : BLOCK_MAX;
        const uint8_t is_last = at + part == n;
        put_bytes(text, &is_last, 1);
        put_little(text, part, 2);
        put_little(text, ~part, 2);
        put_bytes(text, bytes + at, part);
        at += part;
    } while (at < n);
    put_little(text, ~uspi_crc32(UINT32_MAX, bytes, n), 4);
    put_little(text, n, 4);
}
