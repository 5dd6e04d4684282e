/* SPDX-License-Identifier: MIT */
/* Breakpad's text files of symbols: one record in a line. Records for unwinding (STACK) are passed over.
 *
 *     MODULE Linux x86_64 4D8C7E1A…0 name     FUNC 10 20 0 outer         addresses count from the image's first byte
 *     INFO CODE_ID 1a7e8c4d…                  INLINE 0 12 1 3 14 8       level, line and file of the call, origin, ranges
 *     FILE 1 /src/a.c                         10 4 7 1                   address, size, line, file
 *     INLINE_ORIGIN 3 inner                   PUBLIC 40 0 entry
 *
 * Numbers are hexadecimal, but those of files, lines, origins and levels are decimal. Nothing is allocated.
 *
 * Sources: google/breakpad, docs/symbol_files.md, src/processor/basic_source_line_resolver.cc (INLINE);
 * mozilla/dump_syms (INFO CODE_ID). */
#ifndef USPI_BREAKPAD_H
#define USPI_BREAKPAD_H

#include "lib/base/span.h"
#include "lib/object/bytes.h"

#include <unspool/images.h>

struct uspi_breakpad {
    struct uspi_span text; /* all of the file */
    size_t first;          /* where the line behind MODULE begins */
    struct uspi_span name; /* of the image's file */
    bool is_macho;
    uint32_t arch;    /* enum usp_arch; USP_ARCH_NONE: another one */
    uint32_t variant; /* enum usp_variant */
    uint32_t build_id_size;
    uint8_t build_id[USP_BUILD_ID_MAX]; /* of ELF the first 16 bytes alone where the file has no more */
};

/* Whether the bytes begin like such a file. */
bool uspi_breakpad_is(struct uspi_bytes bytes);

/* Reads MODULE, and CODE_ID where it is the whole build-id. The bytes stay as long as the text is used. USP_OK, USP_ERROR_FORMAT,
 * USP_ERROR_UNSUPPORTED (of a Windows image; bytes that are not mapped). */
int uspi_breakpad_open(struct uspi_breakpad *breakpad, struct uspi_bytes bytes, struct uspi_error *error);

enum uspi_breakpad_kind {
    USPI_BREAKPAD_OTHER, /* passed over, damaged records as well */
    USPI_BREAKPAD_FILE,
    USPI_BREAKPAD_ORIGIN, /* of inlined calls: the function */
    USPI_BREAKPAD_FUNC,
    USPI_BREAKPAD_LINE,
    USPI_BREAKPAD_INLINE,
    USPI_BREAKPAD_PUBLIC
};

struct uspi_breakpad_record {
    enum uspi_breakpad_kind kind;
    usp_addr address;      /* of FUNC, line, PUBLIC */
    uint64_t size;         /* of FUNC, line; address + size does not overflow */
    uint64_t number;       /* of FILE, INLINE_ORIGIN; of INLINE that of its origin */
    uint64_t file, line;   /* of a line; of INLINE where the call is */
    uint64_t level;        /* of INLINE: 0 in the function itself */
    struct uspi_span text; /* the name; of INLINE its ranges */
};

/* Reads the record at *at, which moves to the next line. False at the end of the file. */
bool uspi_breakpad_next(const struct uspi_breakpad *breakpad, size_t *at, struct uspi_breakpad_record *record);

/* Takes the next range off the front of those of INLINE. False when there is none. */
bool uspi_breakpad_range(struct uspi_span *ranges, usp_addr *low, usp_addr *high);

#endif
