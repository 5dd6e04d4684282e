/* SPDX-License-Identifier: MIT */
/* Go's table of functions, .gopclntab: names, files, lines, inlined calls and frame sizes of all code that Go's compiler made.
 * The run-time reads it for its own stacks, so that it stays in programs without symbols and debug information.
 *
 *     header ──► functions: start, record ──► record ──► name; by address: file numbers, lines, indexes of inlined calls,
 *                                                 │      how far sp is below its value at the function's start
 *                                                 └────► the tree of inlined calls, which lies outside of the table
 *
 * What stands for an address is a list of runs: a difference of the value, how many instructions it holds for, and so on.
 * Nothing is allocated; every offset is checked when it is used. lib/object/gopclntab_find.h says where the table is.
 *
 * Sources: Go's src/runtime/symtab.go, symtabinl.go, runtime2.go (moduledata, pcHeader, _func, inlinedCall),
 * src/internal/abi/symtab.go, src/debug/gosym/pclntab.go; "Go 1.2 Runtime Symbol Information" (golang.org/s/go12symtab). */
#ifndef USPI_GOPCLNTAB_H
#define USPI_GOPCLNTAB_H

#include "lib/object/bytes.h"

/* The layout, by the first release that wrote it. */
enum uspi_go_version { USPI_GO_1_2, USPI_GO_1_16, USPI_GO_1_18, USPI_GO_1_20 };

struct uspi_go_table {
    struct uspi_bytes bytes; /* from the header on */
    enum uspi_go_version version;
    unsigned quantum; /* addresses of instructions are multiples of it */
    unsigned word;    /* bytes of an address */
    uint64_t count;   /* of functions */
    usp_addr text;    /* what their starts count from; 0 where these are addresses */
    /* Offsets of the parts. */
    uint64_t names, units, files, runs, functions;
    uint64_t file_count;     /* of version 1.2 */
    struct uspi_bytes trees; /* what offsets of inlined calls count from; size 0: unknown */
};

/* Checks the header, and that the list of functions and the first of them lie in the bytes, which may go on behind
 * the table. From 1.18 on `text` is what the header says, which may be 0. USP_OK, or USP_ERROR_FORMAT when this is
 * no such table. */
int uspi_go_table_open(struct uspi_go_table *table, struct uspi_bytes bytes);

/* Where a function begins; with `i` the number of functions, where the last one ends. They ascend unless the table
 * is damaged. */
bool uspi_go_start(const struct uspi_go_table *table, uint64_t i, usp_addr *start);

/* The function whose code, or the padding behind it, holds an address. False: none, or the list cannot be read. */
bool uspi_go_find(const struct uspi_go_table *table, usp_addr address, uint64_t *i);

/* abi.FuncFlag; tables before 1.17 have none. */
enum uspi_go_flags {
    USPI_GO_TOP_FRAME = 1 << 0, /* stacks end in it: a goroutine's, a thread's, the program's start */
    USPI_GO_SP_WRITE = 1 << 1   /* it writes to sp what the list of frame sizes does not tell */
};

/* A function. Offsets of lists of runs; 0: there is none. */
struct uspi_go_function {
    usp_addr start, end;
    uint64_t name;                /* offset of its name, NUL-terminated, in the table */
    uint64_t stack;               /* runs: bytes from sp to its value at the function's start */
    uint64_t files, lines, calls; /* runs: file numbers, lines, inlined calls */
    uint32_t flags;               /* enum uspi_go_flags */
    uint64_t unit;                /* what its file numbers count from */
    uint64_t tree;                /* offset in `trees`; UINT64_MAX: nothing was inlined */
    uint32_t line;                /* it begins in; 0: unknown */
};
bool uspi_go_function(const struct uspi_go_table *table, uint64_t i, struct uspi_go_function *function);

/* Where a function's code ends: its list of lines stops there, and padding follows up to the next function's start;
 * that start where the list is missing or extraordinarily long. */
usp_addr uspi_go_code_end(const struct uspi_go_table *table, const struct uspi_go_function *function);

/* A run: what holds from `low` up to `high`. */
struct uspi_go_run {
    const struct uspi_go_table *table;
    uint64_t next; /* offset of the next one */
    usp_addr low, high, end;
    int32_t value;
    bool has_begun;
};

/* Before the first run of a function. */
struct uspi_go_run uspi_go_runs(const struct uspi_go_table *table, const struct uspi_go_function *function,
                                uint64_t list);

/* The next run, which ends at the function's end at the latest; false when there is none. */
bool uspi_go_next_run(struct uspi_go_run *run);

/* The offset of the path that a file number means, NUL-terminated, in the table; 0: of none. */
uint64_t uspi_go_file(const struct uspi_go_table *table, const struct uspi_go_function *function, int32_t number);

/* An inlined call. */
struct uspi_go_call {
    uint64_t name;   /* of the function that was inlined, as above */
    usp_addr caller; /* an address whose file, line and inlined call are those of the call */
    uint32_t line;   /* where the function begins; 0: unknown */
};

/* The inlined call with that index, as runs of `calls` give it. False when it is not known or contradicts itself. */
bool uspi_go_call(const struct uspi_go_table *table, const struct uspi_go_function *function, int32_t index,
                  struct uspi_go_call *call);

/* Whether the trees can be what the table's functions mean: all inlined calls of many functions are valid. */
bool uspi_go_check_trees(const struct uspi_go_table *table);

#endif
