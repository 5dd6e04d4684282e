/* SPDX-License-Identifier: MIT */
/* Finds Go's function table (gopclntab.h) in a file or a loaded image, even without symbols: by the name of its
 * section, or by its first bytes. The module data (Go's src/runtime/symtab.go, moduledata) point to the table and its
 * parts. They tell where the code begins, and where the trees of inlined calls are. */
#ifndef USPI_OBJECT_GOPCLNTAB_FIND_H
#define USPI_OBJECT_GOPCLNTAB_FIND_H

#include "lib/object/elf.h"
#include "lib/object/gopclntab.h"
#include "lib/object/macho.h"

/* Finds the table of a linked file, with `text` as linked. `trees` is checked, and empty if it was not found. Returns
 * USP_OK, USP_ERROR_NOT_FOUND when the file has no table or does not tell where its code begins, or
 * USP_ERROR_NO_MEMORY. */
int uspi_go_find_elf(const struct uspi_elf *elf, struct uspi_go_table *table);
int uspi_go_find_macho(const struct uspi_macho *macho, struct uspi_go_table *table);

/* Finds the table of a loaded image in its memory, with `text` as loaded. Does not look for `trees`. Returns what
 * uspi_go_find_elf returns. */
int uspi_go_find_loaded_elf(const struct uspi_elf *elf, uint64_t slide, struct uspi_go_table *table);
int uspi_go_find_loaded_macho(const struct uspi_macho *macho, uint64_t slide, struct uspi_go_table *table);

#endif
