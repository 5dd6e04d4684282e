/* SPDX-License-Identifier: MIT */
/* The lines of a file of symbols (symfile.h) as blocks: each is made of a run of functions. */
#ifndef USPI_SYMFILE_SOURCE_H
#define USPI_SYMFILE_SOURCE_H

#include "lib/symbolize/lines/line_source.h"

/* A source of the lines in a file, which is the caller's to close; the bytes must stay. USP_OK, USP_ERROR_NOT_FOUND when it is no such
 * file, USP_ERROR_NO_MEMORY. */
int uspi_symfile_source_open(struct uspi_bytes bytes, struct uspi_line_source **source);

#endif
