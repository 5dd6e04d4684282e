/* SPDX-License-Identifier: MIT */
/* See start.h. Also the two readers that explore from a function's start: from a known one, and from one that is found
 * by scanning back. */
#include "lib/unwind/readers/start.h"
#include "lib/unwind/code/callee.h"
#include "lib/unwind/code/explore.h"
#include "lib/unwind/readers/readers.h"

#define FUNCTION_MAX (1u << 22) /* maximum distance in bytes between a start and the pc */
#define SCAN_BACK    1024       /* bytes before the pc in which a start is searched for */
#define SCAN_TRIES   4          /* maximum number of apparent starts that are tried */
#define RECORD_MAX   4          /* maximum number of instructions from the push of fp until fp is set */

/* Moves a candidate's CFA up by the arguments that the function's own return removes from the stack: those that its
 * code shows, otherwise those that the caller's code shows. A table's CFA, with which candidates are compared, is
 * always directly above the return address. */
static void add_popped(struct uspi_evidence *e, usp_addr start, struct uspi_candidate *c) {
    const struct uspi_backend *b = e->walk->backend;
    if (!uspi_callees_pop(b) || (e->described_as & (USPI_AS_BODY | USPI_AS_WHOLE)) != 0) return;
    unsigned budget = USPI_CALLEE_MAX;
    const usp_addr popped = (usp_addr)uspi_code_popped(&e->aside, start, 0, c->ra.pc, &budget);
    c->caller.registers.value[b->sp] += popped;
    c->caller.low = c->cfa += popped;
}

/* Whether an indirect jump may have left the function, by the doubts about a path. */
static bool has_jump(unsigned doubts) { return (doubts & (USPI_DOUBT_SWITCH | USPI_DOUBT_TAIL_CALL)) != 0; }

/* Makes the candidate of the first rule that gives a possible return address. */
USPI_APART static bool explore(struct uspi_evidence *e, const struct uspi_question *question,
                               struct uspi_candidate *c) {
    const uint64_t key = uspi_question_key(question);
    struct uspi_explorer x;
    struct uspi_rule rule;
    unsigned doubts, count = 0, note;
    bool found = false;
    if (uspi_recall_first(e->shortcuts, e->walk->backend, key, &rule, &doubts) &&
        uspi_make_candidate(e, &rule, doubts, c)) {
        add_popped(e, question->from, c);
        e->leaves = has_jump(doubts);
        return true;
    }
    if (uspi_recall_nothing(e->shortcuts, key, &note)) {
        e->leaves = note != 0;
        return false;
    }
    uspi_explore_begin(&x, &e->code, question);
    while (!found && uspi_explore_next(&x, &rule, &doubts)) {
        count++;
        found = uspi_make_candidate(e, &rule, doubts, c);
    }
    if (count == 0 && !x.is_cut && !x.has_looked) uspi_keep_nothing(e->shortcuts, key, x.has_jump);
    /* If code can be read the next time, or a register has another value, another path may be the first one. */
    const bool is_first = found && count == 1 && !x.has_looked && (!x.is_cut || uspi_is_steady(c));
    if (is_first && x.has_jump == has_jump(doubts)) uspi_keep_first(e->shortcuts, e->walk->backend, key, &rule, doubts);
    if (found) add_popped(e, question->from, c);
    e->leaves = x.has_jump;
    return found;
}

bool uspi_from_start(struct uspi_evidence *e, usp_addr start, usp_addr end, struct uspi_candidate *c) {
    const struct uspi_backend *b = e->walk->backend;
    const usp_addr pc = uspi_pc_of(e->walk, e->frame);
    const struct uspi_question question = {.purpose = USPI_TO_GOAL,
                                           .from = start,
                                           .goal = pc,
                                           .low = start,
                                           .high = end,
                                           .mode = uspi_frame_mode(e->walk, e->frame) & USPI_MODE_THUMB,
                                           .is_interrupted = e->frame->exact,
                                           .counts_arguments = uspi_callees_pop(b),
                                           .budget = USPI_EXPLORE_MAX,
                                           .allowed = USPI_DOUBT_ANY,
                                           .data = &e->walk->target.memory};
    /* A tail call may have led to a function at a lower address than the one that was called. */
    if (pc - start > FUNCTION_MAX && start - pc > FUNCTION_MAX) return false;
    return explore(e, &question, c);
}

