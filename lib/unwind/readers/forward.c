/* SPDX-License-Identifier: MIT */
/* The forward reader: executes the rest of the function symbolically and finds where it will return.
 *
 *     x86    return address = [sp + what is left to pop]
 *     arm    return address = lr, until it is stored; then [the slot from which it will be loaded]
 *
 * A path can be wrong after a call that never returns, or after an indirect jump. Then several paths are compared with
 * each other (rank.c) and with other evidence. What is decided here besides is when to stop following paths, and
 * whether a link register can still hold the return address: questions about the paths, which other readers do not
 * answer. */
#include "lib/unwind/code/callee.h"
#include "lib/unwind/code/carry.h"
#include "lib/unwind/code/explore.h"
#include "lib/unwind/readers/proof.h"
#include "lib/unwind/readers/rank.h"
#include "lib/unwind/readers/readers.h"
#include "lib/unwind/readers/start.h"

/* Maximum numbers of instructions. */
#define BUDGET_STALE 512 /* from the link register's address back to the pc */
#define BUDGET_NEAR  64  /* from the pc to a near return: an epilogue has fewer; the rest is other paths */

/* Results of the paths so far. */
struct paths {
    struct uspi_evidence *evidence;
    struct uspi_candidate *best;
    struct uspi_candidate by_register; /* best doubtful one from a link register that may be stale; compared last */
    unsigned judged;
    bool is_cut;           /* a path ended at code that could not be read */
    bool has_jump;         /* a path came to an indirect jump, which may be a switch */
    bool first_suffices;   /* no other path than the first one was needed */
    struct uspi_rule rule; /* of the path that was followed last */
    unsigned doubts;       /* about that path: enum uspi_doubt */
};

static bool is_better(const struct paths *paths, const struct uspi_candidate *a, const struct uspi_candidate *b) {
    return !b->found || uspi_rank_path(paths->evidence, a) < uspi_rank_path(paths->evidence, b);
}

/* Whether a return enters a function, by the table: the caller's return address is directly above what the return
 * removes. i386's dynamic linker enters the function that it has found so (ret $12). The function's start can look like
 * a return address, because a call that never returns may precede it. */
static bool enters_function(struct uspi_evidence *e, const struct uspi_rule *rule, const struct uspi_candidate *c) {
    const struct uspi_backend *b = e->walk->backend;
    const struct uspi_location *cfa = &rule->cfa, *ra = &rule->return_address;
    if (!uspi_callees_pop(b) || cfa->kind != USPI_REGISTER || ra->kind != USPI_MEMORY || ra->base != cfa->base)
        return false;
    const int64_t removed = (int64_t)cfa->offset - ra->offset;
    const struct uspi_candidate *table = uspi_candidate_of(e, USPI_BY_TABLE);
    return removed > b->call_push && table->found && table->cfa == c->cfa + (usp_addr)removed;
}

/* Evaluates paths->rule. Returns true when no more paths are needed: it has no doubts, or the record or the table
 * confirms it. */
static bool judge_path(struct paths *paths) {
    struct uspi_evidence *e = paths->evidence;
    struct uspi_candidate c;
    unsigned doubts = paths->doubts;
    const bool is_after_call = (doubts & USPI_DOUBT_CALL) != 0;
    /* This doubt is unnecessary if there is a link register. A call destroys the register, so a path past the
     * function's end returns to an unknown address. */
    if (e->walk->backend->lr != USPI_NO_REGISTER) doubts &= ~(unsigned)USPI_DOUBT_CALL;
    if (!uspi_make_candidate(e, &paths->rule, doubts, &c) || enters_function(e, &paths->rule, &c)) return false;
    bool is_less_than_record = c.credit == USPI_UNVERIFIED && !c.is_record && uspi_has_record(e);
    if (is_less_than_record && e->record_ra.credit == USPI_VERIFIED) return false;
    struct uspi_candidate *place = c.from_register && doubts != 0 ? &paths->by_register : paths->best;
    if (is_better(paths, &c, place)) *place = c;
    const struct uspi_candidate *best = paths->best, *body = uspi_candidate_of(e, USPI_BY_TABLE);
    const bool has_body = e->described_as == USPI_AS_BODY && body->found;
    /* After a call that never returns there can be data. */
    bool is_clear = doubts == 0 && (!is_after_call || c.credit == USPI_VERIFIED);
    if (is_clear || best->is_record) return true;
    if (has_body && best->found && uspi_is_steady(best) && uspi_agree(e, best, body)) return true;
    /* Without a record or table to compare with, a verified return address is the best possible result of a path with a
     * call. */
    return !uspi_has_record(e) && !has_body && best->credit == USPI_VERIFIED && doubts == USPI_DOUBT_CALL;
}

