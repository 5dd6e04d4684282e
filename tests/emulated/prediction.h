/* SPDX-License-Identifier: MIT */
/* Compares a backend's decoder with the processor: the predicted effects of an instruction on registers, stack and
 * flow, and the real ones. */
#ifndef TESTS_EMULATED_PREDICTION_H
#define TESTS_EMULATED_PREDICTION_H

#include "machine.h"

struct prediction {
    const struct machine *machine;
    uint64_t ignored_bits; /* bits of a register that signing changes without the decoder's knowledge */
    bool made;
    struct uspi_instruction instruction;
    struct moment before;
    uint64_t value[USP_REGISTERS_MAX]; /* registers after the instruction */
    struct {
        usp_addr at;
        uint64_t value;
    } stores[USPI_EFFECTS_MAX];
    unsigned store_count;
};

void prediction_begin(struct prediction *prediction, const struct machine *machine, uint64_t ignored_bits);

/* Decodes the instruction at now and predicts its effects. Returns NULL, or what is wrong with it (static). */
const char *prediction_make(struct prediction *prediction, const struct moment *now);

/* Compares the moment after the instruction with the prediction. called: the processor made a call. Returns NULL, or
 * what was predicted wrongly (static). */
const char *prediction_check(struct prediction *prediction, const struct moment *now, bool called);

#endif
