/* SPDX-License-Identifier: MIT */
/* Holds a backend's decoder against the processor: what it says that an instruction does to registers, stack and flow,
 * against what the instruction did. */
#ifndef USP_TESTS_PREDICTION_H
#define USP_TESTS_PREDICTION_H

#include "machine.h"

struct prediction {
    const struct machine *machine;
    uint64_t ignored_bits; /* of a register: what signing changes without the decoder's knowledge */
    bool made;
    struct uspi_instruction instruction;
    struct moment before;
    uint64_t value[USP_REGISTERS_MAX]; /* after it */
    struct {
        usp_addr at;
        uint64_t value;
    } stores[USPI_EFFECTS_MAX];
    unsigned store_count;
};

void prediction_begin(struct prediction *prediction, const struct machine *machine, uint64_t ignored_bits);

/* Decodes the instruction at now and works out what it will have done. NULL, or what is wrong with it (static). */
const char *prediction_make(struct prediction *prediction, const struct moment *now);

/* The moment after it. called: the processor was seen to call. NULL, or what was predicted wrongly (static). */
const char *prediction_check(struct prediction *prediction, const struct moment *now, bool called);

#endif
