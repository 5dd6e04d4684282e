/* SPDX-License-Identifier: MIT */
/* Prints how the x86 decoders decode instructions; tests/arch/decode-diff-x86.py compares it with llvm-objdump. Not a
 * test by itself.
 *   decode_dump_x86 x86_64|i386
 * Input lines: address and bytes in hexadecimal, the instruction's and some after it.
 * Output lines: length, flow, target, clobbers; length 0: not an instruction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/backend.h"

static const char *const flow_names[] = {"next",         "jump",       "branch", "call",
                                         "jump-unknown", "jump-table", "return", "end"};

int main(int argc, char **argv) {
    const struct uspi_backend *backend = argc == 2 && strcmp(argv[1], "i386") == 0 ? &uspi_i386 : &uspi_x86_64;
    char line[256];
    while (fgets(line, sizeof line, stdin) != NULL) {
        char *at;
        uint8_t bytes[64];
        size_t n = 0;
        usp_addr pc = strtoull(line, &at, 16);
        unsigned byte;
        for (at++; n < sizeof bytes && sscanf(at, "%2x", &byte) == 1; at += 2) bytes[n++] = (uint8_t)byte;
        struct uspi_instruction i;
        if (backend->decode(bytes, n, pc, 0, &i)) {
            printf("%u %s %llx %llx\n", i.length, flow_names[i.flow], (unsigned long long)i.target,
                   (unsigned long long)i.clobbers);
        } else {
            puts("0 - 0 0");
        }
    }
    return 0;
}
