/* SPDX-License-Identifier: MIT */
/* Reads ELF sections that may be compressed: SHF_COMPRESSED (gABI chapter 4 "Compressed Section"), and the ELF file of
 * symbols in .gnu_debugdata ("MiniDebugInfo", gdb's manual). */
#ifndef USPI_IMAGES_ELF_UNPACK_H
#define USPI_IMAGES_ELF_UNPACK_H

#include "lib/object/elf.h"

/* Decompressed bytes in memory. All zero is empty. The struct must not move while its bytes are in use. */
struct uspi_unpacked {
    struct uspi_source source;
    uint8_t *bytes;
    size_t size;
};

void uspi_unpacked_free(struct uspi_unpacked *unpacked);

/* Makes *unpacked the owner of a heap block of `size` bytes, and *bytes a range over the whole block. */
void uspi_unpacked_take(struct uspi_unpacked *unpacked, uint8_t *taken, size_t size, const char *name,
                        struct uspi_bytes *bytes);

enum uspi_packing { USPI_PACKED_ZLIB = 1, USPI_PACKED_ZSTD = 2 }; /* gABI: ch_type */

/* How the contents of a section are compressed. */
struct uspi_packing_header {
    uint32_t method;          /* enum uspi_packing, or an unknown value */
    struct uspi_bytes packed; /* the bytes after the header */
    uint64_t size;            /* decompressed size in bytes */
};

/* Reads the header of a section with SHF_COMPRESSED. Returns USP_OK, USP_ERROR_UNSUPPORTED for an unknown format,
 * USP_ERROR_FORMAT for a size that uspi_packing_is_sane rejects, or another status when the section is too short. */
int uspi_elf_packing(const struct uspi_elf *elf, struct uspi_bytes section, struct uspi_packing_header *header);

/* Returns whether `size` bytes can have been compressed to `packed`. A larger size is a file made to exhaust memory. */
bool uspi_packing_is_sane(struct uspi_bytes packed, uint64_t size);

/* Gives all bytes of a range in one piece of memory. The caller frees *copy, which is NULL if they are in memory.
 * Returns USP_OK, USP_ERROR_NO_MEMORY, or what reading failed with. */
int uspi_gather_bytes(struct uspi_bytes bytes, const uint8_t **all, uint8_t **copy);

/* Gives a section's contents: a range of the file, or decompressed. Returns USP_OK, USP_ERROR_UNSUPPORTED for a
 * compression format that is unknown or not built in, USP_ERROR_NO_MEMORY, or what is wrong with the section. */
int uspi_elf_contents(const struct uspi_elf *elf, const struct uspi_elf_section *section,
                      struct uspi_unpacked *unpacked, struct uspi_bytes *bytes);

/* Gives the decompressed file in .gnu_debugdata. Returns what uspi_elf_contents returns, or USP_ERROR_NOT_FOUND. */
int uspi_elf_debugdata(const struct uspi_elf *elf, struct uspi_unpacked *unpacked, struct uspi_bytes *bytes);

#endif
