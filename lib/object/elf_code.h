/* SPDX-License-Identifier: MIT */
/* Finds where an ELF file has code, as linked: in sections, or in segments if it has no section headers. A symbol names
 * code only if its own section is one of these and contains its address.
 *
 * In an unlinked object, addresses count from the beginning of each section. Here its code sections are laid out one
 * after the other from 0, in the order of their numbers, so that one index can contain them all. Runtimes that generate
 * code register unlinked objects whose sections have the addresses at which they were loaded (LLVM, LuaJIT, V8). If any
 * code section has an address, each is placed at its own, and sections without one are left out. */
#ifndef USPI_OBJECT_ELF_CODE_H
#define USPI_OBJECT_ELF_CODE_H

#include "lib/object/elf_symbols.h"

struct uspi_code_range {
    uint64_t section; /* its number */
    usp_addr low, high;
};

struct uspi_elf_code {
    struct uspi_code_range *by_section; /* sorted by section number; NULL when the ranges are segments */
    struct uspi_code_range *by_address; /* sorted by address */
    size_t count;
    bool is_unlinked; /* addresses are those of the layout described above */
};

/* Finds the code of a file. On success the caller clears *code. Returns USP_OK, USP_ERROR_NO_MEMORY, or what reading
 * failed with. */
int uspi_elf_code_read(const struct uspi_elf *elf, struct uspi_elf_code *code);

void uspi_elf_code_clear(struct uspi_elf_code *code);

/* Returns the code range that contains a symbol, and gives the symbol's address; NULL: the symbol names no code. */
const struct uspi_code_range *uspi_elf_code_of(const struct uspi_elf_code *code, const struct uspi_elf_symbol *symbol,
                                               usp_addr *address);

#endif
