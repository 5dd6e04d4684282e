/* SPDX-License-Identifier: MIT */
/* libFuzzer: any bytes as ARM's exception tables, and as one program of unwind instructions. Seeds:
 * tests/fuzz/unwind_table_seeds.c.
 * Input: the index's offset in the image and its size, in words, 1 byte each; the image. */
#include "lib/unwind/tables/ehabi.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { HEADER = 2, WORD = 4 };
#define BASE 0x00100000u

static void check_location(struct uspi_location at) {
    if ((at.kind != USPI_MEMORY && at.kind != USPI_REGISTER) || at.base > 15) abort();
}

static void check_rule(const struct uspi_rule *rule) {
    uint64_t seen = 0;
    check_location(rule->cfa);
    check_location(rule->return_address);
    for (unsigned i = 0; i < rule->saved_count; i++) {
        check_location(rule->saved[i].at);
        if ((seen >> rule->saved[i].reg & 1) != 0 || rule->saved[i].reg < 4 || rule->saved[i].reg > 11) abort();
        seen |= UINT64_C(1) << rule->saved[i].reg;
    }
}

static void look_up(const struct uspi_ehabi_table *table, usp_addr pc) {
    struct uspi_table_entry entry;
    struct uspi_error error;
    enum uspi_described answer = uspi_ehabi_find(table, pc, &entry, &error);
    if (answer == USPI_DESCRIBED_BY_CFI) abort();
    if (answer == USPI_DESCRIBED) check_rule(&entry.rule);
    if ((answer == USPI_DESCRIBED || answer == USPI_CANNOT_UNWIND) &&
        (pc < entry.start || (entry.end != 0 && pc >= entry.end))) {
        abort();
    }
    if (uspi_ehabi_find(table, pc, &entry, NULL) != answer) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < HEADER) return 0;
    const struct uspi_source source = {.name = "file", .base = data};
    const struct uspi_ehabi_table table = {.image = {&source, HEADER, size - HEADER},
                                           .base = BASE,
                                           .index = BASE + (usp_addr)data[0] * WORD,
                                           .index_size = (uint64_t)data[1] * WORD};
    struct uspi_rule rule;
    if (uspi_ehabi_run(table.image, &rule, NULL) == USPI_DESCRIBED) check_rule(&rule);
    for (uint64_t at = 0; at + WORD <= table.index_size && at + WORD <= table.image.size; at += WORD) {
        const uint32_t word = uspi_le32(data + HEADER + at);
        const usp_addr pc = (uint32_t)(BASE + at + (uint64_t)uspi_sign_extend(word & 0x7fffffff, 31));
        for (unsigned i = 0; i < 3; i++) look_up(&table, pc + i - 1);
    }
    look_up(&table, 0);
    look_up(&table, UINT32_MAX);
    return 0;
}
