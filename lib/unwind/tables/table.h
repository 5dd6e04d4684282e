/* SPDX-License-Identifier: MIT */
/* Results of unwind table decoders. A decoder computes a rule from a table's bytes and a pc. It reads no stack and no
 * registers. The frame readers (readers/readers.h) decide which table is used and whether its result is accepted. */
#ifndef USPI_UNWIND_TABLES_TABLE_H
#define USPI_UNWIND_TABLES_TABLE_H

#include "lib/object/bytes.h"
#include "lib/unwind/frame/rule.h"

enum uspi_described {
    USPI_DESCRIBED,        /* the rule was found */
    USPI_NOT_DESCRIBED,    /* the table does not describe this code */
    USPI_DESCRIBED_BY_CFI, /* the table refers to DWARF CFI */
    USPI_CANNOT_UNWIND,    /* the table states that this code cannot be unwound */
    USPI_TABLE_CORRUPT     /* the table contradicts itself, ends too early or cannot be read */
};

/* The result for one pc. `start` and `end` are filled except for USPI_NOT_DESCRIBED and USPI_TABLE_CORRUPT. */
struct uspi_table_entry {
    struct uspi_rule rule; /* USPI_DESCRIBED */
    usp_addr start, end;   /* the described function in the target; 0: the table does not state it */
    /* USPI_DESCRIBED_BY_CFI: offset of the FDE in the section __eh_frame; 0: not known, look it up. */
    uint32_t cfi_offset;
};

#endif
