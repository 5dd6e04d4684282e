/* SPDX-License-Identifier: MIT */
/* See return_address.h. */
#include "lib/unwind/frame/return_address.h"
#include "lib/unwind/frame/trampoline.h"

/* End of the lowest page, which contains no code on any of the systems. A lower word is a small number, or a null
 * pointer with an offset. */
#define LOWEST_CODE 4096u

/* Maximum number of significant bits of an address. All bits above them equal the highest of them (Intel SDM volume 1,
 * 3.3.7.1, with five levels of tables; arm64 has fewer). Words of text on the stack have other bits there. */
#define ADDRESS_BITS 57

static bool can_be_address(const struct uspi_walk *walk, usp_addr pc) {
    /* If the signature bits are unknown, the signature cannot be removed, and any value is possible. */
    if (walk->backend->has_signatures && walk->target.pac_mask == 0) return true;
    const uint64_t above = pc >> (ADDRESS_BITS - 1);
    return above == 0 || above == UINT64_MAX >> (ADDRESS_BITS - 1);
}

/* Whether an address is on the target's stack. Words of a stack often point to that stack, where bytes can look like a
 * call. */
static bool is_on_stack(const struct uspi_walk *walk, usp_addr pc) {
    return pc >= walk->target.stack_low && pc < walk->target.stack_high;
}

struct uspi_return_address uspi_judge_return_address(const struct uspi_walk *walk, struct uspi_code *code,
                                                     usp_addr raw) {
    const struct uspi_backend *b = walk->backend;
    usp_addr stripped = raw & walk->strip_mask & b->word_mask;
    bool thumb = b->has_thumb && (stripped & 1) != 0;
    struct uspi_return_address ra = {.pc = thumb ? stripped & ~UINT64_C(1) : stripped, .credit = USPI_REFUTED};
    if (thumb) ra.flags |= USP_FRAME_THUMB;
    if (stripped != raw) ra.flags |= USP_FRAME_SIGNED;
    if (ra.pc < LOWEST_CODE) {
        ra.pc = 0;
        return ra;
    }
    unsigned align = b->has_thumb && !thumb ? 4 : b->code_align;
    if ((ra.pc & (align - 1)) != 0 || !can_be_address(walk, ra.pc)) return ra;
    if (uspi_is_root(&walk->target, ra.pc)) {
        ra.credit = USPI_VERIFIED;
        return ra;
    }
    if (is_on_stack(walk, ra.pc) || uspi_ask_for_image(walk, ra.pc) == USP_ERROR_NOT_FOUND) return ra;
    switch (uspi_code_call_before(code, ra.pc, thumb, &ra.callee)) {
    case USPI_CALL_BEFORE: ra.credit = USPI_VERIFIED; break;
    case USPI_CALL_UNREADABLE: ra.credit = USPI_UNVERIFIED; break;
    case USPI_PC_READ_BEFORE: ra.is_pc_read = true; break;
    case USPI_NO_CALL_BEFORE: break;
    }
    if (ra.credit != USPI_VERIFIED && uspi_trampoline_at(walk, code, ra.pc, thumb) != NULL) ra.credit = USPI_VERIFIED;
    if (ra.credit == USPI_UNVERIFIED) ra.flags |= USP_FRAME_UNVERIFIED;
    return ra;
}

void uspi_set_caller(const struct uspi_walk *walk, struct uspi_frame_state *caller,
                     const struct uspi_return_address *ra, uint32_t kind, uint32_t method) {
    const struct uspi_backend *b = walk->backend;
    uspi_set(&caller->registers, b->pc, ra->pc);
    caller->registers.flags = 0;
    caller->exact = false;
    caller->kind = kind;
    caller->method = method;
    caller->flags = ra->flags;
}

static bool load_pair(const void *context, usp_addr at, unsigned slot, usp_addr pair[2]) {
    const struct usp_memory *memory = context;
    uint8_t bytes[16];
    if (memory->read(memory->context, at, bytes, 2 * slot) != 0) return false;
    pair[0] = uspi_le(bytes, slot);
    pair[1] = uspi_le(bytes + slot, slot);
    return true;
}

uint32_t uspi_find_record(const struct uspi_walk *walk, struct uspi_code *code, const struct uspi_frame_state *frame,
                          struct uspi_record *record, struct uspi_return_address *ra) {
    const struct uspi_backend *b = walk->backend;
    if (!uspi_known(&frame->registers, b->fp)) return USP_STOP_REGISTERS;
    usp_addr high = walk->target.stack_high;
    /* Without stack bounds, only readability limits the record. It still has to fit into the address space. */
    const struct uspi_record_range range = {frame->low, (high != 0 ? high : UINT64_MAX) - 2u * b->slot};
    uint32_t stop = uspi_record_read(uspi_record_shape_of(b), load_pair, &walk->target.memory, range,
                                     frame->registers.value[b->fp], record);
    if (stop != USP_STOP_NONE) return stop;
    *ra = uspi_judge_return_address(walk, code, record->return_address);
    if (ra->credit != USPI_REFUTED) return USP_STOP_NONE;
    return ra->pc == 0 ? USP_STOP_RA_ZERO : USP_STOP_RA_NOT_CODE;
}
