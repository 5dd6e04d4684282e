/* SPDX-License-Identifier: MIT */
/* Where the strings of blocks are. A block refers to a string by a number. Of a block that was made of debugging information
 * the number is a place in one of its sections, so that no string is copied; of a block in an index file it is the string's
 * number in the file's pool (string_pool.h). */
#ifndef USPI_STRINGS_H
#define USPI_STRINGS_H

#include "lib/object/bytes.h"

/* Where a string stands; the low bits of a reference. The offset there is in the bits above. 0 is no string. */
enum uspi_text_kind {
    USPI_TEXT_STR = 1,      /* .debug_str */
    USPI_TEXT_LINE_STR,     /* .debug_line_str */
    USPI_TEXT_INFO,         /* .debug_info */
    USPI_TEXT_LINE,         /* .debug_line */
    USPI_TEXT_ALT_STR,      /* .debug_str of the file that several share (dwz) */
    USPI_TEXT_ALT_LINE_STR, /* and its .debug_line_str */
    USPI_TEXT_ALT_INFO,     /* and its .debug_info */
    USPI_TEXT_SPLIT_STR,    /* .debug_str.dwo of the unit's file */
    USPI_TEXT_SPLIT_INFO,   /* and its .debug_info.dwo */
    USPI_TEXT_BLOCK,        /* the text in the block itself */
    USPI_TEXT_GO,           /* Go's function table */
    USPI_TEXT_GSYM,         /* the strings of a GSYM file */
    USPI_TEXT_KINDS
};

#define USPI_TEXT_KIND_BITS 4u

static inline uint64_t uspi_text_reference(enum uspi_text_kind kind, uint64_t offset) {
    return offset << USPI_TEXT_KIND_BITS | (uint64_t)kind;
}

/* The sections, by enum uspi_text_kind. */
struct uspi_texts {
    struct {
        const uint8_t *bytes;
        size_t size;
    } of[USPI_TEXT_KINDS];
};

/* The string of a reference, NUL-terminated where it stands; NULL when it is none. `block_text` are the block's own. */
const char *uspi_text_at(const struct uspi_texts *texts, const uint8_t *block_text, size_t block_text_size,
                         uint64_t reference);

#endif
