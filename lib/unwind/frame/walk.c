/* SPDX-License-Identifier: MIT */
/* See walk.h. */
#include "lib/unwind/frame/walk.h"

bool uspi_read_slot(const struct uspi_walk *walk, usp_addr at, uint64_t *value) {
    uint8_t bytes[8];
    unsigned n = walk->backend->slot;
    const struct usp_memory *memory = &walk->target.memory;
    if (memory->read(memory->context, at, bytes, n) != 0) return false;
    *value = uspi_le(bytes, n);
    return true;
}

bool uspi_can_be_generated(const struct uspi_walk *walk, usp_addr pc) {
    const struct usp_target *target = &walk->target;
    struct usp_unwind_tables tables;
    memset(&tables, 0, sizeof tables);
    return target->unwind_tables_at != NULL && uspi_ask_for_image(walk, pc) != USP_ERROR_NOT_FOUND &&
           target->unwind_tables_at(target->context, pc, &tables) == USP_ERROR_NOT_FOUND;
}

bool uspi_is_root(const struct usp_target *target, usp_addr pc) {
    for (uint32_t i = 0; i < target->root_count; i++) {
        if (target->roots[i] == pc) return true;
    }
    return false;
}

uint32_t uspi_frame_mode(const struct uspi_walk *walk, const struct uspi_frame_state *frame) {
    const struct uspi_backend *b = walk->backend;
    if (frame->exact && b->initial_mode != NULL) return b->initial_mode(frame->registers.flags);
    return (frame->flags & USP_FRAME_THUMB) != 0 ? USPI_MODE_THUMB : 0;
}

const struct usp_unwind_tables *uspi_unwind_tables_of(struct uspi_walk *walk, const struct uspi_frame_state *frame) {
    const struct usp_target *target = &walk->target;
    usp_addr pc = uspi_lookup_pc(walk, frame);
    if (target->unwind_tables_at == NULL || pc == 0) return NULL;
    if (walk->tables_pc != pc) {
        memset(&walk->tables, 0, sizeof walk->tables);
        walk->has_tables = target->unwind_tables_at(target->context, pc, &walk->tables) == USP_OK;
        walk->tables_pc = pc;
    }
    return walk->has_tables ? &walk->tables : NULL;
}

/* Removes the signatures of pc, sp and fp. In a thread state of arm64e, all pointers to code or to the stack are signed
 * (xnu osfmk/mach/arm/_structs.h, __opaque_pc). A pc that is not readable code without the removed bits stays
 * unchanged. */
static void strip_state(const struct uspi_walk *walk, struct uspi_frame_state *state) {
    const struct uspi_backend *b = walk->backend;
    const struct usp_memory *code = uspi_code_memory(walk);
    uint64_t *value = state->registers.value;
    usp_addr pc = value[b->pc] & walk->strip_mask;
    uint8_t instruction[4];
    value[b->sp] &= walk->strip_mask;
    value[b->fp] &= walk->strip_mask;
    if (pc == value[b->pc] || code->read(code->context, pc, instruction, sizeof instruction) != 0) return;
    value[b->pc] = pc;
    state->flags |= USP_FRAME_SIGNED;
}

void uspi_complete_interrupted(const struct uspi_walk *walk, struct uspi_frame_state *state) {
    const struct uspi_backend *b = walk->backend;
    struct usp_registers *r = &state->registers;
    if (b->has_async) r->value[b->fp] &= ~USPI_FP_TAG_MASK;
    for (unsigned reg = 0; reg < b->register_count; reg++) r->value[reg] &= b->word_mask;
    if (b->has_signatures) strip_state(walk, state);
    if (b->has_thumb) {
        usp_registers_set_pc(r, r->value[b->pc]);
        if ((r->flags & 0x20u) != 0) state->flags |= USP_FRAME_THUMB;
    }
    state->exact = true;
    state->sp_known = uspi_known(r, b->sp);
    state->low = state->sp_known ? r->value[b->sp] : 1;
}
