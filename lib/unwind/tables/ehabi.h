/* SPDX-License-Identifier: MIT */
/* The unwind tables of 32-bit ARM ELF: an index of functions (.ARM.exidx) and, for each, a short program that undoes its
 * frame (in the index, or in .ARM.extab). As with compact unwind, it holds between prologue and epilogue, and at every
 * call. What personality routines and their data are for, exceptions, is not looked at.
 * Source: Arm "Exception Handling ABI for the Arm Architecture" (ehabi32). */
#ifndef USPI_EHABI_H
#define USPI_EHABI_H

#include "lib/unwind/tables/table.h"

/* Addresses are the target's. */
struct uspi_ehabi_table {
    struct uspi_bytes image; /* the bytes from `base` on that have the tables */
    usp_addr base;
    usp_addr index;      /* .ARM.exidx: PT_ARM_EXIDX */
    uint64_t index_size; /* in bytes */
};

/* What the tables say of the code at pc (without the Thumb bit; of a caller: of the call, not of what follows it). *entry
 * is written completely; the rule's registers are armv7's. USPI_CANNOT_UNWIND is EXIDX_CANTUNWIND, which compilers write
 * for whatever they were not asked to describe, or the program's "refuse to unwind". *error, if not NULL, says what is
 * wrong after USPI_TABLE_CORRUPT. Needs about 2 KB of stack. Thread-safe; without `error` as async-signal-safe as the source of
 * the bytes is. */
enum uspi_described uspi_ehabi_find(const struct uspi_ehabi_table *table, usp_addr pc, struct uspi_table_entry *entry,
                                    struct uspi_error *error);

/* What a program says, its bytes in the order in which they are carried out. USPI_DESCRIBED, USPI_CANNOT_UNWIND or
 * USPI_TABLE_CORRUPT. */
enum uspi_described uspi_ehabi_run(struct uspi_bytes program, struct uspi_rule *rule, struct uspi_error *error);

#endif
