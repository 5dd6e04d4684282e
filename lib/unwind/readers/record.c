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

/* Generated code of one runtime is in one reservation of address space; HotSpot's is at most 240 MB in its default
 * form, and its interpreter and stubs are in the same few MB. */
#define GENERATED_MAX ((usp_addr)16 << 20)

/* Whether generated code can have written the record: the frame's code and the return address are near each other, and
 * both can be such code. Interpreters push return addresses that follow no call (HotSpot's return entries). */
static bool is_generated(const struct uspi_evidence *e) {
    const usp_addr pc = uspi_pc_of(e->walk, e->frame), to = e->record_ra.pc;
    return e->record_stop == USP_STOP_RA_NOT_CODE && to - pc + GENERATED_MAX <= 2 * GENERATED_MAX &&
           uspi_can_be_generated(e->walk, pc) && uspi_can_be_generated(e->walk, to);
}

/* Distance from a frame beyond which a record counts as being on another stack. */
#define FAR_RECORD ((usp_addr)1 << 20)

/* Whether the frame pointer is not this stack's: a table has found the word that is not a return address, and fp points
 * to another stack. The first function of a coroutine has the fp of the code that made its stack. */
static bool is_of_another_stack(const struct uspi_evidence *e, usp_addr fp) {
    return e->has_table_stop && !e->frame->exact && fp - e->frame->low > FAR_RECORD;
}

void uspi_read_record(struct uspi_evidence *e, struct uspi_candidate *c) {
    const struct uspi_walk *walk = e->walk;
    const struct uspi_backend *b = walk->backend;
    const usp_addr fp = e->frame->registers.value[b->fp];
    const struct uspi_record_shape shape = uspi_record_shape_of(b);
    const bool is_pushed = !uspi_has_record(e) && is_generated(e);
    if (!e->has_record && !is_pushed) {
        e->stop = e->record_stop;
        e->stop_address = e->stop == USP_STOP_RA_NOT_CODE ? e->record_ra.pc : fp;
        return;
    }
    if (is_of_another_stack(e, fp) || uspi_find_handlers_return(e) != 0) {
        e->stop = USP_STOP_NO_RECORD;
        e->stop_address = uspi_pc_of(walk, e->frame);
        return;
    }
    c->found = c->is_record = true;
    c->ra = e->record_ra;
    if (is_pushed) {
        c->ra.credit = USPI_UNVERIFIED;
        c->ra.flags |= USP_FRAME_UNVERIFIED;
    }
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
