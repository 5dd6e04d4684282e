/* SPDX-License-Identifier: MIT */
/* Makes blocks (block.h). A reader of debugging information adds directories, files, functions, inlined and other calls and ranges in
 * any order, and of the rows of line tables; it decides what holds for each address and writes that down. It knows no DWARF.
 *
 * One builder makes many blocks, one after the other, and keeps its memory for the next. A call that finds no memory makes the
 * builder remember it, and uspi_builder_finish fails. The same calls make the same bytes on every host. */
#ifndef USPI_BUILDER_H
#define USPI_BUILDER_H

#include "lib/symbolize/lines/block.h"

struct uspi_builder;

struct uspi_builder *uspi_builder_create(void);

void uspi_builder_free(struct uspi_builder *builder);

/* Forgets everything that was added. */
void uspi_builder_reset(struct uspi_builder *builder);

/* ---- names ---- */

/* A string that stands in no section: it is kept in the block itself. The string's reference for what follows
 * (strings.h); 0 for an empty one. */
uint64_t uspi_builder_text(struct uspi_builder *builder, const char *text, size_t length);

/* The number of a directory, each once; and of a file in one (0: none). */
uint32_t uspi_builder_folder(struct uspi_builder *builder, uint64_t text);
uint32_t uspi_builder_file(struct uspi_builder *builder, uint32_t folder, uint64_t name);

/* A function with its name (0: it has none) and where it is declared (0: unknown). Its number; not looked for among the
 * others: one that is described twice is two. */
uint32_t uspi_builder_function(struct uspi_builder *builder, uint64_t name, uint32_t file, uint32_t line);

/* Says what a function is, after it has got its number. */
void uspi_builder_describe(struct uspi_builder *builder, uint32_t function, uint64_t name, uint32_t file,
                           uint32_t line);

/* ---- code ---- */

/* A function that was not inlined: its node. */
uint32_t uspi_builder_root(struct uspi_builder *builder, uint32_t function);

/* A function that was inlined into that of the node `caller`: its node. Calls that say the same share one. */
struct uspi_call {
    uint32_t function, file, line, column;
};
uint32_t uspi_builder_inlined(struct uspi_builder *builder, uint32_t caller, const struct uspi_call *call);

/* Code from low up to high belongs to a node. Where ranges overlap, the one that begins later wins, of those that begin
 * together the shorter one, and of equal ones the later node. */
void uspi_builder_range(struct uspi_builder *builder, uint64_t low, uint64_t high, uint32_t node);

/* One range of a function that was not inlined, which uspi_builder_range is called for too. */
void uspi_builder_part(struct uspi_builder *builder, uint64_t low, uint64_t high, uint32_t node, bool is_cold);

/* A function whose code was folded into that of a node. */
void uspi_builder_alias(struct uspi_builder *builder, uint32_t node, uint32_t function);

/* ---- calls ---- */

/* A call that a function makes. */
struct uspi_built_call {
    uint64_t address; /* first address behind the call instruction; with is_start the instruction's own */
    uint64_t text;    /* name of a function that is not in the block; 0: it is in it */
    uint32_t from;    /* node of the function around the call, which was not inlined itself */
    uint32_t to;      /* node of the function that is called, likewise; 0: it is not in the block */
    bool is_tail;     /* the function jumps there, and leaves no frame */
    bool is_start;
};

/* Adds a call whose callee is known. The builder leaves out what leads to no inferred frame (block.h). */
void uspi_builder_call(struct uspi_builder *builder, const struct uspi_built_call *call);

/* Says that all tail calls of a function, by its node, have been added. */
void uspi_builder_know_tail_calls(struct uspi_builder *builder, uint32_t node);

/* ---- rows ---- */

struct uspi_row {
    uint64_t address;
    uint32_t file; /* number of a file; 0: the end of what the last row said */
    uint32_t line, column;
};

/* Rows of a line table in the order of their addresses; of several at one address the last one counts. */
void uspi_builder_row(struct uspi_builder *builder, const struct uspi_row *row);

/* ---- the block ---- */

/* Writes the block; *bytes is the builder's until the next call for it. size 0: nothing is known of any address. USP_OK,
 * USP_ERROR_NO_MEMORY, USP_ERROR_FULL when it is larger than a block can be. */
int uspi_builder_finish(struct uspi_builder *builder, const uint8_t **bytes, size_t *size);

/* A finished block with other references to strings: `text` gives the new one for each, which needs `width` bits at most.
 * The text of the block itself is dropped. Otherwise as above. */
typedef uint64_t (*uspi_builder_translate)(void *context, uint64_t text);
int uspi_builder_translate_block(struct uspi_builder *builder, const struct uspi_block *block, unsigned width,
                                 uspi_builder_translate text, void *context);

/* What uspi_builder_translate_block has written. */
const uint8_t *uspi_builder_bytes(const struct uspi_builder *builder, size_t *size);

#endif
