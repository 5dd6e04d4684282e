/* SPDX-License-Identifier: MIT */
/* See explore.h.
 *
 * A state is what is known of registers and stack slots at one point of one way, in terms of the registers at the
 * beginning. All states share one log of assignments that grows as a tree: a state is its newest entry, and what a
 * register or slot holds is said by the first entry found on the way to the root; what is not found is as it was at the
 * beginning. So a branch costs one number, and ways can be taken up again in any order. */
#include "lib/unwind/explore.h"

#define LOG_MAX     112
#define PENDING_MAX 64
#define RUNS_MAX    128
#define ROOT        0xffffu

/* Instructions of a prologue behind the pc. */
#define PROLOGUE_MAX 24

/* Of code that a compiler has put outside of the functions that share it. */
#define OUTLINED_MAX 64

/* Instructions of a callee that are looked at for its return. */
#define CALLEE_MAX 256

enum value_kind { UNKNOWN, ADDRESS, CONTENT, CONSTANT };

/* ADDRESS: base + offset, base's value at the beginning. CONTENT: [base + offset] + addend, memory at the beginning.
 * CONSTANT: addend << 32 | offset. */
struct value {
    uint8_t kind;
    uint8_t base;
    int32_t offset;
    int32_t addend;
};

#define SLOT 0x80u /* `where` of a stack slot: SLOT | base, at base + slot */

struct entry {
    uint16_t previous;
    uint8_t where;
    uint8_t kind;
    uint8_t base;
    int32_t slot;
    int32_t offset;
    int32_t addend;
};

struct way {
    usp_addr pc;
    uint64_t unknown; /* registers of which nothing is known, whatever the log says */
    uint32_t mode;
    uint16_t newest;
    uint8_t doubts;
    uint8_t assumed; /* the condition that this way takes for true, + 1; see `conditional` */
};

struct run {
    int32_t from, to; /* relative to the origin */
};

enum purpose {
    TO_RETURN, /* judge what a return restores */
    TO_GOAL,   /* judge what is known when the goal is reached */
    REACH      /* find out whether the goal can be reached without a call */
};

struct explorer {
    struct uspi_code *code;
    const struct uspi_backend *backend;
    enum purpose purpose;
    uspi_judge judge;
    void *context;
    usp_addr origin, low, high;
    usp_addr goal;
    enum uspi_pops pops;
    uint32_t flags; /* at the origin: see USPI_MODE_FLAGS */
    unsigned budget, judged;
    unsigned log_count, pending_count, run_count;
    bool has_jump;   /* TO_GOAL: the newest indirect jump, */
    struct way jump; /* as the way stood there */
    unsigned shared; /* log entries below this one belong to pending ways as well */
    struct entry log[LOG_MAX];
    struct way pending[PENDING_MAX];
    struct run runs[RUNS_MAX];
};

static const struct value unknown = {.kind = UNKNOWN};

static struct value address(unsigned base, int64_t offset) {
    if (offset != (int32_t)offset) return unknown;
    return (struct value){.kind = ADDRESS, .base = (uint8_t)base, .offset = (int32_t)offset};
}

static struct value constant(int64_t v) {
    return (struct value){.kind = CONSTANT, .offset = (int32_t)(uint32_t)v, .addend = (int32_t)(v >> 32)};
}

static int64_t constant_of(struct value v) {
    return (int64_t)((uint64_t)(uint32_t)v.addend << 32 | (uint32_t)v.offset);
}

static bool find(const struct explorer *x, uint16_t newest, uint8_t where, int32_t slot, struct value *v) {
    for (uint16_t i = newest; i != ROOT; i = x->log[i].previous) {
        const struct entry *e = &x->log[i];
        if (e->where == where && e->slot == slot) {
            *v = (struct value){e->kind, e->base, e->offset, e->addend};
            return true;
        }
    }
    return false;
}

static struct value logged_value(const struct explorer *x, const struct way *way, unsigned reg) {
    struct value v;
    return find(x, way->newest, (uint8_t)reg, 0, &v) ? v : address(reg, 0);
}

static struct value register_value(const struct explorer *x, const struct way *way, unsigned reg) {
    bool is_unknown = reg < USP_REGISTERS_MAX && (way->unknown >> reg & 1) != 0;
    return is_unknown ? unknown : logged_value(x, way, reg);
}

/* False when the log is full: the way ends there. An entry that no pending way can see is written over. */
static bool assign(struct explorer *x, struct way *way, uint8_t where, int32_t slot, struct value v) {
    for (uint16_t i = way->newest; i != ROOT && i >= x->shared; i = x->log[i].previous) {
        struct entry *e = &x->log[i];
        if (e->where == where && e->slot == slot) {
            *e = (struct entry){e->previous, where, v.kind, v.base, slot, v.offset, v.addend};
            return true;
        }
    }
    if (x->log_count == LOG_MAX) return false;
    x->log[x->log_count] = (struct entry){way->newest, where, v.kind, v.base, slot, v.offset, v.addend};
    way->newest = (uint16_t)x->log_count++;
    return true;
}

