/* SPDX-License-Identifier: MIT */
/* The reader of signal frames. It recognizes Linux's by the code to which the handler returns (interrupted.h), Darwin's
 * by their structure.
 *
 * The caller is an interrupted frame: its pc is exact and all its registers are known, as in the first frame of a
 * walk. */
#include "lib/unwind/frame/interrupted.h"
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
    if (stub == NULL) return false;
    const usp_addr context = (at + b->slot + stub->context) & b->word_mask;
    return uspi_read_saved_state(b, &walk->target.memory, stub->state, context, &interrupted) == USP_OK &&
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
    const enum uspi_interrupted found = uspi_find_interrupted(e->walk, &e->aside, e->frame, &c->caller, &c->cfa);
    if (found == USPI_NO_TRAMPOLINE) {
        read_darwin_signal(e, c);
        return;
    }
    c->found = c->is_interrupted = c->is_complete = true;
    if (found == USPI_INTERRUPTED) return;
    c->ends_stack = true;
    c->stop = USP_STOP_UNREADABLE;
    c->stop_address = e->frame->low;
}
