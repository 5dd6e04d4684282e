/* SPDX-License-Identifier: MIT */
/* An unwind rule: where, at one pc, the caller's registers are. What a reader that understands code or tables produces,
 * and what is applied to a frame's registers and memory to get the caller's. Pure arithmetic; reading and deciding is
 * elsewhere. */
#ifndef USPI_RULE_H
#define USPI_RULE_H

#include "arch/backend.h"

enum uspi_location_kind {
    USPI_LOST = 0,     /* not known */
    USPI_SAME = 1,     /* the register itself */
    USPI_REGISTER = 2, /* base + offset */
    USPI_MEMORY = 3    /* [base + offset] + addend */
};

struct uspi_location {
    uint8_t kind;
    uint8_t base; /* register */
    int32_t offset;
    int32_t addend;
};

/* arm64 has the most: x19…x29. */
#define USPI_SAVED_MAX 12

struct uspi_rule {
    struct uspi_location cfa; /* the caller's sp */
    struct uspi_location return_address;
    uint8_t saved_count;
    struct {
        uint8_t reg;
        struct uspi_location at;
    } saved[USPI_SAVED_MAX]; /* callee-saved registers, fp included, that are not SAME */
};

/* Adds where a callee-saved register is; USPI_SAME is left out. */
void uspi_rule_add(struct uspi_rule *rule, unsigned reg, struct uspi_location at);

/* Where the rule says that a callee-saved register is. */
struct uspi_location uspi_rule_of(const struct uspi_rule *rule, unsigned reg);

#endif
