/* SPDX-License-Identifier: MIT */
/* See resume.h. */
#include "lib/unwind/resume.h"

#include "lib/base/processor.h"
#include "lib/unwind/frame/return_address.h"
#include "lib/unwind/readers/decide.h"

/* Maximum numbers of return addresses from which a walk is tried, and of the frames of all these walks. */
#define TRIALS      256u
#define TRIAL_STEPS 200000u
/* Number of frames that are walked at once. */
#define BATCH 16u
/* Bytes of stack that are searched where registers are not known, and past generated code. */
#define SEARCHED ((size_t)64 << 10)
/* Maximum numbers of instructions before the jump of a function that enters a language's code, and of the slots that
 * this code pushes where it calls C. */
#define JUMP_MAX   32u
#define PUSHED_MAX 8u

/* A search for the frame at which a walk goes on. */
struct search {
    struct uspi_walker *walker;
    struct uspi_code code;
    struct uspi_copied stack; /* bytes NULL: it is read slot by slot */
    bool past_code;           /* see USPI_RESUMED_PAST_CODE */
    bool is_generated;        /* the last frame is in memory of no image */
    unsigned trials, steps;
};

/* Walks from a copy of the walker to the stack's end. Returns whether that is its root. */
static bool reaches_root(struct search *search, const struct uspi_frame_state *from) {
    struct uspi_walker trial = *search->walker;
    struct usp_frame frames[BATCH];
    trial.next = *from;
    trial.stop = USP_STOP_NONE;
    trial.walk.needs_root = true;
    if (search->past_code) {
        trial.walk.readers &= USP_READER_TABLES | USP_READER_SIGNAL;
        trial.readers_first = 0;
        memset(&trial.shortcuts, 0, sizeof trial.shortcuts);
    } else {
        trial.shortcuts.stack = search->stack;
    }
    search->trials++;
    while (search->steps < TRIAL_STEPS) {
        const uint32_t passed = uspi_walker_run(&trial, frames, BATCH, true);
        search->steps += passed;
        if (passed > 0) continue;
        if (!uspi_walker_step(&trial, frames)) break;
        search->steps++;
    }
    return trial.stop == USP_STOP_ROOT;
}

/* Finds the jump through a pointer with which straight code ends. The pointer is in a register that this code has not
 * loaded: the stubs of a linkage table load theirs. */
static bool find_jump(struct uspi_code *code, usp_addr pc, uint32_t mode, usp_addr *jump) {
    struct uspi_instruction i;
    uint64_t loaded = 0;
    for (unsigned n = 0; n < JUMP_MAX && uspi_code_decode(code, pc, mode, &i); n++) {
        *jump = pc;
        if (i.flow == USPI_JUMP_UNKNOWN && i.conditional == 0 && i.target_register < code->backend->register_count) {
            return ((loaded | uspi_written_by(&i)) >> i.target_register & 1) == 0;
        }
        if (i.flow != USPI_NEXT) return false;
        for (unsigned k = 0; k < i.effect_count; k++) {
            const struct uspi_effect *effect = &i.effects[k];
            const uint64_t bit = effect->op == USPI_STORE ? 0 : UINT64_C(1) << effect->reg;
            loaded = effect->op == USPI_SET || effect->op == USPI_ADD ? loaded & ~bit : loaded | bit;
        }
        loaded |= i.clobbers;
        pc += i.length;
        mode = i.mode;
    }
    return false;
}

/* Whether the word at stack slot `at` is the return address of a function that has entered the last frame's code: the
 * function ends by a jump through a pointer, and its unwind table finds its return address here if its stack pointer
 * was that of the last frame, or a few slots above it. Then *frame is the function's caller. Run-time systems enter the
 * code of their language so (GHC's StgRun, Chez Scheme's S_generic_invoke): its functions have another stack, and C's
 * stack pointer moves only where they call C. */
