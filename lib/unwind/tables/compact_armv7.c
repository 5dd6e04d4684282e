/* SPDX-License-Identifier: MIT */
/* Compact unwind of armv7k, the only 32-bit ARM that has it. See compact_encoding.h.
 *
 *     CFA = r7 + 8 + adjust   ra = [r7 + 4]   r7 = [r7]   the n-th saved register, n = 1 ...: [r7 - 4n]
 *
 *          +----------------+ <- CFA
 *          | r1, r2, r3     |   adjust: 0 to 3 words of arguments that the function has pushed itself
 *          | lr             |
 *    r7 -> | caller's r7    |
 *          | r6, r5, r4     |   the saved ones of these, from high to low addresses,
 *          | r12, r11 .. r8 |   then the saved ones of these,
 *          | d8 ...         |   then vector registers
 *
 * Source of the order: LLVM lib/Target/ARM/MCTargetDesc/ARMAsmBackend.cpp. */
#include "lib/unwind/tables/compact_encoding.h"

enum mode { FRAME = 1, FRAME_WITH_VECTORS = 2, CFI = 4 };

enum layout { SLOT = 4, R7 = 7 };

#define ADJUST(encoding) ((int32_t)((encoding) >> 22 & 3) * SLOT)

/* The registers from high to low addresses, with their bits in the encoding. */
static const struct {
    uint8_t bit, reg;
} saved[] = {{2, 6}, {1, 5}, {0, 4}, {7, 12}, {6, 11}, {5, 10}, {4, 9}, {3, 8}};

enum uspi_described uspi_compact_armv7(const struct uspi_compact_table *table, uint32_t encoding,
                                       struct uspi_table_entry *entry, struct uspi_error *error) {
    struct uspi_rule *rule = &entry->rule;
    const unsigned mode = USPI_COMPACT_MODE(encoding);
    if (mode == CFI) return uspi_compact_by_cfi(encoding, entry);
    if (mode != FRAME && mode != FRAME_WITH_VECTORS) {
        return uspi_compact_corrupt(table, encoding, "an unknown mode", error);
    }
    rule->cfa = uspi_in_register(R7, 2 * SLOT + ADJUST(encoding));
    rule->return_address = uspi_in_memory(R7, SLOT);
    uspi_rule_add(rule, R7, uspi_in_memory(R7, 0));
    int32_t at = 0;
    for (unsigned i = 0; i < sizeof saved / sizeof saved[0]; i++) {
        if ((encoding >> saved[i].bit & 1) == 0) continue;
        at -= SLOT;
        uspi_rule_add(rule, saved[i].reg, uspi_in_memory(R7, at));
    }
    return USPI_DESCRIBED;
}