static bool is_restored(const struct explorer *x, unsigned reg) {
    const struct uspi_backend *b = x->backend;
    return reg == b->sp || reg == b->lr || (reg < b->register_count && (b->callee_saved >> reg & 1) != 0);
}

/* Most code computes what says nothing of the stack: to forget a register needs no room, and numbers in scratch registers
 * get none of the last. */
static bool assign_register(struct explorer *x, struct way *way, unsigned reg, struct value v) {
    if (reg == USPI_NO_REGISTER) return true;
    struct value old = logged_value(x, way, reg);
    bool is_logged = old.kind == v.kind && old.base == v.base && old.offset == v.offset && old.addend == v.addend;
    bool is_spare = v.kind == CONSTANT && !is_restored(x, reg) && x->log_count >= LOG_MAX / 4 * 3;
    if (v.kind == UNKNOWN || (is_spare && !is_logged)) {
        way->unknown |= UINT64_C(1) << reg;
        return true;
    }
    way->unknown &= ~(UINT64_C(1) << reg);
    return is_logged || assign(x, way, (uint8_t)reg, 0, v);
}

/* Registers of 32 bits wrap around: what is added may as well be a large number as a small negative one. */
static int64_t wrapped(const struct explorer *x, int64_t n) {
    return x->backend->slot == 4 ? uspi_sign_extend((uint64_t)n, 32) : n;
}

static struct value plus(const struct explorer *x, struct value v, int64_t n) {
    n = wrapped(x, n);
    switch (v.kind) {
    case ADDRESS: return address(v.base, v.offset + n);
    case CONTENT:
        if (v.addend + n != (int32_t)(v.addend + n)) return unknown;
        v.addend = (int32_t)(v.addend + n);
        return v;
    case CONSTANT: return constant(wrapped(x, (int64_t)((uint64_t)constant_of(v) + (uint64_t)n)));
    default: return unknown;
    }
}

static struct value memory_value(const struct explorer *x, const struct way *way, struct value at) {
    struct value v;
    if (at.kind != ADDRESS) return unknown;
    if (find(x, way->newest, (uint8_t)(SLOT | at.base), at.offset, &v)) return v;
    return (struct value){.kind = CONTENT, .base = at.base, .offset = at.offset};
}

static struct value literal(struct explorer *x, usp_addr at) {
    const uint8_t *bytes;
    unsigned n = x->backend->word;
    if (uspi_code_read(x->code, at, n, &bytes) != n) return unknown;
    return constant(uspi_sign_extend(uspi_load_le(bytes, n), n * 8));
}

/* The log has no room for every spilled variable: kept are the stores that may save a register, and those that overwrite
 * what is kept. What else is stored, no return restores. A register of its own value (the anchor of a realigned stack,
 * an argument) is kept while there is plenty of room. */
static bool store(struct explorer *x, struct way *way, struct value at, unsigned reg) {
    uint8_t where = (uint8_t)(SLOT | at.base);
    struct value v = reg == USPI_NO_REGISTER ? unknown : register_value(x, way, reg);
    struct value kept;
    bool saves = (reg != USPI_NO_REGISTER && is_restored(x, reg)) ||
                 (v.kind == ADDRESS && (is_restored(x, v.base) || x->log_count < LOG_MAX / 2));
    if (!saves && !find(x, way->newest, where, at.offset, &kept)) return true;
    return assign(x, way, where, at.offset, v);
}

static bool apply_effect(struct explorer *x, struct way *way, const struct uspi_effect *e) {
    struct value base = e->base == USPI_NO_REGISTER ? constant(0) : register_value(x, way, e->base);
    switch (e->op) {
    case USPI_SET: return assign_register(x, way, e->reg, plus(x, base, e->value));
    case USPI_INSERT: {
        struct value old = register_value(x, way, e->reg);
        if (old.kind != CONSTANT || e->index > 48) return assign_register(x, way, e->reg, unknown);
        uint64_t mask = UINT64_C(0xffff) << e->index;
        uint64_t bits = (uint64_t)e->value << e->index & mask;
        uint64_t v = ((uint64_t)constant_of(old) & ~mask) | bits;
        return assign_register(x, way, e->reg, constant(wrapped(x, (int64_t)v)));
    }
    case USPI_ADD:
    case USPI_SUBTRACT: {
        struct value index = register_value(x, way, e->index);
        struct value sum = unknown;
        if (index.kind == CONSTANT) {
            int64_t n = constant_of(index);
            sum = plus(x, base, e->op == USPI_ADD ? n : (int64_t)(0 - (uint64_t)n));
        } else if (base.kind == CONSTANT && e->op == USPI_ADD) {
            sum = plus(x, index, constant_of(base));
        }
        return assign_register(x, way, e->reg, sum);
    }
    case USPI_LOAD: return assign_register(x, way, e->reg, memory_value(x, way, plus(x, base, e->value)));
    case USPI_LITERAL: return assign_register(x, way, e->reg, literal(x, (usp_addr)e->value));
    case USPI_STORE: {
        struct value at = plus(x, base, e->value);
        return at.kind != ADDRESS || store(x, way, at, e->reg);
    }
    default: return true;
    }
}

