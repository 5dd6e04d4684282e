/* SPDX-License-Identifier: MIT */
/* An index file: what debug information and symbol tables say about the code of one build, in blocks that are used in
 * place. doc/index-format.md describes every byte. A page's checksum is compared when the page is first read. */
#ifndef USPI_SYMBOLIZE_STORE_INDEX_FILE_H
#define USPI_SYMBOLIZE_STORE_INDEX_FILE_H

#include "lib/images/file.h"
#include "lib/symbolize/lines/address_map.h"
#include "lib/symbolize/lines/block.h"
#include "lib/symbolize/lines/string_pool.h"

#include <unspool/images.h>
#include <unspool/symbolize.h>

#define USPI_INDEX_VERSION 2u

/* The sections of the file, in the order of their entries in the header. */
enum uspi_index_section {
    USPI_INDEX_MAP,       /* address_map.h */
    USPI_INDEX_DIRECTORY, /* the offsets of all blocks in their section, and the end of the last one: 8 bytes each */
    USPI_INDEX_BLOCKS,
    USPI_INDEX_STRINGS, /* string_pool.h */
    USPI_INDEX_SYMBOLS, /* described in index_file.c */
    USPI_INDEX_SUMS,    /* checksums of the pages before this section: 4 bytes each */
    USPI_INDEX_SECTIONS
};

enum uspi_index_flags {
    USPI_INDEX_MACHO = 1,
    USPI_INDEX_RELATIVE = 2, /* addresses count from the image's first byte; for Mach-O they always do */
    USPI_INDEX_PARTIAL = 4,  /* the lines are not from debug information (uspi_line_source.is_partial) */
    USPI_INDEX_LACKING = 8   /* a part of the debug information was not found (uspi_line_source.lacks_files) */
};

/* The size of the header: see doc/index-format.md. */
#define USPI_INDEX_HEADER 256u

/* The size of the image's name in the header, including its terminator. */
#define USPI_INDEX_NAME 64u

struct uspi_index_groups;

struct uspi_index_file {
    struct uspi_file *file;
    struct uspi_checked checked;
    struct uspi_map map;
    struct uspi_string_pool strings;
    struct uspi_bytes sections[USPI_INDEX_SECTIONS];
    uint64_t from;                        /* offset of the index in its source */
    uint64_t blocks;                      /* number of blocks */
    _Atomic(struct uspi_block *) *opened; /* by number; NULL: not needed so far */
    usp_addr header;                      /* address of the image's first byte in the index */
    uint32_t flags;                       /* enum uspi_index_flags */
    uint32_t arch;                        /* enum usp_arch */
    uint32_t variant;                     /* enum usp_variant */
    uint32_t build_id_size;
    uint8_t build_id[USP_BUILD_ID_MAX];
    char name[USPI_INDEX_NAME];                 /* of the image's file; "": not known */
    uint8_t *copy;                              /* of the file's bytes, if it could not be mapped */
    bool keeps_texts;                           /* strings are kept once they were asked for */
    _Atomic(uint32_t) decoded;                  /* how many strings were decoded before there was room to keep them */
    _Atomic(const char *) *_Atomic kept;        /* strings by number; NULL: there is no room for them so far */
    _Atomic(struct uspi_index_groups *) groups; /* NULL: not needed so far */
};

/* Opens an index file. The caller closes *index on success. Returns USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_FORMAT (not
 * an index, or damaged), USP_ERROR_UNSUPPORTED (of another version), USP_ERROR_NO_MEMORY, or the status with which
 * opening failed. */
int uspi_index_file_open(const char *path, struct uspi_index_file **index, struct uspi_error *error);

/* Opens the index of an image in a store, by the image's build id or UUID. is_whole false: only the header and the
 * checksums are read, and only the fields from `header` to `name` are set. Returns USP_ERROR_MISMATCH when the file is
 * of another build, otherwise as uspi_index_file_open does. */
int uspi_index_file_find(const char *store, const struct usp_image *image, bool is_whole,
                         struct uspi_index_file **index, struct uspi_error *error);

void uspi_index_file_close(struct uspi_index_file *index);

/* Checks the whole file: the checksum of each page, each block with its functions and calls, each symbol. Returns
 * USP_OK, USP_ERROR_FORMAT with *error saying what is damaged, USP_ERROR_NO_MEMORY. */
int uspi_index_file_check(const struct uspi_index_file *index, struct uspi_error *error);

/* Returns the path of an index in a store: STORE/ab/cdef…/index. The caller frees it. NULL when memory is exhausted or
 * the id is too short. */
