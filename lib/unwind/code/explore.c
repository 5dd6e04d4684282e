/* SPDX-License-Identifier: MIT */
/* See explore.h. Follows one path until it ends, then the next. Branches that a path did not take wait in `pending`. */
#include "lib/unwind/code/explore.h"
#include "arch/frame.h"
#include "lib/base/hash.h"
#include "lib/unwind/code/callee.h"
#include "lib/unwind/code/carry.h"
#include "lib/unwind/code/explorer.h"
#include "lib/unwind/code/loaded.h"
#include "lib/unwind/code/outcome.h"

/* ---- room ---- */

/* Makes room in the log and among the pending paths of an exploration. In a function with many branches, most entries
 * and many pending paths are needed no more when one of the two is full. */
/* Returns whether the next instruction may find the log or the pending paths full. */
static inline bool uspi_needs_room(const struct uspi_explorer *x) {
    const bool is_full = x->log.count + USPI_EFFECTS_MAX > USPI_LOG_MAX || x->pending_count == USPI_PENDING_MAX;
    return is_full && x->budget <= x->room_budget;
}

/* Finds which log entries also belong to paths other than the current one: log.shared. */
static void find_shared(struct uspi_explorer *x) {
    x->log.shared = x->has_jump ? uspi_entries_of(&x->jump) : 0;
    for (unsigned i = 0; i < x->pending_count; i++) {
        if (uspi_entries_of(&x->pending[i]) > x->log.shared) x->log.shared = uspi_entries_of(&x->pending[i]);
    }
}

/* Whether a pending path would end before its first instruction: another path has visited that since. */
static bool ends_at_once(const struct uspi_explorer *x, const struct uspi_path *path) {
    const bool is_at_goal = x->question.purpose != USPI_TO_RETURN && path->pc == x->question.goal;
    return !is_at_goal && path->assumed == 0 && uspi_runs_hold(&x->runs, uspi_from_origin(x, path->pc));
}

static void remove_ended(struct uspi_explorer *x) {
    unsigned kept = 0;
    for (unsigned i = 0; i < x->pending_count; i++) {
        if (!ends_at_once(x, &x->pending[i])) x->pending[kept++] = x->pending[i];
    }
    x->pending_count = kept;
}

/* Slots of neighbouring words are in different places of a table of this size. */
#define NEIGHBORS 64

/* Whether a newer entry for the same slot hides this one. entries[n] is the entry that was asked about last among those
 * whose slots belong in place n; it may be another slot's, and then nothing is hidden. */
static bool is_hidden(const struct uspi_log *log, uint8_t *entries, uint8_t i) {
    const struct uspi_log_entry *e = &log->entries[i];
    uint8_t *newer = &entries[(uint32_t)e->slot / 4 % NEIGHBORS];
    if (*newer != USPI_LOG_ROOT && log->entries[*newer].where == e->where && log->entries[*newer].slot == e->slot)
        return true;
    *newer = i;
    return false;
}

/* Whether a slot is below the stack pointer, where nothing is kept. */
static bool is_below_sp(const struct uspi_log *log, struct uspi_value sp, const struct uspi_log_entry *e) {
    return sp.kind == USPI_ADDRESS && e->where == (USPI_SLOT | sp.base) &&
           e->slot < sp.offset - (int32_t)log->backend->red_zone;
}

/* Marks the entries that a path can see: of those for one register or slot the newest, and none if the register's value
 * is unknown or the slot is below the stack pointer. */
static void mark_seen(const struct uspi_log *log, const struct uspi_path *path, bool *is_seen) {
    uint64_t hidden = path->unknown;
    uint8_t slots[NEIGHBORS];
    const struct uspi_value sp = uspi_register_value(log, path, log->backend->sp);
    memset(slots, USPI_LOG_ROOT, sizeof slots);
    for (uint8_t i = path->newest; i != USPI_LOG_ROOT; i = log->entries[i].previous) {
        const struct uspi_log_entry *e = &log->entries[i];
        const uint64_t bit = e->where < USP_REGISTERS_MAX ? UINT64_C(1) << e->where : 0;
        if (bit != 0 ? (hidden & bit) != 0 : is_below_sp(log, sp, e) || is_hidden(log, slots, i)) continue;
        hidden |= bit;
        is_seen[i] = true;
    }
}

