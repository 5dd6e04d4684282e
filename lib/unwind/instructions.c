/* SPDX-License-Identifier: MIT */
/* The reader of instructions: the first-frame rule, and code without frame records below it.
 *
 * At an exact pc a frame record says who the caller is only between the instruction that makes it and the one that undoes
 * it. What holds elsewhere, and whether this is elsewhere, is in the instructions: the explorer carries out what is left
 * of the function and sees from where it will return.
 *
 *     x86    return address = [sp + what is left to pop]
 *     arm    return address = lr, until it is stored; then [the slot from which it will be loaded]
 *
 * Three witnesses are heard: the way forward to a return (it can go astray behind a call that never returns), the way
 * from the function's start to the pc (it needs the start), and the frame record that fp points to (it can belong to a
 * caller, or to nobody). Where they agree there is nothing to decide; where not, the call before each return address
 * tells which function was called, and that function's first instruction is a start to try.
 *
 * A table that describes functions' bodies (table.h) is a fourth witness: it is right but in prologues and epilogues, and
 * names a start, which is the function's unless the linker has let neighbours share an entry. */
#include "lib/unwind/explore.h"
#include "lib/unwind/function_starts.h"
#include "lib/unwind/reader.h"

/* Instructions to look at. A function's way to its return is rarely longer than some hundred. */
#define BUDGET_EXACT  4096
#define BUDGET_RETURN 1024
#define BUDGET_STALE  512
#define FUNCTION_MAX  (1u << 22) /* bytes between a start and a pc to which it is believed to lead */
#define SCAN_BACK     1024       /* bytes before the pc in which a start is looked for, */
#define SCAN_TRIES    4          /* and how many that look like one are tried */
#define RECORD_MAX    4          /* instructions behind the push of fp until fp is set */
#define STACK_WORDS   8          /* at sp, tried as return addresses when nothing better is known */

/* One account of where the caller is. */
struct account {
    bool found;
    unsigned doubts;
    enum uspi_credit credit;
    bool from_register; /* the return address was still in the link register */
    bool is_record;     /* it is the frame record at fp */
    struct uspi_return_address ra;
    usp_addr fp_at; /* where the caller's fp was read, 0: it was in the register */
    bool extended;  /* and that record is a Swift async one */
    struct usp_registers caller;
};

struct inquiry {
    struct uspi_walk *walk;
    const struct uspi_frame_state *frame;
    struct uspi_code code;  /* the explorer's window */
    struct uspi_code aside; /* for the code around return addresses */
    bool has_record;
    struct uspi_record record;
    struct uspi_return_address record_ra;
    bool with_table;  /* whoever walks on reads tables */
    bool is_below_fp; /* a table says that the body's frame hangs on fp, or there is no table */
    struct account body;
    struct account best;
    struct account by_register; /* doubtful, and out of a link register that may be stale; heard at the end */
    unsigned judged;            /* rules on ways forward */
    bool leaves;                /* from the start tried last, an indirect jump can have led elsewhere */
};

/* Tables count the caller's stack from the return address on, also where the callee takes arguments off it. */
static usp_addr popped_arguments(const struct inquiry *q, const struct uspi_rule *rule) {
    const struct uspi_location *cfa = &rule->cfa, *ra = &rule->return_address;
    int64_t behind = (int64_t)cfa->offset - ra->offset - q->walk->backend->call_push;
    bool is_known = q->with_table && q->walk->backend->call_push != 0 && cfa->kind == USPI_REGISTER &&
                    ra->kind == USPI_MEMORY && cfa->base == ra->base;
    return is_known && behind > 0 ? (usp_addr)behind : 0;
}

