/* SPDX-License-Identifier: MIT */
/* Initialises the structs of <unspool/unwind.h> to empty, with their defaults; and gives the address of a frame's
 * call. */
#include "arch/backend.h"
#include "lib/base/clear.h"

#include <unspool/unwind.h>

void usp_stack_init(struct usp_stack *stack, struct usp_frame *frames, uint32_t capacity) {
    uspi_clear(stack, sizeof *stack);
    stack->frames = frames;
    stack->capacity = frames != NULL ? capacity : 0;
    stack->omitted_at = stack->extended = stack->async_join = USP_NO_INDEX;
}

void usp_target_init(struct usp_target *target, uint32_t arch) {
    uspi_clear(target, sizeof *target);
    target->size = sizeof *target;
    target->arch = arch;
}

void usp_unwind_options_init(struct usp_unwind_options *options) {
    uspi_clear(options, sizeof *options);
    options->size = sizeof *options;
    options->step_limit = 1000000;
    options->readers = USP_READER_ALL;
}

usp_addr usp_frame_call_site(uint32_t arch, const struct usp_frame *frame) {
    const struct uspi_backend *b = uspi_backend_find(arch);
    if (frame->kind != USP_FRAME_KIND_RETURN_ADDRESS && frame->kind != USP_FRAME_KIND_LINK_REGISTER) return frame->pc;
    usp_addr pc = b != NULL && b->has_thumb ? frame->pc & ~UINT64_C(1) : frame->pc;
    return pc - 1;
}
