/* SPDX-License-Identifier: MIT */
/* See decide.h and evidence.h. Contains the list of frame readers, and the function that chooses a candidate. rank.c
 * has the order of candidates. */
#include "lib/unwind/readers/decide.h"
#include "lib/unwind/code/queries.h"
#include "lib/unwind/frame/step.h"
#include "lib/unwind/readers/evidence.h"
#include "lib/unwind/readers/rank.h"
#include "lib/unwind/readers/readers.h"
#include "lib/unwind/readers/table.h"

/* ---- making the caller from the chosen candidate ---- */

static void describe_extended(struct uspi_evidence *e, usp_addr record, struct uspi_extended *extended) {
    const struct usp_registers *registers = &e->frame->registers;
    unsigned reg;
    extended->record = record;
    /* The context can be missing from its slot only while the frame is being set up. */
    if (!e->frame->exact) return;
    extended->in_register = uspi_code_next_store(&e->code, registers, record - USPI_CONTEXT_BELOW,
                                                 uspi_frame_mode(e->walk, e->frame), &reg);
    if (extended->in_register && uspi_known(registers, reg)) extended->context = registers->value[reg];
}

/* Maximum number of instructions from a caller's pc to its return through a scratch register. */
#define RETURN_MAX 4

/* Finds the scratch register from which the caller takes its return address: its next instruction copies it to the link
 * register, or a few instructions lead to a return through it (*returns). Returns USPI_NO_REGISTER when there is
 * none. */
static unsigned scratch_of(struct uspi_evidence *e, const struct uspi_frame_state *caller, bool *returns) {
    const struct uspi_backend *b = e->walk->backend;
    usp_addr at = uspi_pc_of(e->walk, caller);
    uint32_t mode = uspi_frame_mode(e->walk, caller);
    uint64_t others = b->callee_saved | UINT64_C(1) << b->pc | UINT64_C(1) << b->sp;
    struct uspi_instruction i;
    *returns = false;
    for (unsigned n = 0; n < RETURN_MAX && uspi_code_decode(&e->aside, at, mode, &i); n++) {
        const struct uspi_effect *first = &i.effects[0];
        if (n == 0 && i.effect_count == 1 && first->op == USPI_SET && first->reg == b->lr && first->value == 0) {
            return first->base;
        }
        *returns = i.flow == USPI_RETURN && i.target_register < b->register_count;
        if (*returns) return (others >> i.target_register & 1) == 0 ? i.target_register : USPI_NO_REGISTER;
        if (i.flow != USPI_NEXT) break;
        others |= uspi_written_by(&i);
        at += i.length;
        mode = i.mode;
    }
    return USPI_NO_REGISTER;
}

/* Marks the caller as exact if it has its own return address in a scratch register over the call, and the frame, whose
 * return address is in the link register, preserves that one. Such a caller has no frame that a call requires, like an
 * interrupted function. It gets the scratch register's value.
 *
 * Code of LLVM's machine outliner does this: it has called a piece of itself that the compiler shares between
 * functions, and that may use the register for its own return address. glibc's rawmemchr for arm64 does it with a
 * function that it knows to preserve x15 (strlen). Its return address has to follow a call, because the paths through
 * that function are too many to follow. */
static void resume_caller(struct uspi_evidence *e, struct uspi_frame_state *caller) {
    const struct uspi_backend *b = e->walk->backend;
    const struct usp_registers *registers = &e->frame->registers;
    bool returns;
    if (!e->frame->exact || b->lr == USPI_NO_REGISTER) return;
    const unsigned reg = scratch_of(e, caller, &returns);
    if (reg >= b->register_count || reg == b->lr || !uspi_known(registers, reg)) return;
    const usp_addr value = registers->value[reg];
    if (returns ? uspi_judge_return_address(e->walk, &e->aside, value).credit != USPI_VERIFIED
                : !uspi_code_keeps(&e->aside, registers, uspi_frame_mode(e->walk, e->frame), reg)) {
        return;
    }
    uspi_set(&caller->registers, reg, value);
    /* The decoding mode of an exact frame comes from its flags register. */
    if ((caller->flags & USP_FRAME_THUMB) != 0) {
        usp_registers_set_pc(&caller->registers, caller->registers.value[b->pc] | 1);
    }
    caller->exact = true;
}