/* What lay below a stack pointer that has risen is gone. Where a frame was given up for a tail call, the next one has the
 * same slots for something else. */
static bool forget_below(struct explorer *x, struct way *way, struct value old) {
    const uint8_t sp = x->backend->sp;
    const struct value now = register_value(x, way, sp);
    if (now.kind != ADDRESS || (old.kind == ADDRESS && old.base == now.base && old.offset >= now.offset)) return true;
    for (uint16_t i = way->newest; i != ROOT; i = x->log[i].previous) {
        const struct entry e = x->log[i];
        if (e.where != (SLOT | now.base) || e.kind == UNKNOWN || e.slot >= now.offset) continue;
        const struct value kept = memory_value(x, way, address(now.base, e.slot));
        if (kept.kind != UNKNOWN && !assign(x, way, e.where, e.slot, unknown)) return false;
    }
    return true;
}

static bool apply(struct explorer *x, struct way *way, const struct uspi_instruction *i) {
    const struct value sp = register_value(x, way, x->backend->sp);
    for (unsigned n = 0; n < i->effect_count; n++) {
        if (!apply_effect(x, way, &i->effects[n])) return false;
    }
    way->unknown |= i->clobbers;
    return x->purpose != TO_GOAL || forget_below(x, way, sp);
}

/* The bytes of arguments that a callee takes off the stack, by the first return in it; 0 when none is found. Compilers give
 * all returns of a function the same. */
static int64_t popped_by(struct explorer *x, usp_addr callee, uint32_t mode) {
    const struct uspi_backend *b = x->backend;
    struct uspi_instruction i;
    const usp_addr start = callee;
    for (unsigned n = 0; n < CALLEE_MAX && uspi_code_decode(x->code, callee, mode, &i); n++) {
        /* A loop's way out stands behind the jump back. */
        bool is_loop = i.flow == USPI_JUMP && i.target >= start && i.target <= callee;
        bool jumps = i.flow == USPI_JUMP && !is_loop;
        callee = jumps ? i.target : callee + i.length;
        mode = jumps ? i.target_mode : i.mode;
        if (i.flow == USPI_END || i.flow == USPI_JUMP_UNKNOWN) return 0;
        for (unsigned k = 0; i.flow == USPI_RETURN && k < i.effect_count; k++) {
            const struct uspi_effect *e = &i.effects[k];
            if (e->op == USPI_SET && e->reg == b->sp && e->base == b->sp) return e->value - b->call_push;
        }
        if (i.flow == USPI_RETURN) return 0;
    }
    return 0;
}

/* Of a callee that nobody knows: what is taken off sp right behind the call was kept free for the arguments and is kept free
 * again (clang without optimisation). */
static int64_t taken_again(struct explorer *x, usp_addr behind, uint32_t mode) {
    const uint8_t sp = x->backend->sp;
    struct uspi_instruction i;
    if (!uspi_code_decode(x->code, behind, mode, &i) || i.effect_count != 1) return 0;
    const struct uspi_effect *e = &i.effects[0];
    return e->op == USPI_SET && e->reg == sp && e->base == sp && e->value < 0 ? -e->value : 0;
}

/* A callee keeps the callee-saved registers and sp; everything else is its own. On x86 it may take its arguments off the
 * stack: to look for that costs much and is asked for. */
static bool apply_call(struct explorer *x, struct way *way, const struct uspi_instruction *call) {
    const struct uspi_backend *b = x->backend;
    if (x->pops != USPI_POPS_NOTHING) {
        struct value sp = register_value(x, way, b->sp);
        int64_t popped = 0;
        if (call->target != 0) {
            popped = popped_by(x, call->target, call->target_mode);
        } else if (x->pops == USPI_POPS_AS_TAKEN_AGAIN) {
            popped = taken_again(x, way->pc + call->length, call->mode);
        }
        if (!assign_register(x, way, b->sp, plus(x, sp, popped))) return false;
    }
    uint64_t all = (UINT64_C(1) << b->register_count) - 1;
    uint64_t kept = b->callee_saved | UINT64_C(1) << b->sp | UINT64_C(1) << b->pc;
    way->unknown |= all & ~kept;
    return true;
}

