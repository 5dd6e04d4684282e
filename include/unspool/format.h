/* SPDX-License-Identifier: MIT */
/* Frames and stacks as text.
 * Nothing here looks a name up: the caller passes what usp_symbolize found. */
#ifndef UNSPOOL_FORMAT_H
#define UNSPOOL_FORMAT_H

#include <unspool/base.h>
#include <unspool/symbolize.h>
#include <unspool/unwind.h>

USP_BEGIN_DECLS

enum usp_format {
    USP_FORMAT_CALL_STACK_SYMBOLS = 1, /* a line of +[NSThread callStackSymbols] and backtrace_symbols(3) on Darwin:
                                          index, image, address, symbol + offset (Libc gen/backtrace.c) */
    USP_FORMAT_PLAIN = 2               /* symbol + offset alone, or image + offset, or the address */
};

/* Writes one frame as text, without a newline, NUL-terminated.
 *   buffer, size  may be NULL, 0 to learn the length
 *   format        enum usp_format
 *   arch          enum usp_arch: decides the width of addresses
 *   index         the number at the line's beginning
 *   symbol        for the frame's call site; NULL: none. The printed offset counts from the frame's own pc
 * Returns the length of the whole text in bytes without the NUL, as snprintf does, or USP_ERROR_ARGUMENT.
 * Allocates nothing; signal-safe, thread-safe. */
USP_API int usp_format_frame(char *buffer, size_t size, uint32_t format, uint32_t arch, uint32_t index,
                             const struct usp_frame *frame, const struct usp_symbol *symbol);

USP_END_DECLS

#endif
