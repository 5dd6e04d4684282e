/* SPDX-License-Identifier: MIT */
/* Compares the rules that the library decodes from a program's unwind tables (compact unwind, EHABI) with the
 * processor. Such tables describe a function's body: its calls, and the instructions between two calls. There the rule
 * must give the frame's CFA, its return address and every callee-saved register as the caller had it. Which table a
 * reader would ask, and when, is not tested here. */
#ifndef TESTS_EMULATED_TABLE_H
#define TESTS_EMULATED_TABLE_H

#include "lib/object/bytes.h"
#include "lib/unwind/tables/compact.h"
#include "lib/unwind/tables/ehabi.h"
#include "score.h"
#include "truth.h"

enum table_kind { TABLE_NONE, TABLE_COMPACT, TABLE_EHABI };

/* An instruction that may turn out to belong to the body: it does if its function makes another call later. */
struct table_check {
    usp_addr pc;
    enum uspi_described answer;
    const char *wrong; /* static; NULL: the rule was right */
};

#define TABLE_CHECKS_MAX 64 /* between two calls; further ones are not compared */

/* A frame on the true stack. */
struct table_frame {
    struct usp_registers of_caller;      /* registers of the caller at the call */
    const struct image_symbol *function; /* current function, to which tail calls may have led */
    bool has_called;
    unsigned check_count;
    struct table_check checks[TABLE_CHECKS_MAX]; /* since the frame's call, or since its last own call */
};

struct table {
    const struct machine *machine;
    uint64_t address_mask; /* the bits that remain of a pointer without its signature */
    struct usp_memory memory;
    struct uspi_source source;
    enum table_kind kind;
    struct uspi_compact_table compact;
    struct uspi_ehabi_table ehabi;
    struct table_frame frames[TRUTH_DEPTH];
    unsigned long described, by_cfi, not_described; /* numbers of instructions, by the table's answer */
    struct score score;                             /* of the described instructions */
};

/* Looks for tables in the image. The object must not move. */
void table_begin(struct table *table, const struct machine *machine, uint64_t address_mask);

/* Call after each step of the truth. before: NULL for the first one. */
void table_step(struct table *table, const struct truth *truth, const struct moment *before, const struct moment *now);

/* Compares the rule of the tables at this moment. The result counts if the instruction turns out to belong to a
 * body. */
void table_check(struct table *table, const struct truth *truth, const struct moment *now);

#endif
