/* SPDX-License-Identifier: MIT */
/* Executes the instructions of call frame information up to a pc. The result is a row of the table that they describe,
 * which becomes an unwind rule. Reads no registers and no memory of the target. Sources: DWARF 5, 6.4.2 "Call Frame
 * Instructions", 7.24 (the opcodes); Linux Standard Base Core 5.0, 10.5.1.1 (GNU's); DWARF for the Arm 64-bit
 * Architecture, "Call frame instructions". */
#ifndef USPI_UNWIND_TABLES_DWARF_ROW_H
#define USPI_UNWIND_TABLES_DWARF_ROW_H

#include "lib/unwind/frame/rule.h"
#include "lib/unwind/tables/dwarf_section.h"

/* Where the caller's value of a register is. */
enum uspi_dwarf_how {
    USPI_DWARF_UNSPECIFIED = 0,
    USPI_DWARF_UNDEFINED,
    USPI_DWARF_SAME,
    USPI_DWARF_AT_CFA,      /* [CFA + offset] */
    USPI_DWARF_IS_CFA,      /* CFA + offset */
    USPI_DWARF_IN_REGISTER, /* the register of number `offset` */
    /* Memory at the expression's value; its `length` bytes are at `offset` in the section. */
    USPI_DWARF_EXPRESSION,
    USPI_DWARF_VALUE_EXPRESSION /* the expression's value */
};

struct uspi_dwarf_recovery {
    uint8_t how;
    int32_t offset;
    uint32_t length;
};

/* The registers of every processor, and one more column for a return address that is in no register. */
#define USPI_DWARF_REGISTERS 33u
#define USPI_DWARF_COLUMNS   (USPI_DWARF_REGISTERS + 1u)

struct uspi_dwarf_row {
    bool cfa_is_known;
    /* Its `cfa_length` bytes are at `cfa_offset` in the section; otherwise the CFA is register + offset. */
    bool cfa_is_expression;
    bool is_signed;       /* the return address is signed (arm64) */
    uint8_t cfa_register; /* the backend's number */
    int32_t cfa_offset;
    uint32_t cfa_length;
    struct uspi_dwarf_recovery places[USPI_DWARF_COLUMNS];
};

/* Returns the column of the register that has number `reg` in the section; USPI_NO_REGISTER: it is not needed. */
unsigned uspi_dwarf_column(const struct uspi_dwarf_section *section, const struct uspi_dwarf_cie *cie, uint64_t reg);

/* Computes the row for pc, which the FDE contains. Needs about 5 KB of stack. Returns USP_ERROR_FORMAT when an
 * instruction contradicts others or has an invalid operand, USP_ERROR_UNSUPPORTED for an unknown opcode,
 * USP_ERROR_TRUNCATED, or the status of the section's reader. */
int uspi_dwarf_row(const struct uspi_dwarf_section *section, const struct uspi_dwarf_fde *fde, usp_addr pc,
                   struct uspi_dwarf_row *row);

/* What an FDE describes. Compilers that were not asked for tables of every instruction (LLVM on arm64 at -Oz, and
 * without -fasynchronous-unwind-tables) describe only how a frame is set up. */
enum uspi_dwarf_extent {
    USPI_DWARF_WHOLE, /* how a frame is set up and torn down, or a function without one */
    USPI_DWARF_BODY,  /* only how a frame is set up */
    /* A frame that was set up elsewhere: a function's cold part, or code that the FDE describes too early. */
    USPI_DWARF_PART
};

/* Returns USPI_DWARF_WHOLE for an FDE that contradicts itself. Needs as much stack as uspi_dwarf_row. */
enum uspi_dwarf_extent uspi_dwarf_extent(const struct uspi_dwarf_section *section, const struct uspi_dwarf_fde *fde);

/* Makes the rule of a row. Returns USP_ERROR_FORMAT when the row lacks the CFA or the return address. */
int uspi_dwarf_rule(const struct uspi_dwarf_section *section, const struct uspi_dwarf_cie *cie,
                    const struct uspi_dwarf_row *row, struct uspi_rule *rule);

#endif
