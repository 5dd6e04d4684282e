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

enum uspi_packing { USPI_PACKED_ZLIB = 1, USPI_PACKED_ZSTD = 2 }; /* gABI: ch_type */

/* How the contents of a section are compressed. */
struct uspi_packing_header {
    uint32_t way;             /* enum uspi_packing, or one that is not known */
    struct uspi_bytes packed; /* behind the header */
    uint64_t size;            /* unpacked; no more than compression can have saved */
};

/* Reads the header of a section with SHF_COMPRESSED. USP_OK, USP_ERROR_UNSUPPORTED for an unknown way, or what is wrong. */
int uspi_elf_packing(const struct uspi_elf *elf, struct uspi_bytes section, struct uspi_packing_header *header);

/* Whether so many bytes can have been compressed to those. What claims more is made to fill memory. */
bool uspi_packing_is_sane(struct uspi_bytes packed, uint64_t size);

/* All bytes of a range in one place: *copy is to be freed, NULL when they could be used where they are. */
int uspi_gather_bytes(struct uspi_bytes bytes, const uint8_t **all, uint8_t **copy);

/* A section's contents: in the file, or unpacked. USP_OK, USP_ERROR_UNSUPPORTED for a way of compression that is not known
 * or not built in, USP_ERROR_NO_MEMORY, or what is wrong with the section. */
int uspi_elf_contents(const struct uspi_elf *elf, const struct uspi_elf_section *section,
                      struct uspi_unpacked *unpacked, struct uspi_bytes *bytes);

/* The file in .gnu_debugdata. Returns as above, and USP_ERROR_NOT_FOUND. */
int uspi_elf_debugdata(const struct uspi_elf *elf, struct uspi_unpacked *unpacked, struct uspi_bytes *bytes);

#endif
