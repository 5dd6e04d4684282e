/* SPDX-License-Identifier: MIT */
/* A cursor that reads the numbers of a debug section one after the other. A read past the end gives 0 and marks the
 * cursor as bad. So one check at the end of a loop is enough. */
#ifndef USPI_OBJECT_DWARF_CURSOR_H
#define USPI_OBJECT_DWARF_CURSOR_H

#include "lib/object/bytes.h"

#include <string.h>

struct uspi_cursor_at {
    const uint8_t *p, *end;
    bool is_bad; /* a read went past the end, or met an invalid number */
};

static inline struct uspi_cursor_at uspi_cursor_over(const uint8_t *bytes, size_t size, uint64_t from) {
    static const uint8_t nothing[1];
    /* The section is absent. */
    if (bytes == NULL) return (struct uspi_cursor_at){nothing, nothing, from > 0};
    if (from > size) return (struct uspi_cursor_at){bytes, bytes, true};
    return (struct uspi_cursor_at){bytes + (size_t)from, bytes + size, false};
}

static inline bool uspi_cursor_fail(struct uspi_cursor_at *c) {
    c->p = c->end;
    c->is_bad = true;
    return false;
}

static inline void uspi_cursor_skip(struct uspi_cursor_at *c, uint64_t n) {
    if (n > (uint64_t)(c->end - c->p)) {
        uspi_cursor_fail(c);
    } else {
        c->p += (size_t)n;
    }
}

/* Reads a number of `width` bytes, 0 to 8. */
static inline uint64_t uspi_cursor_number(struct uspi_cursor_at *c, unsigned width) {
    if (width > (size_t)(c->end - c->p)) return uspi_cursor_fail(c);
    const uint8_t *at = c->p;
    c->p += width;
    switch (width) {
    case 1: return at[0];
    case 2: return uspi_le16(at);
    case 4: return uspi_le32(at);
    case 8: return uspi_le64(at);
    default: return uspi_le(at, width);
    }
}

static inline uint8_t uspi_cursor_byte(struct uspi_cursor_at *c) {
    if (c->p == c->end) return uspi_cursor_fail(c);
    return *c->p++;
}

/* Reads a ULEB128 number. Bits above the 64th are dropped: no valid value is that large. */
static inline uint64_t uspi_cursor_uleb_long(struct uspi_cursor_at *c) {
    uint64_t value = 0;
    for (unsigned shift = 0; c->p < c->end; shift += 7) {
        const uint8_t byte = *c->p++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) return value;
    }
    return uspi_cursor_fail(c);
}

static inline uint64_t uspi_cursor_uleb(struct uspi_cursor_at *c) {
    if (c->p < c->end && *c->p < 0x80) return *c->p++;
    return uspi_cursor_uleb_long(c);
}

static inline int64_t uspi_cursor_sleb(struct uspi_cursor_at *c) {
    uint64_t value = 0;
    for (unsigned shift = 0; c->p < c->end;) {
        const uint8_t byte = *c->p++;
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
        if ((byte & 0x80) != 0) continue;
        if (shift < 64 && (byte & 0x40) != 0) value |= UINT64_MAX << shift;
        return (int64_t)value;
    }
    uspi_cursor_fail(c);
    return 0;
}

/* Skips a string and its terminator. */
static inline void uspi_cursor_skip_string(struct uspi_cursor_at *c) {
    const uint8_t *end = c->p < c->end ? memchr(c->p, 0, (size_t)(c->end - c->p)) : NULL;
    if (end == NULL) {
        uspi_cursor_fail(c);
    } else {
        c->p = end + 1;
    }
}

#endif
