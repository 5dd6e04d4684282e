/* SPDX-License-Identifier: MIT */
/* Prints what the armv7 backend decodes, one instruction a line, for decode_diff_armv7.py to compare.
 * Input (stdin), one run of code a line: "a" or "t" (ARM, Thumb), the address and the bytes, both in hex, e.g.
 *   t 1f4c 80b56f46
 * Output: address length flow condition target clobbers, address, target and clobbers in hex; length 0 if
 * the bytes could not be decoded (the next line is one instruction further). IT state flows through a run. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "arch/backend.h"

static const char *const conditions[] = {"-",  "eq", "ne", "cs", "cc", "mi", "pl", "vs",
                                         "vc", "hi", "ls", "ge", "lt", "gt", "le"};
static const char *const flows[] = {"next", "jump", "branch", "call", "jump-unknown", "jump-table", "return", "end"};

static void dump(const uint8_t *bytes, size_t n, usp_addr pc, uint32_t first_mode) {
    uint32_t mode = first_mode;
    size_t unit = first_mode ? 2 : 4;
    for (size_t at = 0; at + unit <= n;) {
        struct uspi_instruction i;
        if (!uspi_armv7.decode(bytes + at, n - at, pc + at, mode, &i)) {
            printf("%" PRIx64 " 0 - - 0 0\n", pc + at);
            bool wide = unit == 2 && bytes[at + 1] >> 3 >= 29; /* half of a 32-bit Thumb instruction */
            mode = first_mode;
            at += wide ? 4 : unit;
            continue;
        }
        printf("%" PRIx64 " %u %s %s %" PRIx64 " %" PRIx64 "\n", pc + at, i.length, flows[i.flow],
               conditions[i.conditional], i.target, i.clobbers);
        mode = i.mode;
        at += i.length;
    }
}

static unsigned digit(char c) { return (unsigned)(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10); }

int main(void) {
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, stdin) > 0) {
        char *end;
        usp_addr pc = strtoull(line + 1, &end, 16);
        while (*end == ' ') end++;
        size_t n = strspn(end, "0123456789abcdefABCDEF") / 2;
        uint8_t *bytes = malloc(n + 1);
        if (!bytes) return 1;
        for (size_t k = 0; k < n; k++) bytes[k] = (uint8_t)(digit(end[2 * k]) << 4 | digit(end[2 * k + 1]));
        dump(bytes, n, pc, line[0] == 't' ? USPI_MODE_THUMB : 0);
        free(bytes);
    }
    free(line);
    return 0;
}
