/* SPDX-License-Identifier: MIT */
/* The DWARF debugging information of one file, with what other files hold of it: the one that several share (dwz,
 * .gnu_debugaltlink), and those of split units (.dwo, .dwp). A source of blocks
 * (lib/symbolize/lines/line_source.h), which reader.h makes. */
#ifndef USPI_DWARF_H
#define USPI_DWARF_H

#include "lib/images/file.h"
#include "lib/object/fat.h"
#include "lib/object/identify.h"
#include "lib/symbolize/dwarf/reader.h"
#include "lib/symbolize/lines/line_source.h"

/* What is known of the file. */
struct uspi_dwarf_options {
    struct uspi_bytes bytes;         /* ELF, or Mach-O, thin or fat. Stays as long as the information */
    struct uspi_wanted_slice wanted; /* of a Mach-O file */
    const char *path;                /* of the file: others lie beside it */
    const char *sysroot;             /* a folder below which the files' paths are looked for first; NULL: none */
    bool is_alone;                   /* no other files are looked for: what is in those is not known */
};

/* Opens it and lists its units. *error tells what was wrong with it, also where the rest can be used (USP_OK), and what was
 * not found. *source is the caller's to close. USP_OK, USP_ERROR_NOT_FOUND when there is none, USP_ERROR_NO_MEMORY, or what is wrong with the file. */
int uspi_dwarf_open(const struct uspi_dwarf_options *options, struct uspi_line_source **source,
                    struct uspi_error *error);

#endif