/* Removes the entries that are not marked. moved[i] becomes the new place of entry i or, if it is removed, of the
 * newest older entry on its way to the root. An entry's `previous` is always older. */
static void remove_unseen(struct uspi_log *log, const bool *is_seen, uint8_t *moved) {
    unsigned count = 0;
    for (unsigned i = 0; i < log->count; i++) {
        struct uspi_log_entry e = log->entries[i];
        if (e.previous != USPI_LOG_ROOT) e.previous = moved[e.previous];
        moved[i] = is_seen[i] ? (uint8_t)count : e.previous;
        if (is_seen[i]) log->entries[count++] = e;
    }
    log->count = count;
}

static void move_path(struct uspi_path *path, const uint8_t *moved) {
    if (path->newest != USPI_LOG_ROOT) path->newest = moved[path->newest];
}

/* Removes the pending paths that would end at once, and the log entries that no path can see. The results of the other
 * paths stay the same. `current` is the path that is being followed. */
static void make_room(struct uspi_explorer *x, struct uspi_path *current) {
    bool is_seen[USPI_LOG_MAX] = {false};
    uint8_t moved[USPI_LOG_MAX];
    remove_ended(x);
    for (unsigned i = 0; i < x->pending_count; i++) mark_seen(&x->log, &x->pending[i], is_seen);
    if (x->has_jump) mark_seen(&x->log, &x->jump, is_seen);
    mark_seen(&x->log, current, is_seen);
    remove_unseen(&x->log, is_seen, moved);
    for (unsigned i = 0; i < x->pending_count; i++) move_path(&x->pending[i], moved);
    if (x->has_jump) move_path(&x->jump, moved);
    move_path(current, moved);
    find_shared(x);
    x->room_budget = x->budget > USPI_ROOM_GAP ? x->budget - USPI_ROOM_GAP : 0;
}

/* Number of callee instructions that may be decoded for each instruction of the question's budget. They show how many
 * bytes of arguments a callee removes from the stack. */
#define CALLEE_SHARE 4

/* ---- pending paths ---- */

static void take_later(struct uspi_explorer *x, const struct uspi_path *path, usp_addr pc, uint32_t mode,
                       unsigned doubts) {
    if (x->pending_count == USPI_PENDING_MAX || ((path->doubts | doubts) & ~x->question.allowed) != 0) return;
    struct uspi_path *later = &x->pending[x->pending_count++];
    *later = *path;
    later->pc = pc;
    later->mode = mode;
    later->doubts = (uint8_t)(path->doubts | doubts);
    x->log.shared = x->log.count;
}

/* Removes and returns the pending path with the lowest `doubts`; if several, the newest or the oldest one. Drops the
 * log entries that only ended paths used. */
static struct uspi_path take_next(struct uspi_explorer *x) {
    unsigned best = x->pending_count - 1;
    for (unsigned i = best; i-- > 0;) {
        const bool is_older = x->question.oldest_first && x->pending[i].doubts == x->pending[best].doubts;
        if (is_older || x->pending[i].doubts < x->pending[best].doubts) best = i;
    }
    struct uspi_path path = x->pending[best];
    memmove(&x->pending[best], &x->pending[best + 1], (x->pending_count - best - 1) * sizeof path);
    x->pending_count--;
    find_shared(x);
    x->log.count = x->log.shared;
    if (uspi_entries_of(&path) > x->log.count) x->log.count = uspi_entries_of(&path);
    return path;
}

/* ---- predicated instructions ---- */

static uint8_t opposite_of(uint8_t conditional) { return (uint8_t)(((conditional - 1) ^ 1) + 1); }

/* Whether an instruction changes the control flow or a register that a return depends on. *written becomes the
 * registers that it writes. */
static bool matters(const struct uspi_explorer *x, const struct uspi_instruction *i, uint64_t *written) {
    const struct uspi_backend *b = x->backend;
    uint64_t restored = b->callee_saved | UINT64_C(1) << b->sp;
    if (b->lr != USPI_NO_REGISTER) restored |= UINT64_C(1) << b->lr;
    *written = uspi_written_by(i);
    return i->flow != USPI_NEXT || (*written & restored) != 0;
}

