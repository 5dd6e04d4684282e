/* SPDX-License-Identifier: MIT */
/* A block: what one compile unit says about its code, in the form in which it is looked up. Blocks are made in memory
 * when a lookup needs them. Index files have them in the same form. doc/index-format.md describes every byte; this
 * header describes how they are read.
 *
 *     address ──► group ──► entry: node, file, line, column
 *                            │
 *                            └─► node ──► site: function, and where it was called ──► name, declared where
 *                                  │
 *                                  └─► its caller's node … up to a function that was not inlined
 *
 *     return address ──► call ──► callee: the part with which it begins, or the name of a function outside the block
 *     part ──► tail calls of the function that begins with it ──► callees
 *
 * Numbers of files, functions, sites and nodes begin at 1; 0 means none. Everything is little-endian, and offsets count
 * from the block's first byte. Untrusted bytes may be opened: contradictions are refused when they are met. */
#ifndef USPI_SYMBOLIZE_LINES_BLOCK_H
#define USPI_SYMBOLIZE_LINES_BLOCK_H

#include "lib/symbolize/lines/packed.h"

/* The fields of records, in the order of their widths in the header. */
enum uspi_block_width {
    USPI_WIDTH_TEXT,      /* a string (strings.h) */
    USPI_WIDTH_FOLDER,    /* number of a directory */
    USPI_WIDTH_FILE,      /* number of a file */
    USPI_WIDTH_FUNCTION,  /* number of a function */
    USPI_WIDTH_DECLARED,  /* line in which a function is declared */
    USPI_WIDTH_CALL_LINE, /* line in which a function is called */
    USPI_WIDTH_COLUMN,
    USPI_WIDTH_PARENT, /* distance from a node back to its caller's node; 0: it has none */
    USPI_WIDTH_SITE,   /* number of a site; for a node without a caller, of a function */
    USPI_WIDTH_NODE,   /* number of a node */
    USPI_WIDTH_START,  /* an address, counted from the block's base in units */
    USPI_WIDTH_SIZE,   /* in units */
    USPI_WIDTH_OFFSET, /* offset of a group's first entry in the bytes of entries */
    USPI_WIDTH_PART,   /* number of a part */
    USPI_WIDTH_CALLEE, /* number of a part; above those, number of a callee's name */
    USPI_WIDTHS
};

#define USPI_BLOCK_HEADER 88u
#define USPI_BLOCK_WIDTHS 68u /* offset of the widths in the header */

/* The number of entries in a group. */
#define USPI_BLOCK_GROUP 8u

/* A block's header, read and checked. It has the counts of all tables. */
struct uspi_block {
    const uint8_t *bytes;
    uint64_t base;
    uint32_t size;
    uint32_t entries, entry_bytes, groups;
    uint32_t nodes, sites, functions, parts, files, folders, aliases, text_bytes, calls, tail_calls, callees;
    uint32_t at_folders, at_files, at_functions, at_callees, at_sites, at_nodes, at_parts, at_aliases, at_calls,
        at_tail_calls, at_groups, at_entries, at_text;
    uint32_t node_bits, site_bits, function_bits, part_bits, call_bits, tail_call_bits; /* bits in a record */
    uint8_t unit; /* addresses are counted in units of 1 << unit bytes */
    uint8_t width[USPI_WIDTHS];
};

/* Opens a block. Returns USP_OK, or USP_ERROR_FORMAT when the bytes are not a block. */
int uspi_block_open(struct uspi_block *block, const uint8_t *bytes, uint64_t size);

/* An entry: what applies from `start` up to `end`. */
struct uspi_block_entry {
    uint64_t start, end; /* UINT64_MAX for the last entry, which nothing follows */
    uint32_t node;       /* 0: in no function */
    uint32_t file;       /* 0: the line table has no row */
    uint32_t line, column;
    uint32_t filled_file, filled_line; /* of the last row before it that has a line and the same node; 0: none */
};

/* Finds the entry that holds an address. Returns USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_FORMAT when the block is
 * damaged. */
int uspi_block_find(const struct uspi_block *block, uint64_t address, struct uspi_block_entry *place);

