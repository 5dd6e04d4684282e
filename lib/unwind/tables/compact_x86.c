/* SPDX-License-Identifier: MIT */
/* Compact unwind of x86_64 (w = 8) and i386 (w = 4). See compact_encoding.h.
 *
 *     frame      CFA = fp + 2w     ra = [CFA - w]   fp = [CFA - 2w]   slot i of 5: [fp - w * (offset - i)]
 *     frameless  CFA = sp + size   ra = [CFA - w]                     register i of n: [CFA - w * (n + 1 - i)]
 *
 *           frame                            frameless
 *          +----------------+ <- CFA        +----------------+ <- CFA = sp + size
 *          | return address |               | return address |
 *    fp -> | caller's fp    |               | register n - 1 |
 *          |                |               | ...            |
 *          | slot 4         |               | register 0     |
 *          | ...            |               |                |
 *          | slot 0         |               | locals         |
 *          |                |               +----------------+ <- sp
 *
 * The encoding contains the stack size of a frameless function in words. If the size is indirect, it is the number that
 * an instruction of the prologue subtracts from sp, plus some words. */
#include "lib/unwind/tables/compact_encoding.h"

enum mode { FRAME = 1, IMMEDIATE = 2, INDIRECT = 3, CFI = 4 };

enum limits { FRAME_SLOTS = 5, REGISTERS = 6 };

/* Fields of an encoding. FRAME_OFFSET and STACK_SIZE are the same bits in different modes. */
#define FRAME_OFFSET(encoding)     ((int32_t)((encoding) >> 16 & 0xff))
#define STACK_SIZE(encoding)       ((encoding) >> 16 & 0xff)
#define STACK_ADJUST(encoding)     ((encoding) >> 13 & 7)
#define REGISTER_COUNT(encoding)   ((encoding) >> 10 & 7)
#define PERMUTATION(encoding)      ((encoding) & 0x3ff)
#define SLOT_REGISTER(encoding, i) ((encoding) >> 3 * (i) & 7)

/* DWARF numbers of the registers that encodings number from 1; 0 is not a register. */
static const uint8_t numbers_64[REGISTERS + 1] = {0, 3, 12, 13, 14, 15, 6}; /* rbx r12 r13 r14 r15 rbp */
static const uint8_t numbers_32[REGISTERS + 1] = {0, 3, 1, 2, 7, 6, 5};     /* ebx ecx edx edi esi ebp */

static const uint8_t *numbers_of(const struct uspi_compact_table *table) {
    return table->backend->arch == USP_ARCH_X86_64 ? numbers_64 : numbers_32;
}

static enum uspi_described decode_frame(const struct uspi_compact_table *table, uint32_t encoding,
                                        struct uspi_rule *rule, struct uspi_error *error) {
    const struct uspi_backend *b = table->backend;
    const int32_t w = b->word;
    rule->cfa = uspi_in_register(b->fp, 2 * w);
    rule->return_address = uspi_in_memory(b->fp, w);
    uspi_rule_add(rule, b->fp, uspi_in_memory(b->fp, 0));
    for (int32_t i = 0; i < FRAME_SLOTS; i++) {
        const unsigned number = SLOT_REGISTER(encoding, i);
        if (number == 0) continue;
        /* fp is excluded, because the frame record contains it. */
        if (number >= REGISTERS) return uspi_compact_corrupt(table, encoding, "a register that cannot be there", error);
        if (FRAME_OFFSET(encoding) <= i) return uspi_compact_corrupt(table, encoding, "a slot above the frame", error);
        uspi_rule_add(rule, numbers_of(table)[number], uspi_in_memory(b->fp, -w * (FRAME_OFFSET(encoding) - i)));
    }
    return USPI_DESCRIBED;
}

/* Decodes the saved registers and their order from one number in mixed radix. The first digit selects one of 6
 * registers, the second one of the remaining 5, and so on. */
static bool decode_permutation(uint32_t permutation, unsigned count, uint8_t registers[REGISTERS]) {
    uint8_t left[REGISTERS] = {1, 2, 3, 4, 5, 6}, digits[REGISTERS];
    for (unsigned i = count; i-- > 0;) {
        digits[i] = (uint8_t)(permutation % (REGISTERS - i));
        permutation /= REGISTERS - i;
    }
    for (unsigned i = 0; i < count; i++) {
        registers[i] = left[digits[i]];
        for (unsigned j = digits[i]; j + 1 < REGISTERS; j++) left[j] = left[j + 1];
    }
    return permutation == 0;
}

/* Reads the number that the prologue subtracts from sp. It is in the code, STACK_SIZE bytes after the function's
 * start. */
static bool read_indirect_size(const struct uspi_compact_table *table, uint32_t encoding, usp_addr start,
                               uint64_t *size, struct uspi_error *error) {
    if (uspi_bytes_load(table->text, start - table->image + STACK_SIZE(encoding), 4, size, "a function's stack size",
                        error) != USP_OK) {
        return false;
    }
    *size += (uint64_t)STACK_ADJUST(encoding) * table->backend->word;
    return true;
}

static enum uspi_described decode_frameless(const struct uspi_compact_table *table, uint32_t encoding,
                                            struct uspi_table_entry *entry, struct uspi_error *error) {
    const struct uspi_backend *b = table->backend;
    const unsigned count = REGISTER_COUNT(encoding);
    const int32_t w = b->word;
    uint8_t registers[REGISTERS];
    uint64_t size = (uint64_t)STACK_SIZE(encoding) * b->word;
    if (count > REGISTERS || !decode_permutation(PERMUTATION(encoding), count, registers)) {
        return uspi_compact_corrupt(table, encoding, "registers that no permutation gives", error);
    }
    if (USPI_COMPACT_MODE(encoding) == INDIRECT && !read_indirect_size(table, encoding, entry->start, &size, error)) {
        return USPI_TABLE_CORRUPT;
    }
    if (size > INT32_MAX || size % b->word != 0 || size / b->word < count + 1u) {
        return uspi_compact_corrupt(table, encoding, "a frame of impossible size", error);
    }
    const int32_t cfa = (int32_t)size;
    entry->rule.cfa = uspi_in_register(b->sp, cfa);
    entry->rule.return_address = uspi_in_memory(b->sp, cfa - w);
    for (unsigned i = 0; i < count; i++) {
        uspi_rule_add(&entry->rule, numbers_of(table)[registers[i]],
                      uspi_in_memory(b->sp, cfa - w * (int32_t)(count + 1 - i)));
    }
    return USPI_DESCRIBED;
}

enum uspi_described uspi_compact_x86(const struct uspi_compact_table *table, uint32_t encoding,
                                     struct uspi_table_entry *entry, struct uspi_error *error) {
    switch (USPI_COMPACT_MODE(encoding)) {
    case FRAME: return decode_frame(table, encoding, &entry->rule, error);
    case IMMEDIATE:
    case INDIRECT: return decode_frameless(table, encoding, entry, error);
    case CFI: return uspi_compact_by_cfi(encoding, entry);
    default: return uspi_compact_corrupt(table, encoding, "an unknown mode", error);
    }
}
