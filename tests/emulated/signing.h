/* SPDX-License-Identifier: MIT */
/* Pointer authentication for an emulator that decodes it but does not execute it. pac*, aut*, xpac*, ret and branches
 * with authentication leave the pointer unchanged there, so their effect is applied right before them.
 *
 * The signature is a hash, not the processor's cipher: only its place in the pointer and its check matter. */
#ifndef TESTS_EMULATED_SIGNING_H
#define TESTS_EMULATED_SIGNING_H

#include "machine.h"

struct signing {
    unsigned address_bits; /* signatures lie from this bit up to bit 54 */
    bool top_byte;         /* also in bits 63:56, if the system does not ignore the top byte */
    uint64_t mask;         /* all these bits */
    unsigned long signed_count, checked_count;
    const char *error; /* static; an authentication failed */
};

void signing_begin(struct signing *signing, unsigned address_bits, bool top_byte);

/* Whether an instruction signs, authenticates or strips a pointer. */
bool signing_concerns(uint32_t instruction);

/* Does to the pointer, in the machine's registers, what the instruction at now would do. Returns false if an
 * authentication fails. */
bool signing_apply(struct signing *signing, struct machine *machine, const struct moment *now);

/* Signs a pointer as a kernel does, without an instruction. The pointer must have no signature. key: 0 to 3. */
uint64_t signing_sign(const struct signing *signing, uint64_t pointer, uint64_t modifier, unsigned key);

#endif
