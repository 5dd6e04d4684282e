/* SPDX-License-Identifier: MIT */
/* What a decoder of an unwind table answers. Decoders are pure: the bytes of a table and a pc give a rule; they read no
 * stack and no registers, and decide nothing about a thread. Which table is asked, and whether the answer is taken, is
 * the readers' (reader.h). */
#ifndef USPI_TABLE_H
#define USPI_TABLE_H

#include "lib/object/bytes.h"
#include "lib/unwind/frame/rule.h"

enum uspi_described {
    USPI_DESCRIBED,        /* the rule was found */
    USPI_NOT_DESCRIBED,    /* the table says nothing of this code */
    USPI_DESCRIBED_BY_CFI, /* the table says that the DWARF CFI has it */
    USPI_CANNOT_UNWIND,    /* the table says that nothing can be unwound through this code */
    USPI_TABLE_CORRUPT     /* the table contradicts itself, ends too early or cannot be read */
};

/* The answer for one pc. `start` and `end` are filled by all answers but USPI_NOT_DESCRIBED and USPI_TABLE_CORRUPT. */
struct uspi_table_entry {
    struct uspi_rule rule; /* USPI_DESCRIBED */
    usp_addr start, end;   /* the function that the entry is for, in the target; 0: the table does not say */
    uint32_t cfi_offset;   /* USPI_DESCRIBED_BY_CFI: of the FDE in the section __eh_frame; 0: not known, look it up */
};

#endif
