/* SPDX-License-Identifier: MIT */
/* Opens a symbol file, GSYM or Breakpad, behind one contract (reading.h). */
#ifndef USPI_SYMBOLIZE_SYMFILE_SYMFILE_H
#define USPI_SYMBOLIZE_SYMFILE_SYMFILE_H

#include "lib/symbolize/symfile/reading.h"

/* Opens a file of either format. The bytes must stay. Returns USP_OK, USP_ERROR_NO_MEMORY, USP_ERROR_NOT_FOUND when it
 * is not a symbol file or cannot be read in place. */
int uspi_symfile_open(struct uspi_bytes bytes, struct uspi_symfile **symfile);

#endif
