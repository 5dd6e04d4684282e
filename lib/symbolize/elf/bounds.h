/* SPDX-License-Identifier: MIT */
/* Finds how far an ELF symbol without a size reaches, where the symbol tables do not name the code after it. Uses call
 * frame information, ARM's index of functions and the instructions. Addresses are as linked. */
#ifndef USPI_SYMBOLIZE_ELF_BOUNDS_H
#define USPI_SYMBOLIZE_ELF_BOUNDS_H

#include "lib/object/elf_symbols.h"
#include "lib/unwind/tables/dwarf_find.h"
#include "lib/unwind/tables/ehabi.h"

/* Points to itself: must not be moved after uspi_elf_bounds_init. */
struct uspi_elf_bounds {
    const struct uspi_elf *elf;
    struct usp_memory memory; /* the image's, by address as linked */
    struct uspi_source source;
    const struct uspi_backend *backend; /* NULL: the code cannot be decoded */
    bool has_dwarf;
    struct uspi_dwarf_image dwarf;
    struct uspi_ehabi_table ehabi; /* index_size 0: none */
};

/* Prepares the bounds of a linked file or an image in memory. *elf must stay open as long as they are used. */
void uspi_elf_bounds_init(struct uspi_elf_bounds *bounds, const struct uspi_elf *elf);

/* Returns the first address past the code that a symbol at `start` can name. It is never above `high`, the end of the
 * symbol's section.
 *   is_thumb   32-bit ARM: the code is Thumb
 *   names_all  the symbol tables name all functions; false: not those that are local to the file */
usp_addr uspi_elf_bounds_end(const struct uspi_elf_bounds *bounds, usp_addr start, usp_addr high, bool is_thumb,
                             bool names_all);

#endif
