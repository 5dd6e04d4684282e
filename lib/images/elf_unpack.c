/* SPDX-License-Identifier: MIT */
/* See elf_unpack.h. */
#include "lib/images/elf_unpack.h"

#include "lib/images/decompress.h"
#include "lib/object/elf_symbols.h"

#include <stdlib.h>
#include <string.h>

/* The decompressed size may be at most GROWTH_MAX times the compressed size plus GROWTH_EXTRA bytes. Symbol tables
 * compress by a factor of 3 to 10; a file that claims more than this limit is made to exhaust memory. */
#define GROWTH_MAX   64
#define GROWTH_EXTRA 65536

void uspi_unpacked_free(struct uspi_unpacked *unpacked) {
    free(unpacked->bytes);
    memset(unpacked, 0, sizeof *unpacked);
}

void uspi_unpacked_take(struct uspi_unpacked *unpacked, uint8_t *taken, size_t size, const char *name,
                        struct uspi_bytes *bytes) {
    *unpacked = (struct uspi_unpacked){{.name = name, .base = taken}, taken, size};
    *bytes = (struct uspi_bytes){&unpacked->source, 0, size};
}

int uspi_gather_bytes(struct uspi_bytes bytes, const uint8_t **all, uint8_t **copy) {
    *copy = NULL;
    *all = bytes.size <= SIZE_MAX ? uspi_bytes_in_place(bytes, 0, (size_t)bytes.size) : NULL;
    if (*all != NULL) return USP_OK;
    if (bytes.size >= SIZE_MAX) return USP_ERROR_NO_MEMORY;
    uint8_t *read = malloc((size_t)bytes.size + 1);
    if (read == NULL) return USP_ERROR_NO_MEMORY;
    int status = uspi_bytes_read(bytes, 0, read, (size_t)bytes.size, "section", NULL);
    if (status != USP_OK) {
        free(read);
        return status;
    }
    *all = *copy = read;
    return USP_OK;
}

/* Returns how large `size` compressed bytes may become. */
static size_t growth_limit(uint64_t size) {
    uint64_t limit;
    if (!uspi_product(size, GROWTH_MAX, &limit) || !uspi_sum(limit, GROWTH_EXTRA, &limit) || limit > SIZE_MAX / 2) {
        return SIZE_MAX / 2;
    }
    return (size_t)limit;
}

bool uspi_packing_is_sane(struct uspi_bytes packed, uint64_t size) { return size <= growth_limit(packed.size); }

int uspi_elf_packing(const struct uspi_elf *elf, struct uspi_bytes section, struct uspi_packing_header *header) {
    uint64_t method = 0;
    /* Elf32_Chdr: type, size, alignment. Elf64_Chdr: type, a reserved word, size, alignment. */
    const unsigned word = elf->wide ? 8 : 4, length = 3 * word;
    int status = uspi_bytes_load(section, 0, 4, &method, "compression header", NULL);
    if (status == USP_OK) status = uspi_bytes_load(section, word, word, &header->size, "compression header", NULL);
    if (status == USP_OK) {
        status = uspi_bytes_sub(section, length, section.size - length, "compressed section", &header->packed, NULL);
    }
    if (status != USP_OK) return status;
    header->method = (uint32_t)method;
    if (method != USPI_PACKED_ZLIB && method != USPI_PACKED_ZSTD) return USP_ERROR_UNSUPPORTED;
    return uspi_packing_is_sane(header->packed, header->size) ? USP_OK : USP_ERROR_FORMAT;
}

static int decompress(const struct uspi_packing_header *header, struct uspi_unpacked *unpacked,
                      struct uspi_bytes *bytes) {
    const uint8_t *from;
    uint8_t *copy;
    const size_t size = (size_t)header->size;
    uint8_t *to = malloc(size + 1);
    if (to == NULL) return USP_ERROR_NO_MEMORY;
    int status = uspi_gather_bytes(header->packed, &from, &copy);
    if (status == USP_OK) {
        const size_t n = (size_t)header->packed.size;
        status = header->method == USPI_PACKED_ZLIB ? uspi_decompress_zlib(from, n, to, size)
                                                    : uspi_decompress_zstd(from, n, to, size);
        free(copy);
    }
    if (status != USP_OK) {
        free(to);
        return status;
    }
    uspi_unpacked_take(unpacked, to, size, header->packed.source->name, bytes);
    return USP_OK;
}

int uspi_elf_contents(const struct uspi_elf *elf, const struct uspi_elf_section *section,
                      struct uspi_unpacked *unpacked, struct uspi_bytes *bytes) {
    struct uspi_packing_header header;
    int status = uspi_bytes_sub(elf->bytes, section->offset, section->size, "section", bytes, NULL);
    if (status != USP_OK || (section->flags & USPI_SHF_COMPRESSED) == 0) return status;
    status = uspi_elf_packing(elf, *bytes, &header);
    return status == USP_OK ? decompress(&header, unpacked, bytes) : status;
}

int uspi_elf_debugdata(const struct uspi_elf *elf, struct uspi_unpacked *unpacked, struct uspi_bytes *bytes) {
    struct uspi_elf_section section;
    const uint8_t *from;
    uint8_t *copy, *to;
    size_t size;
    int status = uspi_elf_find_section(elf, ".gnu_debugdata", &section, NULL);
    if (status == USP_OK) status = uspi_bytes_sub(elf->bytes, section.offset, section.size, "section", bytes, NULL);
    if (status == USP_OK) status = uspi_gather_bytes(*bytes, &from, &copy);
    if (status != USP_OK) return status;
    status = uspi_decompress_xz(from, (size_t)bytes->size, growth_limit(bytes->size), &to, &size);
    free(copy);
    if (status == USP_OK) uspi_unpacked_take(unpacked, to, size, elf->bytes.source->name, bytes);
    return status;
}
