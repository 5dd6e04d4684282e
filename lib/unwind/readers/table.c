/* SPDX-License-Identifier: MIT */
/* The reader of unwind tables: the first kind of table that describes a frame gives the rule (kinds.h). */
#include "lib/unwind/readers/table.h"

#include "arch/host.h"
#include "lib/base/processor.h"
#include "lib/os/os.h"
#include "lib/unwind/readers/kinds.h"
#include "lib/unwind/readers/readers.h"
#include "lib/unwind/signals/sigframe.h"

#define ENTRY(name, reader, method, is_own)                                                                            \
    {USP_READER_##reader, USP_FRAME_METHOD_##method, (is_own) ? uspi_describe_by_##name : NULL},
static const struct uspi_table_kind of_system[] = {USPI_EACH_TABLE_KIND(ENTRY)};

__attribute__((weak)) const struct uspi_table_kind *uspi_table_kinds(void) { return of_system; }

/* ---- applying a rule ---- */

/* Whether a return address cannot be one. The pc of an interrupted caller need not follow a call; it is refuted only if
 * it is 0 or known not to be code. */
static bool is_refuted(const struct uspi_walk *walk, const struct uspi_rule *rule,
                       const struct uspi_return_address *ra) {
    if (ra->credit != USPI_REFUTED) return false;
    return !rule->signal_frame || ra->pc == 0 || uspi_ask_for_image(walk, ra->pc) == USP_ERROR_NOT_FOUND;
}

/* Returns the caller's pc: the exact one if the rule is that of Apple's _sigtramp for x86, otherwise the return address
 * as found. The table of that _sigtramp adds one to the interrupted pc, so that it can be treated as a return address.
 * It does not for traps, whose pc is after the instruction anyway (libplatform src/setjmp/x86_64/_sigtramp.s,
 * i386/_sigtramp.s). The exact pc is in the context from which the other registers are read. */
static uint64_t interrupted_pc(const struct uspi_walk *walk, const struct uspi_rule *rule,
                               const struct uspi_applied *applied) {
    const struct uspi_backend *b = walk->backend;
    const uint64_t address = applied->return_address;
    uint32_t fp_place, pc_place;
    uint64_t pc;
    if (!rule->signal_frame || walk->target.os != USP_OS_DARWIN || applied->fp_at == 0) return address;
    if (rule->return_address.kind != USPI_VALUE_EXPRESSION) return address;
    if (!uspi_find_in_mcontext(b, b->fp, &fp_place) || !uspi_find_in_mcontext(b, b->pc, &pc_place)) return address;
    if (!uspi_read_slot(walk, (applied->fp_at - fp_place + pc_place) & b->word_mask, &pc)) return address;
    return address == pc + 1 ? pc : address;
}

static void fail(struct uspi_evidence *e, uint32_t stop, usp_addr address) {
    e->stop = stop;
    e->stop_address = address;
}

static void give_end(const struct uspi_evidence *e, uint32_t stop, struct uspi_candidate *c) {
    c->found = c->ends_stack = true;
    c->stop = stop;
    c->stop_address = uspi_pc_of(e->walk, e->frame);
}

/* Maximum distance between the end of a copied stack and a return address that counts as past it. */
#define PAST_MAX ((usp_addr)1 << 20)

/* Whether the return address of a rule is past the end of a copied stack that continues there. Then there is no caller
 * to be found: another reader could only take a word of the copy for its return address. */
static bool is_past_copy(const struct uspi_evidence *e, const struct uspi_rule *rule) {
    const struct uspi_shortcuts *shortcuts = e->shortcuts;
    const struct usp_registers *registers = &e->frame->registers;
    const struct uspi_backend *b = e->walk->backend;
    const struct uspi_location *cfa = &rule->cfa, *ra = &rule->return_address;
    if (shortcuts == NULL || !shortcuts->stack_continues) return false;
    if (cfa->kind != USPI_REGISTER || ra->kind != USPI_MEMORY || ra->base != USPI_BASE_CFA) return false;
    if (!uspi_known(registers, cfa->base) || (cfa->base == b->sp ? !e->frame->sp_known : cfa->base != b->fp))
        return false;
    const usp_addr at = registers->value[cfa->base] + (usp_addr)(int64_t)cfa->offset + (usp_addr)(int64_t)ra->offset;
    const usp_addr end = shortcuts->stack.from + shortcuts->stack.size;
    return at + b->slot - end - 1 < PAST_MAX;
}

/* Decides about a CFA that is not above the frame on the same stack. Call frame information can describe that a
 * function changes the stack pointer to another stack (stacker in Rust, split stacks, OCaml, SBCL, coroutines): it
 * computes the CFA from another register, or from memory. Go's run-time has functions that do the same. *stays becomes
 * true if the table is not to blame. */
static bool is_switch(struct uspi_evidence *e, const struct uspi_rule *rule, usp_addr cfa, bool *stays) {
    const bool can_switch = e->method == USP_FRAME_METHOD_CFI || rule->cfa.kind == USPI_GIVEN;
    *stays = can_switch && uspi_is_other_stack(e->walk, e->frame, rule, cfa);
    return *stays && uspi_may_switch(e->walk, cfa);
}

/* Checks the CFA of a table's rule. */
static bool take_cfa(struct uspi_evidence *e, const struct uspi_rule *rule, usp_addr cfa, struct uspi_candidate *c) {
    bool stays;
    /* A signal may have been handled on another stack, so the CFA of its frame is not checked. */
    if (rule->signal_frame || uspi_is_plausible_cfa(e->walk, e->frame, rule, cfa)) return true;
    c->is_switch = is_switch(e, rule, cfa, &stays);
    if (c->is_switch) return true;
    if (stays) {
        fail(e, USP_STOP_FP_OUTSIDE, cfa);
    } else {
        e->walk->stack_flags |= USP_STACK_CORRUPT_TABLE;
        e->is_corrupt = true;
    }
    return false;
}

/* Whether an instruction after which the code does not continue (a return, an indirect jump) ends at an address. */
static bool follows_end(struct uspi_evidence *e, usp_addr at) {
    const struct uspi_backend *b = e->walk->backend;
    struct uspi_instruction i;
    for (usp_addr n = b->code_align; n <= b->instruction_max && n <= at; n += b->code_align) {
        const bool is_whole = uspi_code_decode(&e->aside, at - n, 0, &i) && i.length == n;
        if (is_whole && (i.flow == USPI_RETURN || i.flow == USPI_JUMP_UNKNOWN)) return true;
    }
    return false;
}

/* Whether the first function of a stack that the program made by hand (makecontext, a switch of its own) has this
 * refuted return address: 0, or the start of the code to which it is to return. No call has pushed such a one. A table
 * describes that code as a function, or it follows a function's last instruction, and no table of its image describes it
 * (i386's makecontext). Another small number is none: a damaged stack has it.
 *   raw  as found
 *   ra   as judged, which is 0 for all small numbers */
USPI_APART static bool begins_stack(struct uspi_evidence *e, const struct uspi_rule *rule, uint64_t raw, usp_addr ra) {
    struct uspi_frame_state there;
    struct uspi_description d;
    if (e->method != USP_FRAME_METHOD_CFI || rule->signal_frame || e->walk->needs_root) return false;
    if (ra == 0) return !e->frame->exact && (raw & e->walk->strip_mask & e->walk->backend->word_mask) == 0;
    memset(&there, 0, sizeof there);
    uspi_registers_init(&there.registers, e->walk->target.arch);
    uspi_set(&there.registers, e->walk->backend->pc, ra);
    there.exact = true;
    const struct uspi_frame_state *frame = e->frame;
    e->frame = &there;
    d.answer = USPI_NOT_DESCRIBED;
    uspi_describe_by_cfi(e, &d);
    const bool is_in_image = uspi_unwind_tables_of(e->walk, &there) != NULL;
    e->frame = frame;
    if (d.answer == USPI_DESCRIBED) return d.entry.start == ra;
    return d.answer == USPI_NOT_DESCRIBED && is_in_image && follows_end(e, ra);
}

/* Applies a rule exactly as the table states it. */
static void follow_rule(struct uspi_evidence *e, const struct uspi_rule *rule, struct uspi_candidate *c) {
    struct uspi_walk *walk = e->walk;
    struct uspi_applied applied;
    const bool is_known = uspi_apply_rule(walk, e->frame, rule, &applied);
    if (!is_known && !uspi_apply_assuming(walk, e->frame, rule, &applied)) {
        if (is_past_copy(e, rule)) {
            give_end(e, USP_STOP_NOT_COPIED, c);
        } else {
            fail(e, USP_STOP_UNREADABLE, uspi_pc_of(walk, e->frame));
        }
        return;
    }
    if (rule->return_address.kind == USPI_OUTERMOST) {
        give_end(e, USP_STOP_ROOT, c);
        return;
    }
    const usp_addr sp = applied.caller.value[walk->backend->sp];
    if (!take_cfa(e, rule, sp, c)) return;
    c->ra = uspi_judge_by_table(e, interrupted_pc(walk, rule, &applied));
    if (c->ra.credit == USPI_REFUTED && e->method == USP_FRAME_METHOD_GO && uspi_ends_goroutine(e, c->ra.pc)) {
        c->ra.credit = USPI_VERIFIED;
    }
    if (is_refuted(walk, rule, &c->ra)) {
        c->is_inferred_end = begins_stack(e, rule, applied.return_address, c->ra.pc);
        if (c->is_inferred_end) give_end(e, USP_STOP_ROOT, c);
        e->has_table_stop = true;
        e->table_stop = c->ra.pc == 0 ? USP_STOP_RA_ZERO : USP_STOP_RA_NOT_CODE;
        e->table_stop_address = c->ra.pc;
        return;
    }
    if ((c->is_switch || !is_known) && c->ra.credit != USPI_VERIFIED) {
        fail(e, USP_STOP_RA_NOT_CODE, c->ra.pc);
        return;
    }
    c->found = true;
    c->credit = c->ra.credit;
    c->fp_at = applied.fp_at;
    c->is_extended = applied.fp_is_extended;
    c->from_register = rule->return_address.kind == USPI_REGISTER;
    c->is_interrupted = rule->signal_frame;
    c->cfa = sp;
    c->caller.registers = applied.caller;
    c->caller.sp_known = true;
    c->caller.low = sp;
}

/* ---- the reader ---- */

/* Returns how the table's rule is to be used. If the instructions cannot be used, it is applied as it is. */
static enum uspi_described_as take_as(struct uspi_evidence *e, const struct uspi_description *d) {
    if (!e->frame->exact || (e->readers & USP_READER_INSTRUCTIONS) == 0 || !uspi_can_read_code(e)) return USPI_AS_CALL;
    return d->is_body_only ? USPI_AS_BODY : USPI_AS_WHOLE;
}

/* Searches one kind of table. Returns whether the search ends with it. */
static bool ask_table(struct uspi_evidence *e, const struct uspi_table_kind *kind, struct uspi_candidate *c) {
    struct uspi_description d;
    d.answer = USPI_NOT_DESCRIBED;
    e->method = kind->method;
    kind->describe(e, &d);
    if (d.answer == USPI_TABLE_CORRUPT) {
        e->walk->stack_flags |= USP_STACK_CORRUPT_TABLE;
        e->is_corrupt = true;
    }
    /* USPI_CANNOT_UNWIND counts as not described: compilers write it for code that they were not asked to describe. In
     * Go's table it is certain and ends the search. Go's linker also makes call frame information from the same lists,
     * and that describes such code wrongly. The instructions from the function's start may tell more. */
    if (d.answer == USPI_CANNOT_UNWIND && kind->method == USP_FRAME_METHOD_GO) {
        e->next_table = USPI_TABLE_KINDS;
        e->named_start = d.entry.start;
        e->named_end = d.entry.end;
    }
    if (d.answer != USPI_DESCRIBED) return false;
    const enum uspi_described_as as = take_as(e, &d);
    const struct uspi_location *cfa = &d.entry.rule.cfa;
    e->rule = d.entry.rule;
    e->start = d.entry.start;
    e->end = d.entry.end;
    if (as != USPI_AS_BODY) {
        follow_rule(e, &e->rule, c);
        if (c->found) e->described_as = as;
        return c->found;
    }
    e->described_as = as;
    e->is_below_fp = cfa->kind == USPI_REGISTER && cfa->base == e->walk->backend->fp;
    if (!uspi_make_table_candidate(e, c)) c->found = false;
    return true;
}

bool uspi_recall_table(struct uspi_evidence *e) {
    struct uspi_candidate *c = &e->candidates[USPI_STORAGE_TABLE];
    if (!uspi_recall_rule(e->shortcuts, e->walk, e->frame, USPI_RULE_BY_TABLE, &e->rule, &e->method)) return false;
    memset(c, 0, sizeof *c);
    follow_rule(e, &e->rule, c);
    if (!c->found) return false;
    e->asked |= 1u << USPI_BY_TABLE;
    e->is_kept = true;
    e->described_as = USPI_AS_CALL;
    return true;
}

void uspi_read_table(struct uspi_evidence *e, struct uspi_candidate *c) {
    const struct uspi_table_kind *kinds = uspi_table_kinds();
    while (e->next_table < USPI_TABLE_KINDS) {
        const struct uspi_table_kind *kind = &kinds[e->next_table++];
        memset(c, 0, sizeof *c);
        if (kind->describe != NULL && (e->readers & kind->readers) != 0 && ask_table(e, kind, c)) return;
    }
    c->found = false;
}