/* ---- visited addresses: the linear runs taken so far ---- */

static bool relative(const struct explorer *x, usp_addr pc, int32_t *to) {
    int64_t d = (int64_t)(pc - x->origin);
    if (d != (int32_t)d) return false;
    *to = (int32_t)d;
    return true;
}

static bool visited(const struct explorer *x, int32_t at) {
    for (unsigned i = 0; i < x->run_count; i++) {
        if (at >= x->runs[i].from && at < x->runs[i].to) return true;
    }
    return false;
}

static void sort_runs(struct explorer *x) {
    for (unsigned i = 1; i < x->run_count; i++) {
        const struct run run = x->runs[i];
        unsigned k = i;
        for (; k > 0 && x->runs[k - 1].from > run.from; k--) x->runs[k] = x->runs[k - 1];
        x->runs[k] = run;
    }
}

/* Blocks are taken in any order; in the end they join. */
static void join_runs(struct explorer *x) {
    unsigned joined = 0;
    sort_runs(x);
    for (unsigned i = 1; i < x->run_count; i++) {
        if (x->runs[i].from == x->runs[joined].to) {
            x->runs[joined].to = x->runs[i].to;
        } else {
            x->runs[++joined] = x->runs[i];
        }
    }
    if (x->run_count > 0) x->run_count = joined + 1;
}

/* The run to which the instruction at `at`, which was not visited, belongs. NULL: no room. */
static struct run *begin_run(struct explorer *x, int32_t at) {
    for (unsigned i = 0; i < x->run_count; i++) {
        if (x->runs[i].to == at) return &x->runs[i];
    }
    if (x->run_count == RUNS_MAX) join_runs(x);
    if (x->run_count == RUNS_MAX) return NULL;
    struct run *run = &x->runs[x->run_count++];
    *run = (struct run){at, at};
    return run;
}

static void take_later(struct explorer *x, const struct way *way, usp_addr pc, uint32_t mode, unsigned doubts) {
    if (x->pending_count == PENDING_MAX) return;
    struct way *later = &x->pending[x->pending_count++];
    *later = *way;
    later->pc = pc;
    later->mode = mode;
    later->doubts = (uint8_t)(way->doubts | doubts);
    x->shared = x->log_count;
}

/* How much of the log a way needs. */
static unsigned entries_of(const struct way *way) { return way->newest != ROOT ? way->newest + 1u : 0; }

/* The least doubtful way, the newest among equals. What only ended ways have written is dropped from the log. */
static struct way take_next(struct explorer *x) {
    unsigned best = x->pending_count - 1;
    for (unsigned i = best; i-- > 0;) {
        if (x->pending[i].doubts < x->pending[best].doubts) best = i;
    }
    struct way way = x->pending[best];
    memmove(&x->pending[best], &x->pending[best + 1], (x->pending_count - best - 1) * sizeof way);
    x->pending_count--;
    x->shared = x->has_jump ? entries_of(&x->jump) : 0;
    for (unsigned i = 0; i < x->pending_count; i++) {
        if (entries_of(&x->pending[i]) > x->shared) x->shared = entries_of(&x->pending[i]);
    }
    x->log_count = x->shared;
    if (entries_of(&way) > x->log_count) x->log_count = entries_of(&way);
    return way;
}

/* ---- rules ---- */

static struct uspi_location location_of(struct value v, unsigned reg) {
    switch (v.kind) {
    case ADDRESS:
        if (v.base == reg && v.offset == 0) return (struct uspi_location){.kind = USPI_SAME, .base = (uint8_t)reg};
        return (struct uspi_location){.kind = USPI_REGISTER, .base = v.base, .offset = v.offset};
    case CONTENT:
        return (struct uspi_location){.kind = USPI_MEMORY, .base = v.base, .offset = v.offset, .addend = v.addend};
    default: return (struct uspi_location){.kind = USPI_LOST};
    }
}

/* At a return the caller's registers are what the registers are now. The link register of a frame behind a call holds
 * nothing: that is for the judge to know. */
static bool judge_return(struct explorer *x, const struct way *way, struct value return_address, struct value sp,
                         unsigned doubts) {
    const struct uspi_backend *b = x->backend;
    struct uspi_rule rule = {0};
    rule.cfa = location_of(sp, USPI_NO_REGISTER);
    rule.return_address = location_of(return_address, USPI_NO_REGISTER);
    if (rule.cfa.kind == USPI_LOST || rule.return_address.kind == USPI_LOST) return false;
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        if ((b->callee_saved >> reg & 1) != 0) {
            uspi_rule_add(&rule, reg, location_of(register_value(x, way, reg), reg));
        }
    }
    x->judged++;
    return x->judge(x->context, &rule, doubts);
}

