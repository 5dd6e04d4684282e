/* SPDX-License-Identifier: MIT */
/* See shadow.h. */
#include "shadow.h"

#include <stdlib.h>
#include <string.h>

/* The greatest distance in bytes between a frame and its caller's; further away lies another stack. */
#define FRAME_MAX (UINT64_C(8) << 20)
/* The same distance if no frame is known. */
#define MOVE_MAX (UINT64_C(1) << 20)
/* The length of the longest instruction. A greater distance between two pcs is a jump. */
#define INSTRUCTION_MAX 15u

#define RETURNS 65536u

/* The multiplier of splitmix64 (Steele, Lea, Flood, 2014). */
#define ODD UINT64_C(0xbf58476d1ce4e5b9)

static const struct uspi_backend *backend_of(const struct shadow *s) { return s->guest->victim->backend; }

static bool pushes(const struct shadow *s) { return backend_of(s)->lr == USPI_NO_REGISTER; }

static usp_addr without_thumb(const struct shadow *s, usp_addr pc) {
    return backend_of(s)->has_thumb ? pc & ~UINT64_C(1) : pc;
}

static uint64_t mix(uint64_t a, uint64_t b) {
    a = (a ^ b) * ODD;
    return a ^ a >> 29;
}

/* ---- frames ---- */

static void begin_keeping(struct shadow *s, struct shadow_frame *f);

static bool push(struct shadow *s, usp_addr return_address, usp_addr cfa, uint32_t kind,
                 const struct usp_registers *call) {
    struct shadow_stack *stack = s->now;
    const struct shadow_frame *above = shadow_newest(s);
    if (stack->count == SHADOW_DEPTH) {
        s->error = "the stack is too deep";
        return false;
    }
    uint64_t chain = mix(mix(above != NULL ? above->chain : 1, 1), return_address);
    stack->frames[stack->count++] = (struct shadow_frame){.return_address = return_address,
                                                          .cfa = cfa,
                                                          .kind = kind,
                                                          .callee = victim_pc(s->guest->victim),
                                                          .born = s->observed,
                                                          .chain = mix(mix(chain, 1), cfa),
                                                          .call = *call};
    begin_keeping(s, shadow_newest(s));
    return true;
}

static void drop(struct shadow *s, struct shadow_stack *stack, bool returned) {
    struct shadow_frame *f = &stack->frames[stack->count - 1];
    s->on_end(s->context, f, returned);
    stack->count--;
}

static usp_addr *return_place(struct shadow *s, usp_addr pc, usp_addr sp, usp_addr *hash) {
    *hash = mix(mix(pc, 1), sp);
    return &s->returns[*hash % RETURNS];
}

static void drop_returned(struct shadow *s) {
    const struct shadow_frame *f = shadow_newest(s);
    usp_addr hash, *place = return_place(s, f->return_address, f->cfa, &hash);
    *place = hash;
    drop(s, s->now, true);
    s->now->is_moving = false;
}

static void give_up_below(struct shadow *s, usp_addr sp) {
    while (s->now->count > 0 && shadow_newest(s)->cfa <= sp) drop(s, s->now, false);
}

/* Whether the program has just returned from the newest frame. On x86 a callee may remove arguments from the stack.
 * Elsewhere a higher sp belongs to another frame: the code after the call of a function that throws can be a caller's
 * landing pad. */
static bool has_returned(const struct shadow *s) {
    const struct victim *v = s->guest->victim;
    const struct shadow_frame *f = shadow_newest(s);
    if (f == NULL || victim_pc(v) != f->return_address) return false;
    const usp_addr popped = victim_sp(v) - f->cfa;
    return f->kind == SHADOW_CALL && pushes(s) ? popped < 65536 : popped == 0;
}

static bool is_call(const struct shadow *s, const struct usp_registers *before, usp_addr *return_address) {
    const struct victim *v = s->guest->victim;
    const struct uspi_backend *b = v->backend;
    usp_addr pc = victim_pc(v), old = before->value[b->pc];
    if (pushes(s)) {
        if (victim_sp(v) + b->word != before->value[b->sp] || !victim_load(v, victim_sp(v), return_address)) {
            return false;
        }
    } else {
        *return_address = without_thumb(s, v->now.value[b->lr]);
    }
    const usp_addr length = *return_address - old;
    /* An instruction that continues with the next one is not a call, whatever an earlier call has left on the stack or
     * in the link register. */
    if (pc - old <= length) return false;
    if (pushes(s)) return length >= 2 && length <= INSTRUCTION_MAX;
    return length == 4 || (b->has_thumb && length == 2);
}

