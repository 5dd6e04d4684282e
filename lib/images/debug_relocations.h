/* SPDX-License-Identifier: MIT */
/* Applies the relocations of the debug sections of an unlinked ELF object: places that the linker would have filled
 * with addresses of code and with offsets in other debug sections. An executable that still has them (ld --emit-relocs)
 * already contains the values and is not relocated. Sources: the System V ABI supplements of the processors; ELF for
 * the Arm Architecture. */
#ifndef USPI_IMAGES_DEBUG_RELOCATIONS_H
#define USPI_IMAGES_DEBUG_RELOCATIONS_H

#include "lib/images/debug_sections.h"

/* Replaces sections that have relocations by relocated copies. `numbers` has each section's number in the file, 0 if
 * the file lacks it. Entries that are damaged, or of a kind that debug sections do not have, are ignored. Returns
 * USP_OK, USP_ERROR_NO_MEMORY, or what is wrong with the tables. */
int uspi_debug_relocate(struct uspi_debug_sections *sections, const struct uspi_elf *elf,
                        const uint64_t numbers[USPI_DEBUG_SECTIONS], struct uspi_error *error);

#endif