/* Fills the step from a candidate and its `method` (enum usp_frame_method). Out of line, because the instructions that
 * resume_caller decodes would take stack below every reader, and handlers have little. */
static __attribute__((noinline)) void accept_candidate(struct uspi_evidence *e, const struct uspi_candidate *c,
                                                       uint32_t method, struct uspi_step *step) {
    struct uspi_frame_state *caller = &step->caller;
    step->is_settled = true;
    step->found = !c->ends_stack;
    step->stop = c->stop;
    step->stop_address = c->stop_address;
    step->cfa = c->cfa;
    if (c->ends_stack) return;
    step->is_switch = c->is_switch;
    *caller = c->caller;
    /* fp and the return address form a record only if both were read from memory. */
    if (c->is_extended && !c->from_register) describe_extended(e, c->fp_at, &step->extended);
    if (!c->is_complete) {
        uint32_t kind = c->from_register ? USP_FRAME_KIND_LINK_REGISTER : USP_FRAME_KIND_RETURN_ADDRESS;
        uspi_set_caller(e->walk, caller, &c->ra, kind, method);
        if (c->from_register) resume_caller(e, caller);
    }
    if (c->is_interrupted) {
        caller->exact = true;
        caller->kind = USP_FRAME_KIND_SIGNAL;
        caller->method = method;
    }
}

/* In the order of enum uspi_reader. */
static const struct uspi_reader_entry entries[USPI_READERS] = {
    [USPI_BY_SIGNAL] = {USP_READER_SIGNAL, USPI_STORAGE_SIGNAL, uspi_read_signal},
    [USPI_BY_TABLE] = {USP_READER_TABLES, USPI_STORAGE_TABLE, uspi_read_table},
    [USPI_BY_FORWARD] = {USP_READER_INSTRUCTIONS, USPI_STORAGE_FORWARD, uspi_read_forward},
    [USPI_BY_RETURN] = {USP_READER_INSTRUCTIONS, USPI_STORAGE_OTHER, uspi_read_return},
    [USPI_BY_START] = {USP_READER_INSTRUCTIONS, USPI_STORAGE_START, uspi_read_start},
    [USPI_BY_PROOF] = {USP_READER_INSTRUCTIONS, USPI_STORAGE_OTHER, uspi_read_proof},
    [USPI_BY_SCAN] = {USP_READER_INSTRUCTIONS, USPI_STORAGE_OTHER, uspi_read_scan},
    [USPI_BY_BAD_CALL] = {USP_READER_INSTRUCTIONS, USPI_STORAGE_OTHER, uspi_read_bad_call},
    [USPI_BY_RECORD] = {USP_READER_FRAME_RECORD, USPI_STORAGE_OTHER, uspi_read_record},
};

/* choose_with_signal uses the signal reader before the rows. */
_Static_assert(USPI_BY_SIGNAL == 0, "signals are not a row of the table");

/* Returns the chosen reader; USPI_READERS: none. */
static enum uspi_reader choose(struct uspi_evidence *e) {
    for (;;) {
        uspi_candidate_of(e, USPI_BY_TABLE);
        const enum uspi_described_as as = e->described_as;
        const enum uspi_reader first = uspi_rank_readers(e);
        if (first != USPI_READERS || as == USPI_AS_NOTHING) return first;
        uspi_evidence_drop_table(e);
    }
}

/* Whether the chosen candidate shows that this frame was called from the signal's frame and has no record of its own.
 * Then its CFA is below the kernel's frame, and its caller has the same fp. */
static bool is_called_there(const struct uspi_evidence *e, const struct uspi_candidate *signal,
                            const struct uspi_candidate *chosen) {
    const unsigned fp = e->walk->backend->fp;
    const struct usp_registers *caller = &chosen->caller.registers;
    return !chosen->ends_stack && chosen->cfa != 0 && chosen->cfa < signal->cfa && uspi_known(caller, fp) &&
           caller->value[fp] == e->frame->registers.value[fp];
}