void uspi_read_start(struct uspi_evidence *e, struct uspi_candidate *c) {
    const struct uspi_bounds bounds = uspi_bounds_of(e, true);
    if (bounds.low == 0 || !uspi_can_read_code(e) || !uspi_from_start(e, bounds.low, bounds.high, c)) c->found = false;
}

/* Whether an instruction can be a function's first one: compilers put it only there (start_hint), or it pushes fp to
 * make a frame record. */
static bool begins_function(struct uspi_evidence *e, usp_addr at, uint32_t mode) {
    const struct uspi_backend *b = e->walk->backend;
    struct uspi_instruction i;
    if (!uspi_code_decode(&e->aside, at, mode, &i)) return false;
    if (i.start_hint != 0) return true;
    bool pushes = b->call_push != 0 && i.effect_count == 2, stores_fp = false;
    for (unsigned n = 0; n < i.effect_count; n++) {
        const struct uspi_effect *effect = &i.effects[n];
        if (effect->op == USPI_STORE && effect->reg == b->fp && effect->base == b->sp) stores_fp = true;
    }
    return pushes && stores_fp;
}

/* Whether one of the next instructions sets fp from sp. That is better evidence than a byte that looks like a push. */
static bool makes_record(struct uspi_evidence *e, usp_addr at, uint32_t mode) {
    const struct uspi_backend *b = e->walk->backend;
    struct uspi_instruction i;
    for (unsigned n = 0; n <= RECORD_MAX && uspi_code_decode(&e->aside, at, mode, &i); n++) {
        for (unsigned k = 0; n > 0 && k < i.effect_count; k++) {
            const struct uspi_effect *effect = &i.effects[k];
            if (effect->op == USPI_SET && effect->reg == b->fp && effect->base == b->sp) return true;
        }
        if (i.flow != USPI_NEXT) return false;
        at += i.length;
        mode = i.mode;
    }
    return false;
}

static bool scan(struct uspi_evidence *e, bool only_records, struct uspi_candidate *c) {
    const struct uspi_backend *b = e->walk->backend;
    usp_addr pc = uspi_pc_of(e->walk, e->frame);
    uint32_t mode = uspi_frame_mode(e->walk, e->frame) & USPI_MODE_THUMB;
    unsigned tries = SCAN_TRIES;
    for (usp_addr back = 0; back <= SCAN_BACK && back <= pc && tries > 0; back += b->code_align) {
        if (!begins_function(e, pc - back, mode)) continue;
        if (only_records && !makes_record(e, pc - back, mode)) continue;
        tries--;
        if (uspi_from_start(e, pc - back, 0, c) && c->credit == USPI_VERIFIED) return true;
    }
    return false;
}

/* Returns whether a word below a handler's return address can be the return address of a function that the handler has
 * called, and that the frame is in. Other return addresses are remains of earlier calls. */
static bool may_have_called(struct uspi_evidence *e, uint64_t word, struct uspi_candidate *c) {
    const struct uspi_return_address ra = uspi_judge_return_address(e->walk, &e->aside, word);
    return ra.credit == USPI_VERIFIED && (ra.callee == 0 || uspi_from_start(e, ra.callee, 0, c));
}

/* Makes the candidate of a signal handler that nothing describes: the kernel is its caller. */
static bool from_handler(struct uspi_evidence *e, struct uspi_candidate *c) {
    const struct uspi_backend *b = e->walk->backend;
    const usp_addr at = uspi_find_handlers_return(e), sp = e->frame->registers.value[b->sp];
    uint64_t word;
    if (at == 0) return false;
    for (usp_addr below = sp; below < at; below += b->slot) {
        if (!uspi_read_slot(e->walk, below, &word) || may_have_called(e, word, c)) return false;
    }
    const int32_t offset = (int32_t)(at - sp);
    const struct uspi_rule rule = {.cfa = uspi_in_register(b->sp, offset + b->slot),
                                   .return_address = uspi_in_memory(b->sp, offset)};
    return uspi_make_candidate(e, &rule, 0, c);
}

/* Scans back from the pc for the function's start. An apparent start counts only if it leads to a return address that
 * follows a call. That does not exclude every wrong start: stale return addresses are on every stack, and many x86
 * operands contain the code of a push. So x86 first tries starts that make a frame record. */
void uspi_read_scan(struct uspi_evidence *e, struct uspi_candidate *c) {
    bool found = e->frame->exact && uspi_can_read_code(e) &&
                 ((e->walk->backend->call_push != 0 && scan(e, true, c)) || scan(e, false, c));
    if (!found) found = uspi_can_read_code(e) && from_handler(e, c);
    if (!found) c->found = false;
}
