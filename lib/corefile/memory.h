/* SPDX-License-Identifier: MIT */
/* The memory of a core: bytes in the core file, ranges that it only lists, and files that replace missing bytes. The
 * readers of core formats add segments and backings; this module does not read the formats. */
#ifndef USPI_COREFILE_MEMORY_H
#define USPI_COREFILE_MEMORY_H

#include "lib/object/bytes.h"

enum uspi_core_access { USPI_CORE_READ = 1, USPI_CORE_WRITE = 2, USPI_CORE_EXECUTE = 4 };

/* A range of addresses that the core lists. Its first `stored` bytes are in the core file, from `offset` on. */
struct uspi_core_segment {
    usp_addr low;
    uint64_t size;     /* > 0; low + size − 1 does not wrap */
    uint64_t stored;   /* <= promised */
    uint64_t promised; /* <= size: bytes that the core claims to contain; more than `stored` if it was cut off */
    uint64_t offset;
    uint32_t access; /* enum uspi_core_access; 0: no access, or the core does not say */
    size_t order;    /* position in the core: of overlapping segments, the earlier one is used */
};

/* Addresses whose contents are in a file, unless they were changed. */
struct uspi_core_backing {
    usp_addr low;
    uint64_t size;
    struct uspi_bytes bytes; /* bytes from `low` on; may be fewer than `size` */
};

struct uspi_core_memory {
    struct uspi_bytes core; /* the core file */
    struct usp_memory live; /* the process's own memory, used instead of both; read NULL: not there */
    struct uspi_core_segment *segments;
    size_t segment_count, segment_capacity;
    struct uspi_core_backing *backings;
    size_t backing_count, backing_capacity;
};

/* Add a segment or a backing. Return USP_OK or USP_ERROR_NO_MEMORY. */
int uspi_core_memory_add(struct uspi_core_memory *memory, const struct uspi_core_segment *segment);
int uspi_core_memory_back(struct uspi_core_memory *memory, const struct uspi_core_backing *backing);

/* Sorts segments and backings and removes overlaps. Required after adding, before anything is read. Returns the number
 * of segments that overlapped another. */
size_t uspi_core_memory_seal(struct uspi_core_memory *memory);

void uspi_core_memory_clear(struct uspi_core_memory *memory);

/* Implements usp_memory.read; `memory` is a struct uspi_core_memory without `live`, or only one thread uses it. Bytes
 * that the core lacks are read from the file for the address, unless the segment is writable: its contents may have
 * changed, or never were the file's. USP_ERROR_ABSENT: the core lists the address, but its bytes are in neither.
 * USP_ERROR_UNREADABLE: the core does not list the address. Thread-safe. */
int uspi_core_memory_read(void *memory, usp_addr from, void *to, size_t n);

/* Returns the segment that contains an address; NULL: none does. */
const struct uspi_core_segment *uspi_core_memory_find(const struct uspi_core_memory *memory, usp_addr address);

/* Returns the index of the first segment that ends above an address. */
size_t uspi_core_memory_first(const struct uspi_core_memory *memory, usp_addr address);

/* Whether the core file lacks bytes of low … low + size − 1, except in writable segments. A range in more pieces than
 * an image's segment can have counts as lacking. */
bool uspi_core_memory_lacks(const struct uspi_core_memory *memory, usp_addr low, uint64_t size);

#endif
