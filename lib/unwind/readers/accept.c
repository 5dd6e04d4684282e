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

/* Marks the caller as exact if its next instruction copies its return address from a scratch register to the link
 * register. The frame's own return address must be in the link register, and the frame must preserve the scratch
 * register. Code of LLVM's machine outliner does this: it has called a piece of itself that the compiler shares between
 * functions. Such a caller may be at any instruction, even in an epilogue, like an interrupted frame. It gets the
 * scratch register's value. */
static void resume_caller(struct uspi_evidence *e, struct uspi_frame_state *caller) {
    const struct uspi_backend *b = e->walk->backend;
    const struct usp_registers *registers = &e->frame->registers;
    struct uspi_instruction i;
    if (!e->frame->exact) return;
    if (!uspi_code_decode(&e->aside, caller->registers.value[b->pc], uspi_frame_mode(e->walk, caller), &i)) return;
    const struct uspi_effect *effect = &i.effects[0];
    bool takes_register = i.effect_count == 1 && effect->op == USPI_SET && effect->reg == b->lr &&
                          effect->base < b->register_count && effect->value == 0 && uspi_known(registers, effect->base);
    if (!takes_register || !uspi_code_keeps(&e->aside, registers, uspi_frame_mode(e->walk, e->frame), effect->base)) {
        return;
    }
    uspi_set(&caller->registers, effect->base, registers->value[effect->base]);
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
