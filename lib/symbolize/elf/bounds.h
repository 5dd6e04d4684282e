/* SPDX-License-Identifier: MIT */
/* How far an ELF symbol reaches that has no size, where the symbol tables do not name what stands behind it: by call frame
 * information, by ARM's index of functions and by the instructions. Addresses are as linked. */
#ifndef USPI_ELF_BOUNDS_H
#define USPI_ELF_BOUNDS_H

#include "lib/object/elf_symbols.h"
#include "lib/unwind/tables/dwarf_find.h"
#include "lib/unwind/tables/ehabi.h"

/* Refers to itself: it is used where it was filled in. */
struct uspi_elf_bounds {
    const struct uspi_elf *elf;
    struct usp_memory memory; /* the image's, by address as linked */
    struct uspi_source source;
    const struct uspi_backend *backend; /* NULL: of a processor that nothing is known of */
    bool has_dwarf;
    struct uspi_dwarf_image dwarf;
    struct uspi_ehabi_table ehabi; /* index_size 0: none */
};

/* Of a linked file or an image in memory, which must stay open as long as this is used. */
void uspi_elf_bounds_init(struct uspi_elf_bounds *bounds, const struct uspi_elf *elf);

/* The first address behind all that a symbol at `start` can be the name of; not above `high`, the end of its section.
 *   is_thumb   32-bit ARM: the code is Thumb
 *   names_all  the symbol tables name all functions, or else not those that are local to the file */
usp_addr uspi_elf_bounds_end(const struct uspi_elf_bounds *bounds, usp_addr start, usp_addr high, bool is_thumb,
                             bool names_all);

#endif
