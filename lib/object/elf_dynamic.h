/* SPDX-License-Identifier: MIT */
/* Finds the dynamic symbols of an ELF image from its program headers alone, as the loader does: for images in memory
 * and for files without section headers. Sources: System V gABI chapter 5 "Dynamic Section", "Hash Table"; the GNU hash
 * table as glibc's elf/dl-lookup.c reads it. */
#ifndef USPI_OBJECT_ELF_DYNAMIC_H
#define USPI_OBJECT_ELF_DYNAMIC_H

#include "lib/object/elf_symbols.h"

/* Gives the bytes from a linked address to the end of its segment's part of the file, or of that part in memory.
 * USP_ERROR_NOT_FOUND when no segment contains the address. */
int uspi_elf_bytes_at(const struct uspi_elf *elf, usp_addr address, struct uspi_bytes *bytes, struct uspi_error *error);

/* Gives the dynamic symbol table. Returns USP_OK, USP_ERROR_NOT_FOUND without a dynamic section, symbols or a hash
 * table, which gives their number; USP_ERROR_FORMAT, or what reading failed with. */
int uspi_elf_dynamic_symbols(const struct uspi_elf *elf, struct uspi_elf_symbols *symbols, struct uspi_error *error);

#endif