/* ---- what frames keep ---- */

/* How many bytes below a frame's beginning a saved register is searched for. */
#define SAVED_MAX 4096u

static usp_addr held(const struct shadow *s, const struct shadow_kept *k) {
    return without_thumb(s, s->guest->victim->now.value[k->reg]);
}

static void begin_keeping(struct shadow *s, struct shadow_frame *f) {
    const struct uspi_backend *b = backend_of(s);
    const usp_addr oldest = s->now->frames[0].cfa;
    struct shadow_kept *k = f->kept;
    *k = (struct shadow_kept){.value = f->return_address, .reg = b->lr};
    if (pushes(s)) {
        k->is_saved = true;
        k->slots[k->slot_count++] = f->cfa - b->word;
    }
    k++;
    for (uint8_t reg = 0; reg < b->register_count && k < f->kept + SHADOW_KEPT; reg++) {
        const usp_addr value = f->call.value[reg];
        bool points_there = value >= f->cfa && value <= oldest;
        if ((b->callee_saved >> reg & 1) != 0 && points_there) *k++ = (struct shadow_kept){.value = value, .reg = reg};
    }
    f->kept_count = (unsigned)(k - f->kept);
}

/* Finds where a register's old value is saved. The register has just got another value, so the old one is in the frame,
 * above sp. */
static void find_saved(struct shadow *s, const struct shadow_frame *f, struct shadow_kept *k) {
    const unsigned word = backend_of(s)->word;
    const usp_addr sp = victim_sp(s->guest->victim);
    usp_addr found;
    k->is_saved = true;
    k->slot_count = 0;
    for (usp_addr at = f->cfa - word; at >= sp && f->cfa - at <= SAVED_MAX && k->slot_count < SHADOW_SLOTS;
         at -= word) {
        if (guest_load(s->guest, at, &found) && without_thumb(s, found) == k->value) k->slots[k->slot_count++] = at;
    }
}

static void keep(struct shadow *s) {
    struct shadow_frame *f = shadow_newest(s);
    for (unsigned i = 0; f != NULL && i < f->kept_count; i++) {
        struct shadow_kept *k = &f->kept[i];
        if (k->reg == USPI_NO_REGISTER) continue;
        if (held(s, k) == k->value) {
            k->is_saved = false;
        } else if (!k->is_saved) {
            find_saved(s, f, k);
        }
    }
}

/* Whether any register holds a value. */
static bool is_in_register(const struct shadow *s, usp_addr value) {
    const struct usp_registers *now = &s->guest->victim->now;
    for (unsigned reg = 0; reg < backend_of(s)->register_count; reg++) {
        if (without_thumb(s, now->value[reg]) == value) return true;
    }
    return false;
}

/* Whether a saved value is still there. The newest frame may have popped it; then a return address is in a register,
 * unless code that throws an exception has put another one there. */
static bool still_kept(struct shadow *s, const struct shadow_kept *k, bool is_newest) {
    usp_addr word;
    for (unsigned i = 0; i < k->slot_count; i++) {
        if (is_newest && k->slots[i] < victim_sp(s->guest->victim)) {
            return pushes(s) || k->reg != backend_of(s)->lr || is_in_register(s, k->value);
        }
        if (guest_load(s->guest, k->slots[i], &word) && without_thumb(s, word) == k->value) return true;
    }
    return false;
}

/* How many of the innermost frames are compared: only they, or functions that they call, overwrite their contents. */
#define COMPARED 3u

/* The size of the largest function that calls another without a frame of its own. */
#define FRAMELESS_MAX 256u

/* Drops newest frames that begin where the code at pc now calls another function: they have been left by an exception,
 * and their caller goes on. A function without a frame, which keeps its return address in a register, stays. Where
 * calls push nothing. */
static void give_up_beside(struct shadow *s, usp_addr pc, usp_addr sp) {
    const struct shadow_frame *f;
    while ((f = shadow_newest(s)) != NULL && f->kind == SHADOW_CALL && f->cfa == sp &&
           (pc - f->callee > FRAMELESS_MAX || !is_in_register(s, f->return_address))) {
        drop(s, s->now, false);
    }
}

