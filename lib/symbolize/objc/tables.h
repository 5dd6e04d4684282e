/* SPDX-License-Identifier: MIT */
/* The methods in an image's Objective-C metadata, as a table of symbols (tables.h). */
#ifndef USPI_SYMBOLIZE_OBJC_TABLES_H
#define USPI_SYMBOLIZE_OBJC_TABLES_H

#include "lib/symbolize/index/tables.h"
#include "lib/symbolize/objc/source.h"

/* Opens the methods of a thin file or of an image in memory, whichever `macho` was opened on. It must outlive the
 * tables. process: NULL for a file. On success the caller closes *tables. Returns USP_OK, USP_ERROR_NOT_FOUND when the
 * image has no Objective-C, USP_ERROR_NO_MEMORY, or what is wrong with its load commands or fixups. */
int uspi_objc_tables_open(const struct uspi_macho *macho, const struct uspi_pointers *process,
                          struct uspi_tables **tables);

#endif
