/* SPDX-License-Identifier: MIT */
/* The reader for a call through a bad pointer. The thread has executed no instruction of the callee, so the rule at a
 * function's entry is valid:
 *
 *     x86    return address = [sp]       arm    return address = lr
 *
 * If the pc's memory merely cannot be read, it may still be code. Then the return address must follow a call through a
 * pointer. */
#include "lib/unwind/readers/readers.h"

/* Whether the pc is known not to be code. The lowest page contains no code. */
static bool is_known_not_code(const struct uspi_walk *walk, usp_addr pc) {
    return pc < 4096 || uspi_ask_for_image(walk, pc) == USP_ERROR_NOT_FOUND;
}

void uspi_read_bad_call(struct uspi_evidence *e, struct uspi_candidate *c) {
    const struct uspi_backend *b = e->walk->backend;
    if (uspi_can_read_code(e)) return;
    bool is_certain = e->frame->exact && is_known_not_code(e->walk, uspi_pc_of(e->walk, e->frame));
    if (!is_certain) e->walk->stack_flags |= USP_STACK_NO_INSTRUCTIONS;
    if (!e->frame->exact) return;
    struct uspi_rule rule = {.cfa = uspi_in_register(b->sp, b->call_push)};
    rule.return_address = b->lr == USPI_NO_REGISTER ? uspi_in_memory(b->sp, 0) : uspi_in_register(b->lr, 0);
    if (!uspi_make_candidate(e, &rule, 0, c)) return;
    c->found = is_certain || (c->credit == USPI_VERIFIED && c->ra.callee == 0);
}
