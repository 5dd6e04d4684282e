/* SPDX-License-Identifier: MIT */
/* Compact unwind of arm64 and arm64_32, whose stacks have the same slots of 8 bytes. See compact_encoding.h.
 *
 *     frame      CFA = fp + 16     ra = [CFA - 8]   fp = [CFA - 16]   pair k: [CFA - 24 - 16k], [CFA - 32 - 16k]
 *     frameless  CFA = sp + size   ra = lr                            pair k: [CFA -  8 - 16k], [CFA - 16 - 16k]
 *
 *            frame                            frameless
 *          +--------------+ <- CFA          +--------------+ <- CFA = sp + size
 *          | lr           |                 | x19          |
 *    fp -> | caller's fp  |                 | x20          |
 *          | x19          |                 | x21 ...      |
 *          | x20          |                 |              |
 *          | x21 ...      |                 | locals       |
 *          | d8, d9 ...   |                 +--------------+ <- sp
 *
 * The saved pairs of registers have no gaps between them and are in the order of their numbers. Pairs of vector
 * registers are last. */
#include "lib/unwind/tables/compact_encoding.h"

enum mode { FRAMELESS = 2, CFI = 3, FRAME = 4 };

enum pairs { FIRST_SAVED = 19, PAIRS = 5, PAIRS_MASK = 0x1f, SLOT = 8 };

/* Stack size of a frameless function in bytes. The encoding has it in units of 16 bytes. */
#define STACK_SIZE(encoding) ((int32_t)((encoding) >> 12 & 0xfff) * 16)

/* Returns the size of the saved registers in bytes. Bits 8 to 11 are pairs of vector registers. */
static int32_t saved_size(uint32_t encoding) {
    int32_t pairs = 0;
    for (uint32_t bits = encoding & 0xf1f; bits != 0; bits &= bits - 1) pairs++;
    return pairs * 2 * SLOT;
}

/* `at` is the offset from `base` of the first pair's upper register. */
static void add_pairs(struct uspi_rule *rule, uint32_t encoding, unsigned base, int32_t at) {
    for (unsigned pair = 0; pair < PAIRS; pair++) {
        if ((encoding >> pair & 1) == 0) continue;
        uspi_rule_add(rule, FIRST_SAVED + 2 * pair, uspi_in_memory(base, at));
        uspi_rule_add(rule, FIRST_SAVED + 2 * pair + 1, uspi_in_memory(base, at - SLOT));
        at -= 2 * SLOT;
    }
}

enum uspi_described uspi_compact_arm64(const struct uspi_compact_table *table, uint32_t encoding,
                                       struct uspi_table_entry *entry, struct uspi_error *error) {
    const struct uspi_backend *b = table->backend;
    struct uspi_rule *rule = &entry->rule;
    switch (USPI_COMPACT_MODE(encoding)) {
    case CFI: return uspi_compact_by_cfi(encoding, entry);
    case FRAME:
        rule->cfa = uspi_in_register(b->fp, 2 * SLOT);
        rule->return_address = uspi_in_memory(b->fp, SLOT);
        uspi_rule_add(rule, b->fp, uspi_in_memory(b->fp, 0));
        add_pairs(rule, encoding, b->fp, -SLOT);
        return USPI_DESCRIBED;
    case FRAMELESS:
        if (saved_size(encoding) > STACK_SIZE(encoding)) {
            return uspi_compact_corrupt(table, encoding, "more registers than its frame can hold", error);
        }
        rule->cfa = uspi_in_register(b->sp, STACK_SIZE(encoding));
        rule->return_address = uspi_in_register(b->lr, 0);
        add_pairs(rule, encoding, b->sp, STACK_SIZE(encoding) - SLOT);
        return USPI_DESCRIBED;
    default: return uspi_compact_corrupt(table, encoding, "an unknown mode", error);
    }
}
