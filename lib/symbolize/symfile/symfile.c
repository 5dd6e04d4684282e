/* SPDX-License-Identifier: MIT */
/* See symfile.h: recognizes the format of a file. */
#include "lib/symbolize/symfile/symfile.h"

#include "lib/object/breakpad.h"
#include "lib/object/gsym.h"

int uspi_symfile_open(struct uspi_bytes bytes, struct uspi_symfile **symfile) {
    *symfile = NULL;
    if (uspi_gsym_is(bytes)) return uspi_symfile_open_gsym(bytes, symfile);
    return uspi_breakpad_is(bytes) ? uspi_symfile_open_breakpad(bytes, symfile) : USP_ERROR_NOT_FOUND;
}
