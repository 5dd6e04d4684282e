/* SPDX-License-Identifier: MIT */
/* Recognizes the frame that Darwin's kernel makes for a signal by its structure. The code that runs on it is no
 * criterion: on arm, _sigtramp is compiled C, and differs between builds. readers/signal.c reads the frame; code that
 * copies stacks uses it to find what else to copy. */
#ifndef USPI_UNWIND_SIGNALS_SIGFRAME_H
#define USPI_UNWIND_SIGNALS_SIGFRAME_H

#include "arch/backend.h"

/* Access to the memory in which a frame is searched for. */
struct uspi_sigframe_view {
    const struct uspi_backend *backend;
    const struct usp_memory *memory;
    uint64_t mask; /* mask of a pointer's address bits, without signature and tag */
};

struct uspi_sigframe_view uspi_sigframe_view_of(const struct uspi_backend *backend, const struct usp_memory *memory,
                                                uint64_t strip_mask);

enum uspi_sigframe_found {
    USPI_NO_SIGFRAME,
    USPI_SIGFRAME,     /* found, with the interrupted registers as the kernel saved them */
    USPI_SIGFRAME_CUT, /* its registers are unreadable */
    /* Its registers are inconsistent, everything else is right: a handler may have changed them. */
    USPI_SIGFRAME_ALTERED,
};

/* Checks whether a function whose frame record is at fp was started by the kernel for a signal. Its record contains
 * the interrupted frame pointer, which must equal the one in the machine context. For other functions this reads one
 * word of memory (armv7, x86: two). Async-signal-safe. */
enum uspi_sigframe_found uspi_sigframe_at_record(const struct uspi_sigframe_view *view, usp_addr fp,
                                                 struct usp_registers *interrupted);

/* Checks the same for a thread in such a function, before it has made its record or after it has undone it. fp is then
 * the interrupted one. Async-signal-safe. */
enum uspi_sigframe_found uspi_sigframe_at_entry(const struct uspi_sigframe_view *view,
                                                const struct usp_registers *registers,
                                                struct usp_registers *interrupted);

/* Returns whether a thread with the registers `registers` handles a signal on another stack than the interrupted one.
 * It follows frame records, including signals handled in between, while they are readable and at low … high − 1, to
 * one whose interrupted stack pointer is elsewhere: *sp. Async-signal-safe. */
bool uspi_sigframe_leaves(const struct uspi_sigframe_view *view, const struct usp_registers *registers, usp_addr low,
                          usp_addr high, usp_addr *sp);

/* Finds the offset of a register in the state that Apple's kernels save for a handler. Returns false if it is not
 * there. */
bool uspi_find_in_mcontext(const struct uspi_backend *backend, unsigned reg, uint32_t *offset);

#endif