static bool make_account(struct inquiry *q, const struct uspi_rule *rule, unsigned doubts, struct account *a) {
    const struct uspi_backend *b = q->walk->backend;
    usp_addr raw;
    memset(a, 0, sizeof *a);
    if (!uspi_apply_rule(q->walk, q->frame, rule, &a->caller, &raw, &a->fp_at, &a->extended)) return false;
    a->caller.value[b->sp] -= popped_arguments(q, rule);
    /* A return address that was taken off the stack leaves sp where the caller will have it. */
    bool is_popped = b->call_push != 0 && rule->return_address.kind == USPI_REGISTER && q->frame->exact;
    usp_addr cfa = a->caller.value[b->sp];
    if (!uspi_is_plausible_cfa(q->walk, q->frame, cfa + (is_popped ? b->call_push : 0))) return false;
    a->ra = uspi_judge_return_address(q->walk, &q->aside, raw);
    a->credit = a->ra.credit;
    if (a->credit == USPI_REFUTED) return false;
    /* The record holds the same return address, so the fp beside it is the caller's. */
    if (!uspi_known(&a->caller, b->fp) && q->has_record && q->record_ra.pc == a->ra.pc) {
        uspi_set(&a->caller, b->fp, q->record.previous);
        a->fp_at = q->frame->registers.value[b->fp];
    }
    a->found = true;
    a->doubts = doubts;
    a->from_register = rule->return_address.kind == USPI_REGISTER;
    /* Where the body's frame does not hang on fp, the record there is a caller's. */
    a->is_record =
        q->has_record && q->is_below_fp && a->fp_at == q->frame->registers.value[b->fp] && a->ra.pc == q->record_ra.pc;
    return true;
}

/* Whether two accounts tell of the same caller. */
static bool agree(const struct inquiry *q, const struct account *a, const struct account *b) {
    unsigned sp = q->walk->backend->sp;
    return a->found && b->found && a->ra.pc == b->ra.pc && a->caller.value[sp] == b->caller.value[sp];
}

static bool is_steady(const struct account *a) { return (a->doubts & (USPI_DOUBT_SWITCH | USPI_DOUBT_TAIL_CALL)) == 0; }

/* A way through an indirect jump may have strayed into any function, and what undoes a frame there confirms any record.
 * Where it is either a tail call or a jump table, it is the table: behind a tail call comes the next function, from whose
 * start the same return address follows; at a jump table, what stands at sp can be one that is long gone. */
static unsigned rank(const struct account *a) {
    if (is_steady(a) && a->credit == USPI_VERIFIED) return a->is_record ? 5 : 4;
    if (a->is_record) return 3;
    if (a->credit != USPI_VERIFIED) return 0;
    return (a->doubts & USPI_DOUBT_TAIL_CALL) == 0 ? 2 : 1;
}

static bool better(const struct account *a, const struct account *b) { return !b->found || rank(a) > rank(b); }

/* The judge of ways forward: takes at once what has no doubt or what the record confirms, keeps the best of the rest. */
static bool judge_forward(void *context, const struct uspi_rule *rule, unsigned doubts) {
    struct inquiry *q = context;
    struct account a;
    const bool is_behind_call = (doubts & USPI_DOUBT_CALL) != 0;
    /* A call destroys the link register, and a way past the function's end ends in a return to nowhere. */
    if (q->walk->backend->lr != USPI_NO_REGISTER) doubts &= ~(unsigned)USPI_DOUBT_CALL;
    if (!make_account(q, rule, doubts, &a)) return false;
    if (a.credit == USPI_UNVERIFIED && q->has_record && q->record_ra.credit == USPI_VERIFIED && !a.is_record) {
        return false;
    }
    struct account *place = a.from_register && doubts != 0 ? &q->by_register : &q->best;
    if (better(&a, place)) *place = a;
    /* Behind a call that never returns there can be data. */
    bool is_clear = doubts == 0 && (!is_behind_call || a.credit == USPI_VERIFIED);
    if (is_clear || q->best.is_record || (is_steady(&q->best) && agree(q, &q->best, &q->body))) return true;
    /* Without a record to compare with, a verified return address behind a call is as good as it gets. */
    return !q->has_record && !q->body.found && q->best.credit == USPI_VERIFIED && doubts == USPI_DOUBT_CALL;
}

