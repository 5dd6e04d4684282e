/* SPDX-License-Identifier: MIT */
/* Recognising the frame that Darwin's kernel makes for a signal, by its structure and not by the code that runs on it:
 * _sigtramp is compiled C for arm, and another build of it is other code. The reader is darwin_signal.c; code that copies
 * stacks finds by it what else is to be copied. */
#ifndef USPI_SIGFRAME_H
#define USPI_SIGFRAME_H

#include "arch/backend.h"

/* Where it is looked for. */
struct uspi_sigframe_view {
    const struct uspi_backend *backend;
    const struct usp_memory *memory;
    uint64_t mask; /* the bits of a pointer that are an address: no signature, no tag */
};

struct uspi_sigframe_view uspi_sigframe_view_of(const struct uspi_backend *backend, const struct usp_memory *memory,
                                                uint64_t strip_mask);

enum uspi_sigframe_found {
    USPI_NO_SIGFRAME,
    USPI_SIGFRAME,         /* with the registers that were interrupted, as the kernel saved them */
    USPI_SIGFRAME_CUT,     /* its registers cannot be read */
    USPI_SIGFRAME_ALTERED, /* all but the registers is right: a handler may write to them */
};

/* Of a function whose frame record is at fp: whether it is what the kernel started for a signal. Its record keeps the
 * interrupted frame pointer, which the machine context must have as well. Of any other function one word of memory is
 * looked at (armv7, x86: two). Async-signal-safe. */
enum uspi_sigframe_found uspi_sigframe_at_record(const struct uspi_sigframe_view *view, usp_addr fp,
                                                 struct usp_registers *interrupted);

/* The same where a thread stands before it has made the record, or behind where it has undone it. fp is the interrupted one
 * there. Async-signal-safe. */
enum uspi_sigframe_found uspi_sigframe_at_entry(const struct uspi_sigframe_view *view,
                                                const struct usp_registers *standing,
                                                struct usp_registers *interrupted);

/* Whether a thread, standing at `standing`, handles a signal on another stack than the one it interrupted: follows its frame
 * records, and signals handled in between, while they lie at low … high − 1 and can be read, to one whose interrupted
 * stack pointer lies elsewhere: *sp. Async-signal-safe. */
bool uspi_sigframe_leaves(const struct uspi_sigframe_view *view, const struct usp_registers *standing, usp_addr low,
                          usp_addr high, usp_addr *sp);

/* Where a register stands in the state that Apple's kernels save for a handler; false: it does not. */
bool uspi_find_in_mcontext(const struct uspi_backend *backend, unsigned reg, uint32_t *offset);

#endif
