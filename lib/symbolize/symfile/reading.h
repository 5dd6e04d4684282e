/* SPDX-License-Identifier: MIT */
/* The contract of a symbol file, GSYM or Breakpad: its functions in the order of their starts, and the lines and
 * inlined calls of each; and how both formats add them to a block. tables.h and source.h make symbols and lines from
 * it. */
#ifndef USPI_SYMBOLIZE_SYMFILE_READING_H
#define USPI_SYMBOLIZE_SYMFILE_READING_H

#include "lib/base/numbers.h"
#include "lib/demangle/names.h"
#include "lib/symbolize/lines/builder.h"
#include "lib/symbolize/lines/strings.h"

struct uspi_symfile_function {
    usp_addr start, end; /* `end` equals `start` when the size is not known */
};

struct uspi_symfile_reading;

/* The first member of each implementation. It does not change once it is open, so any number of threads may read it. */
struct uspi_symfile {
    const char *what; /* for messages, such as "GSYM" */
    uint64_t size;    /* of the file in bytes */
    uint64_t count;   /* number of functions, some of which may be damaged */
    uint64_t labels;  /* number of symbols of unknown size that follow the functions, in any order */
    usp_addr header;  /* address of the image's first byte */
    bool is_relative; /* addresses count from the header, also for ELF images */
    struct uspi_texts texts;
    size_t memory; /* bytes of memory besides the file, this struct included */

    /* Finds the start of function i. Starts ascend. Returns false when it is damaged. */
    bool (*start)(const struct uspi_symfile *symfile, uint64_t i, usp_addr *start);

    /* Finds function i, or label i − count. Returns false when it is damaged. */
    bool (*function)(const struct uspi_symfile *symfile, uint64_t i, struct uspi_symfile_function *function);

    /* Returns the name of a function or label, in the file or kept in `names`; NULL: it has none, or memory is
     * exhausted. */
    const char *(*name)(const struct uspi_symfile *symfile, uint64_t i, struct uspi_names *names);

    /* Adds function i, its rows and its inlined calls to a block. Returns false when it is damaged; the rest of it is
     * used. */
    bool (*read)(const struct uspi_symfile *symfile, uint64_t i, struct uspi_symfile_reading *reading);

    void (*close)(struct uspi_symfile *symfile);
};

/* Opens a file of one format, like uspi_symfile_open. */
int uspi_symfile_open_gsym(struct uspi_bytes bytes, struct uspi_symfile **symfile);
int uspi_symfile_open_breakpad(struct uspi_bytes bytes, struct uspi_symfile **symfile);

/* What one thread needs to add functions to a block. */
struct uspi_symfile_reading {
    struct uspi_builder *builder;
    struct uspi_numbers files;     /* by number in the symbol file */
    struct uspi_numbers functions; /* inlined functions, by number or by offset of the name */
    struct uspi_folders folders;
    usp_addr low, high; /* the function being added; it ends at the next one's start at the latest */
    uint64_t left;      /* bytes that functions with shared tables may still read */
    bool is_out_of_memory;
    struct uspi_row *rows; /* for sorting the rows of a function */
    size_t row_capacity;
    struct uspi_symfile_inlined *inlined; /* for sorting its inlined calls */
    size_t inlined_capacity;
};

/* A range of an inlined call, whose caller is not known yet. */
struct uspi_symfile_inlined {
    usp_addr low, high;
    uint64_t level; /* its depth in the function, from 0 */
    struct uspi_call call;
    uint32_t node;
};

/* Takes bytes off the budget. Returns false when too few are left, which only happens in damaged files. */
static inline bool uspi_symfile_spend(struct uspi_symfile_reading *reading, uint64_t bytes) {
    if (bytes > reading->left) return false;
    reading->left -= bytes;
    return true;
}

/* Remembers and returns a number from the builder; 0 means that the builder had no memory. */
uint32_t uspi_symfile_keep(struct uspi_symfile_reading *reading, struct uspi_numbers *numbers, uint64_t key,
                           uint32_t number);

/* Begins the function, which has that name. Returns its node. */
uint32_t uspi_symfile_root(struct uspi_symfile_reading *reading, uint64_t name);

/* Gives the part of a range that lies in the function to a node. */
void uspi_symfile_range(struct uspi_symfile_reading *reading, usp_addr low, usp_addr high, uint32_t node);

/* Adds a row, cut to the function. Rows must come in the order of their addresses. */
void uspi_symfile_row(struct uspi_symfile_reading *reading, const struct uspi_row *row);

#endif
