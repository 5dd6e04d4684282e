/* SPDX-License-Identifier: MIT */
/* Prints how the decoders of arm64 and arm64_32 decode instruction words; arm64-decode-diff.py compares it with a
 * disassembler. Not a test by itself.
 *   decode_dump_arm64 [arm64_32] < words
 * A line in: address and word in hexadecimal. A line out: address, length, flow (enum uspi_flow), target, target
 * register and the mask of all registers that are written; or address and 0 if the word could not be decoded. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "arch/arm64/decode.h"

static uint64_t written(const struct uspi_instruction *i) {
    uint64_t mask = i->clobbers;
    for (unsigned n = 0; n < i->effect_count; n++) {
        if (i->effects[n].op != USPI_STORE) mask |= UINT64_C(1) << i->effects[n].reg;
    }
    return mask;
}

int main(int argc, char **argv) {
    bool ilp32 = argc > 1 && strcmp(argv[1], "arm64_32") == 0;
    uint64_t address;
    uint32_t word;
    while (scanf("%" SCNx64 " %" SCNx32, &address, &word) == 2) {
        struct uspi_instruction i;
        uint8_t bytes[4] = {(uint8_t)word, (uint8_t)(word >> 8), (uint8_t)(word >> 16), (uint8_t)(word >> 24)};
        bool ok = (ilp32 ? uspi_arm64_32_decode : uspi_arm64_decode)(bytes, sizeof bytes, address, 0, &i);
        if (ok)
            printf("%" PRIx64 " %u %u %" PRIx64 " %u %" PRIx64 "\n", address, i.length, i.flow, i.target,
                   i.target_register, written(&i));
        else
            printf("%" PRIx64 " 0\n", address);
    }
    return 0;
}
