/* SPDX-License-Identifier: MIT */
/* The entries of an ELF file's procedure linkage table. No symbol names them. Each jumps through a word (its slot) that
 * a relocation fills with a symbol's address, and is named after that symbol. */
#ifndef USPI_SYMBOLIZE_ELF_PLT_H
#define USPI_SYMBOLIZE_ELF_PLT_H

#include "lib/object/elf.h"

/* Receives an entry from `start` to `end`, as linked, for dynamic symbol number `symbol`. Returns USP_OK to
 * continue. */
typedef int (*uspi_plt_visit)(void *context, usp_addr start, usp_addr end, uint32_t symbol);

/* Returns whether the entries from `low` to `high`, as linked, are to be visited. */
typedef bool (*uspi_plt_wants)(void *context, usp_addr low, usp_addr high);

/* Visits the entries in .plt, .plt.sec and .plt.got that can be recognized, if their section is wanted. The entries of
 * each section are visited by ascending addresses. Supports x86_64, i386, aarch64 and arm; elsewhere it finds no
 * entries. Returns USP_OK, USP_ERROR_NO_MEMORY, the status with which reading failed, or what `visit` returned. */
int uspi_elf_plt_visit(const struct uspi_elf *elf, uspi_plt_wants wants, uspi_plt_visit visit, void *context);

#endif
