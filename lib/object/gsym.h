/* SPDX-License-Identifier: MIT */
/* GSYM, version 1: LLVM's file of functions, their lines and their inlined calls, in either byte order.
 *
 *     header, UUID ──► starts of functions, ascending ──► where each is described ──► size, name, line table, inlined calls
 *
 * Nothing is allocated; every offset is checked when it is used.
 *
 * Sources: llvm/include/llvm/DebugInfo/GSYM/Header.h, FunctionInfo.h, LineTable.h, InlineInfo.h, and their .cpp files. */
#ifndef USPI_GSYM_H
#define USPI_GSYM_H

#include "lib/object/bytes.h"

/* GSYM_MAX_UUID_SIZE. */
#define USPI_GSYM_UUID_MAX 20u

struct uspi_gsym {
    struct uspi_bytes bytes;
    bool is_big_endian;
    unsigned width; /* bytes of a start */
    usp_addr base;  /* where the image begins as linked; starts count from there */
    uint32_t count; /* of functions */
    uint32_t file_count;
    uint64_t starts, places, files; /* offsets of the tables */
    struct uspi_bytes strings;
    uint8_t uuid_size;
    uint8_t uuid[USPI_GSYM_UUID_MAX];
};

/* Whether the bytes begin like such a file, of any version. */
bool uspi_gsym_is(struct uspi_bytes bytes);

/* Checks the header and that the tables lie in the file. USP_OK, USP_ERROR_FORMAT, USP_ERROR_TRUNCATED, USP_ERROR_UNSUPPORTED
 * (of another version). */
int uspi_gsym_open(struct uspi_gsym *gsym, struct uspi_bytes bytes, struct uspi_error *error);

/* Where function i begins. They ascend unless the file is damaged. False behind the last. */
bool uspi_gsym_start(const struct uspi_gsym *gsym, uint64_t i, usp_addr *start);

struct uspi_gsym_function {
    usp_addr start;
    uint32_t size;                  /* 0: not known */
    uint32_t name;                  /* offset among the strings; 0: it has none */
    struct uspi_bytes lines, calls; /* size 0: there are none */
};

/* Function i; false when it is damaged. */
bool uspi_gsym_function(const struct uspi_gsym *gsym, uint64_t i, struct uspi_gsym_function *function);

/* A file: offsets of its directory and its name among the strings. False when there is none of that number. */
bool uspi_gsym_file(const struct uspi_gsym *gsym, uint64_t number, uint32_t *folder, uint32_t *name);

/* ---- lines ---- */

/* A row, and where the next one is. */
struct uspi_gsym_row {
    struct uspi_bytes bytes;
    uint64_t at;
    int64_t least;  /* difference of lines of the first special opcode */
    uint64_t range; /* how many of them special opcodes have */
    usp_addr address;
    uint64_t file;
    uint32_t line;
};

/* Before the first row of a function; false when there is none. */
bool uspi_gsym_rows(const struct uspi_gsym_function *function, struct uspi_gsym_row *row);

/* The next row: 1, 0 behind the last, or USP_ERROR_FORMAT. */
int uspi_gsym_next_row(struct uspi_gsym_row *row);

/* ---- inlined calls ----
 *
 * A tree, each node before its children. The first one is the function itself. */

struct uspi_gsym_call {
    uint64_t ranges, range_count; /* where its ranges are, and how many: at least one */
    uint32_t name;                /* of the function that was inlined, as above */
    uint64_t file, line;          /* of the call */
    bool has_children;            /* they follow, and a 0 behind the last */
};

/* The node at *at, which moves behind it: 1, 0 at the end of a node's children, or USP_ERROR_FORMAT. */
int uspi_gsym_next_call(const struct uspi_gsym *gsym, struct uspi_bytes calls, uint64_t *at,
                        struct uspi_gsym_call *call);

/* The range at *at, which moves behind it; `base` is where the first range of the parent begins. */
bool uspi_gsym_range(struct uspi_bytes calls, uint64_t *at, usp_addr base, usp_addr *low, usp_addr *high);

#endif