char *uspi_index_path(const char *store, const uint8_t *build_id, uint32_t size);

/* Makes uspi_index_text keep strings, each in the set of names with which it was asked for. Until some were asked for,
 * there is no room for them, and they are decoded again. */
void uspi_index_keep_texts(struct uspi_index_file *index);

/* Decodes string `number` for uspi_index_text. */
int uspi_index_decode_text(struct uspi_index_file *index, uint64_t number, struct uspi_names *names, const char **text);

/* Finds string `number`. It is decoded when it is first asked for, and lives as long as `names`. Returns USP_OK,
 * USP_ERROR_FORMAT for an invalid number or damage, USP_ERROR_NO_MEMORY. On failure, *text is NULL. */
static inline int uspi_index_text(struct uspi_index_file *index, uint64_t number, struct uspi_names *names,
                                  const char **text) {
    _Atomic(const char *) *kept = atomic_load_explicit(&index->kept, memory_order_acquire);
    if (kept != NULL && number <= index->strings.count) {
        *text = atomic_load_explicit(&kept[number], memory_order_acquire);
        if (*text != NULL) return USP_OK;
    }
    return uspi_index_decode_text(index, number, names, text);
}

/* Finds block `number`, which lives as long as the index. The first call for a block opens it and compares the
 * checksums of all its bytes. Returns USP_OK, USP_ERROR_FORMAT when the block is damaged or does not exist, or
 * USP_ERROR_NO_MEMORY. */
int uspi_index_block(const struct uspi_index_file *index, uint64_t number, const struct uspi_block **block);

/* ---- symbols ---- */

/* An iteration over the symbols. Begin with {0}. */
struct uspi_index_cursor {
    uint64_t number;                /* of the next symbol */
    uint64_t count;                 /* of all symbols, when the iteration has begun */
    usp_addr start;                 /* of the symbol before it in its group */
    const uint8_t *rest, *rest_end; /* of its group, with right checksums */
};

struct uspi_index_symbol {
    usp_addr start;
    uint64_t size;     /* in bytes; 0: not known */
    uint64_t name;     /* number in the string pool */
    uint32_t strategy; /* enum usp_strategy; USP_STRATEGY_NONE: another name of the preceding symbol's function */
};

/* The `size` of another name: a unit calls the function by it, or the symbol tables have it, too. */
enum { USPI_INDEX_CALLEE, USPI_INDEX_OTHER_NAME };

/* Returns whether a symbol is another name that the symbol tables have for the preceding symbol's function. */
static inline bool uspi_index_is_other_name(const struct uspi_index_symbol *symbol) {
    return symbol->strategy == USP_STRATEGY_NONE && symbol->size == USPI_INDEX_OTHER_NAME;
}

/* Returns the number of symbols. */
uint64_t uspi_index_symbol_count(const struct uspi_index_file *index);

/* Finds the next symbol, by ascending start. Returns 1, 0 after the last, or USP_ERROR_FORMAT. */
int uspi_index_next_symbol(const struct uspi_index_file *index, struct uspi_index_cursor *cursor,
                           struct uspi_index_symbol *symbol);

/* Moves the cursor to the last function that begins at or below an address. Returns false when its group of symbols has
 * none, or is damaged. */
bool uspi_index_last_function(const struct uspi_index_file *index, usp_addr address, struct uspi_index_cursor *cursor);

/* Finds symbol `number`. Returns USP_OK or USP_ERROR_FORMAT. */
int uspi_index_symbol(const struct uspi_index_file *index, uint64_t number, struct uspi_index_symbol *symbol);

/* The number of symbols in a group. The start of a group's first symbol is written whole. */
#define USPI_INDEX_SYMBOLS_GROUP 64u

#define USPI_INDEX_STRATEGIES 8u

/* What one pass over all symbols finds, so that later look-ups skip the groups that cannot hold their addresses. */
struct uspi_index_groups {
    uint64_t count;
    bool has[USPI_INDEX_STRATEGIES];        /* whether a symbol has the strategy */
    usp_addr lowest[USPI_INDEX_STRATEGIES]; /* the lowest start of those symbols */
    struct uspi_index_reach {
        usp_addr low, high; /* the lowest start of its functions, first address past all of them; low > high: none */
    } groups[];
};

/* Returns what is known of the groups; the first call makes it. It lives as long as the index. NULL when memory is
 * exhausted or a symbol is damaged. */
const struct uspi_index_groups *uspi_index_groups(struct uspi_index_file *index);

#endif
