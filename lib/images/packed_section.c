/* SPDX-License-Identifier: MIT */
/* See packed_section.h. */
#include "lib/images/packed_section.h"

#include <stdlib.h>
#include <string.h>

/* zlib sections are decompressed in steps of this size: continuing for each small piece would cost more. */
#define STEP ((size_t)1 << 16)

int uspi_packed_section_open(const struct uspi_packing_header *header, struct uspi_packed_section **section) {
    struct uspi_packed_section *made = calloc(1, sizeof *made);
    *section = NULL;
    if (made == NULL) return USP_ERROR_NO_MEMORY;
    made->header = *header;
    made->size = (size_t)header->size;
    made->lock = uspi_lock_create();
    /* Pages that are never written take no memory. */
    made->bytes = calloc(made->size + 1, 1);
    if (made->lock != NULL && made->bytes != NULL) {
        *section = made;
        return USP_OK;
    }
    uspi_packed_section_free(made);
    return USP_ERROR_NO_MEMORY;
}

/* Frees what only decompressing needs. */
static void end_unpacking(struct uspi_packed_section *section) {
    uspi_zlib_end(section->steps);
    section->steps = NULL;
    free(section->copy);
    section->copy = NULL;
    section->from = NULL;
}

void uspi_packed_section_free(struct uspi_packed_section *section) {
    if (section == NULL) return;
    end_unpacking(section);
    uspi_lock_free(section->lock);
    free(section->bytes);
    free(section);
}

static int gather(struct uspi_packed_section *section) {
    if (section->from != NULL) return USP_OK;
    return uspi_gather_bytes(section->header.packed, &section->from, &section->copy);
}

/* Decompresses all bytes with libdeflate, if none is decompressed yet; the caller holds the lock. Returns false when
 * nothing has changed. */
static bool unpack_at_once(struct uspi_packed_section *section) {
    const size_t n = (size_t)section->header.packed.size;
    if (section->header.method != USPI_PACKED_ZLIB || gather(section) != USP_OK) return false;
    if (atomic_load_explicit(&section->done, memory_order_relaxed) != 0) return false;
    uspi_os_reserve_whole(section->bytes, section->size);
    if (!uspi_inflate_at_once(section->from, n, section->bytes, section->size)) return false;
    atomic_store_explicit(&section->done, section->size, memory_order_release);
    end_unpacking(section);
    return true;
}

/* Decompresses the first `end` bytes; the caller holds the lock. */
static int unpack_to(struct uspi_packed_section *section, size_t end) {
    const size_t n = (size_t)section->header.packed.size;
    int status = gather(section);
    if (status != USP_OK) return status;
    if (section->header.method == USPI_PACKED_ZSTD)
        return uspi_decompress_zstd(section->from, n, section->bytes, section->size);
    if (section->steps == NULL) {
        /* Other threads may be reading what is done. */
        const size_t done = atomic_load_explicit(&section->done, memory_order_relaxed);
        status = uspi_zlib_begin(section->from, n, section->bytes, section->size, done, &section->steps);
    }
    return status == USP_OK ? uspi_zlib_step(section->steps, end) : status;
}

static void take_lock(struct uspi_packed_section *section) {
    /* A thread that does not exist after a fork was decompressing: its state is unusable, so begin again. */
    if (uspi_lock_take(section->lock) == USPI_LOCK_ABANDONED) section->steps = NULL;
}

int uspi_packed_section_need(struct uspi_packed_section *section, uint64_t end) {
    size_t to = end < section->size ? (size_t)end : section->size;
    if (atomic_load_explicit(&section->done, memory_order_acquire) >= to) return USP_OK;
    take_lock(section);
    int status = atomic_load_explicit(&section->status, memory_order_relaxed);
    if (status == USP_OK && to >= section->size / 4) unpack_at_once(section);
    const size_t done = atomic_load_explicit(&section->done, memory_order_relaxed);
    if (status == USP_OK && done < to) {
        const bool is_all = section->header.method == USPI_PACKED_ZSTD || section->size - to < STEP;
        to = is_all ? section->size : to + STEP - to % STEP;
        status = unpack_to(section, to);
        if (status == USP_OK) atomic_store_explicit(&section->done, to, memory_order_release);
        const bool is_short = status == USP_ERROR_NO_MEMORY;
        if (is_short) atomic_fetch_add_explicit(&section->shortages, 1, memory_order_relaxed);
        if (status != USP_OK && !is_short) atomic_store_explicit(&section->status, status, memory_order_relaxed);
        /* After lack of memory, the next call begins again from the start of the compressed bytes. */
        if (status != USP_OK || is_all) end_unpacking(section);
    }
    uspi_lock_give(section->lock);
    return status;
}

void uspi_packed_section_expect_all(struct uspi_packed_section *section) {
    take_lock(section);
    unpack_at_once(section);
    uspi_lock_give(section->lock);
}