/* Chooses a reader. A signal's frame has priority over everything except a cached rule for the same code. */
static enum uspi_reader choose_with_signal(struct uspi_evidence *e) {
    if (uspi_recall_table(e)) return choose(e);
    const struct uspi_candidate *signal = uspi_candidate_of(e, USPI_BY_SIGNAL);
    if (!signal->found) return choose(e);
    if (!signal->may_be_callers) return USPI_BY_SIGNAL;
    /* The cache is not used: its rules may not be valid here. */
    const struct uspi_shortcuts *shortcuts = e->shortcuts;
    e->shortcuts = NULL;
    const enum uspi_reader other = choose(e);
    if (!signal->is_altered) e->shortcuts = shortcuts;
    if (other != USPI_READERS && is_called_there(e, signal, &e->candidates[entries[other].storage])) return other;
    return signal->is_altered ? other : USPI_BY_SIGNAL;
}

static uint32_t method_of(const struct uspi_evidence *e, enum uspi_reader reader, const struct uspi_candidate *c) {
    switch (reader) {
    case USPI_BY_SIGNAL: return USP_FRAME_METHOD_SIGNAL;
    case USPI_BY_TABLE: return e->method;
    default: break;
    }
    if (c->from_register) return USP_FRAME_METHOD_LINK_REGISTER;
    return c->is_record ? USP_FRAME_METHOD_FRAME_POINTER : USP_FRAME_METHOD_INSTRUCTIONS;
}

/* Caches the table's rule for other walks, if it was chosen and holds exactly at this pc. */
static void keep(struct uspi_evidence *e, enum uspi_reader chosen) {
    bool is_exact_rule = (e->described_as & (USPI_AS_CALL | USPI_AS_WHOLE)) != 0;
    if (chosen != USPI_BY_TABLE || !is_exact_rule || e->is_kept) return;
    /* Where the return address was not copied, the rule was not compared with other readers. An inferred end is that of
     * one stack. */
    const struct uspi_candidate *table = &e->candidates[USPI_STORAGE_TABLE];
    if (table->stop == USP_STOP_NOT_COPIED || table->is_inferred_end) return;
    uspi_keep_rule(e->shortcuts, e->walk, e->frame, USPI_RULE_BY_TABLE, &e->rule, e->method);
}

/* Fills the step with the reason why no reader found a caller. What a table states counts more than the frame pointer,
 * which the code may use for something else. */
static void tell_why(const struct uspi_evidence *e, struct uspi_step *step) {
    if (e->is_corrupt) {
        step->stop = USP_STOP_CORRUPT_TABLE;
        step->stop_address = uspi_pc_of(e->walk, e->frame);
        return;
    }
    step->stop = e->has_table_stop ? e->table_stop : e->stop;
    step->stop_address = e->has_table_stop ? e->table_stop_address : e->stop_address;
}

bool uspi_find_caller(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                      const struct uspi_shortcuts *shortcuts, uint32_t readers, struct uspi_step *step) {
    struct uspi_evidence e;
    memset(step, 0, sizeof *step);
    uspi_evidence_init(&e, walk, frame, shortcuts, entries);
    e.readers = readers;
    enum uspi_reader chosen = choose_with_signal(&e);
    if (chosen == USPI_READERS) {
        tell_why(&e, step);
        return false;
    }
    /* If the chosen candidate agrees with the table's, the table's is used: it knows more about the caller. */
    const struct uspi_candidate *c = &e.candidates[entries[chosen].storage], *table = &e.candidates[USPI_STORAGE_TABLE];
    if ((e.described_as & (USPI_AS_BODY | USPI_AS_WHOLE)) != 0 && uspi_agree(&e, c, table)) {
        c = table;
        chosen = USPI_BY_TABLE;
    }
    keep(&e, chosen);
    accept_candidate(&e, c, method_of(&e, chosen, c), step);
    return step->found;
}
