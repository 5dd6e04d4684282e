/* SPDX-License-Identifier: MIT */
/* The lines of a symbol file (symfile.h) as blocks. Each block is made of a run of functions. */
#ifndef USPI_SYMBOLIZE_SYMFILE_SOURCE_H
#define USPI_SYMBOLIZE_SYMFILE_SOURCE_H

#include "lib/symbolize/lines/line_source.h"

/* Makes a source of the lines in a file, which the caller closes. The bytes must stay. Returns USP_OK,
 * USP_ERROR_NOT_FOUND when it is not a symbol file, USP_ERROR_NO_MEMORY. */
int uspi_symfile_source_open(struct uspi_bytes bytes, struct uspi_line_source **source);

#endif
