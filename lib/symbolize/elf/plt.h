/* SPDX-License-Identifier: MIT */
/* The entries of an ELF file's procedure linkage table. No symbol names them: each jumps through a word (its slot) that a
 * relocation fills with a symbol's address, and takes its name from there. */
#ifndef USPI_ELF_PLT_H
#define USPI_ELF_PLT_H

#include "lib/object/elf.h"

/* An entry: from `start` to `end`, as linked, for dynamic symbol number `symbol`. Returns USP_OK to go on. */
typedef int (*uspi_plt_visit)(void *context, usp_addr start, usp_addr end, uint32_t symbol);

/* Whether the entries from `low` to `high`, as linked, are to be visited. */
typedef bool (*uspi_plt_wants)(void *context, usp_addr low, usp_addr high);

/* Visits the entries in .plt, .plt.sec and .plt.got that can be recognized, by ascending addresses in each, if that one is
 * wanted. x86_64, i386, aarch64, arm; elsewhere there are none. Returns USP_OK, USP_ERROR_NO_MEMORY, what reading failed
 * with, or what `visit` returned. */
int uspi_elf_plt_visit(const struct uspi_elf *elf, uspi_plt_wants wants, uspi_plt_visit visit, void *context);

#endif
