/* SPDX-License-Identifier: MIT */
/* Tables of instructions with the expected results of a backend's decoder, and the loop that compares them.
 * Instructions are written as hexadecimal text with their disassembly beside it. */
#ifndef TESTS_ARCH_DECODE_CASES_H
#define TESTS_ARCH_DECODE_CASES_H

#include <stdio.h>
#include <stdlib.h>

#include <check.h>

#include "arch/backend.h"

/* The address of the decoded instructions. */
#define CASE_PC UINT64_C(0x401000)

struct decode_case {
    const char *bytes;
    const char *text;               /* for the message of a failure */
    struct uspi_effect effects[10]; /* in order; op 0 ends the list */
    uint64_t clobbers;
    unsigned flow; /* enum uspi_flow */
    usp_addr target;
    unsigned target_register; /* 0: no register */
    unsigned start_hint;
};

#define SET(reg, base, by)           {USPI_SET, reg, base, USPI_NO_REGISTER, by}
#define CONSTANT(reg, value)         {USPI_SET, reg, USPI_NO_REGISTER, USPI_NO_REGISTER, value}
#define ALIGN(reg, to)               {USPI_ALIGN, reg, reg, USPI_NO_REGISTER, to}
#define GLOBAL(reg, address)         {USPI_LOAD, reg, USPI_NO_REGISTER, USPI_NO_REGISTER, address}
#define SUM(reg, base, index)        {USPI_ADD, reg, base, index, 0}
#define DIFFERENCE(reg, base, index) {USPI_SUBTRACT, reg, base, index, 0}
#define LOAD(reg, base, at)          {USPI_LOAD, reg, base, USPI_NO_REGISTER, at}
#define STORE(reg, base, at)         {USPI_STORE, reg, base, USPI_NO_REGISTER, at}
#define STORE_UNKNOWN(base, at)      STORE(USPI_NO_REGISTER, base, at)
#define BIT(reg)                     (UINT64_C(1) << (reg))

/* Converts hexadecimal text with or without spaces to bytes. Returns the number of bytes. */
static inline size_t bytes_of(const char *text, uint8_t *bytes, size_t capacity) {
    size_t n = 0;
    unsigned byte;
    for (int used; n < capacity && sscanf(text, "%2x%n", &byte, &used) == 1; text += used) bytes[n++] = (uint8_t)byte;
    return n;
}

static inline void check_case(const struct uspi_backend *backend, const struct decode_case *c) {
    uint8_t bytes[32];
    struct uspi_instruction i;
    size_t n = bytes_of(c->bytes, bytes, sizeof bytes);
    const char *text = c->text;
    memset(bytes + n, 0xcc, sizeof bytes - n);
    memset(&i, 0xa5, sizeof i);
    ck_assert_msg(backend->decode(bytes, sizeof bytes, CASE_PC, 0, &i), "%s: no instruction", text);
    ck_assert_msg(i.length == n, "%s: length %u", text, i.length);
    ck_assert_msg(i.flow == c->flow, "%s: flow %u", text, i.flow);
    ck_assert_msg(i.target == c->target, "%s: target %llx", text, (unsigned long long)i.target);
    unsigned target_register = c->target_register != 0 ? c->target_register : USPI_NO_REGISTER;
    ck_assert_msg(i.target_register == target_register, "%s: target register %u", text, i.target_register);
    ck_assert_msg(i.clobbers == c->clobbers, "%s: clobbers %llx", text, (unsigned long long)i.clobbers);
    ck_assert_msg(i.start_hint == c->start_hint, "%s: start hint %u", text, i.start_hint);
    ck_assert_msg(i.conditional == 0 && i.mode == 0 && i.target_mode == 0, "%s: has a mode", text);
    unsigned count = 0;
    while (count < sizeof c->effects / sizeof c->effects[0] && c->effects[count].op != 0) count++;
    ck_assert_msg(i.effect_count == count, "%s: %u effects", text, i.effect_count);
    for (unsigned k = 0; k < count; k++) {
        const struct uspi_effect *is = &i.effects[k], *expected = &c->effects[k];
        ck_assert_msg(is->op == expected->op && is->reg == expected->reg && is->base == expected->base &&
                          is->index == expected->index && is->value == expected->value,
                      "%s: effect %u is op %u, reg %u, base %u, index %u, value %lld", text, k, is->op, is->reg,
                      is->base, is->index, (long long)is->value);
    }
    for (size_t cut = 0; cut < n; cut++) {
        ck_assert_msg(!backend->decode(bytes, cut, CASE_PC, 0, &i), "%s: decoded from %zu bytes", text, cut);
    }
}

#define CHECK_CASES(backend, cases)                                                                                    \
    for (size_t k = 0; k < sizeof(cases) / sizeof((cases)[0]); k++) check_case(backend, &(cases)[k])

/* Expects the bytes not to decode as an instruction. */
static inline void check_refused(const struct uspi_backend *backend, const char *text) {
    uint8_t bytes[32];
    struct uspi_instruction i;
    size_t n = bytes_of(text, bytes, sizeof bytes);
    memset(bytes + n, 0, sizeof bytes - n);
    ck_assert_msg(!backend->decode(bytes, sizeof bytes, CASE_PC, 0, &i), "%s: decoded", text);
}