/* An indirect jump out of the function: as if the callee's return were here. */
static bool judge_tail_call(struct explorer *x, const struct way *way, unsigned doubts) {
    const struct uspi_backend *b = x->backend;
    struct value sp = register_value(x, way, b->sp);
    struct value ra = b->lr == USPI_NO_REGISTER ? memory_value(x, way, sp) : register_value(x, way, b->lr);
    return judge_return(x, way, ra, plus(x, sp, b->call_push), doubts);
}

/* The slot in which a register's value at the start was saved; the newest wins. */
static bool find_saved(const struct explorer *x, const struct way *way, unsigned reg, int32_t *slot) {
    for (uint16_t i = way->newest; i != ROOT; i = x->log[i].previous) {
        const struct entry *e = &x->log[i];
        if (e->where != (SLOT | x->backend->sp) || e->kind != ADDRESS || e->base != reg || e->offset != 0) continue;
        struct value v = memory_value(x, way, address(x->backend->sp, e->slot));
        if (v.kind == ADDRESS && v.base == reg && v.offset == 0) {
            *slot = e->slot;
            return true;
        }
    }
    return false;
}

/* A register into which the return address was moved: out of the link register, or off the stack. */
static unsigned find_moved(const struct explorer *x, const struct way *way) {
    const struct uspi_backend *b = x->backend;
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        const struct value v = register_value(x, way, reg);
        if (b->lr == USPI_NO_REGISTER) {
            if (v.kind == CONTENT && v.base == b->sp && v.offset == 0 && v.addend == 0) return reg;
        } else if (reg != b->lr && v.kind == ADDRESS && v.base == b->lr && v.offset == 0) {
            return reg;
        }
    }
    return USPI_NO_REGISTER;
}

/* At the pc, everything is expressed from the stack pointer at the start; turns it round. */
static bool judge_at_pc(struct explorer *x, const struct way *way) {
    const struct uspi_backend *b = x->backend;
    struct uspi_rule rule = {0};
    unsigned anchor = USPI_NO_REGISTER;
    int32_t below = 0;
    /* fp first: after calls whose callee pops arguments, sp is the less certain one. */
    const uint8_t order[] = {b->fp, b->sp};
    for (unsigned i = 0; i < sizeof order && anchor == USPI_NO_REGISTER; i++) {
        struct value v = register_value(x, way, order[i]);
        if (v.kind == ADDRESS && v.base == b->sp) anchor = order[i], below = v.offset;
    }
    for (unsigned reg = 0; reg < b->register_count && anchor == USPI_NO_REGISTER; reg++) {
        struct value v = register_value(x, way, reg);
        if (v.kind == ADDRESS && v.base == b->sp) anchor = reg, below = v.offset;
    }
    if (anchor == USPI_NO_REGISTER) return false;

    /* sp at the start = anchor − below */
    rule.cfa = (struct uspi_location){
        .kind = USPI_REGISTER, .base = (uint8_t)anchor, .offset = (int32_t)(b->call_push - (int64_t)below)};
    struct uspi_location saved = {.kind = USPI_MEMORY, .base = (uint8_t)anchor};
    int32_t slot;
    const struct value sp = register_value(x, way, b->sp);
    const unsigned moved = find_moved(x, way);
    const struct uspi_location in_moved = {.kind = USPI_REGISTER, .base = (uint8_t)moved};
    if (b->lr == USPI_NO_REGISTER) {
        const bool is_popped = sp.kind == ADDRESS && sp.base == b->sp && sp.offset > 0;
        saved.offset = (int32_t)(0 - (int64_t)below);
        rule.return_address = is_popped && moved != USPI_NO_REGISTER ? in_moved : saved;
    } else {
        struct value lr = register_value(x, way, b->lr);
        bool in_register = lr.kind == ADDRESS && lr.base == b->lr && lr.offset == 0;
        bool in_memory = find_saved(x, way, b->lr, &slot);
        /* A copy above sp was made to be returned to: from there on the register may be used for anything. */
        bool is_below = sp.kind == ADDRESS && sp.base == b->sp && slot < sp.offset;
        if (in_memory && in_register) in_memory = !is_below;
        if (in_memory) {
            saved.offset = (int32_t)(slot - (int64_t)below);
            rule.return_address = saved;
        } else if (in_register) {
            rule.return_address = (struct uspi_location){.kind = USPI_REGISTER, .base = b->lr};
        } else if (moved != USPI_NO_REGISTER) {
            rule.return_address = in_moved;
        } else {
            return false;
        }
    }
    for (unsigned reg = 0; reg < b->register_count; reg++) {
        if ((b->callee_saved >> reg & 1) == 0) continue;
        struct value v = register_value(x, way, reg);
        if (v.kind == ADDRESS && v.base == reg && v.offset == 0) continue;
        if (find_saved(x, way, reg, &slot)) {
            saved.offset = (int32_t)(slot - (int64_t)below);
            uspi_rule_add(&rule, reg, saved);
        } else {
            uspi_rule_add(&rule, reg, (struct uspi_location){.kind = USPI_LOST});
        }
    }
    x->judged++;
    return x->judge(x->context, &rule, way->doubts);
}

