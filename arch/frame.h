/* SPDX-License-Identifier: MIT */
/* The frame record step, written once.
 *
 *              high addresses
 *        |                     |
 *        | return address      |  fp + slot
 *  fp -> | previous fp         |  fp
 *        | async context       |  fp − 8, in an extended record only
 *        |                     |
 *              low addresses
 *
 *     return address = [fp + slot]        previous fp = [fp]
 *
 * Always inlined, with the record's shape and the way to memory as constants: with a direct load inside known bounds it
 * compiles to what one would write by hand, with a callback it walks anything. Nothing here decides what a return
 * address is worth, and nothing knows the host. */
#ifndef USPI_FRAME_H
#define USPI_FRAME_H

#include "arch/backend.h"

#if defined(__GNUC__) || defined(__clang__)
#define USPI_TEMPLATE static inline __attribute__((always_inline))
#define USPI_LIKELY(x) __builtin_expect(!!(x), 1)
#define USPI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#else
#define USPI_TEMPLATE static inline
#define USPI_LIKELY(x) (x)
#define USPI_UNLIKELY(x) (x)
#endif

/* A walk reads whatever a frame pointer points at, which AddressSanitizer may have fenced off. */
#if defined(__GNUC__) || defined(__clang__)
#define USPI_NO_ASAN __attribute__((no_sanitize("address")))
#else
#define USPI_NO_ASAN
#endif

/* Bits 63:60 of a stored frame pointer are a tag: 1 marks a Swift async (extended) record (Libc gen/thread_stack_pcs.c).
 * Of a frame pointer that is used as an address they are always masked. */
#define USPI_FP_TAG_SHIFT 60
#define USPI_FP_TAG_MASK (UINT64_C(0xf) << USPI_FP_TAG_SHIFT)
#define USPI_FP_TAG_ASYNC (UINT64_C(1) << USPI_FP_TAG_SHIFT)

/* What is constant about a processor's records; see struct uspi_backend. */
struct uspi_record_shape {
    unsigned slot;
    unsigned align;
    bool has_async;
    uint64_t word_mask;
};

static inline struct uspi_record_shape uspi_record_shape_of(const struct uspi_backend *backend) {
    struct uspi_record_shape shape = {backend->slot, backend->record_align, backend->has_async, backend->word_mask};
    return shape;
}

struct uspi_record {
    usp_addr previous;       /* frame pointer of the caller, without tag */
    usp_addr return_address; /* as stored: signature and Thumb bit still on it */
    bool extended;           /* an async context stands at fp − 8 */
};

/* Reads the two slots at `at`; false when they cannot be read. */
typedef bool (*uspi_load_pair)(const void *context, usp_addr at, unsigned slot, usp_addr pair[2]);

/* The record at fp, which must lie at low … last. `low` is the stack pointer for the first record and the end of the
 * previous record for the others, `last` the highest address at which a whole record fits into the stack. Returns
 * USP_STOP_NONE and fills *record, or says why there is no record. */
USPI_TEMPLATE enum usp_stop uspi_record_read(struct uspi_record_shape shape, uspi_load_pair load, const void *context,
                                             usp_addr low, usp_addr last, usp_addr fp, struct uspi_record *record) {
    if (USPI_UNLIKELY(fp < low || fp > last || (fp & (shape.align - 1)) != 0)) {
        if (fp == 0) return USP_STOP_FP_ZERO;
        if ((fp & (shape.align - 1)) != 0) return USP_STOP_FP_MISALIGNED;
        return fp < low ? USP_STOP_FP_BACKWARDS : USP_STOP_FP_OUTSIDE;
    }
    usp_addr pair[2];
    if (USPI_UNLIKELY(!load(context, fp, shape.slot, pair))) return USP_STOP_UNREADABLE;
    record->extended = shape.has_async && (pair[0] & USPI_FP_TAG_MASK) == USPI_FP_TAG_ASYNC;
    record->previous = (shape.has_async ? pair[0] & ~USPI_FP_TAG_MASK : pair[0]) & shape.word_mask;
    record->return_address = pair[1] & shape.word_mask;
    return USP_STOP_NONE;
}

#endif