/* The same, and keeps a rule that was the first and enough: whenever this pc is met again, it will be the first. */
static bool judge_and_keep(void *context, const struct uspi_rule *rule, unsigned doubts) {
    struct inquiry *q = context;
    bool is_first = q->judged++ == 0;
    if (!judge_forward(q, rule, doubts)) return false;
    if (is_first) uspi_keep_explored(q->walk, q->frame, rule, doubts);
    return true;
}

/* Whether the rule that was kept for this pc is enough here as well; otherwise nothing has been heard. */
static bool recall(struct inquiry *q) {
    struct uspi_rule rule;
    unsigned doubts;
    if (!uspi_recall_explored(q->walk, q->frame, &rule, &doubts)) return false;
    if (judge_forward(q, &rule, doubts)) return true;
    q->best.found = q->by_register.found = false;
    return false;
}

static bool judge_only(void *context, const struct uspi_rule *rule, unsigned doubts) {
    struct inquiry *q = context;
    struct account a;
    if (!make_account(q, rule, doubts, &a)) return false;
    q->best = a;
    return true;
}

static bool judge_verified(void *context, const struct uspi_rule *rule, unsigned doubts) {
    struct inquiry *q = context;
    struct account a;
    if (!make_account(q, rule, doubts, &a) || a.credit != USPI_VERIFIED) return false;
    q->best = a;
    return true;
}

/* What the way from a start says; *a is written only when it says something. */
static bool from_start(struct inquiry *q, usp_addr start, uint32_t mode, usp_addr end, struct account *a) {
    usp_addr pc = q->frame->registers.value[q->walk->backend->pc];
    /* A tail call may have led to a function that lies before the one that was called. */
    if (pc - start > FUNCTION_MAX && start - pc > FUNCTION_MAX) return false;
    struct account kept = q->best;
    q->best.found = false;
    mode &= USPI_MODE_THUMB;
    const bool may_pop = q->walk->backend->call_push != 0;
    uspi_explore_from_start(&q->code, start, mode, pc, end, may_pop ? USPI_POPS_AS_CALLEE : USPI_POPS_NOTHING,
                            BUDGET_EXACT, judge_only, q, &q->leaves);
    if (may_pop && (!q->best.found || q->best.credit != USPI_VERIFIED)) {
        uspi_explore_from_start(&q->code, start, mode, pc, end, USPI_POPS_AS_TAKEN_AGAIN, BUDGET_EXACT, judge_verified,
                                q, &q->leaves);
    }
    bool found = q->best.found;
    if (found) *a = q->best;
    q->best = kept;
    return found;
}

/* A return address proves itself when the call before it calls a function from whose start the same return address
 * follows for our pc. A way through a jump table can lead anywhere with the link register untouched: that shows nothing. */
static bool proves_itself(struct inquiry *q, const struct uspi_return_address *ra, struct account *a) {
    if (ra->callee == 0) return false;
    uint32_t mode = uspi_frame_mode(q->walk, q->frame);
    return from_start(q, ra->callee, mode, 0, a) && a->ra.pc == ra->pc && (is_steady(a) || !a->from_register);
}

/* Whether the call before the link register calls what leads to the pc with the register untouched. */
static bool register_proves_itself(struct inquiry *q, const struct account *a) {
    struct account from_callee;
    return q->frame->exact && proves_itself(q, &a->ra, &from_callee) && from_callee.from_register;
}

/* Whether the link register, which a doubtful way ends with, can be the return address. A call that has returned leaves
 * in it what leads back to the pc without a call, or (armv7) what stands in one of the callee's own callees; and while a
 * frame has made no call, it still holds what was saved in the record. */
