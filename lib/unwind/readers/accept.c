/* SPDX-License-Identifier: MIT */
/* See accept.h. */
#include "lib/unwind/readers/accept.h"
#include "lib/unwind/code/queries.h"

/* Bytes from the context of a Swift async frame up to the frame's record, which is directly above it (Libc
 * gen/thread_stack_pcs.c). */
#define CONTEXT_BELOW 8

static void describe_extended(struct uspi_evidence *e, usp_addr record, struct uspi_extended *extended) {
    const struct usp_registers *registers = &e->frame->registers;
    unsigned reg;
    extended->record = record;
    /* The context can be missing from its slot only while the frame is being set up. */
    if (!e->frame->exact) return;
    extended->in_register =
        uspi_code_next_store(&e->code, registers, record - CONTEXT_BELOW, uspi_frame_mode(e->walk, e->frame), &reg);
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

void uspi_accept(struct uspi_evidence *e, const struct uspi_candidate *c, uint32_t method, struct uspi_step *step) {
    struct uspi_frame_state *caller = &step->caller;
    step->is_settled = true;
    step->found = !c->ends_stack;
    step->stop = c->stop;
    step->stop_address = c->stop_address;
    step->cfa = c->cfa;
    if (c->ends_stack) return;
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
