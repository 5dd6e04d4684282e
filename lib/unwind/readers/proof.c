/* SPDX-License-Identifier: MIT */
/* See proof.h. Also the reader that tries the known return addresses: those of other readers, on the stack, and in the
 * link register. */
#include "lib/unwind/readers/proof.h"
#include "lib/unwind/code/explore.h"
#include "lib/unwind/readers/readers.h"
#include "lib/unwind/readers/start.h"

#define STACK_WORDS  8    /* words from sp on that are tried as return addresses when nothing better is known */
#define SEARCH_WORDS 1024 /* words from sp on whose callees are tried where nothing else is found */
#define SEARCH_TRIES 4    /* maximum number of these callees */
/* With so many words that point to unreadable memory the search ends: it has come to data, such as the program's
 * environment, which on 32-bit processors looks like addresses. */
#define SEARCH_UNREADABLE 16

bool uspi_proves_itself(struct uspi_evidence *e, const struct uspi_return_address *ra, struct uspi_candidate *c) {
    if (ra->callee == 0) return false;
    return uspi_from_start(e, ra->callee, 0, c) && c->ra.pc == ra->pc && (uspi_is_steady(c) || !c->from_register);
}

/* Judges a word of the stack, counted from sp. Returns false when it cannot be read. */
static bool judge_word(struct uspi_evidence *e, unsigned i, struct uspi_return_address *ra) {
    const struct uspi_backend *b = e->walk->backend;
    uint64_t word;
    if (!e->frame->sp_known || !uspi_read_slot(e->walk, e->frame->registers.value[b->sp] + i * b->slot, &word))
        return false;
    *ra = uspi_judge_return_address(e->walk, &e->aside, word);
    return true;
}

static bool one_of_words(struct uspi_evidence *e, struct uspi_candidate *c) {
    struct uspi_return_address ra;
    for (unsigned i = 0; i < STACK_WORDS && judge_word(e, i, &ra); i++) {
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

/* Where called functions begin, nearest before the pc first. */
struct starts {
    usp_addr at[SEARCH_TRIES];
    unsigned count;
};

static void add_start(struct starts *starts, usp_addr start) {
    unsigned i = 0;
    while (i < starts->count && starts->at[i] > start) i++;
    if (i == SEARCH_TRIES || (i < starts->count && starts->at[i] == start)) return;
    if (starts->count < SEARCH_TRIES) starts->count++;
    for (unsigned k = starts->count - 1; k > i; k--) starts->at[k] = starts->at[k - 1];
    starts->at[i] = start;
}

/* Returns the start of the function that a call enters: the stub of a linkage table is passed. 0: not known. */
static usp_addr function_of(struct uspi_evidence *e, usp_addr callee) {
    const uint32_t mode = uspi_frame_mode(e->walk, e->frame) & USPI_MODE_THUMB;
    const unsigned modes = callee == 0 ? 0 : e->walk->backend->has_thumb ? 2 : 1;
    for (unsigned i = 0; i < modes; i++) {
        usp_addr target;
        uint32_t target_mode;
        if (uspi_code_past_stub(&e->aside, &e->walk->target.memory, callee, i * USPI_MODE_THUMB, &target, &target_mode))
            return target_mode == mode ? target : 0;
    }
    return callee;
}

/* Searches the stack for the call of the function that the pc is in: a path from the function's start leads to the pc,
 * and has the return address where it is. This is for code from which no path leads to a return, because the function
 * is long or never returns, as abort. */
static bool called_from_stack(struct uspi_evidence *e, struct uspi_candidate *c) {
    const usp_addr pc = uspi_pc_of(e->walk, e->frame);
    struct starts starts = {.count = 0};
    struct uspi_return_address ra;
    unsigned unreadable = 0;
    for (unsigned i = 0; i < SEARCH_WORDS && unreadable < SEARCH_UNREADABLE && judge_word(e, i, &ra); i++) {
        if (ra.credit == USPI_UNVERIFIED) unreadable++;
        if (ra.credit != USPI_VERIFIED) continue;
        const usp_addr start = function_of(e, ra.callee);
        if (start != 0 && start <= pc) add_start(&starts, start);
    }
    for (unsigned i = 0; i < starts.count; i++) {
        bool found = uspi_from_start(e, starts.at[i], 0, c) && c->credit == USPI_VERIFIED;
        if (found && function_of(e, c->ra.callee) == starts.at[i] && !c->from_register) return true;
    }
    return false;
}

void uspi_read_proof(struct uspi_evidence *e, struct uspi_candidate *c) {
    if (!uspi_can_read_code(e)) return;
    const struct uspi_candidate *forward = uspi_candidate_of(e, USPI_BY_FORWARD);
    const bool has_caller = uspi_has_record(e) && e->record_ra.credit == USPI_VERIFIED;
    bool found = (forward->found && uspi_proves_itself(e, &forward->ra, c)) ||
                 (uspi_has_record(e) && uspi_proves_itself(e, &e->record_ra, c)) ||
                 ((e->frame->exact || !has_caller) && one_of_words(e, c)) || (e->frame->exact && link_register(e, c));
    if (!found && !forward->found && !has_caller) found = called_from_stack(e, c);
    if (!found) c->found = false;
}
