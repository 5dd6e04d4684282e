/* SPDX-License-Identifier: MIT */
/* Untrusted bytes: ranges of a file or of target memory. Every access is checked against the range. All readers of
 * lib/object/ and lib/corefile/ use these helpers, which have one function for each kind of check. On failure they
 * write a message that says what is wrong and where. They do not interpret the bytes. */
#ifndef USPI_OBJECT_BYTES_H
#define USPI_OBJECT_BYTES_H

#include <stdatomic.h>
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

/* A message for a person. Functions that take one accept NULL, and write it only on failure. */
struct uspi_error {
    int32_t status;             /* enum usp_status */
    char text[USPI_ERROR_TEXT]; /* "FILE: offset 0x40: what is wrong"; NUL-terminated, cut when too long */
};

/* Writes an error without a position. Returns `status`. */
int uspi_error_set(struct uspi_error *error, int status, const char *format, ...) USPI_PRINTF(3, 4);

/* ---- ranges ---- */

/* Bytes of a file come into memory in blocks of this size. */
#define USPI_BLOCK_BITS 14u
#define USPI_BLOCK      (UINT64_C(1) << USPI_BLOCK_BITS)

/* Ranges whose blocks are known to be filled, so that look-ups need not ask for each block. */
struct uspi_filled_ranges {
    _Atomic(uint32_t) count;
    struct {
        uint64_t from, end;
    } of[4];
};

enum uspi_block_state { USPI_BLOCK_EMPTY, USPI_BLOCK_FILLED, USPI_BLOCK_BROKEN };

#define USPI_WINDOW 64u

/* A copy of the bytes of a source that were read last, so that reading number after number takes one read of the source
 * for USPI_WINDOW bytes. All zero: empty. */
struct uspi_read_window {
    uint64_t from;
    uint64_t size; /* 0: empty */
    uint8_t bytes[USPI_WINDOW];
};

/* Where bytes come from. The source and what it points to must stay alive while ranges of it are used. Bytes that were
 * given in place do not change. */
struct uspi_source {
    const char *name;    /* for messages: a file's path, or a name for the memory */
    const uint8_t *base; /* place in memory of the byte at position 0; NULL: use `read`. Use uspi_bytes_in_place */
    /* For each block, enum uspi_block_state: only filled blocks may be read in memory. NULL: all bytes are there. */
    const _Atomic(uint8_t) *blocks;
    /* Fills the blocks of a range that are empty. Returns whether all its blocks are filled. Used only with
     * `blocks`. */
    bool (*fill)(void *context, uint64_t at, uint64_t n);
    /* Remembers a range that is filled. Used only with `blocks`. */
    void (*note)(void *context, uint64_t at, uint64_t n);
    struct uspi_filled_ranges *filled; /* used only with `blocks` */
    /* Returns USP_OK, or why a block could not be filled. Used only with `blocks`. */
    int (*damage)(void *context);
    /* Like usp_memory.read. NULL: all bytes are at `base`. */
    int (*read)(void *context, uint64_t at, void *to, size_t n);
    void *context;
    bool memory; /* positions are target addresses, not file offsets */
    /* Positions that are readable addresses of this process, and stay so: they are read directly, all others with
     * `read`. Size 0: none. */
    struct usp_memory_range direct;
    /* Used for small reads with `read`; NULL: none. Only for a source that one thread uses, and whose bytes do not change
     * meanwhile. */
    struct uspi_read_window *window;
};

/* A range of a source: the positions from … from + size − 1. It owns nothing and can be copied. */
struct uspi_bytes {
    const struct uspi_source *source;
    uint64_t from;
    uint64_t size;
};

/* The maximum number of symbols in a table: about ten times those of a large browser. A sparse file costs its author
 * nothing, and can claim more symbols than can be read in an hour. */
#define USPI_SYMBOLS_MAX ((uint64_t)1 << 26)

/* Returns a source over target memory. Both arguments must live as long as the source. */
struct uspi_source uspi_source_of_memory(const struct usp_memory *memory, const char *name);

/* Returns the range from target address `from` to the end of the address space. A read fails if nothing is mapped
 * there. */
struct uspi_bytes uspi_bytes_at(const struct uspi_source *source, usp_addr from);

/* Writes an error at a position of a range ("FILE: offset 0x…: …"; target memory: "address 0x…"). Returns `status`. */
int uspi_bytes_error(struct uspi_error *error, struct uspi_bytes bytes, uint64_t offset, int status, const char *format,
                     ...) USPI_PRINTF(5, 6);

/* ---- access: one helper for each kind of check ----
 *
 * Offsets count from the range's beginning. `what` names the item in messages ("program header"). All helpers return
 * USP_OK, USP_ERROR_TRUNCATED when the range ends too early, or the status of the source's reader. */

/* Makes *part the `size` bytes at `offset`. */
int uspi_bytes_sub(struct uspi_bytes whole, uint64_t offset, uint64_t size, const char *what, struct uspi_bytes *part,
                   struct uspi_error *error);

/* `count` entries of `entry_size` bytes at `offset`. */
struct uspi_array {
    uint64_t offset, count, entry_size;
    const char *what;
};

/* Makes *part the bytes of the array. If count × entry_size overflows, the result is USP_ERROR_TRUNCATED. */
int uspi_bytes_array(struct uspi_bytes whole, struct uspi_array array, struct uspi_bytes *part,
                     struct uspi_error *error);

