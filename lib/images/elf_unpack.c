/* SPDX-License-Identifier: MIT */
/* See elf_unpack.h. */
#include "lib/images/elf_unpack.h"

#include "lib/images/decompress.h"
#include "lib/object/elf_symbols.h"

#include <stdlib.h>
#include <string.h>

/* Symbol tables become smaller by a factor of 3 to 10 when they are compressed. What claims to become larger than this is
 * made to fill memory. */
#define GROWTH_MAX   64
#define GROWTH_EXTRA 65536

enum { ELFCOMPRESS_ZLIB = 1, ELFCOMPRESS_ZSTD = 2 }; /* gABI: ch_type */

void uspi_unpacked_free(struct uspi_unpacked *unpacked) {
    free(unpacked->bytes);
    memset(unpacked, 0, sizeof *unpacked);
}

void uspi_unpacked_take(struct uspi_unpacked *unpacked, uint8_t *taken, size_t size, const char *name,
                        struct uspi_bytes *bytes) {
    *unpacked = (struct uspi_unpacked){{.name = name, .mapped = taken}, taken, size};
    *bytes = (struct uspi_bytes){&unpacked->source, 0, size};
}

/* All bytes of a range in one place: *copy is to be freed, NULL when they could be used where they are. */
static int gather_bytes(struct uspi_bytes bytes, const uint8_t **all, uint8_t **copy) {
    *copy = NULL;
    if (bytes.source->mapped != NULL) {
        *all = bytes.source->mapped + (size_t)bytes.from;
        return USP_OK;
    }
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

/* How large so many bytes may become. */
static size_t growth_limit(uint64_t size) {
    uint64_t limit;
    if (!uspi_product(size, GROWTH_MAX, &limit) || !uspi_sum(limit, GROWTH_EXTRA, &limit) || limit > SIZE_MAX / 2) {
        return SIZE_MAX / 2;
    }
    return (size_t)limit;
}

static int decompress(uint32_t type, struct uspi_bytes packed, uint64_t size, struct uspi_unpacked *unpacked,
                      struct uspi_bytes *bytes) {
    const uint8_t *from;
    uint8_t *copy;
    if (type != ELFCOMPRESS_ZLIB && type != ELFCOMPRESS_ZSTD) return USP_ERROR_UNSUPPORTED;
    if (size > growth_limit(packed.size)) return USP_ERROR_FORMAT;
    uint8_t *to = malloc((size_t)size + 1);
    if (to == NULL) return USP_ERROR_NO_MEMORY;
    int status = gather_bytes(packed, &from, &copy);
    if (status == USP_OK) {
        size_t n = (size_t)packed.size;
        status = type == ELFCOMPRESS_ZLIB ? uspi_decompress_zlib(from, n, to, (size_t)size)
                                          : uspi_decompress_zstd(from, n, to, (size_t)size);
        free(copy);
    }
    if (status != USP_OK) {
        free(to);
        return status;
    }
    uspi_unpacked_take(unpacked, to, (size_t)size, packed.source->name, bytes);
    return USP_OK;
}

int uspi_unpack_zlib(struct uspi_bytes packed, uint64_t size, struct uspi_unpacked *unpacked,
                     struct uspi_bytes *bytes) {
    return decompress(ELFCOMPRESS_ZLIB, packed, size, unpacked, bytes);
}

int uspi_elf_contents(const struct uspi_elf *elf, const struct uspi_elf_section *section,
                      struct uspi_unpacked *unpacked, struct uspi_bytes *bytes) {
    uint64_t type, size;
    int status = uspi_bytes_sub(elf->bytes, section->offset, section->size, "section", bytes, NULL);
    if (status != USP_OK || (section->flags & USPI_SHF_COMPRESSED) == 0) return status;
    /* Elf32_Chdr: type, size, alignment. Elf64_Chdr: type, a reserved word, size, alignment. */
    unsigned word = elf->wide ? 8 : 4, header = 3 * word;
    status = uspi_bytes_load(*bytes, 0, 4, &type, "compression header", NULL);
    if (status == USP_OK) status = uspi_bytes_load(*bytes, word, word, &size, "compression header", NULL);
    if (status == USP_OK) {
        status = uspi_bytes_sub(*bytes, header, bytes->size - header, "compressed section", bytes, NULL);
    }
    return status == USP_OK ? decompress((uint32_t)type, *bytes, size, unpacked, bytes) : status;
}

int uspi_elf_debugdata(const struct uspi_elf *elf, struct uspi_unpacked *unpacked, struct uspi_bytes *bytes) {
    struct uspi_elf_section section;
    const uint8_t *from;
    uint8_t *copy, *to;
    size_t size;
    int status = uspi_elf_find_section(elf, ".gnu_debugdata", &section, NULL);
    if (status == USP_OK) status = uspi_bytes_sub(elf->bytes, section.offset, section.size, "section", bytes, NULL);
    if (status == USP_OK) status = gather_bytes(*bytes, &from, &copy);
    if (status != USP_OK) return status;
    status = uspi_decompress_xz(from, (size_t)bytes->size, growth_limit(bytes->size), &to, &size);
    free(copy);
    if (status == USP_OK) uspi_unpacked_take(unpacked, to, size, elf->bytes.source->name, bytes);
    return status;
}
