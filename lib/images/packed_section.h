/* SPDX-License-Identifier: MIT */
/* A compressed section that is decompressed when its bytes are first read; with zlib only as far as they are read. If
 * libdeflate is there, it decompresses the whole section when at least a quarter is needed at first. Its address and
 * size are known from the beginning. Bytes that are not decompressed yet read as zeros. */
#ifndef USPI_IMAGES_PACKED_SECTION_H
#define USPI_IMAGES_PACKED_SECTION_H

#include "lib/images/decompress.h"
#include "lib/images/elf_unpack.h"
#include "lib/os/os.h"

#include <stdatomic.h>

struct uspi_packed_section {
    uint8_t *bytes; /* `size` bytes and a terminating 0 */
    size_t size;
    _Atomic(size_t) done;        /* how many of `bytes` are decompressed */
    _Atomic(int) status;         /* USP_OK, or why decompressing has failed for good */
    _Atomic(uint32_t) shortages; /* how often memory ran out; later calls try again */
    struct uspi_packing_header header;
    struct uspi_lock *lock; /* guards the fields below */
    const uint8_t *from;
    uint8_t *copy; /* copy of the compressed bytes if they are not in memory, otherwise NULL; `from` points to it */
    struct uspi_zlib_steps *steps;
};

/* Makes a section. The header must satisfy uspi_packing_is_sane, and its bytes must stay valid and in place. Returns
 * USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_packed_section_open(const struct uspi_packing_header *header, struct uspi_packed_section **section);

/* NULL is ignored. */
void uspi_packed_section_free(struct uspi_packed_section *section);

/* Decompresses the first `end` bytes, or all if there are fewer, as far as this was not done before. Bytes that are
 * decompressed are never written again. Returns what uspi_decompress_zlib returns; after damage was found it fails each
 * time, after lack of memory the next call tries again. Thread-safe. */
int uspi_packed_section_need(struct uspi_packed_section *section, uint64_t end);

/* Decompresses the whole section if libdeflate is there and nothing is decompressed yet. For callers that will read all
 * of it bit by bit. Otherwise, and on failure, nothing changes. Thread-safe. */
void uspi_packed_section_expect_all(struct uspi_packed_section *section);

#endif
