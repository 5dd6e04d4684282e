/* SPDX-License-Identifier: MIT */
/* Where Go's function table (gopclntab.h) is in a file, also in one without symbols: a section has its name, or its
 * first bytes tell. The module's data (Go's src/runtime/symtab.go, moduledata) point to it and to its parts; they
 * tell where the code begins, and where the trees of inlined calls are. */
#ifndef USPI_GOPCLNTAB_FIND_H
#define USPI_GOPCLNTAB_FIND_H

#include "lib/object/elf.h"
#include "lib/object/gopclntab.h"
#include "lib/object/macho.h"

/* The table of a linked file, with `text` as linked. `trees` is empty where they were not found, and checked
 * otherwise. USP_OK, USP_ERROR_NOT_FOUND when the file has none or does not tell where its code begins,
 * USP_ERROR_NO_MEMORY. */
int uspi_go_find_elf(const struct uspi_elf *elf, struct uspi_go_table *table);
int uspi_go_find_macho(const struct uspi_macho *macho, struct uspi_go_table *table);

/* The table of a loaded image, at an address of its memory and with `text` where it is loaded; the trees are not
 * looked for. The same answers. */
int uspi_go_find_loaded_elf(const struct uspi_elf *elf, uint64_t slide, struct uspi_go_table *table);
int uspi_go_find_loaded_macho(const struct uspi_macho *macho, uint64_t slide, struct uspi_go_table *table);

#endif
