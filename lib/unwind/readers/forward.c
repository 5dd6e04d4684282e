/* SPDX-License-Identifier: MIT */
/* The reader that goes forward: carries out what is left of the function, and sees from where it will return.
 *
 *     x86    return address = [sp + what is left to pop]
 *     arm    return address = lr, until it is stored; then [the slot from which it will be loaded]
 *
 * A way can go wrong behind a call that never returns, or through an indirect jump; several ways are then compared with each
 * other, and with what else is known. */
#include "lib/unwind/code/carry.h"
#include "lib/unwind/code/explore.h"
#include "lib/unwind/readers/proof.h"
#include "lib/unwind/readers/readers.h"
#include "lib/unwind/readers/start.h"

/* Instructions to look at: behind a call; for a way back to the pc; to a return that is near. */
#define BUDGET_RETURN 1024
#define BUDGET_STALE  512
#define BUDGET_NEAR   256

/* What the ways so far have led to. */
struct ways {
    struct uspi_evidence *evidence;
    struct uspi_candidate *best;
    struct uspi_candidate by_register; /* doubtful, and out of a link register that may be stale; compared at the end */
    unsigned heard;
};

/* A way through an indirect jump may have strayed into any function, and what undoes a frame there confirms any
 * record. Where it is either a tail call or a jump table, it is the table: behind a tail call comes the next
 * function, from whose start the same return address follows; at a jump table, what stands at sp can be one that is
 * long gone. */
static unsigned rank(const struct uspi_candidate *c) {
    if (uspi_is_steady(c) && c->credit == USPI_VERIFIED) return c->is_record ? 5 : 4;
    if (c->is_record) return 3;
    if (c->credit != USPI_VERIFIED) return 0;
    return (c->doubts & USPI_DOUBT_TAIL_CALL) == 0 ? 2 : 1;
}

static bool is_better(const struct uspi_candidate *a, const struct uspi_candidate *b) {
    return !b->found || rank(a) > rank(b);
}

/* Whether a return may not be to the caller: it goes to what a register holds, or takes more off the stack than its
 * address. */
static bool may_enter_function(const struct uspi_backend *b, const struct uspi_rule *rule) {
    const struct uspi_location *cfa = &rule->cfa, *ra = &rule->return_address;
    if (!uspi_callees_pop(b) || cfa->kind != USPI_REGISTER || cfa->offset > INT32_MAX - (int32_t)b->call_push)
        return false;
    if (ra->kind == USPI_REGISTER) return true;
    return ra->kind == USPI_MEMORY && ra->base == cfa->base && (int64_t)cfa->offset - ra->offset > b->call_push;
}

/* A dynamic linker for i386 enters the function that it has found by a return, above which the caller's return address
 * stands. The function's start can look like a return address: a call that never returns may stand before it. Apart, because
 * other processors do without the stack that this needs. */
USPI_APART static bool look_above(struct uspi_evidence *e, const struct uspi_rule *rule, unsigned doubts, bool found,
                                  struct uspi_candidate *c) {
    struct uspi_candidate other;
    struct uspi_rule above = *rule;
    above.return_address = uspi_in_memory(rule->cfa.base, rule->cfa.offset);
    above.cfa.offset += e->walk->backend->call_push;
    if (!uspi_make_candidate(e, &above, doubts, &other)) return found;
    const bool knows_more = !found || (c->credit != USPI_VERIFIED && other.credit == USPI_VERIFIED);
    if (knows_more || uspi_agree(e, &other, uspi_candidate_of(e, USPI_BY_TABLE))) *c = other;
    return true;
}

/* The candidate of a rule. */
static bool make_candidate(struct uspi_evidence *e, const struct uspi_rule *rule, unsigned doubts,
                           struct uspi_candidate *c) {
    const bool found = uspi_make_candidate(e, rule, doubts, c);
    return may_enter_function(e->walk->backend, rule) ? look_above(e, rule, doubts, found, c) : found;
}