/* Whether the cached rule for this pc suffices here too. If it does not, its candidate is dropped. */
static bool recall(struct paths *paths) {
    struct uspi_evidence *e = paths->evidence;
    if (!uspi_recall_rule(e->shortcuts, e->walk, e->frame, USPI_RULE_EXPLORED, &paths->rule, &paths->doubts))
        return false;
    if (judge_path(paths)) return true;
    paths->best->found = paths->by_register.found = false;
    return false;
}

static bool has_sure_path(const struct paths *paths) {
    return paths->best->found && (paths->best->credit == USPI_VERIFIED || paths->best->is_record);
}

/* Follows paths until one suffices. */
USPI_APART static void explore(struct paths *paths, const struct uspi_question *question) {
    struct uspi_evidence *e = paths->evidence;
    const uint64_t key = uspi_question_key(question);
    struct uspi_explorer x;
    unsigned has_jump, count = 0;
    bool suffices = false;
    paths->first_suffices = false;
    if (uspi_recall_nothing(e->shortcuts, key, &has_jump)) {
        paths->has_jump = paths->has_jump || has_jump != 0;
        return;
    }
    uspi_explore_begin(&x, &e->code, question);
    while (!suffices && uspi_explore_next(&x, &paths->rule, &paths->doubts)) {
        count++;
        suffices = judge_path(paths) || (question->all_cases && has_sure_path(paths));
    }
    paths->judged += count;
    /* If code can be read the next time, or a register has another value, another path may be the first one. */
    paths->first_suffices =
        suffices && paths->judged == 1 && !x.has_looked && (!x.is_cut || uspi_is_steady(paths->best));
    paths->is_cut = paths->is_cut || x.is_cut;
    paths->has_jump = paths->has_jump || x.has_jump;
    if (count == 0 && !x.is_cut && !x.has_looked) uspi_keep_nothing(e->shortcuts, key, x.has_jump);
}

/* Whether a path without a call leads from an instruction to the pc. */
USPI_APART static bool reaches_pc(struct uspi_evidence *e, usp_addr from) {
    struct uspi_explorer x;
    struct uspi_rule rule;
    unsigned doubts;
    const struct uspi_question question = {.purpose = USPI_REACH,
                                           .from = from,
                                           .goal = uspi_pc_of(e->walk, e->frame),
                                           .mode = uspi_frame_mode(e->walk, e->frame) & USPI_MODE_THUMB,
                                           .budget = BUDGET_STALE,
                                           .allowed = USPI_DOUBT_ANY & ~USPI_DOUBT_CALL};
    uspi_explore_begin(&x, &e->code, &question);
    return uspi_explore_next(&x, &rule, &doubts);
}

/* Whether the link register, with which a doubtful path ends, can be the return address. After a call has returned, the
 * register is stale: a path without a call leads from its address to the pc, or (armv7) the address is in a function
 * that the callee has called. In a frame that has a record and has made no call, the register equals the record's
 * return address. */
static bool register_is_fresh(struct uspi_evidence *e, const struct uspi_candidate *c) {
    struct uspi_candidate from_callee;
    if (!e->frame->exact || reaches_pc(e, c->ra.pc)) return false;
    if (!uspi_has_record(e) || e->record_ra.credit != USPI_VERIFIED) return true;
    if (e->record_ra.pc == c->ra.pc) return false;
    return c->ra.callee == 0 || uspi_proves_itself(e, &c->ra, &from_callee) || e->leaves;
}

/* Whether the call before the link register's address calls a function from whose start a path leads to the pc with the
 * register unchanged. */
static bool register_proves_itself(struct uspi_evidence *e, const struct uspi_candidate *c) {
    struct uspi_candidate from_callee;
    return e->frame->exact && uspi_proves_itself(e, &c->ra, &from_callee) && from_callee.from_register;
}

/* Whether the instruction at which a frame was interrupted depends on the condition flags. */
static bool depends_on_flags(struct uspi_evidence *e, usp_addr pc, uint32_t mode) {
    const struct uspi_frame_state *frame = e->frame;
    struct uspi_instruction i;
    bool has_flags = frame->kind == USP_FRAME_KIND_INTERRUPTED || frame->kind == USP_FRAME_KIND_SIGNAL;
    return has_flags && e->walk->backend->condition_holds != NULL && uspi_code_decode(&e->code, pc, mode, &i) &&
           i.conditional != 0;
}

