/* SPDX-License-Identifier: MIT */
/* See evidence.h. */
#include "lib/unwind/readers/evidence.h"
#include "lib/unwind/code/explorer.h"
#include "lib/unwind/tables/function_starts.h"

void uspi_evidence_init(struct uspi_evidence *e, struct uspi_walk *walk, const struct uspi_frame_state *frame,
                        const struct uspi_shortcuts *shortcuts, const struct uspi_reader_entry *entries) {
    /* Only the first part is cleared. uspi_candidate_of clears candidates, and uspi_code_init initializes the
     * windows. */
    memset(e, 0, offsetof(struct uspi_evidence, code));
    e->walk = walk;
    e->frame = frame;
    e->shortcuts = shortcuts;
    e->entries = entries;
    e->readers = walk->readers;
    e->described_as = USPI_AS_NOTHING;
    e->is_below_fp = true;
    const bool is_noted = shortcuts != NULL && shortcuts->explored.read != NULL;
    uspi_code_init(&e->code, walk->backend, is_noted ? &shortcuts->explored : uspi_code_memory(walk));
    uspi_code_init(&e->aside, walk->backend, uspi_code_memory(walk));
    e->has_looked_at_code = e->has_looked_at_record = false;
    e->leaves = false;
}

void uspi_evidence_drop_table(struct uspi_evidence *e) {
    e->asked &= 1u << USPI_BY_SIGNAL;
    e->described_as = USPI_AS_NOTHING;
    e->is_below_fp = true;
    e->leaves = false;
}

const struct uspi_candidate *uspi_candidate_of(struct uspi_evidence *e, enum uspi_reader reader) {
    const struct uspi_reader_entry *entry = &e->entries[reader];
    struct uspi_candidate *c = &e->candidates[entry->storage];
    bool is_there = entry->storage != USPI_STORAGE_OTHER || e->other == reader;
    if ((e->asked >> reader & 1) == 0 || !is_there) {
        e->asked |= 1u << reader;
        if (entry->storage == USPI_STORAGE_OTHER) e->other = reader;
        memset(c, 0, sizeof *c);
        if ((e->readers & entry->readers) != 0) entry->read(e, c);
    }
    return c;
}

bool uspi_can_read_code(struct uspi_evidence *e) {
    const struct uspi_backend *b = e->walk->backend;
    const uint8_t *bytes;
    if (!e->has_looked_at_code) {
        e->has_looked_at_code = true;
        e->can_read_code = uspi_code_read(&e->code, uspi_pc_of(e->walk, e->frame), b->code_align, &bytes) != 0;
    }
    return e->can_read_code;
}

bool uspi_has_record(struct uspi_evidence *e) {
    if (!e->has_looked_at_record) {
        e->has_looked_at_record = true;
        e->record_stop = uspi_find_record(e->walk, &e->aside, e->frame, &e->record, &e->record_ra);
        e->has_record = e->record_stop == USP_STOP_NONE;
    }
    return e->has_record;
}

/* Returns the number of bytes of arguments that the callee removes from the stack: those between the return address and
 * the rule's CFA. If a table describes the frame, they are subtracted, because a table's CFA is always directly above
 * the return address. */
static usp_addr popped_arguments(const struct uspi_evidence *e, const struct uspi_rule *rule) {
    const struct uspi_location *cfa = &rule->cfa, *ra = &rule->return_address;
    const unsigned push = e->walk->backend->call_push;
    int64_t popped = (int64_t)cfa->offset - ra->offset - push;
    bool is_known = (e->described_as & (USPI_AS_BODY | USPI_AS_WHOLE)) != 0 && push != 0 &&
                    cfa->kind == USPI_REGISTER && ra->kind == USPI_MEMORY && cfa->base == ra->base;
    return is_known && popped > 0 ? (usp_addr)popped : 0;
}

/* Whether a candidate comes from the frame record at fp. If the body's frame is not relative to fp, that record is a
 * caller's. */
static bool is_the_record(struct uspi_evidence *e, const struct uspi_candidate *c) {
    return e->is_below_fp && c->fp_at == e->frame->registers.value[e->walk->backend->fp] && uspi_has_record(e) &&
           c->ra.pc == e->record_ra.pc;
}

struct uspi_return_address uspi_judge_by_table(struct uspi_evidence *e, usp_addr raw) {
    struct uspi_return_address ra = uspi_judge_return_address(e->walk, &e->aside, raw);
    /* Directly before the return address is read, it is not a return address: some assembly code does not describe that
     * the call has pushed it. */
    const bool is_read_next = e->frame->exact && uspi_pc_of(e->walk, e->frame) == ra.pc;
    if (ra.is_pc_read && !is_read_next) ra.credit = USPI_VERIFIED;
    return ra;
}

