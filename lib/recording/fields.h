/* SPDX-License-Identifier: MIT */
/* Takes little-endian fields one after the other from untrusted bytes. A field that is not there makes the rest empty
 * and sets `is_short`; the caller checks it once. */
#ifndef USPI_RECORDING_FIELDS_H
#define USPI_RECORDING_FIELDS_H

#include "arch/little_endian.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct uspi_fields {
    const uint8_t *at;
    size_t left; /* in bytes */
    bool is_short;
};

/* Takes n bytes. Returns NULL when there are fewer. */
static inline const uint8_t *uspi_fields_bytes(struct uspi_fields *fields, uint64_t n) {
    if (n > fields->left) {
        fields->left = 0;
        fields->is_short = true;
        return NULL;
    }
    const uint8_t *taken = fields->at;
    fields->at += (size_t)n;
    fields->left -= (size_t)n;
    return taken;
}

/* Takes `count` entries of `size` bytes, at most 64. Returns NULL when there are fewer. */
static inline const uint8_t *uspi_fields_array(struct uspi_fields *fields, uint64_t count, unsigned size) {
    return uspi_fields_bytes(fields, count <= fields->left ? count * size : UINT64_MAX);
}

/* Take a number; 0 when it is not there. */
static inline uint64_t uspi_fields_u64(struct uspi_fields *fields) {
    const uint8_t *at = uspi_fields_bytes(fields, 8);
    return at != NULL ? uspi_le64(at) : 0;
}

static inline uint32_t uspi_fields_u32(struct uspi_fields *fields) {
    const uint8_t *at = uspi_fields_bytes(fields, 4);
    return at != NULL ? uspi_le32(at) : 0;
}

/* Takes the rest as a string of *length bytes, which ends at the first NUL. */
static inline const char *uspi_fields_string(struct uspi_fields *fields, size_t *length) {
    const uint8_t *from = fields->at;
    const uint8_t *end = fields->left > 0 ? memchr(from, 0, fields->left) : NULL;
    *length = end != NULL ? (size_t)(end - from) : fields->left;
    fields->at += fields->left;
    fields->left = 0;
    return (const char *)from;
}

#endif
