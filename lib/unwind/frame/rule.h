/* SPDX-License-Identifier: MIT */
/* An unwind rule: how to find the caller's registers at one pc. Rules come from code and from tables; apply.h applies
 * them to a frame's registers and memory. */
#ifndef USPI_UNWIND_FRAME_RULE_H
#define USPI_UNWIND_FRAME_RULE_H

#include "arch/backend.h"

enum uspi_location_kind {
    USPI_LOST = 0,             /* not known */
    USPI_SAME = 1,             /* the register is unchanged */
    USPI_REGISTER = 2,         /* base + offset */
    USPI_MEMORY = 3,           /* [base + offset] + addend */
    USPI_EXPRESSION = 4,       /* memory at the address that a DWARF expression computes */
    USPI_VALUE_EXPRESSION = 5, /* the value that a DWARF expression computes */
    USPI_OUTERMOST = 6,        /* return address only: a table states that there is none */
    USPI_GIVEN = 7             /* the CFA only: it is the rule's `expressions`. Of one frame, so it is not cached */
};

/* The base of a location that is relative to the CFA. The CFA itself is relative to a register. */
#define USPI_BASE_CFA 0xfdu

struct uspi_location {
    uint8_t kind;
    uint8_t base;   /* register, or USPI_BASE_CFA */
    int32_t offset; /* expressions: offset of the first byte from the rule's `expressions`; not negative */
    int32_t addend; /* expressions: length in bytes */
};

/* A signal frame's table can name every register. arm64 has the most besides pc and sp: x0…x30. */
#define USPI_SAVED_MAX 32

struct uspi_rule {
    struct uspi_location cfa; /* the caller's sp, unless `saved` contains sp */
    struct uspi_location return_address;
    usp_addr expressions; /* address in the unwind table that the offsets of expressions count from; or the CFA */
    bool signal_frame;    /* the caller was interrupted here, so its pc is exact */
    uint8_t saved_count;
    struct {
        uint8_t reg;
        struct uspi_location at;
        /* The callee-saved registers, including fp, that are not SAME, and other registers with a known location. */
    } saved[USPI_SAVED_MAX];
};

/* Make locations. */
static inline struct uspi_location uspi_in_register(unsigned base, int32_t offset) {
    return (struct uspi_location){.kind = USPI_REGISTER, .base = (uint8_t)base, .offset = offset};
}

static inline struct uspi_location uspi_in_memory(unsigned base, int32_t offset) {
    return (struct uspi_location){.kind = USPI_MEMORY, .base = (uint8_t)base, .offset = offset};
}

/* Adds the location of a register; USPI_SAME is left out. */
void uspi_rule_add(struct uspi_rule *rule, unsigned reg, struct uspi_location at);

/* Returns the location of a callee-saved register. */
struct uspi_location uspi_rule_of(const struct uspi_rule *rule, unsigned reg);

#endif
