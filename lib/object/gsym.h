/* SPDX-License-Identifier: MIT */
/* Reads GSYM, version 1: LLVM's file format for functions, their lines and their inlined calls, in either byte order.
 *
 *     header, UUID ──► starts of functions, ascending ──► offsets of descriptions ──► size, name, lines, inlined calls
 *
 * Nothing is allocated; every offset is checked when it is used.
 *
 * Sources: llvm/include/llvm/DebugInfo/GSYM/Header.h, FunctionInfo.h, LineTable.h, InlineInfo.h, and their .cpp
 * files. */
#ifndef USPI_OBJECT_GSYM_H
#define USPI_OBJECT_GSYM_H

#include "lib/object/bytes.h"

/* GSYM_MAX_UUID_SIZE. */
#define USPI_GSYM_UUID_MAX 20u

struct uspi_gsym {
    struct uspi_bytes bytes;
    bool is_big_endian;
    unsigned width; /* size of a start in bytes */
    usp_addr base;  /* linked address of the image's first byte; starts count from it */
    uint32_t count; /* number of functions */
    uint32_t file_count;
    uint64_t starts, places, files; /* offsets of the tables */
    struct uspi_bytes strings;
    uint8_t uuid_size;
    uint8_t uuid[USPI_GSYM_UUID_MAX];
};

/* Returns whether the bytes begin like a GSYM file of any version. */
bool uspi_gsym_is(struct uspi_bytes bytes);

/* Opens a file. Checks the header, and that the tables lie in the file. Returns USP_OK, USP_ERROR_FORMAT,
 * USP_ERROR_TRUNCATED, or USP_ERROR_UNSUPPORTED (another version). */
int uspi_gsym_open(struct uspi_gsym *gsym, struct uspi_bytes bytes, struct uspi_error *error);

/* Gives the start of function i. Starts ascend unless the file is damaged. False past the last function. */
bool uspi_gsym_start(const struct uspi_gsym *gsym, uint64_t i, usp_addr *start);

struct uspi_gsym_function {
    usp_addr start;
    uint32_t size;                  /* 0: not known */
    uint32_t name;                  /* offset in the strings; 0: it has none */
    struct uspi_bytes lines, calls; /* size 0: there are none */
};

/* Reads function i; false past the last one, or when it is damaged. */
bool uspi_gsym_function(const struct uspi_gsym *gsym, uint64_t i, struct uspi_gsym_function *function);

/* Reads a source file by its number: the offsets of its folder and its name in the strings. False when there is no such
 * number. */
bool uspi_gsym_file(const struct uspi_gsym *gsym, uint64_t number, uint32_t *folder, uint32_t *name);

/* ---- lines ---- */

/* A row, and the state of an iteration. */
struct uspi_gsym_row {
    struct uspi_bytes bytes;
    uint64_t at;
    int64_t least;  /* line difference of the first special opcode */
    uint64_t range; /* how many line differences special opcodes have */
    usp_addr address;
    uint64_t file;
    uint32_t line;
};

/* Begins an iteration before the first row of a function; false when there is none. */
bool uspi_gsym_rows(const struct uspi_gsym_function *function, struct uspi_gsym_row *row);

/* Reads the next row. Returns 1, 0 past the last one, or USP_ERROR_FORMAT. */
int uspi_gsym_next_row(struct uspi_gsym_row *row);

/* ---- inlined calls ----
 *
 * They form a tree; each node precedes its children. The first node is the function itself. */

struct uspi_gsym_call {
    uint64_t ranges, range_count; /* offset and number of its ranges; at least one */
    uint32_t name;                /* of the inlined function: offset in the strings; 0: it has none */
    uint64_t file, line;          /* of the call */
    bool has_children;            /* children follow, and a 0 after the last one */
};

/* Reads the node at *at and moves *at past it. Returns 1, 0 at the end of a node's children, or USP_ERROR_FORMAT. */
int uspi_gsym_next_call(const struct uspi_gsym *gsym, struct uspi_bytes calls, uint64_t *at,
                        struct uspi_gsym_call *call);

/* Reads the range at *at and moves *at past it. `base` is the start of the parent's first range. */
bool uspi_gsym_range(struct uspi_bytes calls, uint64_t *at, usp_addr base, usp_addr *low, usp_addr *high);

#endif
