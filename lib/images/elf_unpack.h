/* SPDX-License-Identifier: MIT */
/* Contents of ELF sections that may be compressed: SHF_COMPRESSED (gABI chapter 4 "Compressed Section"), and the whole ELF
 * file of symbols in .gnu_debugdata ("MiniDebugInfo", gdb's manual). */
#ifndef USPI_ELF_UNPACK_H
#define USPI_ELF_UNPACK_H

#include "lib/object/elf.h"

/* Bytes that came out of a file and lie in memory. All zero is empty. It must stay where it is while they are used. */
struct uspi_unpacked {
    struct uspi_source source;
    uint8_t *bytes;
    size_t size;
};

void uspi_unpacked_free(struct uspi_unpacked *unpacked);

/* Takes over `size` bytes; *bytes becomes all of them. */
void uspi_unpacked_take(struct uspi_unpacked *unpacked, uint8_t *taken, size_t size, const char *name,
                        struct uspi_bytes *bytes);

/* A zlib stream that becomes `size` bytes. Returns as below. */
int uspi_unpack_zlib(struct uspi_bytes packed, uint64_t size, struct uspi_unpacked *unpacked, struct uspi_bytes *bytes);

/* A section's contents: in the file, or unpacked. USP_OK, USP_ERROR_UNSUPPORTED for a way of compression that is not known
 * or not built in, USP_ERROR_NO_MEMORY, or what is wrong with the section. */
int uspi_elf_contents(const struct uspi_elf *elf, const struct uspi_elf_section *section,
                      struct uspi_unpacked *unpacked, struct uspi_bytes *bytes);

/* The file in .gnu_debugdata. Returns as above, and USP_ERROR_NOT_FOUND. */
int uspi_elf_debugdata(const struct uspi_elf *elf, struct uspi_unpacked *unpacked, struct uspi_bytes *bytes);

#endif
