/* SPDX-License-Identifier: MIT */
/* See checked.h. */
#include "lib/symbolize/lines/checked.h"

#include "arch/little_endian.h"
#include "lib/base/checksum.h"

static bool check_page(const struct uspi_checked *checked, uint64_t page) {
    const uint8_t state = atomic_load_explicit(&checked->states[page], memory_order_relaxed);
    if (state != 0) return state == 1;
    const uint64_t from = page * USPI_CHECKED_PAGE;
    const uint64_t left = checked->size - from, n = left < USPI_CHECKED_PAGE ? left : USPI_CHECKED_PAGE;
    const uint64_t skipped = page == 0 ? checked->skipped : 0;
    bool is_right = checked->all.size == 0 || uspi_bytes_in_place(checked->all, from, (size_t)n) != NULL;
    if (is_right) {
        const uint32_t sum = uspi_checksum(checked->bytes + (size_t)(from + skipped), (size_t)(n - skipped));
        is_right = sum == uspi_le32(checked->sums + (size_t)(4 * page));
    }
    atomic_store_explicit(&checked->states[page], is_right ? 1 : 2, memory_order_relaxed);
    return is_right;
}

bool uspi_checked_pages(const struct uspi_checked *checked, const uint8_t *from, uint64_t size) {
    const uint64_t at = (uint64_t)(from - checked->bytes);
    const uint64_t end = at + size < checked->size ? at + size : checked->size;
    for (uint64_t page = at / USPI_CHECKED_PAGE; page * USPI_CHECKED_PAGE < end; page++) {
        if (!check_page(checked, page)) return false;
    }
    return true;
}

bool uspi_checked_damage(const struct uspi_checked *checked, uint64_t *offset) {
    for (uint64_t from = 0; from < checked->size; from += USPI_CHECKED_PAGE) {
        if (atomic_load_explicit(&checked->states[from / USPI_CHECKED_PAGE], memory_order_relaxed) != 2) continue;
        *offset = from;
        return true;
    }
    return false;
}
