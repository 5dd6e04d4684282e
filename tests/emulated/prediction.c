/* SPDX-License-Identifier: MIT */
/* See prediction.h. */
#include "prediction.h"

#include <string.h>

#include "arch/frame.h"

void prediction_begin(struct prediction *p, const struct machine *machine, uint64_t ignored_bits) {
    memset(p, 0, sizeof *p);
    p->machine = machine;
    p->ignored_bits = ignored_bits;
    if (machine->backend->has_async) p->ignored_bits |= USPI_FP_TAG_MASK;
}

static uint64_t value_of(const struct prediction *p, unsigned reg) {
    return reg < USP_REGISTERS_MAX ? p->value[reg] : 0;
}

static bool apply(struct prediction *p, const struct uspi_effect *e) {
    const struct uspi_backend *b = p->machine->backend;
    uint64_t base = value_of(p, e->base), result = 0;
    usp_addr at = (base + (uint64_t)e->value) & b->word_mask;
    if (e->op != USPI_STORE && e->reg >= b->register_count) return e->reg == USPI_NO_REGISTER;
    switch (e->op) {
    case USPI_SET: result = base + (uint64_t)e->value; break;
    case USPI_INSERT: {
        uint64_t mask = UINT64_C(0xffff) << e->index;
        result = (value_of(p, e->reg) & ~mask) | ((uint64_t)e->value << e->index & mask);
        break;
    }
    case USPI_ADD: result = base + value_of(p, e->index); break;
    case USPI_SUBTRACT: result = base - value_of(p, e->index); break;
    case USPI_ALIGN: result = base & ~((uint64_t)e->value - 1); break;
    case USPI_LOAD:
    case USPI_LITERAL:
        if (!machine_load(p->machine, e->op == USPI_LITERAL ? (usp_addr)e->value : at, b->word, &result)) return false;
        break;
    case USPI_STORE:
        if (e->reg == USPI_NO_REGISTER) return true;
        p->stores[p->store_count].at = at;
        p->stores[p->store_count++].value = value_of(p, e->reg);
        return true;
    default: return false;
    }
    p->value[e->reg] = result;
    return true;
}

static uint32_t mode_of(const struct prediction *p, const struct moment *m) {
    const struct uspi_backend *b = p->machine->backend;
    return b->initial_mode != NULL ? b->initial_mode(m->registers.flags) : 0;
}

/* Arm ARM, A8.3: N, Z, C, V are bits 31 to 28 of cpsr; an odd condition is its predecessor's opposite. */
static bool condition_holds(unsigned condition, uint32_t cpsr) {
    bool n = cpsr >> 31 & 1, z = cpsr >> 30 & 1, c = cpsr >> 29 & 1, v = cpsr >> 28 & 1, holds = true;
    switch (condition >> 1) {
    case 0: holds = z; break;
    case 1: holds = c; break;
    case 2: holds = n; break;
    case 3: holds = v; break;
    case 4: holds = c && !z; break;
    case 5: holds = n == v; break;
    case 6: holds = n == v && !z; break;
    default: return true;
    }
    return (condition & 1) != 0 ? !holds : holds;
}

static bool happens(const struct prediction *p, const struct moment *now) {
    const unsigned conditional = p->instruction.conditional;
    return conditional == 0 || condition_holds(conditional - 1, now->registers.flags);
}

const char *prediction_make(struct prediction *p, const struct moment *now) {
    const struct uspi_backend *b = p->machine->backend;
    uint8_t bytes[32];
    size_t n = b->instruction_max;
    p->made = false;
    p->before = *now;
    p->store_count = 0;
    while (n > 0 && !machine_read(p->machine, now->pc, bytes, n)) n--;
    if (!b->decode(bytes, n, now->pc, mode_of(p, now), &p->instruction)) return "not decoded";
    if (p->instruction.length != now->length) return "wrong length";
    memcpy(p->value, now->registers.value, sizeof p->value);
    for (unsigned i = 0; i < p->instruction.effect_count && happens(p, now); i++) {
        if (!apply(p, &p->instruction.effects[i])) return "an effect that cannot be carried out";
    }
    p->made = true;
    return NULL;
}

static bool same(const struct prediction *p, uint64_t a, uint64_t b) {
    return ((a ^ b) & p->machine->backend->word_mask & ~p->ignored_bits) == 0;
}

static const char *check_registers(const struct prediction *p, const uint64_t *expected, uint64_t except,
                                   const struct moment *now) {
    const struct uspi_backend *b = p->machine->backend;
    except |= UINT64_C(1) << b->pc;
    if (p->instruction.flow == USPI_CALL && b->lr != USPI_NO_REGISTER) except |= UINT64_C(1) << b->lr;
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        if ((except >> reg & 1) != 0 || same(p, expected[reg], now->registers.value[reg])) continue;
        if (p->instruction.flow == USPI_CALL && reg == b->sp && b->call_push != 0 &&
            same(p, expected[reg] - b->call_push, now->registers.value[reg])) {
            continue;
        }
        if (reg == b->sp) return "sp is wrong";
        if (reg == b->fp) return "the frame pointer is wrong";
        if (reg == b->lr) return "lr is wrong";
        return (b->callee_saved >> reg & 1) != 0 ? "a callee-saved register is wrong" : "a scratch register is wrong";
    }
    return NULL;
}

