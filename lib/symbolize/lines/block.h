/* SPDX-License-Identifier: MIT */
/* A block: what one compile unit says of its code, in the form in which it is looked up. It is made in memory when a question
 * needs it, and written to index files as it is. doc/index-format.md describes every byte; this header, how it is read.
 *
 *     address ──► group ──► entry: node, file, line, column
 *                            │
 *                            └─► node ──► site: function, and where it was called ──► name, declared where
 *                                  │
 *                                  └─► its caller's node … up to a function that was not inlined
 *
 *     return address ──► call ──► callee: the part with which it begins, or the name of a function that is not in the block
 *     part ──► tail calls of the function that begins with it ──► callees
 *
 * Numbers begin at 1, and 0 means none: of files, functions, sites and nodes. Everything is little-endian and counted from
 * the block's first byte. Untrusted bytes may be opened: what contradicts itself is refused when it is met. */
#ifndef USPI_BLOCK_H
#define USPI_BLOCK_H

#include "lib/symbolize/lines/packed.h"

#include <stdatomic.h>

/* Bytes whose checksum is compared before they are first looked at, a page at a time (index_file.h). */
struct uspi_checked {
    const uint8_t *bytes;     /* of the file */
    uint64_t size;            /* as far as there are checksums */
    uint64_t skipped;         /* bytes of the first page that its checksum leaves out */
    const uint8_t *sums;      /* one of 4 bytes for each page */
    _Atomic(uint8_t) *states; /* one for each page: 0 unknown, 1 right, 2 wrong */
};

#define USPI_CHECKED_PAGE UINT64_C(8192)

/* The same as uspi_checked_range, for ranges of several pages and for pages that nothing was read from yet. */
bool uspi_checked_pages(const struct uspi_checked *checked, const uint8_t *from, uint64_t size);

/* Whether the pages that hold a range of the file are what was written. Nearly every range lies in one page that was found
 * right before. */
static inline bool uspi_checked_range(const struct uspi_checked *checked, const uint8_t *from, uint64_t size) {
    if (checked == NULL || size == 0) return true;
    const uint64_t at = (uint64_t)(from - checked->bytes), page = at / USPI_CHECKED_PAGE;
    const bool is_one_page =
        size <= checked->size && at <= checked->size - size && (at + size - 1) / USPI_CHECKED_PAGE == page;
    if (is_one_page && atomic_load_explicit(&checked->states[page], memory_order_relaxed) == 1) return true;
    return uspi_checked_pages(checked, from, size);
}

/* The fields of records, in the order in which their widths stand in the header. */
enum uspi_block_width {
    USPI_WIDTH_TEXT,      /* a string (strings.h) */
    USPI_WIDTH_FOLDER,    /* number of a directory */
    USPI_WIDTH_FILE,      /* number of a file */
    USPI_WIDTH_FUNCTION,  /* number of a function */
    USPI_WIDTH_DECLARED,  /* a line in which a function is declared */
    USPI_WIDTH_CALL_LINE, /* a line in which one is called */
    USPI_WIDTH_COLUMN,
    USPI_WIDTH_PARENT, /* how far before a node its caller's node is; 0: it has none */
    USPI_WIDTH_SITE,   /* number of a site or, of a node without a caller, of a function */
    USPI_WIDTH_NODE,   /* number of a node */
    USPI_WIDTH_START,  /* an address from the block's base on, in units */
    USPI_WIDTH_SIZE,   /* in units */
    USPI_WIDTH_OFFSET, /* of a group's first entry among the bytes of entries */
    USPI_WIDTH_PART,   /* number of a part */
    USPI_WIDTH_CALLEE, /* number of a part or, behind these, of a callee's name */
    USPI_WIDTHS
};

#define USPI_BLOCK_HEADER 88u
#define USPI_BLOCK_WIDTHS 68u /* where the widths stand in it */

/* Entries in a group. */
#define USPI_BLOCK_GROUP 8u

/* A block's header, read and checked: what its tables are counted by lies in it. */
struct uspi_block {
    const uint8_t *bytes;
    const struct uspi_checked *checked; /* NULL: the bytes are ours */
    uint64_t base;
    uint32_t size;
    uint32_t entries, entry_bytes, groups;
    uint32_t nodes, sites, functions, parts, files, folders, aliases, text_bytes, calls, tail_calls, callees;
    uint32_t at_folders, at_files, at_functions, at_callees, at_sites, at_nodes, at_parts, at_aliases, at_calls,
        at_tail_calls, at_groups, at_entries, at_text;
    uint32_t node_bits, site_bits, function_bits, part_bits, call_bits, tail_call_bits; /* of a record */
    uint8_t unit; /* addresses are counted in 1 << unit bytes */
    uint8_t width[USPI_WIDTHS];
};

