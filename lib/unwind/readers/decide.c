/* SPDX-License-Identifier: MIT */
/* See decide.h and evidence.h. Contains the list of frame readers, the table that ranks their candidates, and the
 * function that chooses one. */
#include "lib/unwind/readers/decide.h"
#include "lib/unwind/readers/accept.h"
#include "lib/unwind/readers/proof.h"
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

/* Conditions that a row sets for a candidate. */
enum condition {
    CLEAR = 1 << 0,          /* its path has no doubts */
    STEADY = 1 << 1,         /* its path has no doubts about indirect jumps */
    VERIFIED = 1 << 2,       /* its return address follows a call */
    CONFIRMED = 1 << 3,      /* the same, or it is in an image; or this is a signal's frame or the end of the stack */
    AT_RECORD = 1 << 4,      /* it comes from the frame record at fp */
    IN_FUNCTION = 1 << 5,    /* its path begins at the start of a function, not just of a table's entry */
    WITHOUT_RECORD = 1 << 6, /* fp points to no record */
    AS_TABLE = 1 << 7,       /* it agrees with the table */
    AS_START = 1 << 8,       /* it agrees with the path from the function's start */
    AS_FORWARD = 1 << 9,     /* it agrees with the paths forward */
    PROVEN = 1 << 10,        /* its return address proves itself */
    AT_END = 1 << 11,        /* the table states that the stack ends; otherwise the reader does not run */
};

/* Decides which reader is used: the first row whose reader has a candidate that meets all conditions. */
static const struct row {
    uint8_t reader;       /* enum uspi_reader */
    uint8_t described_as; /* bits of enum uspi_described_as: the row applies to such frames */
    uint16_t conditions;  /* enum condition */
} rows[] = {
    /* No table describes the frame. */
    {USPI_BY_BAD_CALL, USPI_AS_NOTHING, 0},
    {USPI_BY_FORWARD, USPI_AS_NOTHING, CLEAR},
    {USPI_BY_FORWARD, USPI_AS_NOTHING, AT_RECORD},
    {USPI_BY_START, USPI_AS_NOTHING, IN_FUNCTION},
    /* If neighboring functions share a table's entry, a jump table's case can be the neighbor's code. */
    {USPI_BY_START, USPI_AS_NOTHING, STEADY},
    {USPI_BY_PROOF, USPI_AS_NOTHING, 0},
    {USPI_BY_START, USPI_AS_NOTHING, 0},
    {USPI_BY_FORWARD, USPI_AS_NOTHING, VERIFIED},
    {USPI_BY_SCAN, USPI_AS_NOTHING, 0},
    {USPI_BY_FORWARD, USPI_AS_NOTHING, WITHOUT_RECORD},
    {USPI_BY_RECORD, USPI_AS_NOTHING, 0},

    /* A table describes each instruction. Tables can be wrong: some omit epilogues (clang for arm64, if a load with
     * write-back removes the frame), some describe code as another function's. If the instructions lead to a return
     * without doubts, they overrule the table. At calls tables can be wrong too (clang for Apple's x86_64 at -Oz counts
     * pushes in the order of addresses). If nothing confirms the table, the instructions are used. */
    {USPI_BY_RETURN, USPI_AS_WHOLE, VERIFIED},
    /* glibc's table states that the stack ends at a program's first function. It also describes the jump to main after
     * that function (arm64, __wrap_main). */
    {USPI_BY_FORWARD, USPI_AS_WHOLE, VERIFIED | CLEAR | AT_END},
    {USPI_BY_TABLE, USPI_AS_CALL | USPI_AS_WHOLE, CONFIRMED},
    {USPI_BY_FORWARD, USPI_AS_CALL | USPI_AS_WHOLE, VERIFIED | CLEAR},
    {USPI_BY_FORWARD, USPI_AS_CALL | USPI_AS_WHOLE, VERIFIED | AT_RECORD},
    {USPI_BY_START, USPI_AS_CALL | USPI_AS_WHOLE, VERIFIED | IN_FUNCTION},
    {USPI_BY_START, USPI_AS_CALL | USPI_AS_WHOLE, VERIFIED | STEADY},
    {USPI_BY_PROOF, USPI_AS_CALL | USPI_AS_WHOLE, VERIFIED},
    {USPI_BY_FORWARD, USPI_AS_CALL | USPI_AS_WHOLE, VERIFIED},
    {USPI_BY_SCAN, USPI_AS_CALL | USPI_AS_WHOLE, VERIFIED},
    {USPI_BY_TABLE, USPI_AS_CALL | USPI_AS_WHOLE, 0},

    /* A table describes a function's body, and the frame may be in its prologue or epilogue. */
    {USPI_BY_FORWARD, USPI_AS_BODY, STEADY | CLEAR},
    {USPI_BY_FORWARD, USPI_AS_BODY, STEADY | AT_RECORD},
    /* If the path has no call and no jump table, the frame is in the function at the entry's start. */
    {USPI_BY_START, USPI_AS_BODY, CLEAR},
    {USPI_BY_FORWARD, USPI_AS_BODY, STEADY | AS_TABLE},
    {USPI_BY_FORWARD, USPI_AS_BODY, STEADY | AS_START},
    {USPI_BY_FORWARD, USPI_AS_BODY, STEADY | VERIFIED | PROVEN},
    {USPI_BY_START, USPI_AS_BODY, AS_TABLE},
    {USPI_BY_PROOF, USPI_AS_BODY, 0},
    {USPI_BY_START, USPI_AS_BODY, VERIFIED},
    {USPI_BY_SCAN, USPI_AS_BODY, AS_FORWARD},
    {USPI_BY_SCAN, USPI_AS_BODY, AS_TABLE},
    {USPI_BY_TABLE, USPI_AS_BODY, VERIFIED},
    {USPI_BY_FORWARD, USPI_AS_BODY, STEADY | VERIFIED},
    {USPI_BY_TABLE, USPI_AS_BODY, 0},
};

