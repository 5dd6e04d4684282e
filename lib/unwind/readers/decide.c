/* SPDX-License-Identifier: MIT */
/* See decide.h and evidence.h. Contains the list of frame readers, and the function that chooses a candidate. rank.c
 * has the order of candidates. */
#include "lib/unwind/readers/decide.h"
#include "lib/unwind/readers/accept.h"
#include "lib/unwind/readers/rank.h"
#include "lib/unwind/readers/readers.h"
#include "lib/unwind/readers/table.h"

/* In the order of enum uspi_reader. */
static const struct uspi_reader_entry entries[USPI_READERS] = {
    [USPI_BY_SIGNAL] = {USP_READER_SIGNAL, USPI_ROOM_SIGNAL, uspi_read_signal},
    [USPI_BY_TABLE] = {USP_READER_TABLES, USPI_ROOM_TABLE, uspi_read_table},
    [USPI_BY_FORWARD] = {USP_READER_INSTRUCTIONS, USPI_ROOM_FORWARD, uspi_read_forward},
    [USPI_BY_RETURN] = {USP_READER_INSTRUCTIONS, USPI_ROOM_OTHER, uspi_read_return},
    [USPI_BY_START] = {USP_READER_INSTRUCTIONS, USPI_ROOM_START, uspi_read_start},
    [USPI_BY_PROOF] = {USP_READER_INSTRUCTIONS, USPI_ROOM_OTHER, uspi_read_proof},
    [USPI_BY_SCAN] = {USP_READER_INSTRUCTIONS, USPI_ROOM_OTHER, uspi_read_scan},
    [USPI_BY_BAD_CALL] = {USP_READER_INSTRUCTIONS, USPI_ROOM_OTHER, uspi_read_bad_call},
    [USPI_BY_RECORD] = {USP_READER_FRAME_RECORD, USPI_ROOM_OTHER, uspi_read_record},
};

/* choose_with_signal uses the signal reader before the rows. */
_Static_assert(USPI_BY_SIGNAL == 0, "signals are no row of the table");

/* Returns the chosen reader; USPI_READERS: none. */
static enum uspi_reader choose(struct uspi_evidence *e) {
    for (;;) {
        uspi_candidate_of(e, USPI_BY_TABLE);
        const enum uspi_described_as as = e->described_as;
        const enum uspi_reader first = uspi_rank_readers(e);
        if (first != USPI_READERS || as == USPI_AS_NOTHING) return first;
        uspi_evidence_drop_table(e);
    }
}

/* Whether the chosen candidate shows that this frame was called from the signal's frame and has no record of its own.
 * Then its CFA is below the kernel's frame, and its caller has the same fp. */
static bool is_called_there(const struct uspi_evidence *e, const struct uspi_candidate *signal,
                            const struct uspi_candidate *chosen) {
    const unsigned fp = e->walk->backend->fp;
    const struct usp_registers *caller = &chosen->caller.registers;
    return !chosen->ends_stack && chosen->cfa != 0 && chosen->cfa < signal->cfa && uspi_known(caller, fp) &&
           caller->value[fp] == e->frame->registers.value[fp];
}

/* Chooses a reader. A signal's frame has priority over everything except a cached rule for the same code. */
static enum uspi_reader choose_with_signal(struct uspi_evidence *e) {
    if (uspi_recall_table(e)) return choose(e);
    const struct uspi_candidate *signal = uspi_candidate_of(e, USPI_BY_SIGNAL);
    if (!signal->found) return choose(e);
    if (!signal->may_be_callers) return USPI_BY_SIGNAL;
    /* The cache is not used: its rules may not be valid here. */
    const struct uspi_shortcuts *shortcuts = e->shortcuts;
    e->shortcuts = NULL;
    const enum uspi_reader other = choose(e);
    if (!signal->is_altered) e->shortcuts = shortcuts;
    if (other != USPI_READERS && is_called_there(e, signal, &e->candidates[entries[other].room])) return other;
    return signal->is_altered ? other : USPI_BY_SIGNAL;
}

static uint32_t method_of(const struct uspi_evidence *e, enum uspi_reader reader, const struct uspi_candidate *c) {
    switch (reader) {
    case USPI_BY_SIGNAL: return USP_FRAME_METHOD_SIGNAL;
    case USPI_BY_TABLE: return e->method;
    default: break;
    }
    if (c->from_register) return USP_FRAME_METHOD_LINK_REGISTER;
    return c->is_record ? USP_FRAME_METHOD_FRAME_POINTER : USP_FRAME_METHOD_INSTRUCTIONS;
}

/* Caches the table's rule for other walks, if it was chosen and holds exactly at this pc. */
static void keep(struct uspi_evidence *e, enum uspi_reader chosen) {
    bool is_exact_rule = (e->described_as & (USPI_AS_CALL | USPI_AS_WHOLE)) != 0;
    if (chosen == USPI_BY_TABLE && is_exact_rule && !e->is_kept) {
        uspi_keep_rule(e->shortcuts, e->walk, e->frame, USPI_RULE_BY_TABLE, &e->rule, e->method);
    }
}

bool uspi_find_caller(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                      const struct uspi_shortcuts *shortcuts, uint32_t readers, struct uspi_step *step) {
    struct uspi_evidence e;
    memset(step, 0, sizeof *step);
    uspi_evidence_init(&e, walk, frame, shortcuts, entries);
    e.readers = readers;
    enum uspi_reader chosen = choose_with_signal(&e);
    if (chosen == USPI_READERS) {
        step->stop = e.is_corrupt ? USP_STOP_CORRUPT_TABLE : e.stop;
        step->stop_address = e.is_corrupt ? uspi_pc_of(walk, frame) : e.stop_address;
        return false;
    }
    /* If the chosen candidate agrees with the table's, the table's is used: it knows more about the caller. */
    const struct uspi_candidate *c = &e.candidates[entries[chosen].room], *table = &e.candidates[USPI_ROOM_TABLE];
    if ((e.described_as & (USPI_AS_BODY | USPI_AS_WHOLE)) != 0 && uspi_agree(&e, c, table)) {
        c = table;
        chosen = USPI_BY_TABLE;
    }
    keep(&e, chosen);
    uspi_accept(&e, c, method_of(&e, chosen, c), step);
    return step->found;
}
