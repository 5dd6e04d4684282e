/* SPDX-License-Identifier: MIT */
/* Jitdump, jit-PID.dump: records of code that was generated, with times (Linux
 * tools/perf/Documentation/jitdump-specification.txt). Read are records of code that was loaded and moved, and of its lines.
 * Unwind tables are not. */
#ifndef USPI_JIT_DUMP_H
#define USPI_JIT_DUMP_H

#include "lib/object/bytes.h"
#include "lib/symbolize/jit/code_map.h"

/* A piece of code by the number that the writer gave it. */
struct uspi_jitdump_slot {
    uint64_t index;
    uint32_t code; /* number in the map, plus 1; 0: the slot is empty */
};

/* Lines of code that a later record loads. */
struct uspi_jitdump_lines {
    usp_addr start;        /* of that code */
    size_t first, count;   /* rows of the map; count 0: there are none */
    const char *tail;      /* of a damaged path, which is that of all rows without one (jitdump_lines.c); NULL: none */
    size_t damaged_length; /* of that path */
};

/* How far a file was read. All zero: not at all. */
struct uspi_jitdump {
    uint64_t offset;                 /* of the first record that was not complete when it was read */
    bool is_big;                     /* big-endian */
    bool is_damaged;                 /* there is no telling where the next record begins */
    struct uspi_jitdump_slot *slots; /* a hash table of slot_count slots, a power of two */
    size_t slot_count, slots_used;
    struct uspi_jitdump_lines lines;
    uint32_t elf_header; /* bytes of an ELF header of the file's processor */
    bool counts_plainly; /* the addresses of lines are those of the code: see jitdump_lines.h */
};

/* Reads what has come since the last time.
 *   pid  that the header must name; 0: any
 * USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_FORMAT (no jitdump), USP_ERROR_MISMATCH (of another process), or what reading the
 * file failed with. */
int uspi_jitdump_read(struct uspi_jitdump *state, struct uspi_bytes file, int64_t pid, struct uspi_jit_map *map);

/* Forgets how far it was read. */
void uspi_jitdump_clear(struct uspi_jitdump *state);

#endif