/* Decides whether a path executes a predicated instruction. Returns false when the path skips it.
 *
 * The condition is known if the path starts with known flags, or if the path has assumed it (uspi_path.assumed).
 * Otherwise an instruction that matters() splits the path: one path assumes that the condition holds, the other that it
 * fails. An instruction that does not matter only makes the registers that it writes unknown.
 *
 * An assumption also decides branches with the same condition. It ends at an instruction without a condition, at a
 * taken branch, and at an instruction that changes the flags. */
static bool resolve_condition(struct uspi_explorer *x, struct uspi_path *path, struct uspi_instruction *i) {
    uint64_t written;
    if (i->conditional == 0) {
        path->assumed = 0;
        return true;
    }
    if (x->flags != 0) {
        bool holds = x->backend->condition_holds(x->flags, i->conditional - 1u);
        path->assumed = holds ? i->conditional : opposite_of(i->conditional);
        x->flags = 0;
    }
    const bool holds = path->assumed == i->conditional;
    const bool fails = path->assumed != 0 && opposite_of(path->assumed) == i->conditional;
    if (i->flow == USPI_BRANCH) {
        if (holds || fails) i->flow = holds ? USPI_JUMP : USPI_NEXT;
        if (!fails) path->assumed = 0;
        return true;
    }
    if (holds && i->sets_flags) path->assumed = 0;
    if (holds || fails) return holds;
    if (!matters(x, i, &written)) {
        i->effect_count = 0;
        i->clobbers = written;
        return true;
    }
    struct uspi_path skipped = *path;
    skipped.assumed = opposite_of(i->conditional);
    take_later(x, &skipped, path->pc + i->length, i->mode, 0);
    path->assumed = i->conditional;
    return true;
}

/* ---- control flow ---- */

static bool inside(const struct uspi_explorer *x, usp_addr pc) {
    return x->question.high == 0 || (pc >= x->question.low && pc < x->question.high);
}

/* Whether linear flow from pc to next leaves the question's bounds. The bounds do not apply to code outside them that a
 * jump has reached, such as a function's cold part. */
static bool leaves_bounds(const struct uspi_explorer *x, usp_addr pc, usp_addr next) {
    return inside(x, pc) && !inside(x, next);
}

/* Whether a jump is a call: the code before it has set the link register to the address after it. */
static bool is_call(const struct uspi_explorer *x, const struct uspi_path *path, usp_addr next) {
    if (x->backend->lr == USPI_NO_REGISTER) return false;
    struct uspi_value lr = uspi_register_value(&x->log, path, x->backend->lr);
    return lr.kind == USPI_CONSTANT && ((usp_addr)uspi_constant_of(lr) & x->backend->word_mask & ~UINT64_C(1)) == next;
}

static bool begins_function(struct uspi_explorer *x, usp_addr pc, uint32_t mode) {
    struct uspi_instruction i;
    return uspi_code_decode(x->code, pc, mode, &i) && i.start_hint != 0;
}

/* Whether an indirect jump may lead to the goal. Most jumps that do are in the goal's function, between its start and
 * the goal. A jump in a function that a tail call has reached does not. */
static bool can_lead_to_goal(const struct uspi_explorer *x, const struct uspi_path *jump) {
    return inside(x, jump->pc) && jump->pc >= x->question.from && jump->pc < x->question.goal;
}

/* Remembers an indirect jump for enter_case: on the way to a goal the newest, on the way to a return the first, which
 * is the least doubtful. */
static void remember_jump(struct uspi_explorer *x, const struct uspi_path *path, uint32_t mode) {
    if (x->question.purpose == USPI_REACH) return;
    const bool to_return = x->question.purpose == USPI_TO_RETURN;
    if (x->has_jump && (to_return || (can_lead_to_goal(x, &x->jump) && !can_lead_to_goal(x, path)))) return;
    x->jump = *path;
    x->jump.mode = mode;
    x->has_jump = true;
    x->log.shared = x->log.count;
}