bool shadow_is_known(struct shadow *s) {
    const struct shadow_stack *stack = s->now;
    if (stack->is_moving || (!stack->is_whole && stack->count == 0)) return false;
    keep(s);
    for (unsigned i = 0; i < COMPARED && i < stack->count; i++) {
        const struct shadow_frame *f = &stack->frames[stack->count - 1 - i];
        for (unsigned n = 0; f->kind == SHADOW_CALL && n < f->kept_count; n++) {
            const struct shadow_kept *k = &f->kept[n];
            /* A return address must be somewhere; another register may have been restored and changed again. */
            if (k->is_saved && (k->slot_count != 0 || n == 0) && !still_kept(s, k, i == 0)) return false;
        }
    }
    return true;
}

/* ---- signals ---- */

static bool word_is(const struct shadow *s, usp_addr at, usp_addr wanted) {
    usp_addr word;
    return victim_load(s->guest->victim, at, &word) && word == wanted;
}

/* Whether the registers that the kernel saved at an address are these: compares pc and sp, at the offsets in
 * `places`. */
static bool saved_at(const struct shadow *s, usp_addr at, const struct usp_registers *r, const unsigned places[2]) {
    const struct uspi_backend *b = backend_of(s);
    return word_is(s, at + places[0], r->value[b->pc]) && word_is(s, at + places[1], r->value[b->sp]);
}

/* Finds the kernel's frame for the signal that was just delivered: its address, and the handler's return address. The
 * backends (arch/) describe the rest of that frame. */
static bool find_signal_frame(const struct shadow *s, const struct usp_registers *before, usp_addr *frame,
                              usp_addr *return_address) {
    const struct victim *v = s->guest->victim;
    const struct uspi_backend *b = v->backend;
    usp_addr sp = victim_sp(v);
    /* Offsets of pc and sp from the frame's beginning; i386 and arm: in a frame with siginfo, and in one without. */
    static const unsigned x86_64[2] = {8 + 0xa8, 8 + 0xa0}, i386[2][2] = {{0x90 + 0x4c, 0x90 + 0x30}, {8 + 56, 8 + 28}},
                          arm64[2] = {128 + 0x1b8, 128 + 0x1b0}, arm[2][2] = {{128 + 0x5c, 128 + 0x54}, {0x5c, 0x54}};
    if (pushes(s)) {
        bool found = b->word == 8 ? saved_at(s, sp, before, x86_64)
                                  : saved_at(s, sp, before, i386[0]) || saved_at(s, sp, before, i386[1]);
        *frame = sp + b->word;
        return found && victim_load(v, sp, return_address);
    }
    /* An emulator has already executed the handler's first instruction. */
    *return_address = without_thumb(s, v->now.value[b->lr]);
    for (usp_addr at = sp & ~UINT64_C(7); at < sp + 16384; at += 8) {
        bool found = b->word == 8 ? saved_at(s, at, before, arm64)
                                  : saved_at(s, at, before, arm[0]) || saved_at(s, at, before, arm[1]);
        *frame = at;
        if (found) return true;
    }
    return false;
}

/* ---- stacks ---- */

static bool is_near(const struct shadow_stack *stack, usp_addr sp) {
    for (unsigned i = stack->count; i-- > 0;) {
        if (stack->frames[i].cfa - sp < FRAME_MAX) return true;
    }
    return false;
}

/* Whether a stack still exists, because memory of stacks is reused. Where calls push return addresses, it looks for
 * them. */
static bool still_holds(const struct shadow *s, const struct shadow_stack *stack) {
    for (unsigned i = 0; pushes(s) && i < stack->count; i++) {
        const struct shadow_frame *f = &stack->frames[i];
        if (f->kind == SHADOW_CALL && !word_is(s, f->cfa - backend_of(s)->word, f->return_address)) return false;
    }
    return true;
}

static void forget(struct shadow *s, struct shadow_stack *stack) {
    while (stack->count > 0) drop(s, stack, false);
    stack->is_whole = false;
}

