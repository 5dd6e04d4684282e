/* SPDX-License-Identifier: MIT */
/* The memory of a core: what the core file holds, what it knows but does not hold, and the files that stand in for it.
 * The readers of the core's formats add segments and backings; it never looks into them. */
#ifndef USPI_CORE_MEMORY_H
#define USPI_CORE_MEMORY_H

#include "lib/object/bytes.h"

enum uspi_core_access { USPI_CORE_READ = 1, USPI_CORE_WRITE = 2, USPI_CORE_EXECUTE = 4 };

/* A range of addresses that the core lists: bytes 0 … stored − 1 are in the core file from `offset` on. */
struct uspi_core_segment {
    usp_addr low;
    uint64_t size;     /* > 0; low + size − 1 does not wrap */
    uint64_t stored;   /* <= promised */
    uint64_t promised; /* <= size: what the core says it holds; more than `stored` when the file was cut */
    uint64_t offset;
    uint32_t access; /* enum uspi_core_access; 0: no access, or the core does not say */
    size_t order;    /* position in the core: the earlier one wins where two overlap */
};

/* Addresses whose contents, unless they were changed, are in a file. */
struct uspi_core_backing {
    usp_addr low;
    uint64_t size;
    struct uspi_bytes bytes; /* from `low` on; may end before `size` */
};

struct uspi_core_memory {
    struct uspi_bytes core; /* the core file */
    struct uspi_core_segment *segments;
    size_t segment_count, segment_room;
    struct uspi_core_backing *backings;
    size_t backing_count, backing_room;
};

/* Adds one. Returns USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_core_memory_add(struct uspi_core_memory *memory, const struct uspi_core_segment *segment);
int uspi_core_memory_back(struct uspi_core_memory *memory, const struct uspi_core_backing *backing);

/* Sorts what was added and cuts overlaps away; needed after each of the two above, before anything is read. Returns how
 * many segments overlapped another. */
size_t uspi_core_memory_seal(struct uspi_core_memory *memory);

void uspi_core_memory_clear(struct uspi_core_memory *memory);

/* The shape of usp_memory.read; `memory` is a struct uspi_core_memory. Where the core holds no bytes, the file that backs
 * the address is read, unless the segment is writable (then it may have been changed, or never was the file's).
 * USP_ERROR_ABSENT: the core lists the address, and neither has its bytes; USP_ERROR_UNREADABLE: it lists no such
 * address. Any number of threads may read at one time. */
int uspi_core_memory_read(void *memory, usp_addr from, void *to, size_t n);

/* The segment that holds an address, NULL if none does. */
const struct uspi_core_segment *uspi_core_memory_find(const struct uspi_core_memory *memory, usp_addr address);

/* The index of the first segment that ends above an address. */
size_t uspi_core_memory_first(const struct uspi_core_memory *memory, usp_addr address);

/* Whether the core file lacks bytes of low … low + size − 1, writable segments not counted; a range in
 * more pieces than an image's segment can have counts as lacking. */
bool uspi_core_memory_lacks(const struct uspi_core_memory *memory, usp_addr low, uint64_t size);

#endif