static bool register_is_fresh(struct inquiry *q, const struct account *a) {
    struct account from_callee;
    if (!q->frame->exact) return false;
    if (uspi_explore_reaches(&q->code, a->ra.pc, uspi_frame_mode(q->walk, q->frame) & USPI_MODE_THUMB,
                             q->frame->registers.value[q->walk->backend->pc], BUDGET_STALE)) {
        return false;
    }
    if (!q->has_record || q->record_ra.credit != USPI_VERIFIED) return true;
    if (q->record_ra.pc == a->ra.pc) return false;
    return a->ra.callee == 0 || proves_itself(q, &a->ra, &from_callee) || q->leaves;
}

/* Whether the condition flags decide about the instruction at which a frame was interrupted. */
static bool depends_on_flags(struct inquiry *q, usp_addr pc, uint32_t mode) {
    struct uspi_instruction i;
    bool has_flags = q->frame->kind == USP_KIND_INTERRUPTED || q->frame->kind == USP_KIND_SIGNAL;
    return has_flags && q->walk->backend->condition_holds != NULL && uspi_code_decode(&q->code, pc, mode, &i) &&
           i.conditional != 0;
}

/* What the way forward says. */
static void go_forward(struct inquiry *q, usp_addr low, usp_addr high) {
    const struct uspi_frame_state *frame = q->frame;
    const struct uspi_backend *b = q->walk->backend;
    usp_addr pc = frame->registers.value[b->pc];
    uint32_t mode = uspi_frame_mode(q->walk, frame);
    unsigned budget = frame->exact ? BUDGET_EXACT : BUDGET_RETURN;
    /* What an instruction with a condition does is another thing the next time. */
    bool depends = depends_on_flags(q, pc, mode);
    if (depends) mode |= USPI_MODE_FLAGS | (frame->registers.flags & USPI_MODE_NZCV);
    if (!depends && recall(q)) return;
    uspi_explore_to_return(&q->code, pc, mode, low, high, USPI_POPS_NOTHING, budget,
                           depends ? judge_forward : judge_and_keep, q);
    for (enum uspi_pops pops = USPI_POPS_AS_CALLEE; pops <= USPI_POPS_AS_TAKEN_AGAIN; pops++) {
        bool astray = !q->best.found || (q->best.credit != USPI_VERIFIED && !q->best.is_record);
        if (b->call_push == 0 || !astray) break;
        uspi_explore_to_return(&q->code, pc, mode, low, high, pops, budget, judge_forward, q);
    }
    const struct account *other = &q->by_register;
    if (!other->found || (!better(other, &q->best) && is_steady(&q->best))) return;
    if (register_proves_itself(q, other) || (better(other, &q->best) && register_is_fresh(q, other))) q->best = *other;
}

/* Whether one of the return addresses that are at hand proves itself. */
static bool one_proves_itself(struct inquiry *q, struct account *a) {
    const struct uspi_walk *walk = q->walk;
    const struct uspi_backend *b = walk->backend;
    const struct uspi_frame_state *frame = q->frame;
    if (q->best.found && proves_itself(q, &q->best.ra, a)) return true;
    if (q->has_record && proves_itself(q, &q->record_ra, a)) return true;
    if (!frame->exact) return false;
    for (unsigned i = 0; frame->sp_known && i < STACK_WORDS; i++) {
        uint64_t word;
        if (!uspi_read_slot(walk, frame->registers.value[b->sp] + i * b->slot, &word)) break;
        struct uspi_return_address ra = uspi_judge_return_address(q->walk, &q->aside, word);
        if (ra.credit == USPI_VERIFIED && proves_itself(q, &ra, a)) return true;
    }
    if (b->lr == USPI_NO_REGISTER || !uspi_known(&frame->registers, b->lr)) return false;
    struct uspi_return_address lr = uspi_judge_return_address(q->walk, &q->aside, frame->registers.value[b->lr]);
    return lr.credit != USPI_REFUTED && proves_itself(q, &lr, a);
}

