/* SPDX-License-Identifier: MIT */
/* See walker.h. */
#include "lib/unwind/walker.h"

#include "lib/base/sized.h"
#include "lib/os/os.h"
#include "lib/unwind/async_code.h"
#include "lib/unwind/entry.h"
#include "lib/unwind/frame/apply.h"
#include "lib/unwind/readers/decide.h"

/* Numbers of address bits if the target does not state them. Linux arm64 has at most 48; a signature is always above
 * the configured number. Darwin has 39 on devices, 47 on macOS, simulators and newer iOS kernels. 39 is used if it
 * covers all known addresses (xnu osfmk/arm64/proc_reg.h, pexpert/pexpert/arm64/apple_arm64_common.h). */
#define LINUX_BITS         48
#define DARWIN_DEVICE_BITS 39
#define DARWIN_BITS        47
#define LOW_BITS(n)        ((n) >= 64 ? UINT64_MAX : (UINT64_C(1) << (n)) - 1)

/* Returns the value, or 0 if it has bits that no address of a process has. Such a value does not show how many bits
 * addresses have. */
static usp_addr unless_signed(usp_addr value) { return value <= LOW_BITS(DARWIN_BITS) ? value : 0; }

/* The mask removes signatures, and tags that software uses: a user address never has bits 63:56 (top byte) set. */
uint64_t uspi_choose_strip_mask(const struct usp_target *t, const struct uspi_backend *b, usp_addr pc, usp_addr sp,
                                usp_addr fp) {
    if (!b->has_signatures) return UINT64_MAX;
    if (t->pac_mask != 0) return ~t->pac_mask & LOW_BITS(56);
    if (t->address_bits != 0) return LOW_BITS(t->address_bits);
    if (t->os == USP_OS_LINUX) return LOW_BITS(LINUX_BITS);
    usp_addr known = t->stack_high | t->stack_low | unless_signed(sp) | unless_signed(fp & ~USPI_FP_TAG_MASK);
    /* The pc counts only if it is in an image, because a call through a bad pointer can set it to any value. */
    struct usp_region region;
    if (t->image_at != NULL && t->image_at(t->context, pc, &region) == 0) known |= region.text_high;
    return LOW_BITS(known <= LOW_BITS(DARWIN_DEVICE_BITS) ? DARWIN_DEVICE_BITS : DARWIN_BITS);
}

static usp_addr value_if_known(const struct usp_registers *r, unsigned reg) {
    return uspi_known(r, reg) ? r->value[reg] : 0;
}

bool uspi_complete_target(const struct usp_target *given, struct usp_target *target) {
    memset(target, 0, sizeof *target);
    if (!USPI_COMPLETE(target, given)) return false;
    return uspi_backend_find(target->arch) != NULL && target->memory.read != NULL &&
           (target->roots != NULL || target->root_count == 0) &&
           (target->stack_high == 0 || target->stack_low < target->stack_high);
}

bool uspi_complete_options(const struct usp_unwind_options *given, struct usp_unwind_options *options) {
    usp_unwind_options_init(options);
    return USPI_COMPLETE(options, given);
}

int uspi_walker_init(struct uspi_walker *w, const struct usp_target *target, const struct usp_registers *registers,
                     const struct usp_unwind_options *options) {
    struct usp_unwind_options completed;
    memset(w, 0, sizeof *w);
    if (registers == NULL || !uspi_complete_target(target, &w->walk.target) ||
        !uspi_complete_options(options, &completed) || registers->arch != w->walk.target.arch) {
        w->stop = USP_STOP_REGISTERS;
        return USP_ERROR_ARGUMENT;
    }
    const struct uspi_backend *b = uspi_backend_find(registers->arch);
    w->walk.backend = b;
    w->walk.readers = completed.readers;
    w->readers_first = completed.readers & completed.readers_first;
    w->walk.strip_mask = uspi_choose_strip_mask(&w->walk.target, b, value_if_known(registers, b->pc),
                                                value_if_known(registers, b->sp), value_if_known(registers, b->fp));
    w->step_limit = completed.step_limit;
    w->deadline = completed.deadline;

    struct uspi_frame_state *first = &w->next;
    first->registers = *registers;
    uspi_complete_interrupted(&w->walk, first);
    first->kind = USP_FRAME_KIND_INTERRUPTED;
    first->method = USP_FRAME_METHOD_CONTEXT;
    if (w->walk.target.stack_low > first->low) first->low = w->walk.target.stack_low;
    w->walk.stacks.entered = first->low;
    if (!uspi_known(registers, b->pc)) w->stop = USP_STOP_REGISTERS;
    return USP_OK;
}

