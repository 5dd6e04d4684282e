/* SPDX-License-Identifier: MIT */
/* A frame's caller: gather evidence, decide once.
 *
 * Each frame reader (a signal's frame, unwind tables, the instructions in several ways, a return address that proves itself,
 * the frame record) offers a candidate: the caller's registers, its return address, how far that can be trusted. A reader is
 * asked when its candidate is first wanted, and once. decide.c has the one table that ranks candidates, and the one function
 * that chooses.
 *
 * A new reader is a value of enum uspi_reader, a function in readers.h, its entry in decide.c's list, and the rows of
 * decide.c's table that say when it is believed. A new kind of unwind table is less: an entry in the list of table.c. */
#ifndef USPI_EVIDENCE_H
#define USPI_EVIDENCE_H

#include "lib/unwind/frame/apply.h"
#include "lib/unwind/frame/return_address.h"
#include "lib/unwind/rule_cache/kept_rules.h"
#include "lib/unwind/tables/table.h"

enum uspi_reader {
    USPI_BY_SIGNAL,   /* the frame that a kernel made for a signal */
    USPI_BY_TABLE,    /* the first unwind table that describes the code */
    USPI_BY_FORWARD,  /* the instructions from the pc to a return */
    USPI_BY_RETURN,   /* the same, where a return is near and nothing on the way to it is in doubt */
    USPI_BY_START,    /* the instructions from the function's start, where that is known, to the pc */
    USPI_BY_PROOF,    /* a return address whose call is of a function from whose start the same address follows */
    USPI_BY_SCAN,     /* the instructions from what looks like a function's start before the pc */
    USPI_BY_BAD_CALL, /* the pc is no code: the entry rule of a function that was called through a bad pointer */
    USPI_BY_RECORD,   /* the frame record that fp points to */
    USPI_READERS
};

/* What a reader says of a frame's caller. */
struct uspi_candidate {
    bool found;
    bool ends_stack;     /* there is no caller, or none that can be read: `stop` says why */
    bool from_register;  /* the return address was still in a register */
    bool is_record;      /* it is the frame record at fp */
    bool is_extended;    /* the caller's fp was read from a Swift async record */
    bool is_interrupted; /* a signal's frame: the caller's pc is exact */
    bool is_complete;    /* `caller` has all, its pc too */
    bool
        may_be_callers; /* a signal's frame by what fp points to: where another reader finds that the frame was called from
                             there and has no record of its own, it is the caller's */
    bool is_altered;    /* a signal's frame that is not as the kernel made it: not used */
    uint32_t stop;      /* ends_stack: enum usp_stop_reason, */
    usp_addr stop_address; /* and where */
    unsigned doubts;       /* enum uspi_doubt */
    enum uspi_credit credit;
    struct uspi_return_address ra;
    usp_addr fp_at; /* where the caller's fp was read, 0: it was in the register */
    usp_addr cfa;   /* of the frame; 0: not known */
    struct uspi_frame_state caller;
};

/* How what a table says is to be taken. */
enum uspi_described_as {
    USPI_AS_NOTHING = 1 << 0, /* no table describes the frame */
    USPI_AS_CALL = 1 << 1,    /* at a call, where all tables hold as they are written */
    USPI_AS_WHOLE = 1 << 2,   /* where the frame was interrupted, by a table that describes each instruction */
    USPI_AS_BODY = 1 << 3     /* the same, by a table that leaves out prologues or epilogues */
};

/* Code that holds the pc: a function, or several ones for which a table has one entry. */
struct uspi_bounds {
    usp_addr low, high; /* low 0: not known; high 0: the end is not */
    bool is_function;
};

struct uspi_evidence;

/* Room for candidates: those that are compared have their own, the last resorts share one. */
enum uspi_room {
    USPI_ROOM_SIGNAL,
    USPI_ROOM_TABLE,
    USPI_ROOM_FORWARD,
    USPI_ROOM_START,
    USPI_ROOM_OTHER, /* what came of the reader that was asked last */
    USPI_CANDIDATES
};

struct uspi_reader_entry {
    uint32_t readers; /* enum usp_frame_readers: it is asked when one of them may be */
    uint32_t room;    /* enum uspi_room */
    void (*read)(struct uspi_evidence *evidence, struct uspi_candidate *candidate);
};

/* About 4 KB. */
struct uspi_evidence {
    struct uspi_walk *walk;
    const struct uspi_frame_state *frame;
    const struct uspi_shortcuts *shortcuts;  /* NULL: nothing is kept or recalled */
    const struct uspi_reader_entry *entries; /* USPI_READERS of them */
    uint32_t readers;                        /* enum usp_frame_readers: those that may be asked */
    uint32_t asked;                          /* bits of enum uspi_reader */
    enum uspi_reader other;                  /* whose candidate is in USPI_ROOM_OTHER */
    uint32_t stop;                           /* enum usp_stop_reason: why the reader asked last found nothing */
    usp_addr stop_address;
    bool is_corrupt; /* a table of the frame's is */

    /* The table. */
    enum uspi_described_as described_as;
    unsigned next_table;   /* the first of the kinds of tables that has not been asked */
    uint32_t method;       /* enum usp_frame_method of the table */
    struct uspi_rule rule; /* what it says */
    bool is_kept;          /* that was recalled */
    usp_addr start, end;   /* the function or functions that it describes; 0: not known */
    usp_addr named_start,
        named_end;    /* a function that compact unwind names without a rule; 0: none, the end not known */
    bool is_below_fp; /* the body's frame hangs on fp, or there is no table */

    /* The instructions. */
    struct uspi_code code;  /* the explorer's window */
    struct uspi_code aside; /* for the code around return addresses */
    bool can_read_code, has_looked_at_code;
    bool leaves; /* from the start tried last, an indirect jump can have led elsewhere */

    /* The record. */
    bool has_looked_at_record, has_record;
    uint32_t record_stop; /* enum usp_stop_reason */
    struct uspi_record record;
    struct uspi_return_address record_ra;

    struct uspi_candidate candidates[USPI_CANDIDATES];
};

/* entries: USPI_READERS of them. */
void uspi_evidence_init(struct uspi_evidence *evidence, struct uspi_walk *walk, const struct uspi_frame_state *frame,
                        const struct uspi_shortcuts *shortcuts, const struct uspi_reader_entry *entries);

/* Begins again as if the table that was asked last did not exist. */
void uspi_evidence_drop_table(struct uspi_evidence *evidence);

/* What a reader offers; `found` says whether anything. */
const struct uspi_candidate *uspi_candidate_of(struct uspi_evidence *evidence, enum uspi_reader reader);

/* ---- what readers are made of ---- */

/* The candidate that a rule leads to; false when it leads nowhere, or to what cannot be a return address. */
bool uspi_make_candidate(struct uspi_evidence *evidence, const struct uspi_rule *rule, unsigned doubts,
                         struct uspi_candidate *candidate);

/* Whether two candidates are the same caller. */
bool uspi_agree(const struct uspi_evidence *evidence, const struct uspi_candidate *a, const struct uspi_candidate *b);

/* Nothing on the way was taken on trust but calls that return. */
bool uspi_is_steady(const struct uspi_candidate *candidate);

/* Whether the code at the pc can be read. */
bool uspi_can_read_code(struct uspi_evidence *evidence);

/* Whether fp points to a record that can be one. */
bool uspi_has_record(struct uspi_evidence *evidence);

/* The bounds of the function, as the table or the target knows them; `narrow`: also as the image's list of functions does,
 * which takes longer. */
struct uspi_bounds uspi_bounds_of(struct uspi_evidence *evidence, bool narrow);

#endif
