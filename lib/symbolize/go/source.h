/* SPDX-License-Identifier: MIT */
/* Go's function table (lib/object/gopclntab.h) as a source of blocks (lib/symbolize/lines/line_source.h): the files,
 * lines and inlined calls of programs without DWARF. A unit is a run of functions. */
#ifndef USPI_SYMBOLIZE_GO_SOURCE_H
#define USPI_SYMBOLIZE_GO_SOURCE_H

#include "lib/object/fat.h"
#include "lib/object/gopclntab.h"
#include "lib/symbolize/lines/line_source.h"

/* Finds the table in a file: ELF, or the wanted slice of a thin or fat Mach-O. *header becomes the address of the
 * file's first byte as linked. The bytes must stay as long as the table. Returns USP_OK, USP_ERROR_NOT_FOUND when there
 * is none, USP_ERROR_NO_MEMORY. */
int uspi_go_table_in(struct uspi_bytes file, const struct uspi_wanted_slice *wanted, struct uspi_go_table *table,
                     usp_addr *header);

/* Makes a source of the table's lines, which the caller closes. The bytes of the table must stay. Returns USP_OK,
 * USP_ERROR_NOT_FOUND when they cannot be read in place, USP_ERROR_NO_MEMORY. */
int uspi_go_source_create(const struct uspi_go_table *table, usp_addr header, struct uspi_line_source **source);

#endif
