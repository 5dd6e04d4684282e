/* SPDX-License-Identifier: MIT */
/* Helpers of test_arm64 and test_arm64_32: tables of instructions with the expected results of the decoder, and thread
 * states by the offsets in the kernels' headers. Not for other processors. */
#ifndef TESTS_ARCH_ARM64_EXPECT_H
#define TESTS_ARCH_ARM64_EXPECT_H

#include <check.h>

#include "arch/arm64/decode.h"

#define PC UINT64_C(0x100000)
#define SP USPI_ARM64_SP

/* clang-format off */
#define SET(reg, base, value)      {USPI_SET, reg, base, USPI_NO_REGISTER, value}
#define CONSTANT(reg, value)       {USPI_SET, reg, USPI_NO_REGISTER, USPI_NO_REGISTER, (int64_t)(value)}
#define INSERT(reg, at, value)     {USPI_INSERT, reg, USPI_NO_REGISTER, at, value}
#define ADD(reg, base, index)      {USPI_ADD, reg, base, index, 0}
#define SUBTRACT(reg, base, index) {USPI_SUBTRACT, reg, base, index, 0}
#define LOAD(reg, base, value)     {USPI_LOAD, reg, base, USPI_NO_REGISTER, value}
#define LITERAL(reg, value)        {USPI_LITERAL, reg, USPI_NO_REGISTER, USPI_NO_REGISTER, (int64_t)(value)}
#define STORE(reg, base, value)    {USPI_STORE, reg, base, USPI_NO_REGISTER, value}
#define UNKNOWN(base, value)       {USPI_STORE, USPI_NO_REGISTER, base, USPI_NO_REGISTER, value}
/* clang-format on */

#define X(n) (UINT64_C(1) << (n))

struct expectation {
    uint32_t word;
    const char *text; /* llvm-mc's disassembly */
    uint64_t clobbers;
    uint8_t flow;
    uint8_t reg; /* register to which RETURN and JUMP_UNKNOWN go */
    uint8_t start_hint;
    usp_addr target;
    struct uspi_effect effects[USPI_EFFECTS_MAX]; /* up to the first one without an operation */
};

static inline void expect(const struct uspi_backend *backend, const struct expectation *want) {
    uint8_t bytes[4] = {(uint8_t)want->word, (uint8_t)(want->word >> 8), (uint8_t)(want->word >> 16),
                        (uint8_t)(want->word >> 24)};
    struct uspi_instruction i;
    bool to_register = want->flow == USPI_RETURN || want->flow == USPI_JUMP_UNKNOWN;
    memset(&i, 0xa5, sizeof i); /* the decoder must write all fields */
    ck_assert_msg(backend->decode(bytes, sizeof bytes, PC, 0, &i), "%s", want->text);
    ck_assert_msg(i.length == 4, "%s: length %u", want->text, i.length);
    ck_assert_msg(i.flow == want->flow, "%s: flow %u", want->text, i.flow);
    ck_assert_msg(i.target == want->target, "%s: target %#llx", want->text, (unsigned long long)i.target);
    ck_assert_msg(i.target_register == (to_register ? want->reg : USPI_NO_REGISTER), "%s: target register %u",
                  want->text, i.target_register);
    ck_assert_msg(i.clobbers == want->clobbers, "%s: clobbers %#llx", want->text, (unsigned long long)i.clobbers);
    ck_assert_msg(i.start_hint == want->start_hint, "%s: start hint %u", want->text, i.start_hint);
    ck_assert_msg(i.conditional == 0 && i.mode == 0 && i.target_mode == 0, "%s: modes", want->text);

    unsigned count = 0;
    while (count < USPI_EFFECTS_MAX && want->effects[count].op != 0) count++;
    ck_assert_msg(i.effect_count == count, "%s: %u effects", want->text, i.effect_count);
    for (unsigned n = 0; n < count; n++) {
        const struct uspi_effect *is = &i.effects[n], *said = &want->effects[n];
        ck_assert_msg(is->op == said->op && is->reg == said->reg && is->base == said->base &&
                          is->index == said->index && is->value == said->value,
                      "%s: effect %u is {%u, %u, %u, %u, %lld}", want->text, n, is->op, is->reg, is->base, is->index,
                      (long long)is->value);
    }
}

#define EXPECT_ALL(backend, table)                                                                                     \
    for (size_t n_ = 0; n_ < sizeof(table) / sizeof *(table); n_++) expect(backend, &(table)[n_])

static inline const struct uspi_state_layout *find_state(const struct uspi_backend *backend, uint32_t state) {
    for (size_t n = 0; n < backend->state_count; n++) {
        if (backend->states[n].state == state) return &backend->states[n];
    }
    return NULL;
}

/* Returns a register's offset in bytes in a thread state, -1 if the state lacks it. Checks that it lies inside the
 * state. */
static inline int offset_in(const struct uspi_state_layout *layout, unsigned reg) {
    for (unsigned n = 0; n < layout->run_count; n++) {
        const struct uspi_run *run = &layout->runs[n];
        if (reg < run->first || reg - run->first >= run->count) continue;
        unsigned offset = layout->base + run->offset + (reg - run->first) * run->stride;
        ck_assert_uint_le(offset + run->width, layout->size);
        return (int)offset;
    }
    return -1;
}

/* Expects x0, fp, lr, sp, pc, and the flags, 4 bytes wide after pc, at their offsets relative to x0. */
static inline void expect_file_at(const struct uspi_backend *backend, uint32_t state, int x0, unsigned size) {
    const struct uspi_state_layout *layout = find_state(backend, state);
    ck_assert_msg(layout != NULL, "state %#x", state);
    ck_assert_uint_eq(layout->size, size);
    ck_assert_uint_eq(layout->unified, 0);
    for (unsigned n = 0; n < backend->register_count; n++) ck_assert_int_eq(offset_in(layout, n), x0 + (int)n * 8);
    ck_assert_int_eq(offset_in(layout, backend->fp), x0 + 232);
    ck_assert_int_eq(offset_in(layout, backend->lr), x0 + 240);
    ck_assert_int_eq(offset_in(layout, backend->sp), x0 + 248);
    ck_assert_int_eq(offset_in(layout, backend->pc), x0 + 256);
    ck_assert_int_eq(offset_in(layout, USPI_FLAGS_REGISTER), x0 + 264);
}

#endif
