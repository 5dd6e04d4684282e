/* SPDX-License-Identifier: MIT */
/* Finds function starts in LC_FUNCTION_STARTS, a table that Apple's linkers write for debuggers and that stripped
 * images keep. It does not describe what a function does to the stack. */
#ifndef USPI_UNWIND_TABLES_FUNCTION_STARTS_H
#define USPI_UNWIND_TABLES_FUNCTION_STARTS_H

#include "arch/backend.h"
#include "lib/object/bytes.h"

/* Finds the function that contains pc: *start becomes its first address, *end the next function's; 0 for the last one.
 *   table  the table's numbers
 *   image  the address that the first number counts from
 * Returns false when there is no such function, or the table is damaged before it reaches pc. Reads the table up to
 * pc: some nanoseconds for each preceding function. Thread-safe, and async-signal-safe if the source is. */
bool uspi_function_starts_find(const struct uspi_backend *backend, struct uspi_bytes table, usp_addr image, usp_addr pc,
                               usp_addr *start, usp_addr *end);

#endif
