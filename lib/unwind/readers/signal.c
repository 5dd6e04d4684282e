/* SPDX-License-Identifier: MIT */
/* The reader of signal frames. It recognizes Linux's by the code to which the handler returns, Darwin's by their
 * structure.
 *
 *        |  ucontext: all registers |  sp + stub.context
 *        |  siginfo …               |
 *  sp -> |                          |  as the handler's return leaves it
 *
 * The caller is an interrupted frame: its pc is exact and all its registers are known, as in the first frame of a
 * walk. */
#include "lib/unwind/frame/trampoline.h"
#include "lib/unwind/readers/evidence.h"
#include "lib/unwind/readers/readers.h"
#include "lib/unwind/signals/saved_state.h"
#include "lib/unwind/signals/sigframe.h"

/* ---- signals of Apple systems ---- */

/* Darwin's signal frames, by their structure (sigframe.h).
 *
 *        |  interrupted frames, on this stack or on another  |
 *        |                                                   |
 *        |  mcontext: all registers                          |  x86: these three the other way round,
 *        |  ucontext: uc_mcontext points at the above        |       mcontext, siginfo, ucontext
 *        |  siginfo                                          |
 * CFA -> +---------------------------------------------------+  sp where the kernel started _sigtramp
 *        |  no return address: the interrupted link register |  fp + slot
 *  fp -> |  interrupted fp: the same as in the mcontext      |  fp
 *
 *     caller = all registers of the mcontext        CFA = fp + 2 * slot        mcontext = CFA + machine … + slack
 *
 * If _sigtramp itself is interrupted while it has no record, fp has the interrupted value. Then _sigtramp's arguments
 * (arm) or sp (x86) show where the structures are. The caller is an interrupted frame, as on Linux.
 *
 * A function that _sigtramp has called has the same fp until it makes a record. choose_with_signal (decide.c)
 * distinguishes the two by the candidates of other readers. */

static void give(const struct uspi_walk *walk, struct uspi_candidate *c) {
    c->found = c->is_interrupted = c->is_complete = true;
    uspi_complete_interrupted(walk, &c->caller);
}

static void read_darwin_signal(struct uspi_evidence *e, struct uspi_candidate *c) {
    const struct uspi_walk *walk = e->walk;
    const struct uspi_frame_state *frame = e->frame;
    const struct uspi_backend *b = walk->backend;
    if (walk->target.os != USP_OS_DARWIN || !uspi_known(&frame->registers, b->fp)) return;
    const struct uspi_sigframe_view view = uspi_sigframe_view_of(b, &walk->target.memory, walk->strip_mask);
    struct usp_registers *interrupted = &c->caller.registers;
    usp_addr fp = frame->registers.value[b->fp];
    if (frame->exact && frame->sp_known &&
        uspi_sigframe_at_entry(&view, &frame->registers, interrupted) == USPI_SIGFRAME) {
        give(walk, c);
        return;
    }
    /* Records below sp are remains of earlier signals. */
    if (fp < (frame->sp_known ? frame->registers.value[b->sp] : frame->low)) return;
    enum uspi_sigframe_found found = uspi_sigframe_at_record(&view, fp, interrupted);
    if (found == USPI_NO_SIGFRAME) return;
    c->cfa = fp + 2u * b->slot;
    c->may_be_callers = true;
    c->is_altered = found == USPI_SIGFRAME_ALTERED;
    c->ends_stack = found == USPI_SIGFRAME_CUT;
    c->stop = USP_STOP_UNREADABLE;
    c->stop_address = c->cfa;
    give(walk, c);
}

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
                         const struct uspi_frame_state *frame, int64_t popped, struct uspi_candidate *c) {
    const struct uspi_backend *b = walk->backend;
    struct usp_registers *registers = &c->caller.registers;
    if (!frame->sp_known || !uspi_known(&frame->registers, b->sp)) return search_context(walk, stub, frame, registers);
    c->cfa = frame->registers.value[b->sp] - (usp_addr)popped;
    return read_context(walk, stub, (c->cfa + stub->context) & b->word_mask, registers);
}

/* Maximum number of words above sp in which a handler's return address is searched. */
#define HANDLER_WORDS 128u

/* Returns whether the word at `at` is the return address of a signal handler that has not changed fp: a trampoline's,
 * below a context with the same fp. */
static __attribute__((noinline)) bool is_handlers_return(struct uspi_evidence *e, usp_addr at) {
    const struct uspi_walk *walk = e->walk;
    const struct uspi_backend *b = walk->backend;
    struct usp_registers interrupted;
    uint64_t word;
    if (!uspi_read_slot(walk, at, &word) || uspi_ask_for_image(walk, word & b->word_mask) == USP_ERROR_NOT_FOUND)
        return false;
    const struct uspi_signal_stub *stub = uspi_trampoline_at(walk, &e->aside, word & b->word_mask, false);
    return stub != NULL && read_context(walk, stub, (at + b->slot + stub->context) & b->word_mask, &interrupted) &&
           uspi_known(&interrupted, b->fp) && interrupted.value[b->fp] == e->frame->registers.value[b->fp];
}

usp_addr uspi_find_handlers_return(struct uspi_evidence *e) {
    const struct uspi_walk *walk = e->walk;
    const struct uspi_backend *b = walk->backend;
    const struct usp_registers *registers = &e->frame->registers;
    if (walk->target.os != USP_OS_LINUX || b->call_push == 0 || !e->frame->sp_known || !uspi_known(registers, b->fp))
        return 0;
    const usp_addr sp = registers->value[b->sp], fp = registers->value[b->fp];
    for (unsigned i = 0; i < HANDLER_WORDS; i++) {
        const usp_addr at = sp + i * b->slot;
        /* Otherwise the record at fp is nearer. */
        if (fp >= sp && fp <= at) break;
        if (is_handlers_return(e, at)) return at;
    }
    return 0;
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
        read_darwin_signal(e, c);
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
