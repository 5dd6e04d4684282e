/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as a section __unwind_info, of each processor. An entry that is found must contain the address
 * looked up, and its rule must stay inside the frame. Seeds: tests/fuzz/unwind_table_seeds.c.
 * Input: the processor, 1 byte; size of the text, 1 byte; the text; the section. */
#include "lib/unwind/tables/compact.h"

#include <stdlib.h>

#include "lib/object/macho_unwind_info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define IMAGE UINT64_C(0x100000000)

static void check_location(const struct uspi_rule *rule, struct uspi_location at) {
    if (at.kind != USPI_MEMORY || at.base != rule->cfa.base || at.addend != 0 || at.offset >= rule->cfa.offset) abort();
}

static void check_rule(const struct uspi_backend *b, const struct uspi_rule *rule) {
    uint64_t seen = 0;
    if (rule->cfa.kind != USPI_REGISTER || (rule->cfa.base != b->sp && rule->cfa.base != b->fp)) abort();
    if (rule->return_address.kind == USPI_REGISTER) {
        if (rule->return_address.base != b->lr) abort();
    } else {
        check_location(rule, rule->return_address);
    }
    for (unsigned i = 0; i < rule->saved_count; i++) {
        check_location(rule, rule->saved[i].at);
        if ((seen >> rule->saved[i].reg & 1) != 0 && rule->cfa.base == b->sp) abort();
        seen |= UINT64_C(1) << rule->saved[i].reg;
    }
}

static void look_up(const struct uspi_compact_table *table, usp_addr pc) {
    struct uspi_table_entry entry;
    struct uspi_error error;
    enum uspi_described answer = uspi_compact_find(table, pc, &entry, &error);
    if (answer == USPI_CANNOT_UNWIND) abort();
    if (answer == USPI_DESCRIBED) check_rule(table->backend, &entry.rule);
    if ((answer == USPI_DESCRIBED || answer == USPI_DESCRIBED_BY_CFI) && (pc < entry.start || pc >= entry.end)) abort();
    if (uspi_compact_find(table, pc, &entry, NULL) != answer) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2 || data[1] > size - 2) return 0;
    const struct uspi_source source = {.name = "file", .base = data};
    const struct uspi_compact_table table = {.backend = uspi_backend_find(USP_ARCH_ARM64 + data[0] % 5u),
                                             .image = IMAGE,
                                             .text = {&source, 2, data[1]},
                                             .section = {&source, 2u + data[1], size - 2 - data[1]}};
    struct uspi_unwind_info info;
    /* Any number in the section may be the start of a function. */
    for (uint64_t at = 0; at + 4 <= table.section.size; at += 4) {
        const usp_addr pc = IMAGE + uspi_le32(data + table.section.from + at);
        for (unsigned i = 0; i < 3; i++) look_up(&table, pc + i - 1);
        look_up(&table, IMAGE + (pc & 0xffffff));
    }
    if (uspi_unwind_info(table.section, &info, NULL) != USP_OK) return 0;
    for (uint64_t at = 0; at + 4 <= table.section.size; at += 4) {
        struct uspi_table_entry entry = {.start = IMAGE};
        if (uspi_compact_decode(&table, uspi_le32(data + table.section.from + at), &entry, NULL) == USPI_DESCRIBED) {
            check_rule(table.backend, &entry.rule);
        }
    }
    return 0;
}