/* Explores again while nothing is sure: an instruction is visited once, so a wrong path may have been there before the
 * right one (after a call that never returns, data can look like code), or a long one may have used the budget. In the
 * other order the right path comes first. On i386 the arguments that callees remove have been counted, and now are not.
 * Last of all, all code after a switch is tried as its cases, but not where the link register may have the return
 * address: there the jump may be a tail call. */
static void explore_again(struct paths *paths, struct uspi_question question) {
    question.oldest_first = !question.counts_arguments;
    question.counts_arguments = false;
    explore(paths, &question);
    if (has_sure_path(paths) || paths->by_register.found || !paths->has_jump) return;
    question.oldest_first = false;
    question.counts_arguments = uspi_callees_pop(paths->evidence->walk->backend);
    question.all_cases = true;
    explore(paths, &question);
}

static void follow_paths(struct paths *paths) {
    struct uspi_evidence *e = paths->evidence;
    const struct uspi_frame_state *frame = e->frame;
    const struct uspi_bounds bounds = uspi_bounds_of(e, false);
    const bool pops = uspi_callees_pop(e->walk->backend);
    /* On i386 a path past a call that never returns can end at a return address that an earlier call has left in the
     * frame. Such calls are mostly in branches at the function's end, so there the path that branched off first is
     * followed first. */
    struct uspi_question question = {.purpose = USPI_TO_RETURN,
                                     .from = uspi_pc_of(e->walk, frame),
                                     .low = bounds.low,
                                     .high = bounds.high,
                                     .mode = uspi_frame_mode(e->walk, frame),
                                     .unknown = frame->exact ? 0 : uspi_lost_by_call(e->walk->backend),
                                     .oldest_first = pops,
                                     .counts_arguments = pops,
                                     .budget = USPI_EXPLORE_MAX,
                                     .allowed = USPI_DOUBT_ANY,
                                     .data = &e->walk->target.memory,
                                     .registers = frame->exact ? &frame->registers : NULL};
    /* A conditional instruction may do something else the next time, so its rule is neither cached nor recalled. */
    bool depends = depends_on_flags(e, question.from, question.mode);
    if (depends) question.mode |= USPI_MODE_FLAGS | (frame->registers.flags & USPI_MODE_NZCV);
    if (!depends && recall(paths)) return;
    explore(paths, &question);
    /* The path that sufficed will be the first one the next time, too. */
    if (!depends && paths->first_suffices && paths->best->found)
        uspi_keep_rule(e->shortcuts, e->walk, frame, USPI_RULE_EXPLORED, &paths->rule, paths->doubts);
    if (has_sure_path(paths)) return;
    /* A condition that is known may lead to a switch alone, and the other branch to the return. */
    question.mode = uspi_frame_mode(e->walk, frame);
    explore_again(paths, question);
}

void uspi_read_forward(struct uspi_evidence *e, struct uspi_candidate *c) {
    struct paths paths = {.evidence = e, .best = c};
    if (!uspi_can_read_code(e)) return;
    /* Look for the record before the candidates that are compared with it: memory that is readable now may not be
     * later. */
    uspi_has_record(e);
    follow_paths(&paths);
    const struct uspi_candidate *other = &paths.by_register;
    bool is_candidate = other->found && (is_better(&paths, other, paths.best) || !uspi_is_steady(paths.best));
    if (is_candidate &&
        (register_proves_itself(e, other) || (is_better(&paths, other, paths.best) && register_is_fresh(e, other)))) {
        *paths.best = *other;
    }
    c->is_cut = paths.is_cut;
}

/* Whether a rule describes a frame on the stack that the thread uses, not a switch to another context (setcontext). A
 * CFA from a slot is left to the table: after the prologue of a realigned stack, the slot may not have been written
 * yet. */
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
    /* If the instruction depends on the flags, the path is not certain. A signal trampoline does not return. */
    if (depends_on_flags(e, question.from, question.mode) || e->rule.signal_frame) return;
    uspi_explore_begin(&x, &e->code, &question);
    bool found = uspi_explore_next(&x, &rule, &doubts) && is_of_frame(e->walk->backend, &rule) &&
                 uspi_make_candidate(e, &rule, doubts, c) && !enters_function(e, &rule, c);
    if (!found) c->found = false;
}
