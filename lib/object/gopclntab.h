/* SPDX-License-Identifier: MIT */
/* Reads Go's table of functions, .gopclntab: names, files, lines, inlined calls and frame sizes of all code that Go's
 * compiler made. The Go runtime reads it for its own stacks, so programs without symbols and debug information keep it.
 *
 *     header ──► functions: start, record ──► record ──► name; by address: files, lines, indexes of inlined calls,
 *                                                 │      how far sp is below its value at the function's start
 *                                                 └────► the tree of inlined calls, which lies outside of the table
 *
 * Values by address are lists of runs: pairs of a difference of the value and the number of instructions with that
 * value. Nothing is allocated; every offset is checked when it is used. lib/object/gopclntab_find.h finds the table.
 *
 * Sources: Go's src/runtime/symtab.go, symtabinl.go, runtime2.go (moduledata, pcHeader, _func, inlinedCall),
 * src/internal/abi/symtab.go, src/debug/gosym/pclntab.go; "Go 1.2 Runtime Symbol Information"
 * (golang.org/s/go12symtab). */
#ifndef USPI_OBJECT_GOPCLNTAB_H
#define USPI_OBJECT_GOPCLNTAB_H

#include "lib/object/bytes.h"

/* The table's layout, named by the first Go release that wrote it. */
enum uspi_go_version { USPI_GO_1_2, USPI_GO_1_16, USPI_GO_1_18, USPI_GO_1_20 };

struct uspi_go_table {
    struct uspi_bytes bytes; /* from the header on */
    enum uspi_go_version version;
    unsigned quantum; /* instruction addresses are multiples of it */
    unsigned word;    /* size of an address in bytes */
    uint64_t count;   /* number of functions */
    usp_addr text;    /* functions' starts count from this address; 0 where starts are addresses */
    /* Offsets of the table's parts. */
    uint64_t names, units, files, runs, functions;
    uint64_t file_count;     /* only in version 1.2 */
    struct uspi_bytes trees; /* the trees of inlined calls; size 0: unknown */
};

/* Opens a table. Checks the header, and that the list of functions and the first function lie in the bytes. `bytes` may
 * reach past the table. From 1.18 on, `text` is what the header says, which may be 0. Returns USP_OK, or
 * USP_ERROR_FORMAT when this is no such table. */
int uspi_go_table_open(struct uspi_go_table *table, struct uspi_bytes bytes);

/* Gives the start of function i; with i == count, the end of the last one. Starts ascend unless the table is damaged.
 * False when i is larger or the start cannot be read. */
bool uspi_go_start(const struct uspi_go_table *table, uint64_t i, usp_addr *start);

/* Finds the function whose code, or the padding after it, contains an address. False: none, or the list cannot be
 * read. */
bool uspi_go_find(const struct uspi_go_table *table, usp_addr address, uint64_t *i);

/* abi.FuncFlag; tables before 1.17 have none. */
enum uspi_go_flags {
    USPI_GO_TOP_FRAME = 1 << 0, /* outermost function of a goroutine, a thread or the program: stacks end in it */
    USPI_GO_SP_WRITE = 1 << 1   /* it writes to sp in a way that the list of frame sizes does not describe */
};

/* A function. Lists of runs are given by their offsets; 0: there is none. */
struct uspi_go_function {
    usp_addr start, end;
    uint64_t name;                /* offset of its name, NUL-terminated, in the table */
    uint64_t stack;               /* runs: how many bytes sp is below its value at the function's start */
    uint64_t files, lines, calls; /* runs: file numbers, lines, inlined calls */
    uint32_t flags;               /* enum uspi_go_flags */
    uint64_t unit;                /* index from which its file numbers count */
    uint64_t tree;                /* offset of its tree in `trees`; UINT64_MAX: nothing was inlined */
    uint32_t line;                /* line of its beginning; 0: unknown */
};
bool uspi_go_function(const struct uspi_go_table *table, uint64_t i, struct uspi_go_function *function);

/* Returns the end of a function's code, where its list of lines ends; padding follows up to the next function's start.
 * Returns that start if the list is missing or extraordinarily long. */
usp_addr uspi_go_code_end(const struct uspi_go_table *table, const struct uspi_go_function *function);

/* A run: `value` holds from `low` up to `high`. Also the state of an iteration. */
struct uspi_go_run {
    const struct uspi_go_table *table;
    uint64_t next; /* offset of the next run */
    usp_addr low, high, end;
    int32_t value;
    bool has_begun;
};

/* Begins an iteration over a list of a function; `list` is the list's offset. */
struct uspi_go_run uspi_go_runs(const struct uspi_go_table *table, const struct uspi_go_function *function,
                                uint64_t list);

/* Reads the next run, cut at the function's end; false when there is none. */
bool uspi_go_next_run(struct uspi_go_run *run);

/* Returns the offset in the table of the NUL-terminated path with a file number; 0: there is none. */
uint64_t uspi_go_file(const struct uspi_go_table *table, const struct uspi_go_function *function, int32_t number);

/* An inlined call. */
struct uspi_go_call {
    uint64_t name;   /* of the inlined function: offset of its NUL-terminated name in the table */
    usp_addr caller; /* an address; its file, line and inlined calls are those of the call */
    uint32_t line;   /* line of the function's beginning; 0: unknown */
};

/* Reads the inlined call with an index from the runs of `calls`. False when it is unknown or contradicts itself. */
bool uspi_go_call(const struct uspi_go_table *table, const struct uspi_go_function *function, int32_t index,
                  struct uspi_go_call *call);

/* Returns whether table->trees fits the table: all inlined calls of many functions are valid. */
bool uspi_go_check_trees(const struct uspi_go_table *table);

#endif