/* What happened to a path. */
enum course {
    GOES_ON,
    ENDED,
    HAS_RULE /* the path has ended with a rule */
};

struct find {
    struct uspi_rule *rule;
    unsigned doubts;
};

/* Whether an indirect jump is a return: it goes to the original value of the link register or, on x86, to the word that
 * was popped last. */
static bool jumps_back(const struct uspi_explorer *x, struct uspi_value to, struct uspi_value sp) {
    const struct uspi_backend *b = x->backend;
    if (b->lr != USPI_NO_REGISTER) return uspi_is_address(to, b->lr, 0);
    return to.kind == USPI_CONTENT && to.addend == 0 && sp.kind == USPI_ADDRESS && sp.base == to.base &&
           to.base == b->sp && sp.offset == to.offset + (int32_t)b->call_push;
}

/* Adds a register's value at the origin to an offset. Returns false when it is not known, and for registers that point
 * to the stack: a word there may be any return address. */
static bool add_to_register(const struct uspi_explorer *x, struct uspi_value v, usp_addr *sum) {
    const struct uspi_backend *b = x->backend;
    const struct usp_registers *registers = x->question.registers;
    bool is_known = registers != NULL && v.base < b->register_count && (registers->known >> v.base & 1) != 0;
    if (!is_known || v.base == b->sp || v.base == b->fp) return false;
    *sum = (registers->value[v.base] + (usp_addr)(int64_t)v.offset) & b->word_mask;
    return true;
}

/* Finds the destination of an indirect jump to a constant or to a register's value at the origin, or through a pointer
 * at such an address. Such a jump reaches distant code or another image; it is not a switch. Returns false for other
 * jumps, and when the pointer cannot be read or is still 0. A register's value may also be a return address. */
static bool find_bound(struct uspi_explorer *x, struct uspi_value to, usp_addr *target, uint32_t *mode) {
    const struct uspi_backend *b = x->backend;
    const struct usp_memory *data = x->question.data;
    usp_addr pointer = uspi_constant_address(&x->log, to);
    uint8_t bytes[8];
    const bool by_register = to.kind == USPI_ADDRESS || (to.kind == USPI_CONTENT && to.addend == 0);
    if (by_register ? x->question.registers != NULL : to.kind == USPI_GLOBAL) x->has_looked = true;
    if (by_register ? !add_to_register(x, to, &pointer) : to.kind != USPI_CONSTANT && to.kind != USPI_GLOBAL) {
        return false;
    }
    if (to.kind == USPI_GLOBAL || to.kind == USPI_CONTENT) {
        if (data == NULL || data->read(data->context, pointer, bytes, b->word) != 0) return false;
        pointer = uspi_le(bytes, b->word) & b->word_mask;
    }
    *mode = b->has_thumb && (pointer & 1) != 0 ? USPI_MODE_THUMB : 0;
    *target = *mode != 0 ? pointer - 1 : pointer;
    usp_addr callee;
    const bool may_return = to.kind == USPI_ADDRESS && (b->linkage_registers >> to.base & 1) == 0;
    if (may_return && uspi_code_call_before(x->code, *target, *mode != 0, &callee) == USPI_CALL_BEFORE) return false;
    return pointer != 0;
}

/* Returns the value of the register that a jump or a return takes its destination from. */
static struct uspi_value target_value(const struct uspi_explorer *x, const struct uspi_path *path,
                                      const struct uspi_instruction *i) {
    if (i->target_register == USPI_NO_REGISTER) return uspi_unknown;
    return uspi_register_value(&x->log, path, i->target_register);
}

/* Whether the path has removed the frame: the link register was loaded from a slot that is now below the stack pointer.
 * The path may itself have saved the register there. A jump then leaves the function. */
static bool has_given_up_frame(const struct uspi_explorer *x, const struct uspi_path *path, struct uspi_value sp) {
    const struct uspi_backend *b = x->backend;
    if (b->lr == USPI_NO_REGISTER || sp.kind != USPI_ADDRESS) return false;
    const struct uspi_value lr = uspi_register_value(&x->log, path, b->lr);
    int32_t slot;
    if (uspi_is_address(lr, b->lr, 0)) {
        return sp.base == b->sp && uspi_find_saved(&x->log, path, b->lr, &slot) && slot < sp.offset;
    }
    return lr.kind == USPI_CONTENT && lr.addend == 0 && lr.base == sp.base && lr.offset < sp.offset;
}