struct call_case {
    const char *before; /* the bytes that end at the return address, CASE_PC */
    const char *text;
    bool is_call;
    usp_addr target;
};

static inline void check_call(const struct uspi_backend *backend, const struct call_case *c) {
    uint8_t bytes[32];
    usp_addr target = 1;
    size_t n = bytes_of(c->before, bytes, sizeof bytes);
    bool is = backend->follows_call(bytes, n, CASE_PC, false, &target);
    ck_assert_msg(is == c->is_call, "%s", c->text);
    if (is) ck_assert_msg(target == c->target, "%s: target %llx", c->text, (unsigned long long)target);
}

/* Whether a decoded instruction keeps to the contract's bounds, given n bytes. */
static inline bool keeps_bounds(const struct uspi_backend *backend, const struct uspi_instruction *i, size_t n) {
    unsigned registers = backend->register_count;
    if (i->length == 0 || i->length > n || i->length > backend->instruction_max || i->flow > USPI_END) return false;
    if (i->effect_count >= USPI_EFFECTS_MAX || i->clobbers >> registers != 0) return false;
    if ((i->target & ~backend->word_mask) != 0) return false;
    for (unsigned k = 0; k < i->effect_count; k++) {
        const struct uspi_effect *e = &i->effects[k];
        bool unknown_value = e->op == USPI_STORE && e->reg == USPI_NO_REGISTER;
        bool constant = (e->op == USPI_SET || e->op == USPI_INSERT || e->op == USPI_LITERAL || e->op == USPI_LOAD) &&
                        e->base == USPI_NO_REGISTER;
        if (e->op < USPI_SET || e->op > USPI_STORE) return false;
        if (e->reg >= registers && !unknown_value) return false;
        if (e->base >= registers && !constant) return false;
        if ((e->op == USPI_ADD || e->op == USPI_SUBTRACT) && e->index >= registers) return false;
    }
    return true;
}

/* Decodes random bytes at every length up to the longest instruction, each in a block of its own, so that a memory
 * checker sees a read past the end. */
static inline void check_random_bytes(const struct uspi_backend *backend, unsigned count) {
    uint64_t state = 0x9e3779b97f4a7c15;
    unsigned decoded = 0, out_of_bounds = 0;
    for (unsigned k = 0; k < count; k++) {
        struct uspi_instruction i;
        size_t n = k % (backend->instruction_max + 3u);
        uint8_t *bytes = malloc(n + (n == 0));
        if (bytes == NULL) ck_abort_msg("no memory");
        for (size_t at = 0; at < n; at++) {
            state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
            bytes[at] = (uint8_t)(state >> 56);
        }
        if (backend->decode(bytes, n, CASE_PC, 0, &i)) {
            decoded++;
            out_of_bounds += !keeps_bounds(backend, &i, n);
        }
        free(bytes);
    }
    ck_assert_uint_gt(decoded, count / 4);
    ck_assert_uint_eq(out_of_bounds, 0);
}

/* A register and the offset at which a thread state holds it. */
struct state_case {
    unsigned reg; /* USPI_FLAGS_REGISTER: the flags */
    unsigned offset;
};

static inline const struct uspi_state_layout *find_state(const struct uspi_backend *backend, uint32_t state) {
    for (size_t k = 0; k < backend->state_count; k++) {
        if (backend->states[k].state == state) return &backend->states[k];
    }
    ck_abort_msg("%s: no state %x", backend->name, state);
}

/* Expects every register of the backend once in the layout, inside its size, and those of the list at their offsets. On
 * x86 the state that a tracer sees has the number of the system call beside its result. */
static inline void check_state(const struct uspi_backend *backend, uint32_t state, unsigned size,
                               const struct state_case *cases, size_t count) {
    const struct uspi_state_layout *layout = find_state(backend, state);
    unsigned offsets[256] = {0}, seen[256] = {0}, width[256] = {0};
    ck_assert_uint_eq(layout->size, size);
    ck_assert_uint_eq(layout->unified, 0);
    for (size_t k = 0; k < layout->run_count; k++) {
        const struct uspi_run *run = &layout->runs[k];
        for (unsigned n = 0; n < run->count; n++) {
            unsigned reg = (run->first + n) & 0xff;
            offsets[reg] = layout->base + run->offset + n * run->stride;
            width[reg] = run->width;
            seen[reg]++;
            ck_assert_uint_le(offsets[reg] + run->width, layout->size);
        }
    }
    for (unsigned reg = 0; reg < 256; reg++) {
        const bool is_call = reg == USPI_CALL_REGISTER && state == USP_THREAD_STATE_LINUX_PRSTATUS;
        bool there = reg < backend->register_count || reg == USPI_FLAGS_REGISTER || is_call;
        ck_assert_uint_eq(seen[reg], there ? 1 : 0);
        if (there) ck_assert_uint_eq(width[reg], reg < backend->register_count ? backend->word : 4);
    }
    for (size_t k = 0; k < count; k++) {
        ck_assert_msg(offsets[cases[k].reg] == cases[k].offset, "state %x: register %u at %u", state, cases[k].reg,
                      offsets[cases[k].reg]);
    }
}

#define CHECK_STATE(backend, state, size, cases)                                                                       \
    check_state(backend, state, size, cases, sizeof(cases) / sizeof((cases)[0]))

#endif
