/* SPDX-License-Identifier: MIT */
/* The reader of signal frames. Linux's are recognised by the code to which the handler returns, Darwin's by their structure
 * (darwin_signal.c).
 *
 *        |  ucontext: all registers |  sp + stub.context
 *        |  siginfo …               |
 *  sp -> |                          |  as the handler's return leaves it
 *
 * The frame above starts afresh: an exact pc, every register known, the first-frame rule applies again. */
#include "lib/unwind/frame/trampoline.h"
#include "lib/unwind/readers/darwin_signal.h"
#include "lib/unwind/readers/readers.h"
#include "lib/unwind/signals/saved_state.h"

static bool read_context(const struct uspi_walk *walk, const struct uspi_signal_stub *stub, usp_addr at,
                         struct usp_registers *registers) {
    return uspi_read_saved_state(walk->backend, &walk->target.memory, stub->state, at, registers) == USP_OK;
}

/* On either side of the kernel's frame: the handler may run on an alternate stack. The processor keeps sp aligned to 16
 * bytes (Arm Procedure Call Standard for the Arm 64-bit Architecture, "The Stack"). */
static bool is_stack_pointer(usp_addr sp) { return sp != 0 && (sp & 15) == 0; }

/* Where sp is not known (a record-only step on arm64), the kernel's own record helps: it writes {interrupted x29, x30}
 * behind the context and points x29 at it, so the context is the one between here and there whose fp says the same
 * (Linux arch/arm64/kernel/signal.c, setup_sigframe). */
static bool search_context(const struct uspi_walk *walk, const struct uspi_signal_stub *stub,
                           const struct uspi_frame_state *frame, struct usp_registers *registers) {
    const struct uspi_backend *b = walk->backend;
    uint64_t fp, interrupted_fp, interrupted_lr;
    if (b->lr == USPI_NO_REGISTER || b->slot != 8 || !uspi_known(&frame->registers, b->fp)) return false;
    fp = frame->registers.value[b->fp];
    if (!uspi_read_slot(walk, fp, &interrupted_fp) || !uspi_read_slot(walk, fp + b->slot, &interrupted_lr))
        return false;
    for (usp_addr sp = (frame->low + 15) & ~UINT64_C(15); sp < fp && fp - sp < 65536; sp += 16) {
        if (read_context(walk, stub, sp + stub->context, registers) && registers->value[b->fp] == interrupted_fp &&
            registers->value[b->lr] == interrupted_lr && is_stack_pointer(registers->value[b->sp])) {
            return true;
        }
    }
    return false;
}

static bool find_context(const struct uspi_walk *walk, const struct uspi_signal_stub *stub,
                         const struct uspi_frame_state *frame, int64_t popped, struct uspi_candidate *c) {
    const struct uspi_backend *b = walk->backend;
    struct usp_registers *registers = &c->caller.registers;
    if (!frame->sp_known || !uspi_known(&frame->registers, b->sp)) return search_context(walk, stub, frame, registers);
    c->cfa = frame->registers.value[b->sp] - (usp_addr)popped;
    return read_context(walk, stub, (c->cfa + stub->context) & b->word_mask, registers);
}

void uspi_read_signal(struct uspi_evidence *e, struct uspi_candidate *c) {
    const struct uspi_walk *walk = e->walk;
    const struct uspi_frame_state *frame = e->frame;
    const usp_addr pc = uspi_pc_of(walk, frame);
    const bool thumb = (frame->flags & USP_FRAME_THUMB) != 0;
    int64_t popped = 0;
    const struct uspi_signal_stub *stub = frame->exact ? uspi_trampoline_around(walk, &e->aside, pc, thumb, &popped)
                                                       : uspi_trampoline_at(walk, &e->aside, pc, thumb);
    if (stub == NULL) {
        uspi_read_darwin_signal(e, c);
        return;
    }
    c->found = c->is_interrupted = c->is_complete = true;
    if (find_context(walk, stub, frame, popped, c)) {
        c->caller.exact = c->caller.sp_known = true;
        c->caller.low = c->caller.registers.value[walk->backend->sp];
        return;
    }
    c->ends_stack = true;
    c->stop = USP_STOP_UNREADABLE;
    c->stop_address = frame->low;
}