static void switch_stack(struct shadow *s, usp_addr left) {
    usp_addr sp = victim_sp(s->guest->victim);
    struct shadow_stack *next = NULL, *oldest = NULL;
    s->now->left = left;
    s->now->used = ++s->clock;
    for (unsigned i = 0; i < SHADOW_STACKS; i++) {
        struct shadow_stack *stack = &s->stacks[i];
        if (stack == s->now) continue;
        if (oldest == NULL || stack->used < oldest->used) oldest = stack;
        if (stack->used != 0 && is_near(stack, sp) && (next == NULL || stack->used > next->used)) next = stack;
    }
    if (next != NULL && !still_holds(s, next)) forget(s, next);
    if (next == NULL) {
        next = oldest;
        forget(s, next);
    }
    next->used = ++s->clock;
    next->is_moving = true;
    s->now = next;
    while (next->count > 0 && next->frames[next->count - 1].cfa < sp) drop(s, next, false);
}

static bool is_elsewhere(const struct shadow *s, const struct usp_registers *before) {
    usp_addr sp = victim_sp(s->guest->victim), old = before->value[backend_of(s)->sp];
    if (s->now->count > 0) return !is_near(s->now, sp) && sp - s->now->frames[0].cfa > 4096;
    return sp - old > MOVE_MAX && old - sp > MOVE_MAX;
}

/* ---- the steps ---- */

bool shadow_step(struct shadow *s, const struct usp_registers *before) {
    const struct victim *v = s->guest->victim;
    const struct uspi_backend *b = v->backend;
    usp_addr pc = victim_pc(v), sp = victim_sp(v), old = before->value[b->sp], frame, return_address, hash;
    if (v->delivered != 0 && find_signal_frame(s, before, &frame, &return_address)) {
        return push(s, before->value[b->pc], old, SHADOW_SIGNAL, before) &&
               push(s, return_address, frame, SHADOW_CALL, before);
    }
    if (has_returned(s)) {
        drop_returned(s);
        return true;
    }
    if (is_elsewhere(s, before)) switch_stack(s, old);
    if (is_call(s, before, &return_address)) {
        /* The call overwrites its stack slot. */
        give_up_below(s, pushes(s) ? sp + b->word : sp - 1);
        if (!pushes(s)) give_up_beside(s, before->value[b->pc], sp);
        s->now->is_moving = false;
        return push(s, return_address, sp + b->call_push, SHADOW_CALL, before);
    }
    const struct shadow_frame *newest = shadow_newest(s);
    bool is_call_frame = newest != NULL && newest->kind == SHADOW_CALL;
    bool has_jumped = pc - before->value[b->pc] > INSTRUCTION_MAX;
    if (is_call_frame && sp > newest->cfa) s->now->is_moving = true;
    if (!has_jumped) return true;
    const usp_addr *place = return_place(s, pc, sp, &hash);
    bool was_here = *place == hash;
    bool is_given_up = s->now->is_moving || (is_call_frame && sp >= newest->cfa && (pushes(s) || was_here));
    if (is_given_up) give_up_below(s, sp);
    s->now->is_moving = false;
    return true;
}

bool shadow_has_returned(struct shadow *s) {
    if (!has_returned(s)) return false;
    drop_returned(s);
    return true;
}

bool shadow_still_holds(struct shadow *s) {
    for (unsigned i = 0; i < s->now->count; i++) {
        const struct shadow_frame *f = &s->now->frames[i];
        bool is_newest = i + 1 == s->now->count;
        if (f->kind != SHADOW_CALL) continue;
        if (f->kept[0].is_saved && f->kept[0].slot_count > 0 && !still_kept(s, &f->kept[0], is_newest)) return false;
    }
    return true;
}

void shadow_begin(struct shadow *s) {
    s->now = &s->stacks[0];
    s->now->is_whole = true;
    s->now->used = ++s->clock;
}

void shadow_end(struct shadow *s) {
    for (unsigned i = 0; i < SHADOW_STACKS; i++) forget(s, &s->stacks[i]);
}

bool shadow_init(struct shadow *s, struct guest *guest) {
    memset(s, 0, sizeof *s);
    s->guest = guest;
    s->stacks = calloc(SHADOW_STACKS, sizeof *s->stacks);
    s->returns = calloc(RETURNS, sizeof *s->returns);
    return s->stacks != NULL && s->returns != NULL;
}

void shadow_free(struct shadow *s) {
    free(s->stacks);
    free(s->returns);
}

unsigned shadow_pcs(const struct shadow *s, usp_addr pcs[SHADOW_DEPTH + 1]) {
    unsigned n = 0;
    pcs[n++] = victim_pc(s->guest->victim);
    for (unsigned i = s->now->count; i-- > 0;) pcs[n++] = s->now->frames[i].return_address;
    return n;
}
