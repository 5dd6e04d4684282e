/* SPDX-License-Identifier: MIT */
/* Where the strings of blocks are. A block refers to a string by a number. In a block made of debug information, it is
 * an offset in one of the sections, so that no string is copied. In a block of an index file, it is the string's number
 * in the file's pool (string_pool.h). */
#ifndef USPI_SYMBOLIZE_LINES_STRINGS_H
#define USPI_SYMBOLIZE_LINES_STRINGS_H

#include "lib/object/bytes.h"

/* Where a string is: the low bits of a reference. The bits above are the offset there. 0 means no string. */
enum uspi_text_kind {
    USPI_TEXT_STR = 1,      /* .debug_str */
    USPI_TEXT_LINE_STR,     /* .debug_line_str */
    USPI_TEXT_INFO,         /* .debug_info */
    USPI_TEXT_LINE,         /* .debug_line */
    USPI_TEXT_ALT_STR,      /* .debug_str of the file that several files share (dwz) */
    USPI_TEXT_ALT_LINE_STR, /* .debug_line_str of that file */
    USPI_TEXT_ALT_INFO,     /* .debug_info of that file */
    USPI_TEXT_SPLIT_STR,    /* .debug_str.dwo of the unit's file */
    USPI_TEXT_SPLIT_INFO,   /* .debug_info.dwo of the unit's file */
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
    struct uspi_text_section {
        const uint8_t *bytes;
        size_t size;
        struct uspi_bytes all; /* what is to be read from a file into `bytes` string by string; size 0: all is there */
    } of[USPI_TEXT_KINDS];
};

/* Makes a section of a range in which strings are found. Returns false when the range has no place in memory. */
bool uspi_text_section_set(struct uspi_text_section *section, struct uspi_bytes bytes);

/* Returns whether the string at an offset of a range is terminated. Brings it into memory. */
bool uspi_text_need(struct uspi_bytes bytes, uint64_t offset);

/* Returns the string of a reference, NUL-terminated in its section; NULL when there is none. `block_text` is the
 * block's own text. */
const char *uspi_text_at(const struct uspi_texts *texts, const uint8_t *block_text, size_t block_text_size,
                         uint64_t reference);

#endif