/* ---- the ways ---- */

static uint8_t opposite_of(uint8_t conditional) { return (uint8_t)(((conditional - 1) ^ 1) + 1); }

/* Predicated instructions. Those that only compute are taken as not known to have happened; where the stack or the flow
 * depends on it, the way divides, and remembers what it took for true until the next instruction without a condition.
 * Returns false when this way skips the instruction. */
static bool resolve_condition(struct explorer *x, struct way *way, struct uspi_instruction *i, usp_addr next) {
    if (i->conditional == 0) {
        way->assumed = 0;
        return true;
    }
    if (x->flags != 0) {
        bool holds = x->backend->condition_holds(x->flags, i->conditional - 1u);
        way->assumed = (uint8_t)(holds ? i->conditional : opposite_of(i->conditional));
        x->flags = 0;
    }
    if (way->assumed == i->conditional) return true;
    if (way->assumed != 0 && opposite_of(way->assumed) == i->conditional) return false;

    uint64_t matters = x->backend->callee_saved | UINT64_C(1) << x->backend->sp;
    if (x->backend->lr != USPI_NO_REGISTER) matters |= UINT64_C(1) << x->backend->lr;
    uint64_t written = i->clobbers;
    for (unsigned n = 0; n < i->effect_count; n++) {
        const struct uspi_effect *e = &i->effects[n];
        if (e->op != USPI_STORE && e->reg != USPI_NO_REGISTER) written |= UINT64_C(1) << e->reg;
    }
    if (i->flow == USPI_NEXT && (written & matters) == 0) {
        i->effect_count = 0;
        i->clobbers = written;
        return true;
    }
    struct way skipped = *way;
    skipped.assumed = opposite_of(i->conditional);
    take_later(x, &skipped, next, i->mode, 0);
    way->assumed = i->conditional;
    return true;
}

static bool inside(const struct explorer *x, usp_addr pc) { return x->high == 0 || (pc >= x->low && pc < x->high); }

/* Whether linear flow ends here. Code that a jump has led to outside (a function's cold part) has no bounds of its own. */
static bool leaves_bounds(const struct explorer *x, usp_addr pc, usp_addr next) {
    return inside(x, pc) && !inside(x, next);
}

/* A jump behind which control comes back here: the link register was set by hand. */
static bool is_call(const struct explorer *x, const struct way *way, usp_addr next) {
    if (x->backend->lr == USPI_NO_REGISTER) return false;
    struct value lr = register_value(x, way, x->backend->lr);
    return lr.kind == CONSTANT && ((usp_addr)constant_of(lr) & x->backend->word_mask & ~UINT64_C(1)) == next;
}

/* An indirect jump can be a switch, and continue anywhere, or leave the function. True: the judge has had enough. */
static bool follow_unknown_jump(struct explorer *x, const struct way *way, const struct uspi_instruction *i,
                                usp_addr next) {
    if (x->purpose == TO_RETURN) {
        struct value to = unknown;
        if (i->target_register != USPI_NO_REGISTER) to = register_value(x, way, i->target_register);
        struct value sp = register_value(x, way, x->backend->sp);
        bool is_link = to.kind == ADDRESS && to.base == x->backend->lr && to.offset == 0;
        /* x86: the word that was popped last. */
        bool is_popped = x->backend->lr == USPI_NO_REGISTER && to.kind == CONTENT && to.addend == 0 &&
                         sp.kind == ADDRESS && sp.base == to.base && to.base == x->backend->sp &&
                         sp.offset == to.offset + (int32_t)x->backend->call_push;
        if (is_link || is_popped) return judge_return(x, way, to, sp, way->doubts);
        if (judge_tail_call(x, way, way->doubts | USPI_DOUBT_TAIL_CALL)) return true;
    }
    if (!leaves_bounds(x, way->pc, next)) take_later(x, way, next, i->mode, USPI_DOUBT_SWITCH);
    return false;
}

/* A jump of the function that holds the goal stands between its start and its end, mostly before the goal. One of a function
 * that a tail call has led to says nothing of it. */
static bool can_lead_to_goal(const struct explorer *x, const struct way *jump) {
    return inside(x, jump->pc) && jump->pc >= x->origin && jump->pc < x->goal;
}

