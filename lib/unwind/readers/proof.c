/* SPDX-License-Identifier: MIT */
/* See proof.h. Also the reader that tries the known return addresses: those of other readers, on the stack, and in the
 * link register. */
#include "lib/unwind/readers/proof.h"
#include "lib/unwind/readers/readers.h"
#include "lib/unwind/readers/start.h"

#define STACK_WORDS 8 /* words from sp on that are tried as return addresses when nothing better is known */

bool uspi_proves_itself(struct uspi_evidence *e, const struct uspi_return_address *ra, struct uspi_candidate *c) {
    if (ra->callee == 0) return false;
    return uspi_from_start(e, ra->callee, 0, c) && c->ra.pc == ra->pc && (uspi_is_steady(c) || !c->from_register);
}

static bool one_of_words(struct uspi_evidence *e, struct uspi_candidate *c) {
    const struct uspi_walk *walk = e->walk;
    const struct uspi_backend *b = walk->backend;
    uint64_t word;
    for (unsigned i = 0; e->frame->sp_known && i < STACK_WORDS; i++) {
        if (!uspi_read_slot(walk, e->frame->registers.value[b->sp] + i * b->slot, &word)) break;
        struct uspi_return_address ra = uspi_judge_return_address(walk, &e->aside, word);
        if (ra.credit == USPI_VERIFIED && uspi_proves_itself(e, &ra, c)) return true;
    }
    return false;
}

static bool link_register(struct uspi_evidence *e, struct uspi_candidate *c) {
    const struct uspi_backend *b = e->walk->backend;
    if (b->lr == USPI_NO_REGISTER || !uspi_known(&e->frame->registers, b->lr)) return false;
    struct uspi_return_address ra = uspi_judge_return_address(e->walk, &e->aside, e->frame->registers.value[b->lr]);
    return ra.credit != USPI_REFUTED && uspi_proves_itself(e, &ra, c);
}

void uspi_read_proof(struct uspi_evidence *e, struct uspi_candidate *c) {
    if (!uspi_can_read_code(e)) return;
    const struct uspi_candidate *forward = uspi_candidate_of(e, USPI_BY_FORWARD);
    bool found = (forward->found && uspi_proves_itself(e, &forward->ra, c)) ||
                 (uspi_has_record(e) && uspi_proves_itself(e, &e->record_ra, c)) ||
                 (e->frame->exact && (one_of_words(e, c) || link_register(e, c)));
    if (!found) c->found = false;
}
