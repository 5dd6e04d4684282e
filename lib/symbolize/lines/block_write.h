/* SPDX-License-Identifier: MIT */
/* What a builder has gathered, and the writer that makes a block's bytes from it. Used only by block_*.c and
 * builder.c. */
#ifndef USPI_SYMBOLIZE_LINES_BLOCK_WRITE_H
#define USPI_SYMBOLIZE_LINES_BLOCK_WRITE_H

#include "lib/base/array.h"
#include "lib/symbolize/lines/builder.h"

/* A hash table larger than this is freed after the unit that needed it. */
#define HASH_KEPT ((size_t)1 << 15)

/* A slot of the hash table: the high bits say which table the element is in, the low bits are its number there. */
#define SLOT_SHIFT  29
#define SLOT_NUMBER ((UINT32_C(1) << SLOT_SHIFT) - 1)

/* An array that grows. */
#define USPI_GROWING(type)                                                                                             \
    struct {                                                                                                           \
        type *all;                                                                                                     \
        size_t count, capacity;                                                                                        \
    }

struct uspi_built_file {
    uint32_t folder;
    uint64_t name;
};

struct uspi_built_function {
    uint64_t name;
    uint32_t file, line;
};

struct uspi_built_node {
    uint32_t caller; /* 0: it was not inlined, and `site` is a function */
    uint32_t site;
    bool knows_tail_calls;
};

struct uspi_built_range {
    uint64_t low, high;
    uint32_t node;
};

struct uspi_built_part {
    uint64_t low, high;
    uint32_t node;
    bool is_cold;
};

struct uspi_built_alias {
    uint32_t node, function;
};

struct uspi_built_entry {
    uint64_t address;
    uint32_t node, file, line, column;
};

struct uspi_builder {
    USPI_GROWING(uint64_t) folders;
    USPI_GROWING(struct uspi_built_file) files;
    USPI_GROWING(struct uspi_built_function) functions;
    USPI_GROWING(struct uspi_call) sites;
    USPI_GROWING(struct uspi_built_node) nodes;
    USPI_GROWING(struct uspi_built_range) ranges;
    USPI_GROWING(struct uspi_built_part) parts;
    USPI_GROWING(struct uspi_built_alias) aliases;
    USPI_GROWING(struct uspi_built_call) calls, tail_calls;
    USPI_GROWING(uint64_t) callees;     /* names of functions that are called and are not in the block; ascending */
    USPI_GROWING(uint32_t) first_parts; /* numbers of parts by node; 0: none */
    USPI_GROWING(struct uspi_row) rows;
    USPI_GROWING(struct uspi_built_entry) entries;
    USPI_GROWING(struct uspi_built_range) open; /* ranges that have begun and not ended yet */
    USPI_GROWING(uint8_t) text;
    USPI_GROWING(uint8_t) bytes; /* of the block */
    void *scratch;               /* room for a copy of one of the tables */
    size_t scratch_capacity;
    uint32_t *hash; /* of folders, files, sites and nodes; 0: empty */
    size_t hash_size, hashed;
    uint32_t *numbers; /* new numbers of nodes, sites, functions, files, folders (block_write.c) */
    size_t numbers_capacity;
    bool is_out_of_memory;
};

/* Returns room for `size` bytes, which is overwritten by its next user; NULL when memory is exhausted. */
static inline void *uspi_builder_scratch(struct uspi_builder *builder, size_t size) {
    return uspi_room_for(&builder->scratch, &builder->scratch_capacity, 0, size + 1, 1) ? builder->scratch : NULL;
}

/* Numbers everything that entries use, in the order in which they use it, and drops the rest. Afterwards the builder's
 * tables are in that order. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_block_number(struct uspi_builder *builder);

/* Drops calls from which no frame is inferred, and sorts the others: calls by address, tail calls by function first.
 * Nodes of functions are replaced by the numbers of the parts with which they begin. Names of functions outside the
 * block are replaced by numbers after these. Must be called after nodes have their final numbers and parts are sorted.
 * Returns false when memory is exhausted. (block_calls.c) */
bool uspi_block_choose_calls(struct uspi_builder *builder);

/* Writes the block to builder->bytes. Returns USP_OK, USP_ERROR_NO_MEMORY or USP_ERROR_FULL. */
int uspi_block_write(struct uspi_builder *builder);

#endif