/* Makes the candidate of a rule; see uspi_make_candidate. by_table: the rule is a table's. */
static bool make_candidate(struct uspi_evidence *e, const struct uspi_rule *rule, bool by_table, unsigned doubts,
                           struct uspi_candidate *c) {
    const struct uspi_backend *b = e->walk->backend;
    struct uspi_applied applied;
    struct usp_registers *caller = &c->caller.registers;
    memset(c, 0, sizeof *c);
    if (!uspi_apply_rule(e->walk, e->frame, rule, &applied)) return false;
    *caller = applied.caller;
    caller->value[b->sp] -= popped_arguments(e, rule);
    c->cfa = caller->value[b->sp];
    if (!uspi_is_plausible_cfa(e->walk, e->frame, rule, c->cfa)) return false;
    c->ra = by_table ? uspi_judge_by_table(e, applied.return_address)
                     : uspi_judge_return_address(e->walk, &e->aside, applied.return_address);
    c->credit = c->ra.credit;
    if (c->credit == USPI_REFUTED) return false;
    c->fp_at = applied.fp_at;
    c->is_extended = applied.fp_is_extended;
    /* The record has the same return address, so the fp beside it is the caller's. */
    if (!uspi_known(caller, b->fp) && uspi_has_record(e) && e->record_ra.pc == c->ra.pc) {
        uspi_set(caller, b->fp, e->record.previous);
        c->fp_at = e->frame->registers.value[b->fp];
    }
    c->found = true;
    c->doubts = doubts;
    c->from_register = rule->return_address.kind == USPI_REGISTER;
    c->is_record = is_the_record(e, c);
    c->by_frame_slot = rule->cfa.kind == USPI_MEMORY && rule->cfa.base == b->fp;
    c->caller.sp_known = true;
    c->caller.low = c->cfa;
    return true;
}

bool uspi_make_candidate(struct uspi_evidence *e, const struct uspi_rule *rule, unsigned doubts,
                         struct uspi_candidate *c) {
    return make_candidate(e, rule, false, doubts, c);
}

bool uspi_make_table_candidate(struct uspi_evidence *e, struct uspi_candidate *c) {
    return make_candidate(e, &e->rule, true, 0, c);
}

bool uspi_agree(const struct uspi_evidence *e, const struct uspi_candidate *a, const struct uspi_candidate *b) {
    unsigned sp = e->walk->backend->sp;
    return a->found && b->found && a->ra.pc == b->ra.pc &&
           a->caller.registers.value[sp] == b->caller.registers.value[sp];
}

bool uspi_is_steady(const struct uspi_candidate *c) {
    return (c->doubts & (USPI_DOUBT_SWITCH | USPI_DOUBT_TAIL_CALL)) == 0;
}

/* Finds the bounds of a function in the image's list of function starts. */
static bool find_function(const struct uspi_walk *walk, usp_addr pc, struct uspi_bounds *bounds) {
    if (walk->tables_pc != pc || !walk->has_tables) return false;
    const struct uspi_source source = uspi_table_source(walk);
    const struct usp_memory_range *table = &walk->tables.function_starts;
    const struct uspi_bytes bytes = {&source, table->address, table->size};
    /* The list does not contain the end of the last function, and linkers put stubs after it. */
    return uspi_function_starts_find(walk->backend, bytes, walk->tables.image, pc, &bounds->low, &bounds->high) &&
           bounds->high != 0;
}

struct uspi_bounds uspi_bounds_of(struct uspi_evidence *e, bool narrow) {
    const struct usp_target *target = &e->walk->target;
    const usp_addr pc = uspi_lookup_pc(e->walk, e->frame);
    const bool has_entry = (e->described_as & (USPI_AS_WHOLE | USPI_AS_BODY)) != 0;
    struct uspi_bounds named = {.low = e->named_start, .high = e->named_end}, found = {.is_function = true};
    if (has_entry) named = (struct uspi_bounds){.low = e->start, .high = e->end};
    if (e->described_as != USPI_AS_BODY && target->function_start != NULL &&
        target->function_start(target->context, pc, &found.low, &found.high) == 0 && found.low <= pc) {
        return found;
    }
    return narrow && find_function(e->walk, pc, &found) ? found : named;
}
