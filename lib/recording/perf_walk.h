/* SPDX-License-Identifier: MIT */
/* Makes a stack of a sample: from its call chain, and from its registers and stack dump. */
#ifndef USPI_RECORDING_PERF_WALK_H
#define USPI_RECORDING_PERF_WALK_H

#include "lib/recording/perf_event.h"
#include "lib/recording/perf_space.h"

struct uspi_perf_walk {
    uint32_t arch;             /* enum usp_arch of the recording */
    uint64_t pac_mask;         /* of usp_target; 0: not known */
    bool callers_are_adjusted; /* callers' addresses lie in their call instructions */
    struct usp_frame *frames;
    uint32_t capacity;
};

enum uspi_perf_walked {
    USPI_PERF_WALKED_CHAIN = 0,
    USPI_PERF_WALKED_DUMP = 1, /* a stack dump was unwound */
    USPI_PERF_WALKED_SHORT = 2 /* the same, and it ends before the stack does */
};

/* Fills the stack, whose frames are those of `walk`. */
enum uspi_perf_walked uspi_perf_walk(const struct uspi_perf_walk *walk, const struct uspi_perf_sample *sample,
                                     struct uspi_perf_view *view, struct usp_stack *stack);

/* Appends addresses of the process to the stack: an exact one, and return addresses. */
void uspi_perf_walk_append(const struct uspi_perf_walk *walk, const uint8_t *addresses, uint64_t count,
                           struct usp_stack *stack);

/* Returns the processor of registers with this mask; USP_ARCH_NONE: not known. */
uint32_t uspi_perf_arch_of(uint64_t mask);

#endif
