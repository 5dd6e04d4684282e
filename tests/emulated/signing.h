/* SPDX-License-Identifier: MIT */
/* Pointer authentication for an emulator that decodes it and leaves it switched off: pac*, aut*, xpac*, ret and branches
 * with authentication do nothing to the pointer there, so what they would do is done right before them.
 *
 * The signature is a hash, not the processor's cipher: what matters is where it lies and that it is checked. */
#ifndef USP_TESTS_SIGNING_H
#define USP_TESTS_SIGNING_H

#include "machine.h"

struct signing {
    unsigned address_bits; /* signatures lie from here up to bit 54; */
    bool top_byte;         /* and in bits 63:56, where the system does not ignore the top byte */
    uint64_t mask;         /* all these bits */
    unsigned long signed_count, checked_count;
    const char *error; /* static: an authentication failed */
};

void signing_begin(struct signing *signing, unsigned address_bits, bool top_byte);

/* Whether an instruction signs, authenticates or strips a pointer. */
bool signing_concerns(uint32_t instruction);

/* Does what the instruction at now would do to its pointer, in the machine's registers. False when an authentication
 * fails. */
bool signing_apply(struct signing *signing, struct machine *machine, const struct moment *now);

/* The pointer, which must have no signature, as a kernel signs it, without an instruction. key: 0 to 3. */
uint64_t signing_sign(const struct signing *signing, uint64_t pointer, uint64_t modifier, unsigned key);

#endif
