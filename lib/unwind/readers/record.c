/* SPDX-License-Identifier: MIT */
/* The reader of frame records.
 *
 *     return address = [fp + slot]   fp of the caller = [fp]   sp of the caller = fp + 2 * slot
 *
 * The last equation is valid where the record is at the frame's top: on x86, armv7 and Apple's arm64. Linux compilers
 * for arm64 put locals and saved registers above it. There only a lower bound of the caller's sp is known. */
#include "lib/base/processor.h"
#include "lib/unwind/readers/readers.h"

static bool record_is_top(const struct uspi_walk *walk) {
    return walk->backend->slot == walk->backend->call_push || walk->backend->slot == 4 ||
           walk->target.os == USP_OS_DARWIN;
}

void uspi_read_record(struct uspi_evidence *e, struct uspi_candidate *c) {
    const struct uspi_walk *walk = e->walk;
    const struct uspi_backend *b = walk->backend;
    const usp_addr fp = e->frame->registers.value[b->fp];
    const struct uspi_record_shape shape = uspi_record_shape_of(b);
    if (!uspi_has_record(e)) {
        e->stop = e->record_stop;
        e->stop_address = e->stop == USP_STOP_RA_NOT_CODE ? e->record_ra.pc : fp;
        return;
    }
    if (uspi_find_handlers_return(e) != 0) {
        e->stop = USP_STOP_NO_RECORD;
        e->stop_address = uspi_pc_of(walk, e->frame);
        return;
    }
    c->found = c->is_record = true;
    c->ra = e->record_ra;
    c->credit = c->ra.credit;
    c->fp_at = fp;
    c->is_extended = uspi_is_extended(shape, &e->record);
    uspi_registers_init(&c->caller.registers, b->arch);
    uspi_set(&c->caller.registers, b->fp, uspi_untagged(shape, e->record.previous));
    c->caller.low = fp + 2u * b->slot;
    if (!record_is_top(walk)) return;
    c->cfa = c->caller.low;
    uspi_set(&c->caller.registers, b->sp, c->cfa);
    c->caller.sp_known = true;
}