/* Follows an indirect jump. It can be a return, a switch that continues anywhere, or a tail call. */
static enum course follow_unknown_jump(struct uspi_explorer *x, const struct uspi_path *path,
                                       const struct uspi_instruction *i, struct find *found) {
    const usp_addr next = path->pc + i->length;
    const bool to_return = x->question.purpose == USPI_TO_RETURN;
    const struct uspi_value to = target_value(x, path, i), sp = uspi_register_value(&x->log, path, x->backend->sp);
    if (to_return && jumps_back(x, to, sp)) {
        found->doubts = path->doubts;
        return uspi_rule_at_return(&x->log, path, to, sp, found->rule) ? HAS_RULE : ENDED;
    }
    usp_addr target;
    uint32_t mode;
    const bool leaves = to_return && has_given_up_frame(x, path, sp);
    if (find_bound(x, to, &target, &mode)) {
        take_later(x, path, target, mode, 0);
    } else if (to.kind != USPI_GLOBAL) {
        remember_jump(x, path, i->mode);
        if (!leaves && !leaves_bounds(x, path->pc, next)) take_later(x, path, next, i->mode, USPI_DOUBT_SWITCH);
    }
    found->doubts = path->doubts | (leaves ? 0 : USPI_DOUBT_TAIL_CALL);
    if (!to_return || (found->doubts & ~x->question.allowed) != 0) return ENDED;
    return uspi_rule_at_tail_call(&x->log, path, found->rule) ? HAS_RULE : ENDED;
}

/* Follows a return. If the address is unknown, the code has stored it itself, and the return is a tail call rather than
 * a switch. A dynamic linker enters the function that it has found in this way. */
static enum course follow_return(struct uspi_explorer *x, const struct uspi_path *path,
                                 const struct uspi_instruction *i, struct find *found) {
    struct uspi_value ra = uspi_register_value(&x->log, path, i->target_register);
    struct uspi_value sp = uspi_register_value(&x->log, path, x->backend->sp);
    found->doubts = path->doubts;
    if (x->question.purpose != USPI_TO_RETURN) return ENDED;
    bool has_rule = ra.kind == USPI_UNKNOWN ? uspi_rule_at_tail_call(&x->log, path, found->rule)
                                            : uspi_rule_at_return(&x->log, path, ra, sp, found->rule);
    return has_rule ? HAS_RULE : ENDED;
}

/* Whether a call certainly returns. *written becomes the registers that the callee writes. The question arises where
 * arguments are on the stack: such code obtains its own address by a call. */
static bool comes_back(const struct uspi_explorer *x, const struct uspi_instruction *call, uint64_t *written) {
    return uspi_callees_pop(x->backend) && call->target != 0 &&
           uspi_code_returns_soon(x->code, call->target, call->target_mode, written);
}

static void note_call(const struct uspi_explorer *x, struct uspi_path *path, usp_addr next) {
    const int32_t half = uspi_from_origin(x, next) / 2;
    const bool is_near = half >= INT16_MIN && half < INT16_MAX;
    path->after_call = is_near ? (int16_t)(half >= 0 ? half + 1 : half) : 0;
}

/* Whether a path to a return leads through data that lies after its newest call: the call does not return. */
static bool is_through_data(struct uspi_explorer *x, const struct uspi_path *path) {
    const int32_t half = path->after_call > 0 ? path->after_call - 1 : path->after_call;
    return x->question.purpose == USPI_TO_RETURN && path->after_call != 0 &&
           uspi_is_loaded(x->code, uspi_at_origin(x, 2 * half), path->mode, x->question.low);
}

