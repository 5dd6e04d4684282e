/* SPDX-License-Identifier: MIT */
/* Bytes of an index file with a checksum for each page. A page is read into memory, and its checksum compared, before
 * it is first used. */
#ifndef USPI_SYMBOLIZE_LINES_CHECKED_H
#define USPI_SYMBOLIZE_LINES_CHECKED_H

#include "lib/object/bytes.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct uspi_checked {
    const uint8_t *bytes;     /* of the file */
    struct uspi_bytes all;    /* the file that is to be read into `bytes` page by page; size 0: its bytes are there */
    uint64_t size;            /* how many bytes have checksums */
    uint64_t skipped;         /* bytes at the start of the first page that its checksum leaves out */
    const uint8_t *sums;      /* 4 bytes for each page */
    _Atomic(uint8_t) *states; /* one for each page; 0: not checked yet, 1: right, 2: wrong */
};

#define USPI_CHECKED_PAGE UINT64_C(8192)

/* Like uspi_checked_range, for ranges of several pages and for pages that were not read before. */
bool uspi_checked_pages(const struct uspi_checked *checked, const uint8_t *from, uint64_t size);

/* Finds the first page whose checksum was found to be wrong. Returns false if there is none; else *offset becomes that
 * of the page in the file. */
bool uspi_checked_damage(const struct uspi_checked *checked, uint64_t *offset);

/* Returns whether the pages that hold a range of the file have the right checksums. Nearly every range lies in one page
 * that was checked before. */
static inline bool uspi_checked_range(const struct uspi_checked *checked, const uint8_t *from, uint64_t size) {
    if (checked == NULL || size == 0) return true;
    const uint64_t at = (uint64_t)(from - checked->bytes), page = at / USPI_CHECKED_PAGE;
    const bool is_one_page =
        size <= checked->size && at <= checked->size - size && (at + size - 1) / USPI_CHECKED_PAGE == page;
    if (is_one_page && atomic_load_explicit(&checked->states[page], memory_order_relaxed) == 1) return true;
    return uspi_checked_pages(checked, from, size);
}

#endif
