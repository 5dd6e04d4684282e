/* SPDX-License-Identifier: MIT */
/* Reads a frame record: the step from a frame to its caller.
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
 * The functions are always inlined, with the record's shape and the way to memory as constants. With a direct load
 * inside known bounds, the result is as fast as hand-written code; with a callback it walks any memory. This file does
 * not judge return addresses, and does not depend on the host. */
#ifndef USPI_ARCH_FRAME_H
#define USPI_ARCH_FRAME_H

#include "arch/backend.h"

#if defined(__GNUC__) || defined(__clang__)
#define USPI_TEMPLATE    static inline __attribute__((always_inline))
#define USPI_LIKELY(x)   __builtin_expect(!!(x), 1)
#define USPI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define USPI_APART       __attribute__((noinline))
#else
#define USPI_APART
#define USPI_TEMPLATE    static inline
#define USPI_LIKELY(x)   (x)
#define USPI_UNLIKELY(x) (x)
#endif

/* A walk reads wherever a frame pointer points, which AddressSanitizer may have poisoned. */
#if defined(__GNUC__) || defined(__clang__)
#define USPI_NO_ASAN __attribute__((no_sanitize("address")))
#else
#define USPI_NO_ASAN
#endif

/* Bits 63:60 of a stored frame pointer are a tag: 1 marks a Swift async (extended) record (Libc
 * gen/thread_stack_pcs.c). The tag is always removed before a frame pointer is used as an address. */
#define USPI_FP_TAG_SHIFT 60
#define USPI_FP_TAG_MASK  (UINT64_C(0xf) << USPI_FP_TAG_SHIFT)
#define USPI_FP_TAG_ASYNC (UINT64_C(1) << USPI_FP_TAG_SHIFT)

/* The constants of a processor's records; see struct uspi_backend. */
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
    usp_addr at;             /* the record's address: fp without its tag */
    usp_addr previous;       /* as stored: the caller's frame pointer, with its tag */
    usp_addr return_address; /* as stored: with its signature and Thumb bit */
};

/* Reads the two slots at `at`; false when they cannot be read. */
typedef bool (*uspi_load_pair)(const void *context, usp_addr at, unsigned slot, usp_addr pair[2]);

/* Returns a frame pointer as an address, without its tag. */
USPI_TEMPLATE usp_addr uspi_untagged(struct uspi_record_shape shape, usp_addr fp) {
    return (shape.has_async ? fp & ~USPI_FP_TAG_MASK : fp) & shape.word_mask;
}

/* Returns whether there is an async context at fp − 8. */
USPI_TEMPLATE bool uspi_is_extended(struct uspi_record_shape shape, const struct uspi_record *record) {
    return shape.has_async && (record->previous & USPI_FP_TAG_MASK) == USPI_FP_TAG_ASYNC;
}

/* Where a record may lie. */
struct uspi_record_range {
    usp_addr low;  /* the stack pointer for the first record, the end of the previous record for others */
    usp_addr last; /* the highest address at which a whole record fits into the stack */
};

/* Reads the record at fp, which may have a tag. The record must lie in the range. Returns USP_STOP_NONE and fills
 * *record, or the reason why there is no record.
 *
 * With a tag, a frame pointer lies outside every stack. So the tag is only checked if the address does not fit, and
 * each load of the chain depends only on the load before it. */
USPI_TEMPLATE enum usp_stop_reason uspi_record_read(struct uspi_record_shape shape, uspi_load_pair load,
                                                    const void *context, struct uspi_record_range range, usp_addr fp,
                                                    struct uspi_record *record) {
    if (USPI_UNLIKELY(fp < range.low || fp > range.last || (fp & (shape.align - 1)) != 0)) {
        fp = uspi_untagged(shape, fp);
        if (fp == 0) return USP_STOP_FP_ZERO;
        if ((fp & (shape.align - 1)) != 0) return USP_STOP_FP_MISALIGNED;
        if (fp < range.low) return USP_STOP_FP_BACKWARDS;
        if (fp > range.last) return USP_STOP_FP_OUTSIDE;
    }
    usp_addr pair[2];
    if (USPI_UNLIKELY(!load(context, fp, shape.slot, pair))) return USP_STOP_UNREADABLE;
    record->at = fp;
    record->previous = pair[0];
    record->return_address = pair[1];
    return USP_STOP_NONE;
}

#endif