static void remember_jump(struct explorer *x, const struct way *way, uint32_t mode) {
    if (x->purpose != TO_GOAL) return;
    if (x->has_jump && can_lead_to_goal(x, &x->jump) && !can_lead_to_goal(x, way)) return;
    x->jump = *way;
    x->jump.mode = mode;
    x->has_jump = true;
    x->shared = x->log_count;
}

static bool begins_function(struct explorer *x, usp_addr pc, uint32_t mode) {
    struct uspi_instruction i;
    return uspi_code_decode(x->code, pc, mode, &i) && i.start_hint != 0;
}

/* Follows one way to its end. True: the search is over. */
static bool follow(struct explorer *x, struct way way) {
    int32_t at;
    bool behind_call = false;
    struct run *run = NULL;
    while (x->budget > 0) {
        if (!relative(x, way.pc, &at)) return false;
        if (x->purpose != TO_RETURN && way.pc == x->goal) {
            if (x->purpose == TO_GOAL) return judge_at_pc(x, &way);
            x->judged++;
            return true;
        }
        /* What one condition has skipped, the opposite one carries out: instructions with conditions are met twice. */
        const bool again = visited(x, at);
        if (again && way.assumed == 0) return false;
        if (again) run = NULL;
        if (!again && run == NULL && (run = begin_run(x, at)) == NULL) return false;
        x->budget--;
        struct uspi_instruction i;
        if (run != NULL) run->to = at + 1;
        if (!uspi_code_decode(x->code, way.pc, way.mode, &i) || (again && i.conditional == 0)) return false;
        if (run != NULL) run->to = at + i.length;
        /* Behind a call comes the next function: the callee does not return. */
        if (behind_call && i.start_hint) return false;
        if (i.start_hint && way.pc != x->origin && x->purpose == TO_RETURN) {
            return judge_tail_call(x, &way, way.doubts | USPI_DOUBT_TAIL_CALL);
        }
        behind_call = false;

        usp_addr next = way.pc + i.length;
        usp_addr go = next;
        uint32_t mode = i.mode;
        /* Decided for this time; a loop may come here again. */
        if (i.conditional != 0 && x->flags != 0) {
            if (run != NULL) run->to = at;
            run = NULL;
        }
        if (!resolve_condition(x, &way, &i, next)) {
            way.pc = next;
            way.mode = i.mode;
            continue;
        }
        if (!apply(x, &way, &i)) return false;
        if (i.flow == USPI_JUMP_UNKNOWN && is_call(x, &way, next)) i.flow = USPI_CALL;

        switch (i.flow) {
        case USPI_NEXT: break;
        case USPI_JUMP:
            go = i.target;
            mode = i.target_mode;
            run = NULL;
            break;
        case USPI_BRANCH: take_later(x, &way, i.target, i.target_mode, 0); break;
        case USPI_CALL:
            if (x->purpose == REACH || !apply_call(x, &way, &i)) return false;
            behind_call = true;
            /* Ways that need no call to return come first. */
            if ((way.doubts & USPI_DOUBT_CALL) == 0 && x->pending_count > 0) {
                bool comes_back = !leaves_bounds(x, way.pc, next) && !begins_function(x, next, mode);
                if (comes_back) take_later(x, &way, next, mode, USPI_DOUBT_CALL);
                return false;
            }
            way.doubts |= USPI_DOUBT_CALL;
            break;
        case USPI_JUMP_TABLE:
            remember_jump(x, &way, mode);
            if (i.target != 0) {
                go = i.target;
                mode = i.target_mode;
            } else {
                way.doubts |= USPI_DOUBT_SWITCH;
            }
            run = NULL;
            break;
        case USPI_JUMP_UNKNOWN: remember_jump(x, &way, mode); return follow_unknown_jump(x, &way, &i, next);
        case USPI_RETURN:
            return x->purpose == TO_RETURN && judge_return(x, &way, register_value(x, &way, i.target_register),
                                                           register_value(x, &way, x->backend->sp), way.doubts);
        default: return false;
        }
        if (i.flow != USPI_JUMP && go == next && leaves_bounds(x, way.pc, next)) return false;
        way.pc = go;
        way.mode = mode;
    }
    return false;
}

/* From a start: what no way has reached, an indirect jump may lead to. A switch's cases stand one behind another, so the
 * nearest end below the goal of what has been seen is where to go on. False when there is none. */
static bool enter_case(struct explorer *x) {
    int32_t goal, nearest = INT32_MIN;
    if (!x->has_jump || x->judged > 0 || !relative(x, x->goal, &goal)) return false;
    for (unsigned i = 0; i < x->run_count; i++) {
        int32_t end = x->runs[i].to;
        if (end <= goal && end > nearest && !visited(x, end)) nearest = end;
    }
    if (nearest == INT32_MIN) return false;
    /* The goal itself is tried once, whether or not a rule comes of it. */
    if (nearest == goal) begin_run(x, goal)->to = goal + 1;
    x->log_count = entries_of(&x->jump);
    take_later(x, &x->jump, x->origin + (usp_addr)(int64_t)nearest, x->jump.mode, USPI_DOUBT_SWITCH);
    return true;
}