/* Whether functions begin with this instruction: it says so, or it is the push of fp with which a record is begun. */
static bool begins_function(struct inquiry *q, usp_addr at, uint32_t mode) {
    const struct uspi_backend *b = q->walk->backend;
    struct uspi_instruction i;
    if (!uspi_code_decode(&q->aside, at, mode, &i)) return false;
    if (i.start_hint != 0) return true;
    bool pushes = b->call_push != 0 && i.effect_count == 2, stores_fp = false;
    for (unsigned n = 0; n < i.effect_count; n++) {
        const struct uspi_effect *e = &i.effects[n];
        if (e->op == USPI_STORE && e->reg == b->fp && e->base == b->sp) stores_fp = true;
    }
    return pushes && stores_fp;
}

/* Whether fp is set from sp in one of the instructions behind this one: more than a byte that looks like a push. */
static bool makes_record(struct inquiry *q, usp_addr at, uint32_t mode) {
    const struct uspi_backend *b = q->walk->backend;
    struct uspi_instruction i;
    for (unsigned n = 0; n <= RECORD_MAX && uspi_code_decode(&q->aside, at, mode, &i); n++) {
        for (unsigned k = 0; n > 0 && k < i.effect_count; k++) {
            const struct uspi_effect *e = &i.effects[k];
            if (e->op == USPI_SET && e->reg == b->fp && e->base == b->sp) return true;
        }
        if (i.flow != USPI_NEXT) return false;
        at += i.length;
        mode = i.mode;
    }
    return false;
}

static bool try_scanned_starts(struct inquiry *q, bool only_records, struct account *a) {
    const struct uspi_backend *b = q->walk->backend;
    usp_addr pc = q->frame->registers.value[b->pc];
    uint32_t mode = uspi_frame_mode(q->walk, q->frame) & USPI_MODE_THUMB;
    unsigned tries = SCAN_TRIES;
    for (usp_addr back = 0; back <= SCAN_BACK && back <= pc && tries > 0; back += b->code_align) {
        if (!begins_function(q, pc - back, mode)) continue;
        if (only_records && !makes_record(q, pc - back, mode)) continue;
        tries--;
        if (from_start(q, pc - back, mode, 0, a) && a->credit == USPI_VERIFIED) return true;
    }
    return false;
}

/* Scans back from the pc for the function's start. Bytes that only look like one lead nowhere, or not to a return
 * address that follows a call; but stale ones are on every stack, and x86 has a push in many an operand. */
static bool from_scanned_start(struct inquiry *q, struct account *a) {
    return (q->walk->backend->call_push != 0 && try_scanned_starts(q, true, a)) || try_scanned_starts(q, false, a);
}

static enum uspi_answer accept(struct inquiry *q, const struct account *a, struct uspi_answer_data *out) {
    const struct uspi_backend *b = q->walk->backend;
    out->caller.registers = a->caller;
    out->caller.sp_known = true;
    out->cfa = a->caller.value[b->sp];
    out->caller.low = out->cfa;
    /* A record is where fp and the return address were found side by side. */
    if (a->extended && !a->from_register) uspi_describe_extended(q->walk, q->frame, a->fp_at, &out->extended);
    uint32_t kind = a->from_register ? USP_KIND_LINK_REGISTER : USP_KIND_RETURN_ADDRESS;
    uint32_t method = a->from_register ? USP_METHOD_LINK_REGISTER
                      : a->is_record   ? USP_METHOD_FRAME_POINTER
                                       : USP_METHOD_INSTRUCTIONS;
    uspi_set_caller(q->walk, &out->caller, &a->ra, kind, method);
    if (a->from_register) uspi_resume_caller(q->walk, q->frame, &out->caller);
    return USPI_FOUND;
}

/* A call through a bad pointer: nothing of the callee was carried out, so the function's entry rule holds.
 *
 *     x86    return address = [sp]       arm    return address = lr
 *
 * Where it is not certain that the pc is no code (its memory cannot be read, which can have other reasons), the return
 * address must stand behind a call through a pointer. */