/* USP_OK, or USP_ERROR_FORMAT when the bytes are no block. `checked` may be NULL. */
int uspi_block_open(struct uspi_block *block, const uint8_t *bytes, uint64_t size, const struct uspi_checked *checked);

/* An entry: what holds from `start` up to `end`. */
struct uspi_block_place {
    uint64_t start, end; /* UINT64_MAX: the last entry reaches to where nothing is known any more */
    uint32_t node;       /* 0: in no function */
    uint32_t file;       /* 0: no row of the line table */
    uint32_t line, column;
    uint32_t filled_file, filled_line; /* of the last row before it with a line, in the same node; 0: none */
};

/* The entry that holds an address. USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_FORMAT when the block is damaged. */
int uspi_block_find(const struct uspi_block *block, uint64_t address, struct uspi_block_place *place);

/* Called for each entry, in ascending order. Not 0: no more. */
typedef int (*uspi_block_visitor)(void *context, const struct uspi_block_place *place);

/* All entries; returns as above, or what the visitor ended it with. */
int uspi_block_visit(const struct uspi_block *block, uspi_block_visitor visit, void *context);

/* A node: a function that was not inlined, or one call that was. */
struct uspi_block_node {
    uint32_t caller;   /* node of the function that it was inlined into; 0: it was not inlined */
    uint32_t function; /* number of the function */
    uint32_t call_file, call_line, call_column;
};

int uspi_block_node(const struct uspi_block *block, uint32_t node, struct uspi_block_node *of);

struct uspi_block_function {
    uint64_t name;       /* a string; 0: it has none */
    uint32_t file, line; /* where it is declared; 0 unknown */
};

int uspi_block_function(const struct uspi_block *block, uint32_t function, struct uspi_block_function *of);

/* The strings of a file: its directory (0: none) and its name. */
int uspi_block_file(const struct uspi_block *block, uint32_t file, uint64_t *folder, uint64_t *name);

/* Calls `visit` with every string that the block refers to, some more than once; what it returns is not looked at. Not for
 * untrusted bytes. */
void uspi_block_texts(const struct uspi_block *block, uint64_t (*visit)(void *context, uint64_t text), void *context);

/* One range of a function that was not inlined. */
struct uspi_block_part {
    uint64_t start, size;
    uint32_t node;
    uint32_t number;       /* from 1, by ascending start */
    bool is_cold;          /* the function begins elsewhere */
    bool knows_tail_calls; /* the block has all tail calls of the function */
};

/* Part i, by ascending start; USP_ERROR_NOT_FOUND behind the last. */
int uspi_block_part(const struct uspi_block *block, uint32_t i, struct uspi_block_part *part);

/* The part that holds an address; USP_ERROR_NOT_FOUND. */
int uspi_block_find_part(const struct uspi_block *block, uint64_t address, struct uspi_block_part *part);

/* The part with which a function begins, by its node; USP_ERROR_NOT_FOUND. Reads the parts from the first one on. */
int uspi_block_first_part(const struct uspi_block *block, uint32_t node, struct uspi_block_part *part);

/* A call. */
struct uspi_block_call {
    /* Of a call the return address; of a tail call an address behind the beginning of the jump, and at most behind its end. */
    uint64_t end;
    uint32_t part; /* number of the part with which the callee begins; 0: it is not in the block */
    uint64_t name; /* a string: of a function that is not in the block; 0: it is in it */
};

/* The call that returns to an address. USP_OK; USP_ERROR_NOT_FOUND when the block has none, because its callee is not known or makes
 * no tail calls; USP_ERROR_FORMAT. */
int uspi_block_find_call(const struct uspi_block *block, uint64_t return_address, struct uspi_block_call *call);

/* Tail call i of the function that begins with a part; USP_ERROR_NOT_FOUND behind the last. */
int uspi_block_tail_call(const struct uspi_block *block, uint32_t part, uint32_t i, struct uspi_block_call *call);

/* The name of function number `i` of those that are called and are not in the block, from 0; 0 behind the last. */
uint64_t uspi_block_callee(const struct uspi_block *block, uint32_t i);

/* Called for a call. Not 0: no more. */
typedef int (*uspi_call_visitor)(void *context, const struct uspi_block_call *call);

/* All calls, then all tail calls. USP_OK, USP_ERROR_FORMAT, or what the visitor ended it with. */
int uspi_block_visit_calls(const struct uspi_block *block, uspi_call_visitor visit, void *context);

/* Other functions whose code was folded into that of a node: function number i of these; 0 behind the last. */
uint32_t uspi_block_alias(const struct uspi_block *block, uint32_t node, uint32_t i);

#endif
