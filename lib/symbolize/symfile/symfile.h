/* SPDX-License-Identifier: MIT */
/* A file of symbols alone, GSYM's or Breakpad's, behind one contract: functions in the order of their starts, and what each says of
 * its lines and inlined calls. tables.h and source.h make symbols and lines of it. */
#ifndef USPI_SYMFILE_H
#define USPI_SYMFILE_H

#include "lib/demangle/names.h"
#include "lib/symbolize/lines/builder.h"
#include "lib/symbolize/lines/numbers.h"
#include "lib/symbolize/lines/strings.h"

struct uspi_symfile_function {
    usp_addr start, end; /* end is start itself where the size is not known */
};

struct uspi_symfile_reading;

/* Implementations embed it at their beginning. Immutable once opened; any number of threads may read one. */
struct uspi_symfile {
    const char *what; /* in messages: "GSYM" */
    uint64_t size;    /* of the file in bytes */
    uint64_t count;   /* of functions, some of which may be damaged */
    uint64_t labels;  /* behind these so many symbols of unknown size, in no order */
    usp_addr header;  /* address of the image's first byte */
    bool is_relative; /* addresses count from the header, of ELF images too */
    struct uspi_texts texts;
    size_t memory; /* bytes beside the file, itself included */

    /* Where function i begins; they ascend. False when it is damaged. */
    bool (*start)(const struct uspi_symfile *symfile, uint64_t i, usp_addr *start);

    /* Function i, or label i − count; false when it is damaged. */
    bool (*function)(const struct uspi_symfile *symfile, uint64_t i, struct uspi_symfile_function *function);

    /* Its name, in the file or kept in `names`; NULL: it has none, or memory lacks. */
    const char *(*name)(const struct uspi_symfile *symfile, uint64_t i, struct uspi_names *names);

    /* Adds function i, its rows and its inlined calls to a block. False when it is damaged: the rest of it is used. */
    bool (*read)(const struct uspi_symfile *symfile, uint64_t i, struct uspi_symfile_reading *reading);

    void (*close)(struct uspi_symfile *symfile);
};

/* Opens a file of either format; the bytes must stay. USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_NOT_FOUND when it is no such file, or
 * cannot be read in place. */
int uspi_symfile_open(struct uspi_bytes bytes, struct uspi_symfile **symfile);
int uspi_symfile_open_gsym(struct uspi_bytes bytes, struct uspi_symfile **symfile);
int uspi_symfile_open_breakpad(struct uspi_bytes bytes, struct uspi_symfile **symfile);

/* What one thread needs to add functions to a block. */
struct uspi_symfile_reading {
    struct uspi_builder *builder;
    struct uspi_numbers files;     /* by their numbers in the file */
    struct uspi_numbers functions; /* that were inlined, likewise or by the offsets of their names */
    struct uspi_folders folders;
    usp_addr low, high; /* the function that is added, up to the next one's start at most */
    uint64_t left; /* bytes that may still be read for functions that can share theirs: what wants more is damaged */
    bool is_out_of_memory;
    struct uspi_row *rows; /* for sorting */
    size_t row_room;
    struct uspi_symfile_inlined *inlined; /* likewise */
    size_t inlined_room;
};

/* A range of an inlined call, whose caller is not known yet. */
struct uspi_symfile_inlined {
    usp_addr low, high;
    uint64_t level; /* how deep it is in the function, from 0 */
    struct uspi_call call;
    uint32_t node;
};

/* Takes bytes off the budget; false when it has no more. */
static inline bool uspi_symfile_spend(struct uspi_symfile_reading *reading, uint64_t bytes) {
    if (bytes > reading->left) return false;
    reading->left -= bytes;
    return true;
}

/* Keeps a number of the builder, 0 when it had no memory, and returns it. */
uint32_t uspi_symfile_keep(struct uspi_symfile_reading *reading, struct uspi_numbers *numbers, uint64_t key,
                           uint32_t number);

/* Begins the function, which has that name: its node. */
uint32_t uspi_symfile_root(struct uspi_symfile_reading *reading, uint64_t name);

/* Gives what of a range lies in the function to a node. */
void uspi_symfile_range(struct uspi_symfile_reading *reading, usp_addr low, usp_addr high, uint32_t node);

/* Adds a row, cut to the function, in the order of their addresses. */
void uspi_symfile_row(struct uspi_symfile_reading *reading, const struct uspi_row *row);

#endif