static const char *check_stores(const struct prediction *p) {
    const struct uspi_backend *b = p->machine->backend;
    uint64_t stored;
    for (unsigned i = 0; i < p->store_count; i++) {
        /* Of two stores to one place the later one counts. */
        bool overwritten = false;
        for (unsigned j = i + 1; j < p->store_count; j++) overwritten |= p->stores[j].at == p->stores[i].at;
        if (overwritten) continue;
        if (!machine_load(p->machine, p->stores[i].at, b->word, &stored)) return "a store to nowhere";
        if (!same(p, stored, p->stores[i].value)) return "a store is wrong";
    }
    return NULL;
}

static const char *check_flow(const struct prediction *p, const struct moment *now) {
    const struct uspi_instruction *i = &p->instruction;
    const struct uspi_backend *b = p->machine->backend;
    usp_addr next = p->before.pc + i->length;
    uint64_t thumb = b->has_thumb ? 1 : 0;
    bool known = i->target_register < b->register_count;
    switch (i->flow) {
    case USPI_NEXT: return now->pc == next ? NULL : "it went elsewhere than to the next instruction";
    case USPI_JUMP: return now->pc == i->target ? NULL : "it went elsewhere than to its target";
    case USPI_BRANCH: return now->pc == next || now->pc == i->target ? NULL : "it went neither on nor to its target";
    case USPI_CALL: return i->target == 0 || now->pc == i->target ? NULL : "it called another function";
    case USPI_JUMP_UNKNOWN:
        return !known || same(p, now->pc, p->value[i->target_register] & ~thumb) ? NULL : "it jumped elsewhere";
    case USPI_JUMP_TABLE: return NULL;
    case USPI_RETURN:
        return !known || same(p, now->pc, p->value[i->target_register] & ~thumb) ? NULL : "it returned elsewhere";
    default: return "it was said to end there";
    }
}

static const char *check_mode(const struct prediction *p, const struct moment *now) {
    const struct uspi_instruction *i = &p->instruction;
    uint32_t mode = mode_of(p, now);
    if (now->length == 0) return NULL; /* the end of the run: no instruction follows */
    if (now->pc == p->before.pc + i->length) return mode == i->mode ? NULL : "wrong mode for the next instruction";
    if (i->target == 0 || now->pc != i->target) return NULL;
    return mode == i->target_mode ? NULL : "wrong mode at the target";
}

/* Checks that the library sees a call before a call's return address. */
static const char *check_call_site(const struct prediction *p, const struct moment *now) {
    const struct uspi_backend *b = p->machine->backend;
    usp_addr after = p->before.pc + p->before.length, callee = 0;
    uint8_t bytes[32];
    size_t n = b->call_window;
    while (n > 0 && !machine_read(p->machine, after - n, bytes, n)) n -= b->code_align;
    if (p->instruction.flow != USPI_CALL) return "a call that was not seen as one";
    if (!b->follows_call(bytes, n, after, (mode_of(p, &p->before) & USPI_MODE_THUMB) != 0, &callee)) {
        return "a return address that does not seem to follow a call";
    }
    return callee == 0 || callee == now->pc ? NULL : "a call site that names another callee";
}

/* Whether an instruction repeats, such as rep movs: each repetition is a moment of its own. */
static bool repeats(const struct prediction *p, const struct moment *now) {
    uint64_t byte;
    return now->pc == p->before.pc && p->machine->backend->lr == USPI_NO_REGISTER &&
           machine_load(p->machine, now->pc, 1, &byte) && (byte == 0xf2 || byte == 0xf3);
}

const char *prediction_check(struct prediction *p, const struct moment *now, bool called) {
    const struct uspi_instruction *i = &p->instruction;
    if (!p->made || repeats(p, now)) return NULL;
    p->made = false;
    const char *wrong;
    if (happens(p, &p->before)) {
        wrong = check_registers(p, p->value, i->clobbers, now);
        if (wrong == NULL) wrong = check_stores(p);
        if (wrong == NULL) wrong = check_flow(p, now);
    } else {
        wrong = check_registers(p, p->before.registers.value, 0, now);
        if (wrong == NULL && now->pc != p->before.pc + i->length) wrong = "it happened against its condition";
    }
    if (wrong == NULL) wrong = check_mode(p, now);
    if (wrong == NULL && called) wrong = check_call_site(p, now);
    return wrong;
}