/* Follows a call. If it makes a path doubtful, the path waits until less doubtful ones have ended. */
static enum course follow_call(struct uspi_explorer *x, struct uspi_path *path, const struct uspi_instruction *i) {
    const usp_addr next = path->pc + i->length;
    uint64_t written;
    if (comes_back(x, i, &written)) {
        path->unknown |= written;
        return leaves_bounds(x, path->pc, next) ? ENDED : GOES_ON;
    }
    if (!uspi_carry_call(x, path, i)) return ENDED;
    if (is_through_data(x, path)) return ENDED;
    note_call(x, path, next);
    /* The goal is directly after this call. If the call never returns, only jumps lead to the goal, and on i386 the
     * call's arguments are not on the stack there. So this path waits. */
    if (x->question.purpose == USPI_TO_GOAL && x->question.is_interrupted && next == x->question.goal) {
        take_later(x, path, next, i->mode, USPI_DOUBT_CALL | USPI_DOUBT_LAST_CALL);
        return ENDED;
    }
    if ((path->doubts & USPI_DOUBT_CALL) == 0 && x->pending_count > 0) {
        if (!leaves_bounds(x, path->pc, next) && !begins_function(x, next, i->mode)) {
            take_later(x, path, next, i->mode, USPI_DOUBT_CALL);
        }
        return ENDED;
    }
    path->doubts |= USPI_DOUBT_CALL;
    if ((path->doubts & ~x->question.allowed) != 0) return ENDED;
    return leaves_bounds(x, path->pc, next) ? ENDED : GOES_ON;
}

/* Moves a path to the next instruction, or to the target of a jump. */
static void move(struct uspi_path *path, const struct uspi_instruction *i, bool jumps) {
    path->pc = jumps ? i->target : path->pc + i->length;
    path->mode = jumps ? i->target_mode : i->mode;
}

/* Moves a path past an instruction whose effects have been applied. */
static enum course take_flow(struct uspi_explorer *x, struct uspi_path *path, struct uspi_instruction *i,
                             struct find *found) {
    bool jumps = false;
    enum course course = GOES_ON;
    switch (i->flow) {
    case USPI_NEXT: break;
    case USPI_JUMP: jumps = true; break;
    case USPI_BRANCH: take_later(x, path, i->target, i->target_mode, 0); break;
    case USPI_CALL: course = follow_call(x, path, i); break;
    case USPI_JUMP_TABLE:
        /* A linker's veneer looks like a jump table. */
        jumps = i->target == 0 && find_bound(x, target_value(x, path, i), &i->target, &i->target_mode);
        if (jumps) break;
        remember_jump(x, path, i->mode);
        jumps = i->target != 0;
        if (!jumps) path->doubts |= USPI_DOUBT_SWITCH;
        if ((path->doubts & ~x->question.allowed) != 0) return ENDED;
        break;
    case USPI_JUMP_UNKNOWN: return follow_unknown_jump(x, path, i, found);
    case USPI_RETURN: return follow_return(x, path, i, found);
    default: return ENDED;
    }
    if (course != GOES_ON) return course;
    bool is_linear = i->flow != USPI_JUMP && !jumps;
    if (is_linear && leaves_bounds(x, path->pc, path->pc + i->length)) return ENDED;
    move(path, i, jumps);
    return GOES_ON;
}

/* Decodes a path's next instruction and marks it as visited. Returns false when the path has to end: the instruction
 * was visited before, cannot be decoded, or there is no room for a run. A predicated instruction may be visited twice,
 * because a path skips what the path with the opposite condition executes. *run becomes the run that contains the
 * instruction; NULL: none. */
static bool visit(struct uspi_explorer *x, const struct uspi_path *path, struct uspi_instruction *i,
                  struct uspi_code_run **run) {
    const int32_t at = uspi_from_origin(x, path->pc);
    const bool again = uspi_runs_hold(&x->runs, at);
    if (again && path->assumed == 0) return false;
    if (again) *run = NULL;
    if (!again && (*run == NULL || (*run)->to != at) && (*run = uspi_runs_begin(&x->runs, at)) == NULL) return false;
    x->budget--;
    if (*run != NULL) (*run)->to = at + 1;
    if (!uspi_code_decode(x->code, path->pc, path->mode, i)) {
        x->is_cut = x->is_cut || uspi_code_ends(x->code, path->pc);
        return false;
    }
    if (again && i->conditional == 0) return false;
    /* If flags or an assumption decide a condition, the instruction is not marked as visited: a loop may reach it again
     * without them. */
    const bool is_decided = i->conditional != 0 && (x->flags != 0 || path->assumed != 0);
    if (*run != NULL) (*run)->to = is_decided ? at : at + i->length;
    if (is_decided) *run = NULL;
    return true;
}

