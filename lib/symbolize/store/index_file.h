/* SPDX-License-Identifier: MIT */
/* An index file: what debug information and symbol tables say of the code of one build, in blocks that are used where they lie
 * in the file. doc/index-format.md describes every byte. A page's checksum is compared when something is first read from it. */
#ifndef USPI_INDEX_FILE_H
#define USPI_INDEX_FILE_H

#include "lib/images/file.h"
#include "lib/symbolize/lines/address_map.h"
#include "lib/symbolize/lines/string_pool.h"

#include <unspool/images.h>

#define USPI_INDEX_VERSION 1u

/* The sections of the file, in this order. */
enum uspi_index_section {
    USPI_INDEX_MAP,       /* address_map.h */
    USPI_INDEX_DIRECTORY, /* where each block begins among the blocks, and where the last one ends: 8 bytes each */
    USPI_INDEX_BLOCKS,
    USPI_INDEX_STRINGS, /* string_pool.h */
    USPI_INDEX_SYMBOLS, /* struct uspi_index_symbols */
    USPI_INDEX_SUMS,    /* checksums of the pages before it: 4 bytes each */
    USPI_INDEX_SECTIONS
};

enum uspi_index_flags {
    USPI_INDEX_MACHO = 1,
    USPI_INDEX_RELATIVE = 2, /* addresses count from the image's first byte; of Mach-O they do anyway */
    USPI_INDEX_PARTIAL = 4   /* the lines are not from debug information (uspi_line_source.is_partial) */
};

/* Header: see doc/index-format.md. */
#define USPI_INDEX_HEADER 256u

/* Bytes of the image's name in it, the zero at the end included. */
#define USPI_INDEX_NAME 64u

struct uspi_index_file {
    struct uspi_file *file;
    struct uspi_checked checked;
    struct uspi_map map;
    struct uspi_string_pool strings;
    struct uspi_bytes sections[USPI_INDEX_SECTIONS];
    uint64_t blocks;  /* how many */
    usp_addr header;  /* the image's first byte, in the addresses of the index */
    uint32_t flags;   /* enum uspi_index_flags */
    uint32_t arch;    /* enum usp_arch */
    uint32_t variant; /* enum usp_variant */
    uint32_t build_id_size;
    uint8_t build_id[USP_BUILD_ID_MAX];
    char name[USPI_INDEX_NAME];  /* of the image's file; "": not known */
    uint8_t *copy;               /* of the file, where it could not be mapped */
    _Atomic(const char *) *kept; /* strings that were asked for, by number; NULL: none are kept */
};

/* Opens a file that is one. On success *index is the caller's. USP_OK, USP_ERROR_NOT_FOUND, USP_ERROR_FORMAT (no index, or
 * damaged), USP_ERROR_UNSUPPORTED (of a later version), USP_ERROR_NO_MEMORY, or what opening failed with. */
int uspi_index_file_open(const char *path, struct uspi_index_file **index, struct uspi_error *error);

/* The index of an image in a store, by its build-id or UUID. USP_ERROR_MISMATCH when the file is of another build. Otherwise as
 * above. */
int uspi_index_file_find(const char *store, const struct usp_image *image, struct uspi_index_file **index,
                         struct uspi_error *error);

void uspi_index_file_close(struct uspi_index_file *index);

/* Reads all of it: the checksum of each page, each block with its functions and calls, each symbol. USP_OK, USP_ERROR_FORMAT
 * with *error saying what is damaged, USP_ERROR_NO_MEMORY. */
int uspi_index_file_check(const struct uspi_index_file *index, struct uspi_error *error);

/* The path of an index in a store: STORE/ab/cdef…/index. The caller's to free; NULL when memory lacks or the id is too short. */
char *uspi_index_path(const char *store, const uint8_t *build_id, uint32_t size);

/* From now on strings are kept, each in the set of names with which it is first asked for. False when memory lacks. */
bool uspi_index_keep_texts(struct uspi_index_file *index);

/* String `number`, which is put together when it is first asked for, and lives as long as `names`. USP_OK, USP_ERROR_FORMAT for
 * a number that it does not have and for damage, USP_ERROR_NO_MEMORY; *text is NULL then. */
int uspi_index_text(const struct uspi_index_file *index, uint64_t number, struct uspi_names *names, const char **text);

/* Block `number`. USP_OK, or USP_ERROR_FORMAT when the file is damaged there. */
int uspi_index_block(const struct uspi_index_file *index, uint64_t number, struct uspi_block *block);

/* ---- symbols ---- */

/* Where an iteration over the symbols stands; begin with {0}. */
struct uspi_index_cursor {
    uint64_t number; /* of the next symbol */
    uint64_t offset;
    uint64_t start;
};

struct uspi_index_symbol {
    usp_addr start;
    uint64_t size;     /* 0 unknown */
    uint64_t name;     /* of the pool */
    uint32_t strategy; /* enum usp_strategy */
};

/* How many there are. */
uint64_t uspi_index_symbol_count(const struct uspi_index_file *index);

/* The next one, by ascending start: 1, 0 behind the last, or USP_ERROR_FORMAT. */
int uspi_index_next_symbol(const struct uspi_index_file *index, struct uspi_index_cursor *cursor,
                           struct uspi_index_symbol *symbol);

/* Symbol `number`. */
int uspi_index_symbol(const struct uspi_index_file *index, uint64_t number, struct uspi_index_symbol *symbol);

/* Symbols in a group, at whose beginning the start is written whole. */
#define USPI_INDEX_SYMBOLS_GROUP 64u

#endif
