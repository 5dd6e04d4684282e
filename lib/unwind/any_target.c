/* SPDX-License-Identifier: MIT */
/* usp_unwind and usp_cursor: unwind a target that the caller describes, which may be of any system. */
#include "lib/unwind/readers/kinds.h"
#include "lib/unwind/unwind.h"

int usp_unwind(const struct usp_target *target, const struct usp_registers *registers,
               const struct usp_unwind_options *options, struct usp_stack *stack) {
    uspi_read_all_tables();
    return uspi_unwind(target, registers, false, NULL, options, stack);
}

_Static_assert(sizeof(struct uspi_walker) <= sizeof(struct usp_cursor), "the cursor's opaque room is too small");

static struct uspi_walker *walker_of(const struct usp_cursor *cursor) {
    return (struct uspi_walker *)(uintptr_t)cursor->opaque;
}

int usp_cursor_init(struct usp_cursor *cursor, const struct usp_target *target, const struct usp_registers *registers,
                    const struct usp_unwind_options *options) {
    if (cursor == NULL) return USP_ERROR_ARGUMENT;
    uspi_read_all_tables();
    return uspi_walker_init(walker_of(cursor), target, registers, options);
}

int usp_cursor_step(struct usp_cursor *cursor, struct usp_frame *frame) {
    struct usp_frame unwanted;
    return uspi_walker_step(walker_of(cursor), frame != NULL ? frame : &unwanted);
}

int usp_cursor_registers(const struct usp_cursor *cursor, struct usp_registers *registers) {
    const struct uspi_walker *w = walker_of(cursor);
    if (registers == NULL || !w->started) return USP_ERROR_ARGUMENT;
    *registers = w->frame.registers;
    return USP_OK;
}

uint32_t usp_cursor_stop(const struct usp_cursor *cursor, usp_addr *address) {
    const struct uspi_walker *w = walker_of(cursor);
    if (address != NULL) *address = w->stop_address;
    return w->stop;
}