/* choose_with_signal uses the signal reader before the rows. */
_Static_assert(USPI_BY_SIGNAL == 0, "signals are no row of the table");

static bool is_confirmed(const struct uspi_evidence *e, const struct uspi_candidate *c) {
    return c->ends_stack || c->is_interrupted || (c->ra.flags & USP_FRAME_UNVERIFIED) == 0 ||
           uspi_ask_for_image(e->walk, c->ra.pc) == USP_OK;
}

static bool table_ends_stack(struct uspi_evidence *e) {
    const struct uspi_candidate *table = uspi_candidate_of(e, USPI_BY_TABLE);
    return table->found && table->ends_stack;
}

static bool agrees_with(struct uspi_evidence *e, const struct uspi_candidate *c, enum uspi_reader reader) {
    return uspi_agree(e, c, uspi_candidate_of(e, reader));
}

static bool is_proven(struct uspi_evidence *e, const struct uspi_candidate *c) {
    struct uspi_candidate other;
    return uspi_proves_itself(e, &c->ra, &other);
}

/* Checks the conditions, those that take least time first. */
static bool meets(struct uspi_evidence *e, const struct uspi_candidate *c, unsigned conditions) {
    if ((conditions & CLEAR) != 0 && c->doubts != 0) return false;
    if ((conditions & STEADY) != 0 && !uspi_is_steady(c)) return false;
    if ((conditions & VERIFIED) != 0 && c->credit != USPI_VERIFIED) return false;
    if ((conditions & AT_RECORD) != 0 && !c->is_record) return false;
    if ((conditions & CONFIRMED) != 0 && !is_confirmed(e, c)) return false;
    if ((conditions & WITHOUT_RECORD) != 0 && uspi_has_record(e)) return false;
    if ((conditions & IN_FUNCTION) != 0 && !uspi_bounds_of(e, true).is_function) return false;
    if ((conditions & AS_TABLE) != 0 && !agrees_with(e, c, USPI_BY_TABLE)) return false;
    if ((conditions & AS_FORWARD) != 0 && !agrees_with(e, c, USPI_BY_FORWARD)) return false;
    if ((conditions & AS_START) != 0 && !agrees_with(e, c, USPI_BY_START)) return false;
    return (conditions & PROVEN) == 0 || is_proven(e, c);
}

/* Returns the chosen reader; USPI_READERS: none. */
static enum uspi_reader choose(struct uspi_evidence *e) {
    for (;;) {
        uspi_candidate_of(e, USPI_BY_TABLE);
        const enum uspi_described_as as = e->described_as;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            if ((rows[i].described_as & as) == 0) continue;
            if ((rows[i].conditions & AT_END) != 0 && !table_ends_stack(e)) continue;
            const enum uspi_reader reader = (enum uspi_reader)rows[i].reader;
            const struct uspi_candidate *c = uspi_candidate_of(e, reader);
            if (c->found && meets(e, c, rows[i].conditions)) return reader;
        }
        if (as == USPI_AS_NOTHING) return USPI_READERS;
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
