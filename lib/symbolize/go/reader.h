/* SPDX-License-Identifier: MIT */
/* Makes the block of a run of functions of Go's table. It follows each function's lists of files, lines and inlined
 * calls, and adds what it finds to a builder (lib/symbolize/lines/builder.h). */
#ifndef USPI_SYMBOLIZE_GO_READER_H
#define USPI_SYMBOLIZE_GO_READER_H

#include "lib/object/gopclntab.h"
#include "lib/symbolize/lines/strings.h"

struct uspi_go_reader;

struct uspi_go_reader *uspi_go_reader_create(void);

/* Frees a reader. NULL is ignored. */
void uspi_go_reader_free(struct uspi_go_reader *reader);

/* Functions from number `first` to `end` − 1. */
struct uspi_go_unit {
    const struct uspi_go_table *table;
    const struct uspi_texts *texts;
    uint64_t first, end;
    uint64_t budget; /* how many runs and calls may be read; a function that needs more is damaged */
};

/* Makes the block. *bytes stays valid until the reader's next call; size 0: nothing is known about any address. Returns
 * USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_FULL; USP_ERROR_FORMAT with the block of the valid functions when others were
 * left out. */
int uspi_go_read_unit(struct uspi_go_reader *reader, const struct uspi_go_unit *unit, const uint8_t **bytes,
                      size_t *size);

#endif
