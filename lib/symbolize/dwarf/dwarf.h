/* SPDX-License-Identifier: MIT */
/* The DWARF debug information of one file, and what other files hold of it: the file that several share (dwz,
 * .gnu_debugaltlink), and those of split units (.dwo, .dwp). It is a source of blocks
 * (lib/symbolize/lines/line_source.h), which reader.h makes. */
#ifndef USPI_SYMBOLIZE_DWARF_DWARF_H
#define USPI_SYMBOLIZE_DWARF_DWARF_H

#include "lib/images/file.h"
#include "lib/object/fat.h"
#include "lib/object/identify.h"
#include "lib/symbolize/dwarf/reader.h"
#include "lib/symbolize/lines/line_source.h"

/* What is known of the file. */
struct uspi_dwarf_options {
    struct uspi_bytes bytes;         /* ELF, or Mach-O, thin or fat; must stay as long as the source */
    struct uspi_wanted_slice wanted; /* the slice of a Mach-O file */
    const char *path;                /* of the file; other files are searched for beside it */
    const char *sysroot;             /* a folder below which files are searched for first; NULL: none */
    bool as_named;                   /* an absolute path in the file is searched for as it is, too */
    bool is_alone;                   /* no other files are searched for, so what they hold is not known */
};

/* Opens the debug information and lists its units. *error says what was wrong or not found, even if the rest can be
 * used (USP_OK). The caller closes *source. Returns USP_OK, USP_ERROR_NOT_FOUND when there is none,
 * USP_ERROR_NO_MEMORY, or what is wrong with the file. */
int uspi_dwarf_open(const struct uspi_dwarf_options *options, struct uspi_line_source **source,
                    struct uspi_error *error);

#endif
