/* SPDX-License-Identifier: MIT */
/* Jitdump, jit-PID.dump: records of generated code, with times (Linux
 * tools/perf/Documentation/jitdump-specification.txt). Reads the records of code that was loaded or moved, and of its
 * lines. Unwind tables are not read. */
#ifndef USPI_SYMBOLIZE_JIT_JITDUMP_H
#define USPI_SYMBOLIZE_JIT_JITDUMP_H

#include "lib/base/numbers.h"
#include "lib/object/bytes.h"
#include "lib/symbolize/jit/code_map.h"

/* The lines of code that a later record loads. */
struct uspi_jitdump_lines {
    usp_addr start;        /* of that code */
    size_t first, count;   /* rows of the map; count 0: there are none */
    const char *tail;      /* intact end of a damaged path, for rows without a file (keep_damaged); NULL: none */
    size_t damaged_length; /* length of the whole damaged path */
};

/* How far a file was read. All zero: nothing was read. */
struct uspi_jitdump {
    uint64_t offset;           /* of the first record that was incomplete when it was read */
    bool is_big;               /* big-endian */
    bool is_damaged;           /* the start of the next record is not known */
    struct uspi_numbers codes; /* 1 + number in the map, by the number that the writer gave a piece of code */
    struct uspi_jitdump_lines lines;
    uint32_t elf_header; /* bytes of an ELF header of the file's processor */
    bool counts_plainly; /* addresses of lines are those of the code: see jitdump.c */
};

/* Reads what was added to the file since the last call.
 *   pid  the process that the header must name; 0: any
 * Returns USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_FORMAT (not a jitdump), USP_ERROR_MISMATCH (of another process), or
 * the status with which reading failed. */
int uspi_jitdump_read(struct uspi_jitdump *state, struct uspi_bytes file, int64_t pid, struct uspi_jit_map *map);

/* Forgets how far the file was read. */
void uspi_jitdump_clear(struct uspi_jitdump *state);

#endif