static unsigned explore(struct explorer *x, usp_addr from, uint32_t mode) {
    x->origin = from;
    x->flags = mode & (USPI_MODE_FLAGS | USPI_MODE_NZCV);
    mode &= ~(USPI_MODE_FLAGS | USPI_MODE_NZCV);
    x->judged = 0;
    x->log_count = x->run_count = x->shared = 0;
    x->pending_count = 1;
    x->pending[0] = (struct way){.pc = from, .mode = mode, .newest = ROOT};
    do {
        while (x->pending_count > 0) {
            if (follow(x, take_next(x))) return x->judged;
        }
    } while (x->budget > 0 && enter_case(x));
    return x->judged;
}

unsigned uspi_explore_to_return(struct uspi_code *code, usp_addr pc, uint32_t mode, usp_addr low, usp_addr high,
                                enum uspi_pops pops, unsigned budget, uspi_judge judge, void *context) {
    struct explorer x = {.code = code,
                         .backend = code->backend,
                         .purpose = TO_RETURN,
                         .pops = pops,
                         .judge = judge,
                         .context = context,
                         .low = low,
                         .high = high,
                         .budget = budget};
    return explore(&x, pc, mode);
}

unsigned uspi_explore_from_start(struct uspi_code *code, usp_addr start, uint32_t mode, usp_addr pc, usp_addr high,
                                 enum uspi_pops pops, unsigned budget, uspi_judge judge, void *context, bool *leaves) {
    struct explorer x = {.code = code,
                         .backend = code->backend,
                         .purpose = TO_GOAL,
                         .pops = pops,
                         .judge = judge,
                         .context = context,
                         .low = start,
                         .high = high,
                         .goal = pc,
                         .budget = budget};
    unsigned judged = explore(&x, start, mode);
    *leaves = x.has_jump;
    return judged;
}

bool uspi_explore_reaches(struct uspi_code *code, usp_addr from, uint32_t mode, usp_addr pc, unsigned budget) {
    struct explorer x = {.code = code, .backend = code->backend, .purpose = REACH, .goal = pc, .budget = budget};
    return explore(&x, from, mode) != 0;
}

bool uspi_explore_keeps(struct uspi_code *code, const struct usp_registers *registers, uint32_t mode, unsigned reg) {
    usp_addr pc = registers->value[code->backend->pc];
    struct uspi_instruction i;
    for (unsigned n = 0; n < OUTLINED_MAX && uspi_code_decode(code, pc, mode, &i); n++) {
        bool is_written = (i.clobbers >> reg & 1) != 0;
        for (unsigned k = 0; k < i.effect_count; k++) {
            is_written |= i.effects[k].reg == reg && i.effects[k].op != USPI_STORE;
        }
        if (is_written || i.conditional != 0) return false;
        if (i.flow == USPI_RETURN) return true;
        if (i.flow != USPI_NEXT && i.flow != USPI_JUMP) return false;
        pc = i.flow == USPI_JUMP ? i.target : pc + i.length;
        mode = i.flow == USPI_JUMP ? i.target_mode : i.mode;
    }
    return false;
}

bool uspi_explore_next_store(struct uspi_code *code, const struct usp_registers *registers, usp_addr slot,
                             uint32_t mode, unsigned *reg) {
    const struct uspi_backend *b = code->backend;
    struct explorer x = {.code = code, .backend = b, .purpose = REACH};
    struct way way = {.pc = registers->value[b->pc], .mode = mode, .newest = ROOT};
    struct uspi_instruction i;
    for (unsigned n = 0; n < PROLOGUE_MAX && uspi_code_decode(code, way.pc, way.mode, &i); n++) {
        if (i.conditional != 0) return false;
        for (unsigned k = 0; k < i.effect_count; k++) {
            const struct uspi_effect *e = &i.effects[k];
            if (e->op == USPI_STORE && e->base != USPI_NO_REGISTER) {
                struct value at = plus(&x, register_value(&x, &way, e->base), e->value);
                if (at.kind == ADDRESS && registers->value[at.base] + (usp_addr)(int64_t)at.offset == slot) {
                    struct value v = e->reg == USPI_NO_REGISTER ? unknown : register_value(&x, &way, e->reg);
                    *reg = v.kind == ADDRESS && v.offset == 0 ? v.base : USPI_NO_REGISTER;
                    return true;
                }
            }
            if (!apply_effect(&x, &way, e)) return false;
        }
        way.unknown |= i.clobbers;
        if (i.flow != USPI_NEXT) return false;
        way.pc += i.length;
        way.mode = i.mode;
    }
    return false;
}