static enum uspi_answer read_bad_call(struct inquiry *q, bool certain, struct uspi_answer_data *out) {
    const struct uspi_backend *b = q->walk->backend;
    struct uspi_rule rule = {.cfa = {.kind = USPI_REGISTER, .base = b->sp, .offset = b->call_push}};
    struct account a;
    if (b->lr == USPI_NO_REGISTER) {
        rule.return_address = (struct uspi_location){.kind = USPI_MEMORY, .base = b->sp};
    } else {
        rule.return_address = (struct uspi_location){.kind = USPI_REGISTER, .base = b->lr};
    }
    if (!make_account(q, &rule, 0, &a)) return USPI_NOT_MINE;
    return certain || (a.credit == USPI_VERIFIED && a.ra.callee == 0) ? accept(q, &a, out) : USPI_NOT_MINE;
}

static bool known_not_code(const struct uspi_walk *walk, usp_addr pc) {
    return pc < 4096 || uspi_ask_for_image(walk, pc) == USP_ERROR_NOT_FOUND;
}

static void begin_inquiry(struct inquiry *q, struct uspi_walk *walk, const struct uspi_frame_state *frame) {
    memset(q, 0, sizeof *q);
    q->walk = walk;
    q->frame = frame;
    q->is_below_fp = true;
    uspi_code_init(&q->code, walk->backend, uspi_code_memory(walk));
    uspi_code_init(&q->aside, walk->backend, uspi_code_memory(walk));
}

static bool can_read_code(struct inquiry *q) {
    const struct uspi_backend *b = q->walk->backend;
    const uint8_t *bytes;
    return uspi_code_read(&q->code, q->frame->registers.value[b->pc], b->code_align, &bytes) != 0;
}

static void find_record(struct inquiry *q) {
    q->has_record = uspi_find_record(q->walk, &q->aside, q->frame, &q->record, &q->record_ra) == USP_STOP_NONE;
}

/* Code that holds the pc: a function, or several ones for which a table has one entry. */
struct bounds {
    usp_addr low, high; /* low 0: not known; high 0: the end is not */
    bool is_function;
};

/* As the target knows the function, or as a table names it that cannot say more. */
static struct bounds find_bounds(const struct uspi_walk *walk, usp_addr pc) {
    const struct usp_target *target = &walk->target;
    struct bounds found = {0};
    if (target->function_start != NULL && target->function_start(target->context, pc, &found.low, &found.high) == 0 &&
        found.low <= pc) {
        found.is_function = true;
        return found;
    }
    if (walk->tables_pc != pc) return (struct bounds){0};
    return (struct bounds){.low = walk->named_start, .high = walk->named_end};
}

/* As the image tells where functions begin, which takes longer. */
static void narrow_bounds(const struct uspi_walk *walk, usp_addr pc, struct bounds *bounds) {
    struct bounds found = {.is_function = true};
    if (bounds->is_function || walk->tables_pc != pc || !walk->has_tables) return;
    const struct uspi_source source = uspi_source_of_memory(uspi_table_memory(walk), "function starts");
    const struct usp_table *table = &walk->tables.function_starts;
    const struct uspi_bytes bytes = {&source, table->address, table->size};
    if (uspi_function_starts_find(walk->backend, bytes, walk->tables.image, pc, &found.low, &found.high)) {
        *bounds = found;
    }
}

enum uspi_answer uspi_read_instructions(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                        struct uspi_answer_data *out) {
    usp_addr pc = frame->registers.value[walk->backend->pc];
    struct inquiry q;
    begin_inquiry(&q, walk, frame);
    if (!can_read_code(&q)) {
        bool certain = frame->exact && known_not_code(walk, pc);
        if (!certain) walk->stack_flags |= USP_STACK_NO_INSTRUCTIONS;
        return frame->exact ? read_bad_call(&q, certain, out) : USPI_NOT_MINE;
    }
    find_record(&q);

