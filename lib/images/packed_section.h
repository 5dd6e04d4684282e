/* SPDX-License-Identifier: MIT */
/* A compressed section that is unpacked when its bytes are first asked for, zlib's only as far as they are asked for. Where it
 * will lie and how large it is are known from the beginning; what has not been unpacked reads as zeros. */
#ifndef USPI_PACKED_SECTION_H
#define USPI_PACKED_SECTION_H

#include "lib/images/decompress.h"
#include "lib/images/elf_unpack.h"
#include "lib/os/os.h"

#include <stdatomic.h>

struct uspi_packed_section {
    uint8_t *bytes; /* `size` of them, and a 0 */
    size_t size;
    _Atomic(size_t) done;        /* so many of them can be read */
    _Atomic(int) status;         /* why no more can be; USP_OK */
    _Atomic(uint32_t) shortages; /* how often memory lacked, which may be over */
    struct uspi_packing_header header;
    struct uspi_lock *lock; /* for what follows */
    const uint8_t *from;
    uint8_t *copy; /* of what `from` is, where the file is not mapped */
    struct uspi_zlib_steps *steps;
};

/* What the header says must be sane, and the bytes in it stay where they are. USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_packed_section_open(const struct uspi_packing_header *header, struct uspi_packed_section **section);

/* NULL is ignored. */
void uspi_packed_section_free(struct uspi_packed_section *section);

/* Unpacks what is missing of the first `end` bytes, or of all when there are fewer. Any thread may call it. Returns as
 * uspi_decompress_zlib; what is damaged fails from then on. */
int uspi_packed_section_need(struct uspi_packed_section *section, uint64_t end);

#endif
