/* SPDX-License-Identifier: MIT */
/* Untrusted bytes: ranges of a file or of target memory, every access checked against the range.
 * All readers of lib/object/ and lib/corefile/ stand on these helpers; there is one for each kind of check, and all of
 * them say in a sentence what was wrong and where. What the bytes mean is not known here. */
#ifndef USPI_BYTES_H
#define USPI_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <unspool/unwind.h>

#include "arch/little_endian.h"

#if defined(__GNUC__) || defined(__clang__)
#define USPI_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define USPI_PRINTF(text, first)
#endif

/* ---- what went wrong ---- */

#define USPI_ERROR_TEXT 512

/* For a person. Where a function takes one, it may be NULL; it is written on failure only. */
struct uspi_error {
    int32_t status;             /* enum usp_status */
    char text[USPI_ERROR_TEXT]; /* "FILE: offset 0x40: what is wrong"; NUL-terminated, cut when too long */
};

/* Writes an error without a position. Returns `status`, so that a caller can return it in turn. */
int uspi_error_set(struct uspi_error *error, int status, const char *format, ...) USPI_PRINTF(3, 4);

/* ---- ranges ---- */

/* Where bytes come from. Its owner keeps it, and what it points to, alive and unchanged for as long as ranges of
 * it are used; a file that is cut while it is mapped raises SIGBUS in its reader, as everywhere. */
struct uspi_source {
    const char *name;      /* for messages: a file's path, or what memory it is */
    const uint8_t *mapped; /* position 0; NULL: the positions are read by `read` */
    int (*read)(void *context, uint64_t at, void *to, size_t n); /* as usp_memory.read; only without `mapped` */
    void *context;
    bool memory; /* positions are target addresses, not file offsets */
    /* Of these the positions are addresses of this process that stay readable; `read` is for all others. Size 0: none. */
    struct usp_memory_range direct;
};

/* A range of a source: its positions from … from + size − 1. A value: copy it freely. */
struct uspi_bytes {
    const struct uspi_source *source;
    uint64_t from;
    uint64_t size;
};

/* A source over target memory. Both arguments must live as long as the source. */
struct uspi_source uspi_source_of_memory(const struct usp_memory *memory, const char *name);

/* The range from target address `from` to the end of the address space; each read decides what is really there. */
struct uspi_bytes uspi_bytes_at(const struct uspi_source *source, usp_addr from);

/* Writes an error at a position of a range ("FILE: offset 0x…: …"; target memory: "address 0x…"). Returns `status`. */
int uspi_bytes_error(struct uspi_error *error, struct uspi_bytes bytes, uint64_t offset, int status, const char *format,
                     ...) USPI_PRINTF(5, 6);

/* ---- access: one helper for each kind of check ----
 *
 * Offsets count from the range's beginning. `what` names the thing in messages ("program header"). All return USP_OK, or
 * USP_ERROR_TRUNCATED when the range ends too early, or the status of the source's reader. */

/* *part becomes the `size` bytes at `offset`. */
int uspi_bytes_sub(struct uspi_bytes whole, uint64_t offset, uint64_t size, const char *what, struct uspi_bytes *part,
                   struct uspi_error *error);

/* `count` entries of `entry_size` bytes at `offset`. */
struct uspi_array {
    uint64_t offset, count, entry_size;
    const char *what;
};

/* *part becomes the entries; a product that overflows is too long for any range. */
int uspi_bytes_array(struct uspi_bytes whole, struct uspi_array array, struct uspi_bytes *part,
                     struct uspi_error *error);

/* The n bytes at `offset` where they lie; NULL when the range ends before, or they are not mapped: uspi_bytes_read then
 * copies them, or says what is wrong. */
static inline const uint8_t *uspi_bytes_in_place(struct uspi_bytes bytes, uint64_t offset, size_t n) {
    const struct uspi_source *source = bytes.source;
    const uint64_t at = bytes.from + offset;
    if (offset > bytes.size || n > bytes.size - offset) return NULL;
    if (source->mapped != NULL) return source->mapped + (size_t)at;
    const uint64_t behind = at - source->direct.address;
    return behind < source->direct.size && n <= source->direct.size - behind ? (const uint8_t *)(uintptr_t)at : NULL;
}

/* Copies n bytes. */
int uspi_bytes_read(struct uspi_bytes bytes, uint64_t offset, void *to, size_t n, const char *what,
                    struct uspi_error *error);

/* Loads a little-endian number of `width` bytes: 1 … 8. */
int uspi_bytes_load(struct uspi_bytes bytes, uint64_t offset, unsigned width, uint64_t *value, const char *what,
                    struct uspi_error *error);

/* Loads an unsigned number in base 128, low groups first (ULEB128: DWARF 5, 7.6), and moves *offset behind it.
 * USP_ERROR_FORMAT when it does not fit into 64 bits; *offset stays then. */
int uspi_bytes_uleb(struct uspi_bytes bytes, uint64_t *offset, uint64_t *value, const char *what,
                    struct uspi_error *error);

/* The same for a signed number (SLEB128). */
int uspi_bytes_sleb(struct uspi_bytes bytes, uint64_t *offset, int64_t *value, const char *what,
                    struct uspi_error *error);

/* Copies a NUL-terminated string, terminator included, into `room` bytes. USP_ERROR_TRUNCATED when the range ends before
 * its terminator, USP_ERROR_FULL when it does not fit; `to` then holds what was read of it, terminated. */
int uspi_bytes_string(struct uspi_bytes bytes, uint64_t offset, char *to, size_t room, const char *what,
                      struct uspi_error *error);

/* The NUL-terminated string at `offset` where it stands; it lives as long as the source. NULL when the source is not
 * mapped or the range does not end with a terminator, as tables of strings do; uspi_bytes_string copies then. */
const char *uspi_bytes_string_in_place(struct uspi_bytes bytes, uint64_t offset);

/* Whether a byte of that value may be among them; true when the source is not mapped. */
bool uspi_bytes_may_have(struct uspi_bytes bytes, uint8_t value);

/* ---- numbers in bytes that were copied ---- */

static inline uint64_t uspi_be(const uint8_t *p, unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value = value << 8 | p[i];
    return value;
}

static inline uint32_t uspi_be32(const uint8_t *p) { return (uint32_t)uspi_be(p, 4); }
static inline uint64_t uspi_be64(const uint8_t *p) { return uspi_be(p, 8); }

/* a + b and a × b; false when the result does not fit. */
static inline bool uspi_sum(uint64_t a, uint64_t b, uint64_t *sum) {
    *sum = a + b;
    return *sum >= a;
}

static inline bool uspi_product(uint64_t a, uint64_t b, uint64_t *product) {
    *product = a * b;
    return b == 0 || a <= UINT64_MAX / b;
}

#endif
