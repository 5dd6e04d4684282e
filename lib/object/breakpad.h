/* SPDX-License-Identifier: MIT */
/* Reads Breakpad's text files of symbols, which have one record per line. Skips records for unwinding (STACK).
 *
 *     MODULE Linux x86_64 4D8C7E1A…0 name     FUNC 10 20 0 outer         addresses count from the image's first byte
 *     INFO CODE_ID 1a7e8c4d…                  INLINE 0 12 1 3 14 8       the call's level, line, file; origin, ranges
 *     FILE 1 /src/a.c                         10 4 7 1                   address, size, line, file
 *     INLINE_ORIGIN 3 inner                   PUBLIC 40 0 entry
 *
 * Numbers are hexadecimal, except those of files, lines, origins and levels, which are decimal. Nothing is allocated.
 *
 * Sources: google/breakpad, docs/symbol_files.md, src/processor/basic_source_line_resolver.cc (INLINE);
 * mozilla/dump_syms (INFO CODE_ID). */
#ifndef USPI_OBJECT_BREAKPAD_H
#define USPI_OBJECT_BREAKPAD_H

#include "lib/base/span.h"
#include "lib/object/bytes.h"

#include <unspool/images.h>

struct uspi_breakpad {
    struct uspi_span text; /* the whole file */
    size_t first;          /* offset of the line after MODULE */
    struct uspi_span name; /* of the image's file */
    bool is_macho;
    uint32_t arch;    /* enum usp_arch; USP_ARCH_NONE: a processor that unspool does not know */
    uint32_t variant; /* enum usp_variant */
    uint32_t build_id_size;
    uint8_t build_id[USP_BUILD_ID_MAX]; /* of ELF only its first 16 bytes if the file has no more */
};

/* Returns whether the bytes begin like a Breakpad file; false when they cannot be brought into memory. */
bool uspi_breakpad_is(struct uspi_bytes bytes);

/* Opens a file: reads MODULE, and for ELF also CODE_ID, the whole build id. The bytes must stay valid while the text is
 * used. Returns USP_OK, USP_ERROR_FORMAT, or USP_ERROR_UNSUPPORTED (a Windows image; bytes that are not mapped as a
 * whole). */
int uspi_breakpad_open(struct uspi_breakpad *breakpad, struct uspi_bytes bytes, struct uspi_error *error);

enum uspi_breakpad_kind {
    USPI_BREAKPAD_OTHER, /* skipped: other and damaged records */
    USPI_BREAKPAD_FILE,
    USPI_BREAKPAD_ORIGIN, /* INLINE_ORIGIN: the function of inlined calls */
    USPI_BREAKPAD_FUNC,
    USPI_BREAKPAD_LINE,
    USPI_BREAKPAD_INLINE,
    USPI_BREAKPAD_PUBLIC
};

struct uspi_breakpad_record {
    enum uspi_breakpad_kind kind;
    usp_addr address;      /* of FUNC, lines, PUBLIC */
    uint64_t size;         /* of FUNC, lines; address + size does not overflow */
    uint64_t number;       /* of FILE, INLINE_ORIGIN; of INLINE, its origin's number */
    uint64_t file, line;   /* of lines; of INLINE, those of the call */
    uint64_t level;        /* of INLINE: 0 for calls in the function itself */
    struct uspi_span text; /* the name; of INLINE, its ranges */
};

/* Reads the record at *at and moves *at to the next line. False at the end of the file. */
bool uspi_breakpad_next(const struct uspi_breakpad *breakpad, size_t *at, struct uspi_breakpad_record *record);

/* Removes the first range from the ranges of an INLINE and gives it. False when there is none. */
bool uspi_breakpad_range(struct uspi_span *ranges, usp_addr *low, usp_addr *high);

#endif