/* Receives an entry. A result other than 0 ends the visit. */
typedef int (*uspi_block_visitor)(void *context, const struct uspi_block_entry *place);

/* Visits all entries in ascending order. Returns USP_OK, USP_ERROR_FORMAT, or the visitor's result that ended the
 * visit. */
int uspi_block_visit(const struct uspi_block *block, uspi_block_visitor visit, void *context);

/* A node: a function that was not inlined, or one inlined call. */
struct uspi_block_node {
    uint32_t caller;   /* node of the function that it was inlined into; 0: it was not inlined */
    uint32_t function; /* number of the function */
    uint32_t call_file, call_line, call_column;
};

int uspi_block_node(const struct uspi_block *block, uint32_t node, struct uspi_block_node *of);

struct uspi_block_function {
    uint64_t name;       /* a string; 0: none */
    uint32_t file, line; /* where it is declared; 0: not known */
};

int uspi_block_function(const struct uspi_block *block, uint32_t function, struct uspi_block_function *of);

/* Finds the strings of a file: its directory (0: none) and its name. */
int uspi_block_file(const struct uspi_block *block, uint32_t file, uint64_t *folder, uint64_t *name);

/* Calls `visit` with every string to which the block refers, some more than once. The result of `visit` is ignored.
 * Must not be used on untrusted bytes. */
void uspi_block_texts(const struct uspi_block *block, uint64_t (*visit)(void *context, uint64_t text), void *context);

/* One range of a function that was not inlined. */
struct uspi_block_part {
    uint64_t start, size;
    uint32_t node;
    uint32_t number;       /* from 1, by ascending start */
    bool is_cold;          /* the function begins elsewhere */
    bool knows_tail_calls; /* the block has all tail calls of the function */
};

/* Returns part i, by ascending start; USP_ERROR_NOT_FOUND after the last. */
int uspi_block_part(const struct uspi_block *block, uint32_t i, struct uspi_block_part *part);

/* Finds the part that holds an address, or returns USP_ERROR_NOT_FOUND. */
int uspi_block_find_part(const struct uspi_block *block, uint64_t address, struct uspi_block_part *part);

/* Finds the part with which the function of a node begins, or returns USP_ERROR_NOT_FOUND. Reads the parts from the
 * first one on. */
int uspi_block_first_part(const struct uspi_block *block, uint32_t node, struct uspi_block_part *part);

/* A call. */
struct uspi_block_call {
    /* For a call, its return address. For a tail call, an address past the start of the jump, and at most its end. */
    uint64_t end;
    uint32_t part; /* number of the part with which the callee begins; 0: the callee is not in the block */
    uint64_t name; /* a string, if the callee is not in the block; otherwise 0 */
};

/* Finds the call that returns to an address. Returns USP_OK; USP_ERROR_NOT_FOUND when the block does not have it,
 * because its callee is not known or makes no tail calls; USP_ERROR_FORMAT. */
int uspi_block_find_call(const struct uspi_block *block, uint64_t return_address, struct uspi_block_call *call);

/* Finds tail call i of the function that begins with a part; USP_ERROR_NOT_FOUND after the last. */
int uspi_block_tail_call(const struct uspi_block *block, uint32_t part, uint32_t i, struct uspi_block_call *call);

/* Returns the name of function number `i`, from 0, of those that are called and are not in the block; 0 after the
 * last. */
uint64_t uspi_block_callee(const struct uspi_block *block, uint32_t i);

/* Receives a call. A result other than 0 ends the visit. */
typedef int (*uspi_call_visitor)(void *context, const struct uspi_block_call *call);

/* Visits all calls, then all tail calls. Returns USP_OK, USP_ERROR_FORMAT, or the visitor's result that ended the
 * visit. */
int uspi_block_visit_calls(const struct uspi_block *block, uspi_call_visitor visit, void *context);

/* Returns function number i of those whose code was folded into that of a node; 0 after the last. */
uint32_t uspi_block_alias(const struct uspi_block *block, uint32_t node, uint32_t i);

#endif