static bool entered_code(struct search *search, usp_addr at, uint64_t word, struct uspi_frame_state *frame) {
    const struct uspi_frame_state *last = &search->walker->frame;
    struct uspi_walk walk = search->walker->walk;
    const struct uspi_backend *b = walk.backend;
    const struct uspi_return_address ra = uspi_judge_return_address(&walk, &search->code, word);
    const uint32_t mode = (ra.flags & USP_FRAME_THUMB) != 0 ? USPI_MODE_THUMB : 0;
    struct uspi_frame_state function;
    struct uspi_step step;
    usp_addr jump;
    if (!last->sp_known || ra.credit != USPI_VERIFIED || ra.callee == 0) return false;
    if (!find_jump(&search->code, ra.callee, mode, &jump)) return false;
    memset(&function, 0, sizeof function);
    uspi_registers_init(&function.registers, walk.target.arch);
    usp_registers_set_pc(&function.registers, jump | (mode != 0));
    function.exact = function.sp_known = true;
    for (unsigned n = 0; n <= PUSHED_MAX; n++) {
        function.low = last->registers.value[b->sp] + n * b->slot;
        uspi_set(&function.registers, b->sp, function.low);
        if (function.low > at || !uspi_find_caller(&walk, &function, NULL, USP_READER_TABLES, &step)) continue;
        *frame = step.caller;
        frame->method = USP_FRAME_METHOD_SEARCH;
        if (uspi_pc_of(&walk, frame) == ra.pc && frame->low > at) return true;
    }
    return false;
}

/* Makes the frame that a return address at stack slot `at` leads to. with_record: the slot below it has the frame's
 * frame pointer. */
static bool make_frame(struct search *search, usp_addr at, uint64_t word, bool with_record,
                       struct uspi_frame_state *frame) {
    const struct uspi_walk *walk = &search->walker->walk;
    const struct uspi_backend *b = walk->backend;
    uint64_t saved;
    const struct uspi_return_address ra = uspi_judge_return_address(walk, &search->code, word);
    if (ra.credit != USPI_VERIFIED) return false;
    /* Generated code is called through a pointer, and by code of an image. */
    if (search->past_code && (ra.callee != 0 || uspi_can_be_generated(walk, ra.pc))) return false;
    memset(frame, 0, sizeof *frame);
    uspi_registers_init(&frame->registers, walk->target.arch);
    frame->low = at + b->slot;
    /* A link register is saved at any place of a frame; a call pushes its return address last. */
    if (b->lr == USPI_NO_REGISTER) {
        uspi_set(&frame->registers, b->sp, frame->low);
        frame->sp_known = true;
    }
    if (with_record) {
        if (at - search->stack.from < b->slot || !uspi_read_slot(walk, at - b->slot, &saved)) return false;
        uspi_set(&frame->registers, b->fp, saved & b->word_mask);
    }
    uspi_set_caller(walk, frame, &ra, USP_FRAME_KIND_RETURN_ADDRESS, USP_FRAME_METHOD_SEARCH);
    if (search->past_code) frame->flags |= USP_FRAME_UNVERIFIED;
    return true;
}

static bool find_frame(struct search *search, struct uspi_frame_state *frame) {
    const unsigned slot = search->walker->walk.backend->slot;
    size_t at = (size_t)(-search->stack.from & (slot - 1));
    for (; at + slot <= search->stack.size && search->trials < TRIALS && search->steps < TRIAL_STEPS; at += slot) {
        uint64_t word;
        if (search->stack.bytes != NULL) {
            word = uspi_le(search->stack.bytes + at, slot);
        } else if (!uspi_read_slot(&search->walker->walk, search->stack.from + at, &word)) {
            return false;
        }
        if (search->past_code && entered_code(search, search->stack.from + at, word, frame) &&
            reaches_root(search, frame)) {
            return true;
        }
        if (search->past_code && !search->is_generated) continue;
        if (!make_frame(search, search->stack.from + at, word, true, frame)) continue;
        if (reaches_root(search, frame)) return true;
        uspi_forget(&frame->registers, search->walker->walk.backend->fp);
        if (reaches_root(search, frame)) return true;
    }
    return false;
}