/* Takes the next rule. True when it is enough: without doubt, or confirmed by the record or the table. */
static bool hear(struct ways *ways, const struct uspi_rule *rule, unsigned doubts) {
    struct uspi_evidence *e = ways->evidence;
    struct uspi_candidate c;
    const bool is_behind_call = (doubts & USPI_DOUBT_CALL) != 0;
    /* A call destroys the link register, and a way past the function's end ends in a return to nowhere. */
    if (e->walk->backend->lr != USPI_NO_REGISTER) doubts &= ~(unsigned)USPI_DOUBT_CALL;
    if (!make_candidate(e, rule, doubts, &c)) return false;
    bool is_less_than_record = c.credit == USPI_UNVERIFIED && !c.is_record && uspi_has_record(e);
    if (is_less_than_record && e->record_ra.credit == USPI_VERIFIED) return false;
    struct uspi_candidate *place = c.from_register && doubts != 0 ? &ways->by_register : ways->best;
    if (is_better(&c, place)) *place = c;
    const struct uspi_candidate *best = ways->best, *body = uspi_candidate_of(e, USPI_BY_TABLE);
    const bool has_body = e->described_as == USPI_AS_BODY && body->found;
    /* Behind a call that never returns there can be data. */
    bool is_clear = doubts == 0 && (!is_behind_call || c.credit == USPI_VERIFIED);
    if (is_clear || best->is_record) return true;
    if (has_body && best->found && uspi_is_steady(best) && uspi_agree(e, best, body)) return true;
    /* Without a record to compare with, a verified return address behind a call is as good as it gets. */
    return !uspi_has_record(e) && !has_body && best->credit == USPI_VERIFIED && doubts == USPI_DOUBT_CALL;
}

/* Whether the rule that was kept for this pc is enough here as well; otherwise nothing has been heard. */
static bool recall(struct ways *ways) {
    struct uspi_evidence *e = ways->evidence;
    struct uspi_rule rule;
    unsigned doubts;
    if (!uspi_recall_rule(e->shortcuts, e->walk, e->frame, USPI_RULE_EXPLORED, &rule, &doubts)) return false;
    if (hear(ways, &rule, doubts)) return true;
    ways->best->found = ways->by_register.found = false;
    return false;
}

/* Follows the ways until one is enough. One that was the first and enough will be the first whenever this pc is met
 * again: it is kept. */
USPI_APART static void explore(struct ways *ways, const struct uspi_question *question, bool keeps) {
    struct uspi_evidence *e = ways->evidence;
    struct uspi_explorer x;
    struct uspi_rule rule;
    unsigned doubts;
    uspi_explore_begin(&x, &e->code, question);
    while (uspi_explore_next(&x, &rule, &doubts)) {
        bool is_first = ways->heard++ == 0;
        if (!hear(ways, &rule, doubts)) continue;
        if (keeps && is_first) uspi_keep_rule(e->shortcuts, e->walk, e->frame, USPI_RULE_EXPLORED, &rule, doubts);
        return;
    }
}

/* Whether a way leads from an instruction to the pc without a call. */
USPI_APART static bool reaches_pc(struct uspi_evidence *e, usp_addr from) {
    struct uspi_explorer x;
    struct uspi_rule rule;
    unsigned doubts;
    const struct uspi_question question = {.purpose = USPI_REACH,
                                           .from = from,
                                           .goal = uspi_pc_of(e->walk, e->frame),
                                           .mode = uspi_frame_mode(e->walk, e->frame) & USPI_MODE_THUMB,
                                           .budget = BUDGET_STALE,
                                           .allowed = USPI_DOUBT_ANY};
    uspi_explore_begin(&x, &e->code, &question);
    return uspi_explore_next(&x, &rule, &doubts);
}

/* Whether the link register, which a doubtful way ends with, can be the return address. A call that has returned
 * leaves in it what leads back to the pc without a call, or (armv7) what stands in one of the callee's own callees;
 * and while a frame has made no call, it still holds what was saved in the record. */
static bool register_is_fresh(struct uspi_evidence *e, const struct uspi_candidate *c) {
    struct uspi_candidate from_callee;
    if (!e->frame->exact || reaches_pc(e, c->ra.pc)) return false;
    if (!uspi_has_record(e) || e->record_ra.credit != USPI_VERIFIED) return true;
    if (e->record_ra.pc == c->ra.pc) return false;
    return c->ra.callee == 0 || uspi_proves_itself(e, &c->ra, &from_callee) || e->leaves;
}

/* Whether the call before the link register calls what leads to the pc with the register untouched. */
static bool register_proves_itself(struct uspi_evidence *e, const struct uspi_candidate *c) {
    struct uspi_candidate from_callee;
    return e->frame->exact && uspi_proves_itself(e, &c->ra, &from_callee) && from_callee.from_register;
}