/* Whether an instruction pushes a link register that a call has overwritten. Only a function's first instructions push
 * it, so the path has left the function after a call that never returns, or begins the function again, as Go's code
 * does after it has got a larger stack. */
static bool begins_again(const struct uspi_explorer *x, const struct uspi_path *path,
                         const struct uspi_instruction *i) {
    const struct uspi_backend *b = x->backend;
    bool stores = false, lowers = false;
    if (b->lr == USPI_NO_REGISTER || x->question.purpose != USPI_TO_RETURN || (path->unknown >> b->lr & 1) == 0)
        return false;
    for (unsigned n = 0; n < i->effect_count; n++) {
        const struct uspi_effect *e = &i->effects[n];
        stores |= e->op == USPI_STORE && e->reg == b->lr;
        lowers |= e->op == USPI_SET && e->reg == b->sp && e->base == b->sp && e->value < 0;
    }
    return stores && lowers;
}

/* Follows one path to its end. */
static enum course follow_path(struct uspi_explorer *x, struct uspi_path *path, struct find *found) {
    const bool to_return = x->question.purpose == USPI_TO_RETURN;
    bool after_call = false;
    struct uspi_code_run *run = NULL;
    while (x->budget > 0) {
        struct uspi_instruction i;
        if (!to_return && path->pc == x->question.goal) {
            found->doubts = path->doubts;
            if (x->question.purpose == USPI_REACH) return HAS_RULE;
            return uspi_rule_at_goal(&x->log, path, found->rule) ? HAS_RULE : ENDED;
        }
        if (!visit(x, path, &i, &run)) return ENDED;
        /* The next function begins directly after the call, so the callee does not return. */
        if (after_call && i.start_hint) return ENDED;
        if (begins_again(x, path, &i)) return ENDED;
        if (i.start_hint && path->pc != x->question.from && to_return) {
            found->doubts = path->doubts | USPI_DOUBT_TAIL_CALL;
            if ((USPI_DOUBT_TAIL_CALL & ~x->question.allowed) != 0) return ENDED;
            return uspi_rule_at_tail_call(&x->log, path, found->rule) ? HAS_RULE : ENDED;
        }
        if (uspi_needs_room(x)) make_room(x, path);
        if (!resolve_condition(x, path, &i)) {
            after_call = false;
            move(path, &i, false);
            continue;
        }
        if (!uspi_carry_out(x, path, &i)) return ENDED;
        if (i.flow == USPI_JUMP_UNKNOWN && is_call(x, path, path->pc + i.length)) i.flow = USPI_CALL;
        after_call = i.flow == USPI_CALL;
        if (i.flow == USPI_JUMP || i.flow == USPI_JUMP_TABLE) run = NULL;
        enum course course = take_flow(x, path, &i, found);
        if (course != GOES_ON) return course;
    }
    return ENDED;
}

/* Returns where the next case of the remembered jump may begin, relative to the origin, or INT32_MIN. The cases of a
 * switch are adjacent, so it is an end of visited code: the nearest one at or below the goal, or after the jump. */
static int32_t next_case(struct uspi_explorer *x) {
    if (x->question.purpose == USPI_TO_RETURN) {
        const int32_t at = uspi_runs_nearest_end(&x->runs, uspi_from_origin(x, x->jump.pc), USPI_ABOVE);
        const bool is_outside = at != INT32_MIN && leaves_bounds(x, x->jump.pc, uspi_at_origin(x, at));
        return is_outside ? INT32_MIN : at;
    }
    const int32_t goal = uspi_from_origin(x, x->question.goal);
    const int32_t at = uspi_runs_nearest_end(&x->runs, goal, USPI_BELOW);
    if (at != goal) return at;
    /* The goal itself is tried once, even if no rule results. */
    struct uspi_code_run *run = uspi_runs_begin(&x->runs, goal);
    if (run == NULL) return INT32_MIN;
    run->to = goal + 1;
    return at;
}

