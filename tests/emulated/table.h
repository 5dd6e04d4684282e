/* SPDX-License-Identifier: MIT */
/* Holds what the library decodes of a program's unwind tables (compact unwind, EHABI) against the processor. Such tables
 * describe a function's body: its calls, and what is carried out between two of them. There the rule must give the frame's
 * CFA, its return address and every callee-saved register as the caller had it. Which table a reader would ask, and when,
 * is not decided here. */
#ifndef USP_TESTS_TABLE_H
#define USP_TESTS_TABLE_H

#include "lib/object/bytes.h"
#include "lib/unwind/tables/compact.h"
#include "lib/unwind/tables/ehabi.h"
#include "score.h"
#include "truth.h"

enum table_kind { TABLE_NONE, TABLE_COMPACT, TABLE_EHABI };

/* An instruction that may turn out to belong to the body: when its function calls, having called before. */
struct table_check {
    usp_addr pc;
    enum uspi_described answer;
    const char *wrong; /* static; NULL: the rule was right */
};

#define TABLE_CHECKS_MAX 64 /* between two calls; of more, these many are compared */

/* A frame on the true stack. */
struct table_frame {
    struct usp_registers of_caller;      /* when it was called */
    const struct image_symbol *function; /* where it is, for tail calls lead to others */
    bool has_called;
    unsigned check_count;
    struct table_check checks[TABLE_CHECKS_MAX]; /* since it was called, or since its last call */
};

struct table {
    const struct machine *machine;
    uint64_t address_mask; /* what is left of a pointer without its signature */
    struct usp_memory memory;
    struct uspi_source source;
    enum table_kind kind;
    struct uspi_compact_table compact;
    struct uspi_ehabi_table ehabi;
    struct table_frame frames[TRUTH_DEPTH];
    unsigned long described, by_cfi, not_described; /* instructions, by the table's answer */
    struct score score;                             /* of those that are described */
};

/* Looks for tables in the image. The object must stay where it is. */
void table_begin(struct table *table, const struct machine *machine, uint64_t address_mask);

/* After each step of the truth; before: NULL for the first. */
void table_step(struct table *table, const struct truth *truth, const struct moment *before, const struct moment *now);

/* Compares what the tables say at this moment; it counts if it turns out to be one of a body. */
void table_check(struct table *table, const struct truth *truth, const struct moment *now);

#endif
