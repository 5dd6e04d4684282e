/* SPDX-License-Identifier: MIT */
/* See rank.h. Contains the conditions by which candidates are compared, and the tables that order them: of all readers,
 * and of the paths that the forward reader follows. */
#include "lib/unwind/readers/rank.h"
#include "lib/unwind/code/explorer.h"
#include "lib/unwind/readers/proof.h"

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
    AT_END = 1 << 11,        /* the table states that the stack ends */
    NOT_TAIL_CALL = 1 << 12, /* its path has no indirect jump that can be a tail call */
    WITH_CODE = 1 << 13,     /* STEADY, or no path beside its own ended at code that cannot be read */
    OF_FRAME = 1 << 14,      /* the frame is at a call, and the paths forward find its CFA in a slot relative to fp */
};

/* Orders the readers: the candidate of the first row whose reader has one that meets all conditions is used. */
static const struct row {
    uint8_t reader;       /* enum uspi_reader */
    uint8_t described_as; /* bits of enum uspi_described_as: the row applies to such frames */
    uint16_t conditions;  /* enum condition */
} readers[] = {
    /* No table describes the frame. */
    {USPI_BY_BAD_CALL, USPI_AS_NOTHING, 0},
    {USPI_BY_FORWARD, USPI_AS_NOTHING, CLEAR},
    {USPI_BY_FORWARD, USPI_AS_NOTHING, AT_RECORD},
    {USPI_BY_START, USPI_AS_NOTHING, IN_FUNCTION},
    /* If neighboring functions share a table's entry, a jump table's case can be the neighbor's code. */
    {USPI_BY_START, USPI_AS_NOTHING, STEADY},
    {USPI_BY_PROOF, USPI_AS_NOTHING, 0},
    {USPI_BY_START, USPI_AS_NOTHING, 0},
    /* A stack pointer that a function has saved in its frame need not be that of its return: SBCL restores such ones
     * when it leaves a block. */
    {USPI_BY_RECORD, USPI_AS_NOTHING, VERIFIED | OF_FRAME},
    {USPI_BY_FORWARD, USPI_AS_NOTHING, VERIFIED | WITH_CODE},
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
    {USPI_BY_FORWARD, USPI_AS_CALL | USPI_AS_WHOLE, VERIFIED | WITH_CODE},
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

/* Orders the paths of the forward reader, best first: the rank is that of the first conditions that a path meets. A
 * path through an indirect jump may have entered any function, and an epilogue there confirms any record. If the jump
 * can be a tail call or a jump table, the table is preferred. If it is really a tail call, the code after it is the
 * next function, whose start gives the same return address. If it is really a jump table, the word at sp, which a tail
 * call would return to, can be stale. */
static const uint16_t paths[] = {
    STEADY | VERIFIED | AT_RECORD, STEADY | VERIFIED, AT_RECORD, VERIFIED | NOT_TAIL_CALL, VERIFIED,
};

static bool is_confirmed(const struct uspi_evidence *e, const struct uspi_candidate *c) {
    if (c->ends_stack) return !c->is_inferred_end;
    return c->is_interrupted || (c->ra.flags & USP_FRAME_UNVERIFIED) == 0 ||
           uspi_ask_for_image(e->walk, c->ra.pc) == USP_OK;
}

static bool table_ends_stack(struct uspi_evidence *e) {
    const struct uspi_candidate *table = uspi_candidate_of(e, USPI_BY_TABLE);
    return table->found && table->ends_stack && table->stop == USP_STOP_ROOT;
}

static bool agrees_with(struct uspi_evidence *e, const struct uspi_candidate *c, enum uspi_reader reader) {
    return uspi_agree(e, c, uspi_candidate_of(e, reader));
}

static bool uses_frame(struct uspi_evidence *e) {
    const struct uspi_candidate *forward = uspi_candidate_of(e, USPI_BY_FORWARD);
    return !e->frame->exact && forward->found && forward->by_frame_slot;
}

static bool is_proven(struct uspi_evidence *e, const struct uspi_candidate *c) {
    struct uspi_candidate other;
    return uspi_proves_itself(e, &c->ra, &other);
}

/* Checks the conditions, those that take least time first. */
static bool meets(struct uspi_evidence *e, const struct uspi_candidate *c, unsigned conditions) {
    if ((conditions & CLEAR) != 0 && c->doubts != 0) return false;
    if ((conditions & STEADY) != 0 && !uspi_is_steady(c)) return false;
    if ((conditions & NOT_TAIL_CALL) != 0 && (c->doubts & USPI_DOUBT_TAIL_CALL) != 0) return false;
    if ((conditions & VERIFIED) != 0 && c->credit != USPI_VERIFIED) return false;
    if ((conditions & WITH_CODE) != 0 && c->is_cut && !uspi_is_steady(c)) return false;
    if ((conditions & AT_RECORD) != 0 && !c->is_record) return false;
    if ((conditions & CONFIRMED) != 0 && !is_confirmed(e, c)) return false;
    if ((conditions & WITHOUT_RECORD) != 0 && uspi_has_record(e)) return false;
    if ((conditions & IN_FUNCTION) != 0 && !uspi_bounds_of(e, true).is_function) return false;
    if ((conditions & AS_TABLE) != 0 && !agrees_with(e, c, USPI_BY_TABLE)) return false;
    if ((conditions & AS_FORWARD) != 0 && !agrees_with(e, c, USPI_BY_FORWARD)) return false;
    if ((conditions & AS_START) != 0 && !agrees_with(e, c, USPI_BY_START)) return false;
    return (conditions & PROVEN) == 0 || is_proven(e, c);
}

/* Whether a row is tried for the frame. If not, its reader does not run. */
static bool applies(struct uspi_evidence *e, const struct row *row) {
    return (row->described_as & e->described_as) != 0 && ((row->conditions & AT_END) == 0 || table_ends_stack(e)) &&
           ((row->conditions & OF_FRAME) == 0 || uses_frame(e));
}

enum uspi_reader uspi_rank_readers(struct uspi_evidence *e) {
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++) {
        if (!applies(e, &readers[i])) continue;
        const enum uspi_reader reader = (enum uspi_reader)readers[i].reader;
        const struct uspi_candidate *c = uspi_candidate_of(e, reader);
        if (c->found && meets(e, c, readers[i].conditions)) return reader;
    }
    return USPI_READERS;
}

unsigned uspi_rank_path(struct uspi_evidence *e, const struct uspi_candidate *c) {
    unsigned rank = 0;
    while (rank < sizeof paths / sizeof paths[0] && !meets(e, c, paths[rank])) rank++;
    return rank;
}
