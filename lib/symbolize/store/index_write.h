/* SPDX-License-Identifier: MIT */
/* Writes index files (index_file.h) from the units of a source of lines, read by several threads, and from symbols. The
 * bytes depend only on what is indexed. */
#ifndef USPI_SYMBOLIZE_STORE_INDEX_WRITE_H
#define USPI_SYMBOLIZE_STORE_INDEX_WRITE_H

#include "lib/symbolize/lines/line_source.h"
#include "lib/symbolize/store/index_file.h"

/* What the header says about the image. */
struct uspi_index_header {
    uint32_t flags, arch, variant;
    usp_addr header;
    uint32_t build_id_size;
    const uint8_t *build_id;
    const char *name; /* of the image's file, without its folder; cut to fit */
};

struct uspi_index_writer;

struct uspi_index_writer *uspi_index_writer_create(void);
void uspi_index_writer_free(struct uspi_index_writer *writer);

/* Called now and then with the amount of work done, by one thread at a time. A result other than 0 stops the work. */
typedef int (*uspi_index_progress)(void *context, uint64_t done, uint64_t all);

struct uspi_index_work {
    unsigned threads;
    uspi_index_progress progress; /* NULL: progress is not reported */
    void *context;
};

/* Adds the blocks of a source of lines. *error says the first thing that was wrong with it. Returns USP_OK,
 * USP_ERROR_NO_MEMORY, USP_ERROR_FORMAT when the blocks are larger than uspi_line_source_limit, or what `progress`
 * returned. */
int uspi_index_add_lines(struct uspi_index_writer *writer, struct uspi_line_source *source,
                         const struct uspi_index_work *work, struct uspi_error *error);

/* Adds a symbol, in any order. Returns false when memory is exhausted. */
bool uspi_index_add_symbol(struct uspi_index_writer *writer, usp_addr start, uint64_t size, const char *name,
                           uint32_t strategy);

/* Adds another name that the symbol tables have for the function at `start`, in any order. Returns false when memory is
 * exhausted. */
bool uspi_index_add_other_name(struct uspi_index_writer *writer, usp_addr start, const char *name);

/* Calls `visit` once with the name of each function that is called from another unit. Returns false when memory is
 * exhausted or `visit` returned false. */
bool uspi_index_visit_callees(struct uspi_index_writer *writer, bool (*visit)(void *context, const char *name),
                              void *context);

/* Adds a name by which a unit calls the function at `start`, in any order, so that the call finds the function. Returns
 * false when memory is exhausted. */
bool uspi_index_add_callee(struct uspi_index_writer *writer, usp_addr start, const char *name);

/* Writes the index. The caller frees *bytes. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_index_finish(struct uspi_index_writer *writer, const struct uspi_index_header *header, uint8_t **bytes,
                      size_t *size);

#endif