/* Returns whether n bytes at a position are in memory. The source has a `base`, and the range. */
static inline bool uspi_source_has(const struct uspi_source *source, uint64_t at, uint64_t n) {
    if (source->blocks == NULL || n == 0) return true;
    const size_t first = (size_t)(at >> USPI_BLOCK_BITS), last = (size_t)((at + n - 1) >> USPI_BLOCK_BITS);
    for (size_t i = first; i <= last; i++) {
        if (atomic_load_explicit(&source->blocks[i], memory_order_acquire) != USPI_BLOCK_FILLED) return false;
    }
    return true;
}

/* Brings n bytes at a position into memory. Returns false when they cannot be read. The source has a `base`, and the
 * range. */
static inline bool uspi_source_need(const struct uspi_source *source, uint64_t at, uint64_t n) {
    return uspi_source_has(source, at, n) || source->fill(source->context, at, n);
}

/* Returns a pointer to the n bytes at `offset`. NULL when the range ends before, or the bytes are not in this process's
 * memory and cannot be brought there; then uspi_bytes_read copies them or reports what is wrong. */
static inline const uint8_t *uspi_bytes_in_place(struct uspi_bytes bytes, uint64_t offset, size_t n) {
    const struct uspi_source *source = bytes.source;
    const uint64_t at = bytes.from + offset;
    if (offset > bytes.size || n > bytes.size - offset) return NULL;
    if (source->base != NULL) return uspi_source_need(source, at, n) ? source->base + (size_t)at : NULL;
    const uint64_t before = at - source->direct.address;
    return before < source->direct.size && n <= source->direct.size - before ? (const uint8_t *)(uintptr_t)at : NULL;
}

/* Returns where the range is in memory. Its bytes must be asked for with uspi_source_need before they are read. NULL
 * when the source has no place in memory. */
static inline const uint8_t *uspi_bytes_place(struct uspi_bytes bytes) {
    if (bytes.source->base != NULL) return bytes.source->base + (size_t)bytes.from;
    return uspi_bytes_in_place(bytes, 0, (size_t)bytes.size);
}

/* Copies the n bytes at `offset`. A large range is read into `to` at once if it is not in memory. */
int uspi_bytes_read(struct uspi_bytes bytes, uint64_t offset, void *to, size_t n, const char *what,
                    struct uspi_error *error);

/* Maximum size of a piece. */
#define USPI_PIECE_MAX 64u

/* Some bytes: in place or, where they cannot be, a copy. */
struct uspi_piece {
    const uint8_t *at;
    uint8_t copy[USPI_PIECE_MAX];
};

/* Gives the n bytes at `offset`, at most USPI_PIECE_MAX, at piece->at. Otherwise like uspi_bytes_read. */
static inline int uspi_bytes_piece(struct uspi_bytes bytes, uint64_t offset, size_t n, struct uspi_piece *piece,
                                   const char *what, struct uspi_error *error) {
    piece->at = uspi_bytes_in_place(bytes, offset, n);
    if (piece->at != NULL) return USP_OK;
    piece->at = piece->copy;
    return uspi_bytes_read(bytes, offset, piece->copy, n, what, error);
}

/* Loads a little-endian number of `width` bytes: 1 … 8. */
int uspi_bytes_load(struct uspi_bytes bytes, uint64_t offset, unsigned width, uint64_t *value, const char *what,
                    struct uspi_error *error);

/* Loads an unsigned number in base 128, low groups first (ULEB128: DWARF 5, 7.6), and moves *offset past it.
 * USP_ERROR_FORMAT when it does not fit into 64 bits; *offset is unchanged then. */
int uspi_bytes_uleb(struct uspi_bytes bytes, uint64_t *offset, uint64_t *value, const char *what,
                    struct uspi_error *error);

/* Loads a signed number in base 128 (SLEB128), otherwise like uspi_bytes_uleb. */
int uspi_bytes_sleb(struct uspi_bytes bytes, uint64_t *offset, int64_t *value, const char *what,
                    struct uspi_error *error);

/* Copies a NUL-terminated string with its terminator into `capacity` bytes. USP_ERROR_TRUNCATED when the range ends
 * before the terminator, USP_ERROR_FULL when the string does not fit. On failure `to` has the part that was read,
 * NUL-terminated. */
int uspi_bytes_string(struct uspi_bytes bytes, uint64_t offset, char *to, size_t capacity, const char *what,
                      struct uspi_error *error);

/* Returns a pointer to the NUL-terminated string at `offset`, valid as long as the source. NULL when the source has no
 * place in memory, the string cannot be read, or the range's last byte is not a terminator, as it is in string tables;
 * use uspi_bytes_string then. */
const char *uspi_bytes_string_in_place(struct uspi_bytes bytes, uint64_t offset);

/* Brings a whole range into memory, if it can be read, and remembers that it is there. */
void uspi_bytes_need_whole(struct uspi_bytes bytes);

/* Returns whether a byte of the range may have that value; true when the range is not in memory. */
bool uspi_bytes_may_have(struct uspi_bytes bytes, uint8_t value);

/* ---- numbers in copied bytes ---- */

static inline uint64_t uspi_be(const uint8_t *p, unsigned width) {
    uint64_t value = 0;
    for (unsigned i = 0; i < width; i++) value = value << 8 | p[i];
    return value;
}

static inline uint32_t uspi_be32(const uint8_t *p) { return (uint32_t)uspi_be(p, 4); }
static inline uint64_t uspi_be64(const uint8_t *p) { return uspi_be(p, 8); }

/* Compute a + b and a × b. False when the result does not fit into 64 bits. */
static inline bool uspi_sum(uint64_t a, uint64_t b, uint64_t *sum) {
    *sum = a + b;
    return *sum >= a;
}

static inline bool uspi_product(uint64_t a, uint64_t b, uint64_t *product) {
    *product = a * b;
    return b == 0 || a <= UINT64_MAX / b;
}

#endif
