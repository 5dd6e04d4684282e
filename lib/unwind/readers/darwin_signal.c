/* SPDX-License-Identifier: MIT */
/* The reader of Darwin's signal frames, by their structure (sigframe.h).
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
 * A function that _sigtramp has called has the same fp until it makes a record. decide.c distinguishes the two by the
 * candidates of other readers. */
#include "lib/unwind/readers/darwin_signal.h"
#include "lib/unwind/signals/sigframe.h"

static void give(const struct uspi_walk *walk, struct uspi_candidate *c) {
    c->found = c->is_interrupted = c->is_complete = true;
    uspi_complete_interrupted(walk, &c->caller);
}

void uspi_read_darwin_signal(struct uspi_evidence *e, struct uspi_candidate *c) {
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