    struct bounds bounds = find_bounds(walk, uspi_lookup_pc(walk, frame));
    go_forward(&q, bounds.low, bounds.high);
    const struct account *forward = &q.best;
    if (forward->found && (forward->doubts == 0 || forward->is_record)) return accept(&q, forward, out);

    struct account start, other;
    narrow_bounds(walk, uspi_lookup_pc(walk, frame), &bounds);
    bool behind = bounds.low != 0 && from_start(&q, bounds.low, uspi_frame_mode(walk, frame), bounds.high, &start);
    /* Where neighbours share an entry, a jump table's case can be the neighbour's code. */
    if (behind && (bounds.is_function || is_steady(&start))) return accept(&q, &start, out);
    if (one_proves_itself(&q, &other)) return accept(&q, &other, out);
    if (behind) return accept(&q, &start, out);
    if (forward->found && forward->credit == USPI_VERIFIED) return accept(&q, forward, out);
    if (frame->exact && from_scanned_start(&q, &start)) return accept(&q, &start, out);
    if (forward->found && !q.has_record) return accept(&q, forward, out);
    return USPI_NOT_MINE;
}

/* Who is believed of an interrupted frame whose function's body a table describes. */
static bool decide_with_body(struct inquiry *q, const struct uspi_table_entry *entry, struct account *chosen) {
    const struct account *forward = &q->best, *body = &q->body;
    struct account start = {0}, other;
    bool steady = forward->found && is_steady(forward);
    *chosen = *forward;
    if (steady && (forward->doubts == 0 || forward->is_record)) return true;
    struct bounds bounds = {.low = entry->start, .high = entry->end};
    narrow_bounds(q->walk, uspi_lookup_pc(q->walk, q->frame), &bounds);
    bool behind = bounds.low != 0 && from_start(q, bounds.low, uspi_frame_mode(q->walk, q->frame), bounds.high, &start);
    *chosen = start;
    /* Without a call or a jump table on the way, this is the function that the entry begins with. */
    if (behind && start.doubts == 0) return true;
    *chosen = *forward;
    if (steady && (agree(q, forward, body) || agree(q, forward, &start))) return true;
    if (steady && forward->credit == USPI_VERIFIED && proves_itself(q, &forward->ra, &other)) return true;
    *chosen = start;
    if (agree(q, &start, body) || one_proves_itself(q, chosen)) return true;
    *chosen = start;
    if (behind && start.credit == USPI_VERIFIED) return true;
    if (from_scanned_start(q, chosen) && (agree(q, chosen, forward) || agree(q, chosen, body))) return true;
    *chosen = *body;
    if (body->found && body->credit == USPI_VERIFIED) return true;
    *chosen = steady && forward->credit == USPI_VERIFIED ? *forward : *body;
    return chosen->found;
}

enum uspi_answer uspi_follow_body_rule(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                       const struct uspi_table_entry *entry, uint32_t method,
                                       struct uspi_answer_data *out) {
    struct inquiry q;
    struct account chosen;
    bool may_look = frame->exact && (walk->readers & USP_READER_INSTRUCTIONS) != 0;
    if (may_look) begin_inquiry(&q, walk, frame);
    if (!may_look || !can_read_code(&q)) return uspi_follow_table_rule(walk, frame, &entry->rule, method, out);
    q.with_table = true;
    q.is_below_fp = entry->rule.cfa.kind == USPI_REGISTER && entry->rule.cfa.base == walk->backend->fp;
    find_record(&q);
    struct account body;
    if (make_account(&q, &entry->rule, 0, &body)) q.body = body;
    go_forward(&q, entry->start, entry->end);
    if (!decide_with_body(&q, entry, &chosen)) return USPI_NOT_MINE;
    bool is_body = agree(&q, &chosen, &q.body);
    enum uspi_answer answer = accept(&q, is_body ? &q.body : &chosen, out);
    if (is_body) out->caller.method = method;
    return answer;
}
