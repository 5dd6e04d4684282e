/* SPDX-License-Identifier: MIT */
/* Where functions begin by the table that Apple's linkers leave for debuggers and that stays in stripped images
 * (LC_FUNCTION_STARTS). Says nothing of what a function does to the stack. */
#ifndef USPI_FUNCTION_STARTS_H
#define USPI_FUNCTION_STARTS_H

#include "arch/backend.h"
#include "lib/object/bytes.h"

/* The function that holds pc: *start becomes its first address, *end the next one's; 0 of the last.
 *   table  the numbers; image: what the first of them counts from
 * False when there is none, or the table is damaged before it comes to pc. Reads the table up to pc: some nanoseconds for
 * each function before it. Thread-safe, and as async-signal-safe as the source is. */
bool uspi_function_starts_find(const struct uspi_backend *backend, struct uspi_bytes table, usp_addr image, usp_addr pc,
                               usp_addr *start, usp_addr *end);

#endif
