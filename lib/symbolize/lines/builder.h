/* SPDX-License-Identifier: MIT */
/* Makes blocks (block.h). A reader of debug information adds directories, files, functions, inlined and other calls and
 * ranges in any order, and the rows of line tables. The builder decides what applies to each address, and writes the
 * block. It does not depend on DWARF.
 *
 * One builder makes many blocks, one after the other, and keeps its memory for the next. When a call finds no memory,
 * uspi_builder_finish fails later. The same calls make the same bytes on every host. */
#ifndef USPI_SYMBOLIZE_LINES_BUILDER_H
#define USPI_SYMBOLIZE_LINES_BUILDER_H

#include "lib/base/span.h"
#include "lib/symbolize/lines/block.h"

struct uspi_builder;

struct uspi_builder *uspi_builder_create(void);

void uspi_builder_free(struct uspi_builder *builder);

/* Forgets everything that was added. */
void uspi_builder_reset(struct uspi_builder *builder);

/* ---- names ---- */

/* Keeps a string that is in no section in the block itself. Returns the string's reference for the functions below
 * (strings.h); 0 for an empty one. */
uint64_t uspi_builder_text(struct uspi_builder *builder, const char *text, size_t length);

/* Returns the number of a directory, or of a file in a directory (0: none). Equal ones get the same number. */
uint32_t uspi_builder_folder(struct uspi_builder *builder, uint64_t text);
uint32_t uspi_builder_file(struct uspi_builder *builder, uint32_t folder, uint64_t name);

/* Adds a function with its name (0: none) and where it is declared (0: not known). Returns its number. Functions are
 * not compared: one that is added twice gets two numbers. */
uint32_t uspi_builder_function(struct uspi_builder *builder, uint64_t name, uint32_t file, uint32_t line);

/* Describes a function after it has got its number. */
void uspi_builder_describe(struct uspi_builder *builder, uint32_t function, uint64_t name, uint32_t file,
                           uint32_t line);

/* ---- code ---- */

/* Adds a function that was not inlined. Returns its node. */
uint32_t uspi_builder_root(struct uspi_builder *builder, uint32_t function);

/* A call that was inlined. uspi_builder_inlined adds one to the function of the node `caller`, and returns its node.
 * Equal calls share a node. */
struct uspi_call {
    uint32_t function, file, line, column;
};
uint32_t uspi_builder_inlined(struct uspi_builder *builder, uint32_t caller, const struct uspi_call *call);

/* Gives the code from `low` up to `high` to a node. Where ranges overlap, the one that begins later wins; of those that
 * begin together, the shorter one; of equal ones, the later node. */
void uspi_builder_range(struct uspi_builder *builder, uint64_t low, uint64_t high, uint32_t node);

/* Adds one range of a function that was not inlined. uspi_builder_range must be called for it too. */
void uspi_builder_part(struct uspi_builder *builder, uint64_t low, uint64_t high, uint32_t node, bool is_cold);

/* Adds a function whose code was folded into that of a node. */
void uspi_builder_alias(struct uspi_builder *builder, uint32_t node, uint32_t function);

/* ---- calls ---- */

/* A call that a function makes. */
struct uspi_built_call {
    uint64_t address; /* first address past the call instruction; with is_start, the instruction's own */
    uint64_t text;    /* name of a callee that is not in the block; otherwise 0 */
    uint32_t from;    /* node of the enclosing function that was not inlined */
    uint32_t to;      /* node of the callee, which was not inlined; 0: it is not in the block */
    bool is_tail;     /* the function jumps to the callee and leaves no frame */
    bool is_start;
};

/* Adds a call whose callee is known. The builder drops calls from which no frame is inferred (block.h). */
void uspi_builder_call(struct uspi_builder *builder, const struct uspi_built_call *call);

/* Says that all tail calls of the function of a node have been added. */
void uspi_builder_know_tail_calls(struct uspi_builder *builder, uint32_t node);

/* ---- rows ---- */

struct uspi_row {
    uint64_t address;
    uint32_t file; /* number of a file; 0: the last row ends here */
    uint32_t line, column;
};

/* Adds a row of a line table. Rows must come in the order of their addresses. Of several at one address, the last one
 * counts. */
void uspi_builder_row(struct uspi_builder *builder, const struct uspi_row *row);

/* ---- the block ---- */

/* Writes the block. *bytes belongs to the builder and is valid until its next call. size 0: nothing is known about any
 * address. Returns USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_FULL when a block cannot be that large. */
int uspi_builder_finish(struct uspi_builder *builder, const uint8_t **bytes, size_t *size);

/* Writes a finished block with other references to strings. `text` returns the new one for each; it needs at most
 * `width` bits. The block's own text is dropped. Returns as uspi_builder_finish does. */
typedef uint64_t (*uspi_builder_translate)(void *context, uint64_t text);
int uspi_builder_translate_block(struct uspi_builder *builder, const struct uspi_block *block, unsigned width,
                                 uspi_builder_translate text, void *context);

/* Returns what uspi_builder_translate_block has written. */
const uint8_t *uspi_builder_bytes(const struct uspi_builder *builder, size_t *size);

/* The number of directories of a block with which a new one is compared. */
#define USPI_FOLDERS 32u

/* The directories that were added last. Set count to 0 for each block. */
struct uspi_folders {
    struct {
        struct uspi_span path;
        uint32_t number;
    } all[USPI_FOLDERS];
    unsigned count;
};

/* Returns the builder's number of a directory whose path is in no section. The path must stay until the block is
 * made. */
uint32_t uspi_folders_number(struct uspi_folders *folders, struct uspi_builder *builder, struct uspi_span path);

#endif
