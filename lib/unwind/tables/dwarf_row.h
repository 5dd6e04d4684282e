/* SPDX-License-Identifier: MIT */
/* The instructions in call frame information, carried out up to a pc: the row of the table that they describe, and that row
 * as an unwind rule. Reads no register and no memory of the target.
 * Sources: DWARF 5, 6.4.2 "Call Frame Instructions", 7.24 (the opcodes); Linux Standard Base Core 5.0, 10.5.1.1 (GNU's);
 * DWARF for the Arm 64-bit Architecture, "Call frame instructions". */
#ifndef USPI_DWARF_ROW_H
#define USPI_DWARF_ROW_H

#include "lib/unwind/frame/rule.h"
#include "lib/unwind/tables/dwarf_section.h"

/* Where the caller's value of a register is. */
enum uspi_dwarf_how {
    USPI_DWARF_UNSPECIFIED = 0,
    USPI_DWARF_UNDEFINED,
    USPI_DWARF_SAME,
    USPI_DWARF_AT_CFA,          /* [CFA + offset] */
    USPI_DWARF_IS_CFA,          /* CFA + offset */
    USPI_DWARF_IN_REGISTER,     /* the register of number `offset` */
    USPI_DWARF_EXPRESSION,      /* [the expression]; its `length` bytes are at `offset` in the section */
    USPI_DWARF_VALUE_EXPRESSION /* the expression */
};

struct uspi_dwarf_place {
    uint8_t how;
    int32_t offset;
    uint32_t length;
};

/* The registers of every processor, and one column more for a return address that is in none of them. */
#define USPI_DWARF_REGISTERS 33u
#define USPI_DWARF_COLUMNS   (USPI_DWARF_REGISTERS + 1u)

struct uspi_dwarf_row {
    bool cfa_is_known;
    bool cfa_is_expression; /* its `cfa_length` bytes are at `cfa_offset` in the section; otherwise register + offset */
    bool is_signed;         /* the return address (arm64) */
    uint8_t cfa_register;   /* the backend's number */
    int32_t cfa_offset;
    uint32_t cfa_length;
    struct uspi_dwarf_place places[USPI_DWARF_COLUMNS];
};

/* The column of a register by the number that the section has for it; USPI_NO_REGISTER: it is not needed. */
unsigned uspi_dwarf_column(const struct uspi_dwarf_section *section, const struct uspi_dwarf_cie *cie, uint64_t reg);

/* The row for pc, which the FDE holds. Needs about 5 KB of stack. USP_ERROR_FORMAT when an instruction contradicts the
 * others or has an operand that there can be none of, USP_ERROR_UNSUPPORTED of an opcode that is not known,
 * USP_ERROR_TRUNCATED, or the status of the section's reader. */
int uspi_dwarf_row(const struct uspi_dwarf_section *section, const struct uspi_dwarf_fde *fde, usp_addr pc,
                   struct uspi_dwarf_row *row);

/* What an FDE describes. Compilers that were not asked for tables of every instruction (LLVM on arm64 at -Oz, and without
 * -fasynchronous-unwind-tables) say how a frame is made, and leave it at that. */
enum uspi_dwarf_extent {
    USPI_DWARF_WHOLE, /* how a frame is made and undone; or there is none */
    USPI_DWARF_BODY,  /* nothing of how it is undone */
    USPI_DWARF_PART   /* a frame that was made elsewhere: a function's cold part, or code that the FDE is early about */
};

/* Of an FDE that contradicts itself: USPI_DWARF_WHOLE. Needs as much stack as uspi_dwarf_row. */
enum uspi_dwarf_extent uspi_dwarf_extent(const struct uspi_dwarf_section *section, const struct uspi_dwarf_fde *fde);

/* The rule that a row says. USP_ERROR_FORMAT when it lacks the CFA or the return address. */
int uspi_dwarf_rule(const struct uspi_dwarf_section *section, const struct uspi_dwarf_cie *cie,
                    const struct uspi_dwarf_row *row, struct uspi_rule *rule);

#endif