/* Adds a pending path when no other has reached the goal, or a return that suffices: the remembered indirect jump may
 * be a switch that leads there. Returns false when there is nothing to add, or when the question does not allow it. */
static bool enter_case(struct uspi_explorer *x) {
    const bool is_wanted = x->question.purpose == USPI_TO_RETURN ? x->question.all_cases : !x->has_found;
    if (!x->has_jump || !is_wanted) return false;
    if (((x->jump.doubts | USPI_DOUBT_SWITCH) & ~x->question.allowed) != 0) return false;
    const int32_t at = next_case(x);
    if (at == INT32_MIN) return false;
    x->log.count = uspi_entries_of(&x->jump);
    take_later(x, &x->jump, uspi_at_origin(x, at), x->jump.mode, USPI_DOUBT_SWITCH);
    return true;
}

uint64_t uspi_question_key(const struct uspi_question *q) {
    const unsigned flags = (unsigned)q->purpose | (unsigned)q->is_interrupted << 2 | (unsigned)q->all_cases << 3 |
                           (unsigned)q->oldest_first << 4 | (unsigned)q->counts_arguments << 5 | q->allowed << 6;
    const uint64_t parts[] = {
        q->from, q->goal, q->low, q->high, q->unknown, q->mode, (uint64_t)q->budget << 32 | flags};
    uint64_t key = 0;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) key = uspi_mix(key, parts[i]);
    return key | 1;
}

void uspi_explore_begin(struct uspi_explorer *x, struct uspi_code *code, const struct uspi_question *question) {
    const uint32_t flags = USPI_MODE_FLAGS | USPI_MODE_NZCV;
    x->code = code;
    x->backend = x->log.backend = code->backend;
    x->question = *question;
    x->flags = question->mode & flags;
    x->budget = question->budget;
    x->callee_budget = CALLEE_SHARE * question->budget;
    x->room_budget = question->budget;
    x->has_found = x->has_jump = x->is_cut = x->has_looked = false;
    x->log.count = x->log.shared = x->runs.count = 0;
    x->pending_count = 1;
    x->pending[0] = (struct uspi_path){
        .pc = question->from, .unknown = question->unknown, .mode = question->mode & ~flags, .newest = USPI_LOG_ROOT};
    /* These registers are lost by a call that precedes the path. */
    if (question->unknown != 0) note_call(x, &x->pending[0], question->from);
}

bool uspi_explore_next(struct uspi_explorer *x, struct uspi_rule *rule, unsigned *doubts) {
    struct find found = {.rule = rule};
    do {
        while (x->pending_count > 0) {
            struct uspi_path path = take_next(x);
            if (follow_path(x, &path, &found) != HAS_RULE || is_through_data(x, &path)) continue;
            x->has_found = true;
            *doubts = found.doubts;
            return true;
        }
    } while (x->budget > 0 && enter_case(x));
    return false;
}

/* More instructions than a stub has. */
#define STUB_MAX 6

USPI_APART bool uspi_code_past_stub(struct uspi_code *code, const struct usp_memory *data, usp_addr at, uint32_t mode,
                                    usp_addr *target, uint32_t *target_mode) {
    const struct uspi_question question = {.from = at, .mode = mode, .data = data};
    struct uspi_explorer x;
    struct uspi_instruction i;
    uspi_explore_begin(&x, code, &question);
    struct uspi_path path = x.pending[0];
    for (unsigned n = 0; n < STUB_MAX && uspi_code_decode(code, path.pc, path.mode, &i); n++) {
        if (i.conditional != 0 || !uspi_carry_out(&x, &path, &i)) return false;
        if (i.flow == USPI_JUMP_UNKNOWN || i.flow == USPI_JUMP_TABLE)
            return find_bound(&x, target_value(&x, &path, &i), target, target_mode);
        if (i.flow != USPI_NEXT && i.flow != USPI_JUMP) return false;
        move(&path, &i, i.flow == USPI_JUMP);
    }
    return false;
}