/* Whether the condition flags decide about the instruction at which a frame was interrupted. */
static bool depends_on_flags(struct uspi_evidence *e, usp_addr pc, uint32_t mode) {
    const struct uspi_frame_state *frame = e->frame;
    struct uspi_instruction i;
    bool has_flags = frame->kind == USP_FRAME_KIND_INTERRUPTED || frame->kind == USP_FRAME_KIND_SIGNAL;
    return has_flags && e->walk->backend->condition_holds != NULL && uspi_code_decode(&e->code, pc, mode, &i) &&
           i.conditional != 0;
}

static void follow_ways(struct ways *ways) {
    struct uspi_evidence *e = ways->evidence;
    const struct uspi_frame_state *frame = e->frame;
    const struct uspi_bounds bounds = uspi_bounds_of(e, false);
    struct uspi_question question = {.purpose = USPI_TO_RETURN,
                                     .from = uspi_pc_of(e->walk, frame),
                                     .low = bounds.low,
                                     .high = bounds.high,
                                     .mode = uspi_frame_mode(e->walk, frame),
                                     .unknown = frame->exact ? 0 : uspi_lost_by_call(e->walk->backend),
                                     .pops = USPI_POPS_NOTHING,
                                     .budget = frame->exact ? USPI_BUDGET_EXACT : BUDGET_RETURN,
                                     .allowed = USPI_DOUBT_ANY,
                                     .data = &e->walk->target.memory};
    /* What an instruction with a condition does is another thing the next time. */
    bool depends = depends_on_flags(e, question.from, question.mode);
    if (depends) question.mode |= USPI_MODE_FLAGS | (frame->registers.flags & USPI_MODE_NZCV);
    if (!depends && recall(ways)) return;
    explore(ways, &question, !depends);
    for (enum uspi_pops pops = USPI_POPS_AS_CALLEE; pops <= USPI_POPS_AS_TAKEN_AGAIN; pops++) {
        const struct uspi_candidate *best = ways->best;
        bool is_doubtful = !best->found || (best->credit != USPI_VERIFIED && !best->is_record);
        if (!uspi_callees_pop(e->walk->backend) || !is_doubtful) break;
        question.pops = pops;
        explore(ways, &question, false);
    }
}

void uspi_read_forward(struct uspi_evidence *e, struct uspi_candidate *c) {
    struct ways ways = {.evidence = e, .best = c};
    if (!uspi_can_read_code(e)) return;
    /* Before anything that it is compared with: what can be read now may not be later. */
    uspi_has_record(e);
    follow_ways(&ways);
    const struct uspi_candidate *other = &ways.by_register;
    bool is_candidate = other->found && (is_better(other, ways.best) || !uspi_is_steady(ways.best));
    if (is_candidate &&
        (register_proves_itself(e, other) || (is_better(other, ways.best) && register_is_fresh(e, other)))) {
        *ways.best = *other;
    }
}

/* Whether a rule is of a frame on the stack that the thread runs on, and no jump to somewhere else (setcontext). A
 * CFA that comes out of a slot is left to the table: behind a realigned stack's prologue, the slot may not have been
 * written yet. */
static bool is_of_frame(const struct uspi_backend *b, const struct uspi_rule *rule) {
    const struct uspi_location *cfa = &rule->cfa, *ra = &rule->return_address;
    bool is_on_stack = cfa->kind == USPI_REGISTER && (cfa->base == b->sp || cfa->base == b->fp);
    return is_on_stack && (ra->kind == USPI_MEMORY ? ra->base == cfa->base || ra->base == USPI_BASE_CFA
                                                   : b->lr != USPI_NO_REGISTER && ra->base == b->lr);
}

void uspi_read_return(struct uspi_evidence *e, struct uspi_candidate *c) {
    struct uspi_explorer x;
    struct uspi_rule rule;
    unsigned doubts;
    const struct uspi_bounds bounds = uspi_bounds_of(e, false);
    const struct uspi_question question = {.purpose = USPI_TO_RETURN,
                                           .from = uspi_pc_of(e->walk, e->frame),
                                           .low = bounds.low,
                                           .high = bounds.high,
                                           .mode = uspi_frame_mode(e->walk, e->frame),
                                           .budget = BUDGET_NEAR};
    /* Where the flags decide about the instruction, the way is not one for certain; a signal's trampoline does not
     * return. */
    if (depends_on_flags(e, question.from, question.mode) || e->rule.signal_frame) return;
    uspi_explore_begin(&x, &e->code, &question);
    bool found = uspi_explore_next(&x, &rule, &doubts) && is_of_frame(e->walk->backend, &rule) &&
                 make_candidate(e, &rule, doubts, c);
    if (!found) c->found = false;
}
