/* SPDX-License-Identifier: MIT */
/* The reader of Darwin's signal frames, by their structure (sigframe.h). Linux's is signal.c, by the code's bytes.
 *
 *        |  interrupted frames, on this stack or on another  |
 *        |                                                   |
 *        |  mcontext: all registers                          |  x86: these three the other way round,
 *        |  ucontext: uc_mcontext points at the above        |       mcontext, siginfo, ucontext
 *        |  siginfo                                          |
 * CFA -> +---------------------------------------------------+  sp where the kernel started _sigtramp
 *        |  nothing that holds: the link register as it was  |  fp + slot
 *  fp -> |  interrupted fp: the same as in the mcontext      |  fp
 *
 *     caller = all registers of the mcontext        CFA = fp + 2 * slot        mcontext = CFA + machine … + slack
 *
 * What _sigtramp was interrupted in its prologue for holds as well: there fp is the interrupted one still, and the arguments
 * tell where the structures are. The frame above starts afresh, as on Linux. */
#include "lib/unwind/reader.h"
#include "lib/unwind/sigframe.h"

/* Whether the frame is that of a function which _sigtramp has called and which has no record of its own, so that fp is
 * _sigtramp's. What other readers find says: its caller is below the kernel's frame, and fp stays. They are asked without
 * what they would keep for other walks. */
static bool is_called_there(const struct uspi_walk *walk, const struct uspi_frame_state *frame, usp_addr cfa) {
    const struct uspi_backend *b = walk->backend;
    struct uspi_walk aside = *walk;
    struct uspi_answer_data answer;
    memset(&aside.shortcuts, 0, sizeof aside.shortcuts);
    aside.keeps_table_rules = false;
    for (size_t i = 0; i < uspi_reader_count; i++) {
        const struct uspi_reader_entry *reader = &uspi_readers[i];
        if (reader->bit == USP_READER_SIGNAL || (walk->readers & reader->bit) == 0) continue;
        memset(&answer, 0, sizeof answer);
        enum uspi_answer a = reader->read(&aside, frame, &answer);
        if (a == USPI_STOPPED) return false;
        if (a != USPI_FOUND) continue;
        const struct usp_registers *caller = &answer.caller.registers;
        return answer.cfa != 0 && answer.cfa < cfa && uspi_known(caller, b->fp) &&
               caller->value[b->fp] == frame->registers.value[b->fp];
    }
    return false;
}

static enum uspi_answer give(const struct uspi_walk *walk, struct uspi_answer_data *out) {
    uspi_complete_interrupted(walk, &out->caller);
    out->caller.kind = USP_KIND_SIGNAL;
    out->caller.method = USP_METHOD_SIGNAL;
    return USPI_FOUND;
}

enum uspi_answer uspi_read_darwin_signal_frame(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                               struct uspi_answer_data *out) {
    const struct uspi_backend *b = walk->backend;
    if (walk->target.os != USP_OS_DARWIN || !uspi_known(&frame->registers, b->fp)) return USPI_NOT_MINE;
    const struct uspi_sigframe_view view = uspi_sigframe_view_of(b, &walk->target.memory, walk->strip_mask);
    struct usp_registers *interrupted = &out->caller.registers;
    usp_addr fp = frame->registers.value[b->fp];
    if (frame->exact && frame->sp_known &&
        uspi_sigframe_at_entry(&view, &frame->registers, interrupted) == USPI_SIGFRAME) {
        return give(walk, out);
    }
    /* Below sp there are signal frames of the past. */
    if (fp < (frame->sp_known ? frame->registers.value[b->sp] : frame->low)) return USPI_NOT_MINE;
    enum uspi_sigframe_found found = uspi_sigframe_at_record(&view, fp, interrupted);
    if (found == USPI_NO_SIGFRAME) return USPI_NOT_MINE;
    usp_addr cfa = fp + 2u * b->slot;
    if (is_called_there(walk, frame, cfa)) return USPI_NOT_MINE;
    if (found == USPI_SIGFRAME_ALTERED) {
        /* What tables say of this code is true of no other walk. */
        memset(&walk->shortcuts, 0, sizeof walk->shortcuts);
        walk->keeps_table_rules = false;
        return USPI_NOT_MINE;
    }
    if (found == USPI_SIGFRAME_CUT) {
        out->stop = USP_STOP_UNREADABLE;
        out->stop_address = cfa;
        return USPI_STOPPED;
    }
    out->cfa = cfa;
    return give(walk, out);
}
