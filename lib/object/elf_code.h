/* SPDX-License-Identifier: MIT */
/* Where an ELF file has code, as linked: its sections, or its segments where it has no section headers. A symbol names code
 * only where its own section is one of these and holds its address.
 *
 * In an unlinked object addresses count from the beginning of each section. So that one index can hold them all, its
 * sections of code are laid out here one behind the other from 0, in the order of their numbers. Runtimes that generate code
 * register unlinked objects whose sections have the addresses at which they were loaded (LLVM, LuaJIT, V8): where a section
 * of code has one, each lies at its own, and those without one are nowhere. */
#ifndef USPI_ELF_CODE_H
#define USPI_ELF_CODE_H

#include "lib/object/elf_symbols.h"

struct uspi_code_range {
    uint64_t section; /* its number */
    usp_addr low, high;
};

struct uspi_elf_code {
    struct uspi_code_range *by_section; /* ascending numbers; NULL when these are segments */
    struct uspi_code_range *by_address; /* ascending addresses */
    size_t count;
    bool is_unlinked; /* the addresses are those of the layout above */
};

/* USP_OK, USP_ERROR_NO_MEMORY, or what reading failed with. On success to be cleared. */
int uspi_elf_code_read(const struct uspi_elf *elf, struct uspi_elf_code *code);

void uspi_elf_code_clear(struct uspi_elf_code *code);

/* The range of code that a symbol lies in, and the symbol's address; NULL: it names no code. */
const struct uspi_code_range *uspi_elf_code_of(const struct uspi_elf_code *code, const struct uspi_elf_symbol *symbol,
                                               usp_addr *address);

#endif
