/* SPDX-License-Identifier: MIT */
/* The reader of frame records: the template of arch/frame.h over the target's memory.
 *
 *     return address = [fp + slot]   fp of the caller = [fp]   sp of the caller = fp + 2 * slot
 *
 * The last equation holds where the record is the frame's top: on x86, armv7 and Apple's arm64. Linux compilers for arm64
 * put locals and saved registers above it; there the caller's sp is unknown, and only bounded from below. */
#include "lib/unwind/reader.h"

static bool load_pair(const void *context, usp_addr at, unsigned slot, usp_addr pair[2]) {
    const struct usp_memory *memory = context;
    uint8_t bytes[16];
    if (memory->read(memory->context, at, bytes, 2 * slot) != 0) return false;
    pair[0] = uspi_load_le(bytes, slot);
    pair[1] = uspi_load_le(bytes + slot, slot);
    return true;
}

static bool record_is_top(const struct uspi_walk *walk) {
    return walk->backend->slot == walk->backend->call_push || walk->backend->slot == 4 ||
           walk->target.os == USP_OS_DARWIN;
}

uint32_t uspi_find_record(struct uspi_walk *walk, struct uspi_code *code, const struct uspi_frame_state *frame,
                          struct uspi_record *record, struct uspi_return_address *ra) {
    const struct uspi_backend *b = walk->backend;
    if (!uspi_known(&frame->registers, b->fp)) return USP_STOP_REGISTERS;
    usp_addr high = walk->target.stack_high;
    /* Without bounds every read decides; a record still has to fit into the address space. */
    usp_addr last = (high != 0 ? high : UINT64_MAX) - 2u * b->slot;
    uint32_t stop = uspi_record_read(uspi_record_shape_of(b), load_pair, &walk->target.memory, frame->low, last,
                                     frame->registers.value[b->fp], record);
    if (stop != USP_STOP_NONE) return stop;
    *ra = uspi_judge_return_address(walk, code, record->return_address);
    if (ra->credit != USPI_REFUTED) return USP_STOP_NONE;
    return ra->pc == 0 ? USP_STOP_RA_ZERO : USP_STOP_RA_NOT_CODE;
}

enum uspi_answer uspi_read_frame_record(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                        struct uspi_answer_data *out) {
    const struct uspi_backend *b = walk->backend;
    struct uspi_code code;
    struct uspi_record record;
    struct uspi_return_address ra;
    uspi_code_init(&code, b, uspi_code_memory(walk));
    usp_addr fp = frame->registers.value[b->fp];
    uint32_t stop = uspi_find_record(walk, &code, frame, &record, &ra);
    if (stop != USP_STOP_NONE) {
        out->stop = stop;
        out->stop_address = stop == USP_STOP_RA_NOT_CODE ? ra.pc : fp;
        return USPI_NOT_MINE;
    }
    usp_addr behind = fp + 2u * b->slot;
    struct uspi_frame_state *caller = &out->caller;
    usp_registers_init(&caller->registers, b->arch);
    const struct uspi_record_shape shape = uspi_record_shape_of(b);
    uspi_set(&caller->registers, b->fp, uspi_untagged(shape, record.previous));
    caller->low = behind;
    if (record_is_top(walk)) {
        out->cfa = behind;
        uspi_set(&caller->registers, b->sp, behind);
        caller->sp_known = true;
    }
    if (uspi_is_extended(shape, &record)) out->extended.record = fp;
    uspi_set_caller(walk, caller, &ra, USP_KIND_RETURN_ADDRESS, USP_METHOD_FRAME_POINTER);
    return USPI_FOUND;
}
