/* SPDX-License-Identifier: MIT */
/* See reach.h. */
#include "lib/symbolize/index/reach.h"

/* Limits of a search. Functions without a size are written by hand and short; of a longer one, only part is found. */
#define INSTRUCTIONS_MAX 1024u
#define RUNS_MAX         96u
#define PENDING_MAX      96u

/* The maximum number of instructions decoded to see whether a callee returns. */
#define CALLEE_MAX 256u

/* Consecutive instructions: from `from` up to, not including, `to`. */
struct run {
    usp_addr from, to;
};

struct pending {
    usp_addr pc;
    uint32_t mode;
};

struct search {
    struct uspi_code *code;
    usp_addr entry;        /* the function's first instruction */
    usp_addr low, high;    /* control flow is followed from `low` up to, not including, `high` */
    unsigned instructions; /* how many more may be decoded */
    bool is_callee;        /* the search only asks whether a callee returns */
    bool returns;          /* a return was found */
    struct run runs[RUNS_MAX];
    unsigned run_count;
    struct pending pending[PENDING_MAX];
    unsigned pending_count;
};

static bool is_visited(const struct search *s, usp_addr pc) {
    for (unsigned i = 0; i < s->run_count; i++) {
        if (pc >= s->runs[i].from && pc < s->runs[i].to) return true;
    }
    return false;
}

static void take_later(struct search *s, usp_addr pc, uint32_t mode) {
    if (pc < s->low || pc >= s->high || s->pending_count == PENDING_MAX || is_visited(s, pc)) return;
    s->pending[s->pending_count++] = (struct pending){pc, mode};
}

static bool callee_returns(struct search *caller, const struct uspi_instruction *call);

/* Returns whether control flow continues with the next instruction. */
static bool goes_on(struct search *s, const struct uspi_instruction *i, usp_addr next) {
    if (i->conditional != 0 || i->flow == USPI_NEXT || i->flow == USPI_BRANCH) return true;
    if (i->flow != USPI_CALL || i->target == 0) return false;
    /* Position-independent code calls the next instruction to learn its own address. */
    if (i->target == next) return true;
    return !s->is_callee && callee_returns(s, i);
}

static void follow_reference(struct search *s, struct pending at) {
    if (is_visited(s, at.pc) || s->run_count == RUNS_MAX) return;
    struct run *run = &s->runs[s->run_count++];
    *run = (struct run){at.pc, at.pc};
    while (s->instructions > 0) {
        struct uspi_instruction i;
        s->instructions--;
        if (!uspi_code_decode(s->code, run->to, at.mode, &i) || i.length > s->high - run->to) return;
        /* An instruction that stands only at the start of a function belongs to the next function. */
        if (i.start_hint != 0 && run->to != s->entry) return;
        const usp_addr next = run->to + i.length;
        run->to = next;
        if (i.flow == USPI_RETURN) s->returns = true;
        if (i.flow == USPI_JUMP || i.flow == USPI_BRANCH) take_later(s, i.target, i.target_mode);
        if (!goes_on(s, &i, next) || next >= s->high || is_visited(s, next)) return;
        at.mode = i.mode;
    }
}

static void follow_all(struct search *s, uint32_t mode) {
    take_later(s, s->entry, mode);
    while (s->pending_count > 0 && !(s->is_callee && s->returns)) follow_reference(s, s->pending[--s->pending_count]);
}

/* Returns whether the callee can reach a return without a further call. */
static bool callee_returns(struct search *caller, const struct uspi_instruction *call) {
    const unsigned budget = caller->instructions < CALLEE_MAX ? caller->instructions : CALLEE_MAX;
    struct search s = {
        .code = caller->code, .entry = call->target, .high = UINT64_MAX, .instructions = budget, .is_callee = true};
    follow_all(&s, call->target_mode);
    caller->instructions -= budget - s.instructions;
    return s.returns;
}

usp_addr uspi_reach(struct uspi_code *code, usp_addr start, uint32_t mode, usp_addr limit) {
    if (start >= limit) return start;
    struct search s = {.code = code, .entry = start, .low = start, .high = limit, .instructions = INSTRUCTIONS_MAX};
    follow_all(&s, mode);
    /* The first byte belongs to the function even if nothing could be decoded there. */
    usp_addr end = start + 1;
    for (unsigned i = 0; i < s.run_count; i++) {
        if (s.runs[i].from > end || s.runs[i].to <= end) continue;
        end = s.runs[i].to;
        i = UINT32_MAX; /* another run may continue here: start again with the first one */
    }
    return end;
}
