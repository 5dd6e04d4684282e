/* SPDX-License-Identifier: MIT */
/* An unwind rule: where, at one pc, the caller's registers are. What is made of code and of tables, and carried out on a
 * frame's registers and memory (apply.h) to get the caller's. */
#ifndef USPI_RULE_H
#define USPI_RULE_H

#include "arch/backend.h"

enum uspi_location_kind {
    USPI_LOST = 0,             /* not known */
    USPI_SAME = 1,             /* the register itself */
    USPI_REGISTER = 2,         /* base + offset */
    USPI_MEMORY = 3,           /* [base + offset] + addend */
    USPI_EXPRESSION = 4,       /* [what a DWARF expression yields] */
    USPI_VALUE_EXPRESSION = 5, /* what it yields */
    USPI_OUTERMOST = 6         /* only for the return address: a table says that there is none */
};

/* The base of a location that counts from the CFA. The CFA itself counts from a register. */
#define USPI_BASE_CFA 0xfdu

struct uspi_location {
    uint8_t kind;
    uint8_t base;   /* register, or USPI_BASE_CFA */
    int32_t offset; /* expressions: of their first byte from the rule's `expressions`; not negative */
    int32_t addend; /* expressions: their length in bytes */
};

/* A signal frame's table names every register; arm64 has the most that are neither pc nor sp: x0…x30. */
#define USPI_SAVED_MAX 32

struct uspi_rule {
    struct uspi_location cfa; /* the caller's sp, unless `saved` has one */
    struct uspi_location return_address;
    usp_addr expressions; /* address in the unwind table that the expressions' offsets count from */
    bool signal_frame;    /* the caller was interrupted here, its pc is exact */
    uint8_t saved_count;
    struct {
        uint8_t reg;
        struct uspi_location at;
    } saved[USPI_SAVED_MAX]; /* the callee-saved registers, fp included, that are not SAME; any others that are known */
};

/* Locations, as the makers of rules write them. */
static inline struct uspi_location uspi_in_register(unsigned base, int32_t offset) {
    return (struct uspi_location){.kind = USPI_REGISTER, .base = (uint8_t)base, .offset = offset};
}

static inline struct uspi_location uspi_in_memory(unsigned base, int32_t offset) {
    return (struct uspi_location){.kind = USPI_MEMORY, .base = (uint8_t)base, .offset = offset};
}

/* Adds where a register is; USPI_SAME is left out. */
void uspi_rule_add(struct uspi_rule *rule, unsigned reg, struct uspi_location at);

/* Where the rule says that a callee-saved register is. */
struct uspi_location uspi_rule_of(const struct uspi_rule *rule, unsigned reg);

#endif
