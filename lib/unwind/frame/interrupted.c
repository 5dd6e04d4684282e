/* SPDX-License-Identifier: MIT */
/* See interrupted.h.
 *
 *        |  ucontext: all registers |  sp + stub.context
 *        |  siginfo …               |
 *  sp -> |                          |  as the handler's return leaves it */
#include "lib/unwind/frame/interrupted.h"

#include "lib/unwind/frame/trampoline.h"
#include "lib/unwind/signals/saved_state.h"

static bool read_context(const struct uspi_walk *walk, const struct uspi_signal_stub *stub, usp_addr at,
                         struct usp_registers *registers) {
    return uspi_read_saved_state(walk->backend, &walk->target.memory, stub->state, at, registers) == USP_OK;
}

/* Whether a value can be the interrupted stack pointer. It may be above or below the kernel's frame, because the
 * handler may run on an alternate stack. The processor keeps sp aligned to 16 bytes (Arm Procedure Call Standard for
 * the Arm 64-bit Architecture, "The Stack"). */
static bool is_stack_pointer(usp_addr sp) { return sp != 0 && (sp & 15) == 0; }

/* Searches for the context if sp is unknown, which is the case after a step by frame record on arm64. The kernel writes
 * a record {interrupted x29, x30} after the context and makes x29 point to it. So the context is between the frame's
 * lower bound and that record, and contains the same x29 and x30 (Linux arch/arm64/kernel/signal.c, setup_sigframe). */
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
                         const struct uspi_frame_state *frame, int64_t popped, struct usp_registers *registers,
                         usp_addr *cfa) {
    const struct uspi_backend *b = walk->backend;
    if (!frame->sp_known || !uspi_known(&frame->registers, b->sp)) return search_context(walk, stub, frame, registers);
    *cfa = frame->registers.value[b->sp] - (usp_addr)popped;
    return read_context(walk, stub, (*cfa + stub->context) & b->word_mask, registers);
}

enum uspi_interrupted uspi_find_interrupted(const struct uspi_walk *walk, struct uspi_code *code,
                                            const struct uspi_frame_state *frame, struct uspi_frame_state *caller,
                                            usp_addr *cfa) {
    const usp_addr pc = uspi_pc_of(walk, frame);
    const bool thumb = (frame->flags & USP_FRAME_THUMB) != 0;
    int64_t popped = 0;
    const struct uspi_signal_stub *stub = frame->exact ? uspi_trampoline_around(walk, code, pc, thumb, &popped)
                                                       : uspi_trampoline_at(walk, code, pc, thumb);
    *cfa = 0;
    if (stub == NULL) return USPI_NO_TRAMPOLINE;
    if (!find_context(walk, stub, frame, popped, &caller->registers, cfa)) return USPI_CONTEXT_IS_UNREADABLE;
    caller->exact = caller->sp_known = true;
    caller->low = caller->registers.value[walk->backend->sp];
    return USPI_INTERRUPTED;
}
