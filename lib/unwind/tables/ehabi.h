/* SPDX-License-Identifier: MIT */
/* The unwind tables of 32-bit ARM ELF: an index of functions (.ARM.exidx) and, for each, a short program that undoes
 * its frame (in the index or in .ARM.extab). Like compact unwind, it holds between prologue and epilogue, and at every
 * call. Personality routines and their data, which serve exceptions, are ignored. Source: Arm "Exception Handling ABI
 * for the Arm Architecture" (ehabi32). */
#ifndef USPI_UNWIND_TABLES_EHABI_H
#define USPI_UNWIND_TABLES_EHABI_H

#include "lib/unwind/tables/table.h"

/* Addresses are the target's. */
struct uspi_ehabi_table {
    struct uspi_bytes image; /* bytes from address `base` that include the tables */
    usp_addr base;
    usp_addr index;      /* .ARM.exidx: PT_ARM_EXIDX */
    uint64_t index_size; /* in bytes */
};

/* Looks up the code at pc (without the Thumb bit; for a caller: of the call, not of the instruction after it). *entry
 * is written completely; the rule's registers are armv7's. USPI_CANNOT_UNWIND means EXIDX_CANTUNWIND, which compilers
 * write for functions that they do not describe, or the program's "refuse to unwind". For USPI_TABLE_CORRUPT, *error,
 * if not NULL, says what is wrong. Needs about 2 KB of stack. Thread-safe. Without `error`, async-signal-safe if the
 * source of the bytes is. */
enum uspi_described uspi_ehabi_find(const struct uspi_ehabi_table *table, usp_addr pc, struct uspi_table_entry *entry,
                                    struct uspi_error *error);

/* Runs a program, whose bytes are in the order of execution. Returns USPI_DESCRIBED, USPI_CANNOT_UNWIND or
 * USPI_TABLE_CORRUPT. */
enum uspi_described uspi_ehabi_run(struct uspi_bytes program, struct uspi_rule *rule, struct uspi_error *error);

#endif
