/* SPDX-License-Identifier: MIT */
/* Writes index files (index_file.h): of the units of a source of lines, made on several threads, and of symbols. The bytes
 * depend on what is indexed alone. */
#ifndef USPI_INDEX_WRITE_H
#define USPI_INDEX_WRITE_H

#include "lib/symbolize/lines/line_source.h"
#include "lib/symbolize/store/index_file.h"

/* What is said of the image in the header. */
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

/* Called now and then, with how much of all is done; on one thread at a time. Not 0: to be given up. */
typedef int (*uspi_index_progress)(void *context, uint64_t done, uint64_t all);

struct uspi_index_work {
    unsigned threads;
    uspi_index_progress progress; /* NULL: progress is not reported */
    void *context;
};

/* Adds what a source of lines says. *error tells the first thing that was wrong with it. USP_OK, USP_ERROR_NO_MEMORY,
 * USP_ERROR_FORMAT when the blocks are larger than uspi_line_source_limit, what `progress` returned. */
int uspi_index_add_lines(struct uspi_index_writer *writer, struct uspi_line_source *source,
                         const struct uspi_index_work *work, struct uspi_error *error);

/* Adds a symbol; they come by ascending start. False when memory lacks. */
bool uspi_index_add_symbol(struct uspi_index_writer *writer, usp_addr start, uint64_t size, const char *name,
                           uint32_t strategy);

/* Calls `visit` with the name of each function that a call leads to out of its unit, once. False when memory lacks. */
bool uspi_index_visit_callees(struct uspi_index_writer *writer, bool (*visit)(void *context, const char *name),
                              void *context);

/* Adds another name of a function, in any order: so that a call by that name finds it. False when memory lacks. */
bool uspi_index_add_alias(struct uspi_index_writer *writer, usp_addr start, const char *name);

/* Writes it all. *bytes is the caller's to free. USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_index_finish(struct uspi_index_writer *writer, const struct uspi_index_header *header, uint8_t **bytes,
                      size_t *size);

#endif