void uspi_walker_begin_at_return(struct uspi_walker *w) {
    w->next.exact = false;
    w->next.kind = USP_FRAME_KIND_RETURN_ADDRESS;
}

/* The clock is read every CLOCK_STEPS + 1 steps. */
#define CLOCK_STEPS 15u

static uint32_t out_of_patience(const struct uspi_walker *w) {
    if (w->steps >= w->step_limit) return USP_STOP_STEP_LIMIT;
    if (w->deadline != 0 && w->steps % (CLOCK_STEPS + 1) == CLOCK_STEPS && uspi_os_clock() >= w->deadline)
        return USP_STOP_DEADLINE;
    return USP_STOP_NONE;
}

static bool in_a_circle(struct uspi_walker *w, const struct uspi_frame_state *frame) {
    usp_addr pc = frame->registers.value[w->walk.backend->pc];
    if (w->steps != 0 && pc == w->watched_pc && frame->low == w->watched_low) return true;
    if (w->steps >= w->watch_until) {
        w->watched_pc = pc;
        w->watched_low = frame->low;
        w->watch_until = w->steps * 2 + 1;
    }
    return false;
}

/* Removes the stack bounds if the interrupted frame is outside them. It may be on another stack than the signal
 * handler. */
static void drop_bounds(struct uspi_walker *w) {
    struct usp_target *target = &w->walk.target;
    usp_addr sp = w->next.registers.value[w->walk.backend->sp];
    if (sp >= target->stack_low && sp < target->stack_high) return;
    target->stack_low = target->stack_high = 0;
}

/* Distance of two adjacent frames beyond which they count as being on different stacks. */
#define FAR_FRAME ((usp_addr)1 << 20)

/* Notes when the walk has come to another stack: as call frame information describes, from a signal handler, or by a
 * frame pointer. */
static void follow_stack(struct uspi_walker *w, bool is_switch) {
    const usp_addr from = w->frame.low, to = w->next.low;
    if (is_switch || to < from || to - from > FAR_FRAME) uspi_note_switch(&w->walk, &w->frame, to);
    if (is_switch || w->next.kind == USP_FRAME_KIND_SIGNAL) drop_bounds(w);
}

/* Describes a frame as a Swift async one. If it is none, the value with the mark is the caller's frame pointer
 * register. */
static void take_extended(struct uspi_walker *w, const struct uspi_step *step, struct usp_frame *frame) {
    const struct uspi_backend *b = w->walk.backend;
    uint64_t value;
    if (uspi_async_is_marked(&w->walk, &step->extended, step->caller.registers.value[b->fp])) {
        frame->flags |= USP_FRAME_EXTENDED;
        w->walk.stack_flags |= USP_STACK_EXTENDED;
        w->extended = step->extended;
    } else if (uspi_read_slot(&w->walk, step->extended.record, &value)) {
        uspi_set(&w->next.registers, b->fp, value & b->word_mask);
    }
}

/* Asks some readers (enum usp_frame_readers) for the caller of w->frame. Returns whether they have decided how the walk
 * goes on. */
static bool ask_readers(struct uspi_walker *w, struct usp_frame *frame, uint32_t readers) {
    struct uspi_step step;
    if (uspi_find_caller(&w->walk, &w->frame, &w->shortcuts, readers, &step)) {
        w->next = step.caller;
        w->stop = USP_STOP_NONE;
        follow_stack(w, step.is_switch);
        /* On Linux the handler returns to the start of the trampoline, before which there is no call. Apple's
         * trampoline has called the handler. */
        if (w->next.kind == USP_FRAME_KIND_SIGNAL && w->walk.target.os == USP_OS_LINUX) {
            frame->kind = USP_FRAME_KIND_INTERRUPTED;
        }
    } else if (step.stop != USP_STOP_NONE) {
        w->stop = step.stop;
        w->stop_address = step.stop_address;
    }
    if (step.is_settled) frame->cfa = step.cfa;
    if (step.extended.record != 0) take_extended(w, &step, frame);
    return step.is_settled;
}