/* Returns the part of the copied stack from the last frame on; size 0: that frame is not on this stack. */
static struct uspi_copied rest_of(const struct uspi_walker *w, const struct uspi_copied *part) {
    const usp_addr skipped = w->frame.low - part->from;
    if (w->frame.low < part->from || skipped >= part->size) return (struct uspi_copied){NULL, 0, 0};
    return (struct uspi_copied){part->bytes + (size_t)skipped, w->frame.low, part->size - (size_t)skipped};
}

/* Chooses the stack to search. */
static enum uspi_resumed choose_stack(const struct uspi_walker *w, struct uspi_copied *stack) {
    for (unsigned i = 0; i < USPI_OUTER_PART; i++) {
        const struct uspi_copied *inner = &w->shortcuts.parts[i], *outer = &w->shortcuts.parts[USPI_OUTER_PART + i];
        /* The stack pointer of a stack that has overflowed is below the first part. */
        const bool is_before = w->frame.low < outer->from &&
                               (w->frame.low >= inner->from || inner->from - w->frame.low < USPI_STACK_OVERFLOW);
        if (outer->size > 0 && outer->from > inner->from + inner->size && is_before) {
            *stack = *outer;
            return USPI_RESUMED_PAST_GAP;
        }
        *stack = rest_of(w, inner);
        if (stack->size > 0 && w->shortcuts.lacks_registers) {
            if (stack->size > SEARCHED) stack->size = SEARCHED;
            return USPI_RESUMED_PAST_REGISTERS;
        }
    }
    return USPI_NOT_RESUMED;
}

/* Whether the last frame is in code whose frames no reader understands. Its stack is searched as far as it is readable.
 */
static bool is_past_code(const struct uspi_walker *w, struct search *search) {
    if (w->walk.target.os != USP_OS_LINUX || !w->started || !uspi_known(&w->frame.registers, w->walk.backend->pc)) {
        return false;
    }
    search->stack = (struct uspi_copied){NULL, w->frame.low, SEARCHED};
    search->is_generated = uspi_can_be_generated(&w->walk, uspi_lookup_pc(&w->walk, &w->frame));
    return search->is_generated || w->frame.sp_known;
}

static bool may_resume(const struct uspi_walker *w) {
    if (w->shortcuts.parts == NULL || w->is_resumed) return false;
    switch (w->stop) {
    case USP_STOP_NONE:
    case USP_STOP_ROOT:
    case USP_STOP_CAPACITY:
    case USP_STOP_CYCLE:
    case USP_STOP_STEP_LIMIT:
    case USP_STOP_DEADLINE: return false;
    default: return true;
    }
}

enum uspi_resumed uspi_walker_resume(struct uspi_walker *w) {
    struct search search = {.walker = w};
    struct uspi_frame_state frame;
    if (!may_resume(w)) return USPI_NOT_RESUMED;
    enum uspi_resumed how = choose_stack(w, &search.stack);
    if (how == USPI_NOT_RESUMED && is_past_code(w, &search)) how = USPI_RESUMED_PAST_CODE;
    if (how == USPI_NOT_RESUMED) return how;
    search.past_code = how == USPI_RESUMED_PAST_CODE;
    uspi_code_init(&search.code, w->walk.backend, uspi_code_memory(&w->walk));
    if (!find_frame(&search, &frame)) return USPI_NOT_RESUMED;
    w->next = frame;
    w->stop = USP_STOP_NONE;
    w->stop_address = 0;
    if (!search.past_code) w->shortcuts.stack = search.stack;
    /* The walk reaches the root from there. */
    w->is_resumed = true;
    return how;
}
