/* SPDX-License-Identifier: MIT */
/* The dynamic symbols of an ELF image by its program headers alone, as the loader finds them: for images in memory and
 * for files that have lost their section headers. Sources: System V gABI chapter 5 "Dynamic Section", "Hash Table"; the
 * GNU hash table as glibc's elf/dl-lookup.c reads it. */
#ifndef USPI_ELF_DYNAMIC_H
#define USPI_ELF_DYNAMIC_H

#include "lib/object/elf_symbols.h"

/* The bytes at a linked address, to the end of what is loaded there: of the segment's part of the file, or of memory.
 * USP_ERROR_NOT_FOUND when no segment holds it. */
int uspi_elf_bytes_at(const struct uspi_elf *elf, usp_addr address, struct uspi_bytes *bytes, struct uspi_error *error);

/* USP_OK, USP_ERROR_NOT_FOUND without a dynamic section, symbols or a hash table to count them by; USP_ERROR_FORMAT. */
int uspi_elf_dynamic_symbols(const struct uspi_elf *elf, struct uspi_elf_symbols *symbols, struct uspi_error *error);

#endif