/* Finds the caller of w->frame. */
static void find_caller(struct uspi_walker *w, struct usp_frame *frame) {
    struct uspi_walk *walk = &w->walk;
    memset(&w->extended, 0, sizeof w->extended);
    w->stop = USP_STOP_NO_RECORD;
    w->stop_address = frame->pc;
    if (!w->frame.exact && uspi_is_root(&walk->target, frame->pc)) {
        /* Only a table knows the callers of such code. If there are none, the stack ends as it should. */
        if (walk->target.beyond_roots != 0 && ask_readers(w, frame, walk->readers & USP_READER_TABLES)) return;
        w->stop = USP_STOP_ROOT;
        w->stop_address = frame->pc;
        return;
    }
    if ((walk->readers & USP_READER_TABLES) != 0 && uspi_begins_thread(walk, &w->frame)) {
        w->stop = USP_STOP_ROOT;
        return;
    }
    const bool may_begin = (walk->readers & USP_READER_INSTRUCTIONS) != 0 && !walk->needs_root;
    if (may_begin && uspi_begins_process(walk, &w->frame)) {
        w->stop = USP_STOP_ROOT;
        return;
    }
    if (w->readers_first != 0 && ask_readers(w, frame, w->readers_first)) return;
    if (ask_readers(w, frame, walk->readers & ~w->readers_first)) return;
    if (may_begin && uspi_calls_program(walk, &w->frame)) {
        w->stop = USP_STOP_ROOT;
        w->stop_address = frame->pc;
    }
}

void uspi_walker_take_shortcuts(struct uspi_walker *w, const struct uspi_shortcuts *shortcuts) {
    /* Cached rules were found with the readers in the library's order. */
    if (w->readers_first == 0) w->shortcuts = *shortcuts;
    w->shortcuts.parts = shortcuts->parts;
    w->shortcuts.beside = shortcuts->beside;
    w->shortcuts.lacks_registers = shortcuts->lacks_registers;
}

uint32_t uspi_walker_run(struct uspi_walker *w, struct usp_frame *frames, uint32_t capacity, bool goes_on) {
    uint32_t stop = USP_STOP_NONE;
    uint64_t steps = w->step_limit - w->steps;
    if (w->stop != USP_STOP_NONE || w->steps >= w->step_limit) return 0;
    /* The clock is read between runs. */
    if (w->deadline != 0) steps = CLOCK_STEPS - w->steps % (CLOCK_STEPS + 1);
    if (capacity > steps) {
        capacity = (uint32_t)steps;
        goes_on = true;
    }
    struct uspi_rule_walk rules;
    const struct uspi_walk *walk = &w->walk;
    if (!uspi_keeps_table_rules(&w->shortcuts, walk->readers) ||
        !uspi_rule_walk_init(&rules, walk->backend, &walk->target, walk->strip_mask, &w->shortcuts)) {
        return 0;
    }
    uint32_t n = uspi_rule_walk_on(&rules, &w->next, frames, capacity, goes_on, &stop);
    if (n == 0) return 0;
    w->steps += n;
    w->started = 1;
    if (stop != USP_STOP_NONE) {
        w->stop = stop;
        w->stop_address = frames[n - 1].pc;
    }
    return n;
}

bool uspi_walker_step(struct uspi_walker *w, struct usp_frame *frame) {
    if (w->stop != USP_STOP_NONE) return false;
    w->stop = out_of_patience(w);
    if (w->stop == USP_STOP_NONE && in_a_circle(w, &w->next)) w->stop = USP_STOP_CYCLE;
    const struct uspi_backend *b = w->walk.backend;
    if (w->stop != USP_STOP_NONE) {
        w->stop_address = w->next.registers.value[b->pc];
        return false;
    }
    w->steps++;
    w->started = 1;
    w->frame = w->next;
    memset(frame, 0, sizeof *frame);
    frame->pc = w->frame.registers.value[b->pc];
    frame->fp = uspi_known(&w->frame.registers, b->fp) ? w->frame.registers.value[b->fp] : 0;
    frame->kind = w->frame.kind;
    frame->method = w->frame.method;
    frame->flags = w->frame.flags;
    find_caller(w, frame);
    return true;
}
