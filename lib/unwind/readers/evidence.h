/* SPDX-License-Identifier: MIT */
/* Gathers evidence about a frame's caller, so that one function can decide.
 *
 * Each frame reader offers a candidate: the caller's registers, its return address, and how credible that is. The
 * readers use a signal's frame, unwind tables, the instructions in several ways, a return address that proves itself,
 * or the frame record. A reader runs when its candidate is first needed, and again if another one has overwritten it
 * (enum uspi_candidate_storage). rank.c has the tables that order candidates, decide.c the function that chooses one.
 *
 * doc/design.md says how to add a reader. */
#ifndef USPI_UNWIND_READERS_EVIDENCE_H
#define USPI_UNWIND_READERS_EVIDENCE_H

#include "lib/unwind/frame/apply.h"
#include "lib/unwind/frame/return_address.h"
#include "lib/unwind/rule_cache/kept_rules.h"
#include "lib/unwind/tables/table.h"

enum uspi_reader {
    USPI_BY_SIGNAL,   /* the frame that a kernel made for a signal */
    USPI_BY_TABLE,    /* the first unwind table that describes the code */
    USPI_BY_FORWARD,  /* the instructions from the pc to a return */
    USPI_BY_RETURN,   /* the same, if a return is near and the path to it has no doubts */
    USPI_BY_START,    /* the instructions from the function's start, if it is known, to the pc */
    USPI_BY_PROOF,    /* a return address after a call of a function from whose start the same return address results */
    USPI_BY_SCAN,     /* the instructions from an apparent function start before the pc */
    USPI_BY_BAD_CALL, /* the pc is not code: the entry rule of a function that was called through a bad pointer */
    USPI_BY_RECORD,   /* the frame record that fp points to */
    USPI_READERS
};

/* A reader's result for a frame's caller. */
struct uspi_candidate {
    bool found;
    bool ends_stack;     /* there is no caller, or it is unreadable: `stop` says why */
    bool from_register;  /* the return address was still in a register */
    bool is_record;      /* it comes from the frame record at fp */
    bool by_frame_slot;  /* the CFA was read from a slot of the frame that fp points to */
    bool is_extended;    /* the caller's fp was read from a Swift async record */
    bool is_interrupted; /* a signal's frame: the caller's pc is exact */
    bool is_complete;    /* `caller` has all registers, including the pc */
    /* A signal's frame, found through fp. If another reader finds that the frame was called from there and has no
     * record of its own, the signal's frame belongs to the caller. */
    bool may_be_callers;
    bool is_switch;  /* the caller is on another stack */
    bool is_altered; /* a signal's frame that differs from how the kernel makes it: not used */
    /* ends_stack: the return address is one that no call has pushed. If the instructions lead to a return address that
     * follows a call, the table is wrong. */
    bool is_inferred_end;
    uint32_t stop;         /* ends_stack: enum usp_stop_reason */
    usp_addr stop_address; /* ends_stack: address to which the reason refers */
    unsigned doubts;       /* enum uspi_doubt */
    bool is_cut;           /* code on other paths could not be read, so these may be the right ones */
    enum uspi_credit credit;
    struct uspi_return_address ra;
    usp_addr fp_at; /* where the caller's fp was read; 0: it was in the register */
    usp_addr cfa;   /* of the frame; 0: not known */
    struct uspi_frame_state caller;
};

/* How a table's rule is to be used. */
enum uspi_described_as {
    USPI_AS_NOTHING = 1 << 0, /* no table describes the frame */
    USPI_AS_CALL = 1 << 1,    /* the frame is at a call, where the rules of all tables are valid */
    USPI_AS_WHOLE = 1 << 2,   /* the frame was interrupted; the table describes each instruction */
    USPI_AS_BODY = 1 << 3     /* the frame was interrupted; the table omits prologues or epilogues */
};

/* Range of code that contains the pc: a function, or several with one entry in a table. */
struct uspi_bounds {
    usp_addr low, high; /* low 0: not known; high 0: the end is not known */
    bool is_function;
};

struct uspi_evidence;

/* Storage for candidates. Candidates that are compared have their own; the last resorts share one. */
enum uspi_candidate_storage {
    USPI_STORAGE_SIGNAL,
    USPI_STORAGE_TABLE,
    USPI_STORAGE_FORWARD,
    USPI_STORAGE_START,
    USPI_STORAGE_OTHER, /* candidate of the reader that ran last */
    USPI_CANDIDATES
};

struct uspi_reader_entry {
    uint32_t readers; /* enum usp_frame_readers: it runs if one of these is allowed */
    uint32_t storage; /* enum uspi_candidate_storage */
    void (*read)(struct uspi_evidence *evidence, struct uspi_candidate *candidate);
};

/* About 4 KB. */
struct uspi_evidence {
    struct uspi_walk *walk;
    const struct uspi_frame_state *frame;
    const struct uspi_shortcuts *shortcuts;  /* NULL: rules are not cached */
    const struct uspi_reader_entry *entries; /* USPI_READERS of them */
    uint32_t readers;                        /* enum usp_frame_readers: the allowed readers */
    uint32_t asked;                          /* bits of enum uspi_reader: readers that ran */
    enum uspi_reader other;                  /* the reader whose candidate is in USPI_STORAGE_OTHER */
    uint32_t stop;                           /* enum usp_stop_reason: why the reader that ran last found nothing */
    usp_addr stop_address;
    bool is_corrupt;     /* one of the frame's tables is corrupt */
    bool has_table_stop; /* a table states a return address that no call can have made: stop and address of that */
    uint32_t table_stop;
    usp_addr table_stop_address;

    /* The table. */
    enum uspi_described_as described_as;
    unsigned next_table;   /* the first kind of table that was not searched */
    uint32_t method;       /* enum usp_frame_method of the table */
    struct uspi_rule rule; /* the table's rule */
    bool is_kept;          /* the rule came from the cache */
    usp_addr start, end;   /* the described function or functions; 0: not known */
    usp_addr named_start,
        named_end; /* a function that compact unwind or Go's table lists without a rule; 0: none, or no end is known */
    bool is_below_fp; /* the body's frame is relative to fp, or there is no table */

    /* The instructions. */
    struct uspi_code code;  /* the explorer's window */
    struct uspi_code aside; /* a window for the code around return addresses */
    bool can_read_code, has_looked_at_code;
    bool leaves; /* from the start that was tried last, an indirect jump may have left the function */

    /* The record. */
    bool has_looked_at_record, has_record;
    uint32_t record_stop; /* enum usp_stop_reason */
    struct uspi_record record;
    struct uspi_return_address record_ra;

    struct uspi_candidate candidates[USPI_CANDIDATES];
};

/* entries: an array of USPI_READERS. */
void uspi_evidence_init(struct uspi_evidence *evidence, struct uspi_walk *walk, const struct uspi_frame_state *frame,
                        const struct uspi_shortcuts *shortcuts, const struct uspi_reader_entry *entries);

/* Starts again without the table that was used last. */
void uspi_evidence_drop_table(struct uspi_evidence *evidence);

/* Returns a reader's candidate; `found` says whether there is one. */
const struct uspi_candidate *uspi_candidate_of(struct uspi_evidence *evidence, enum uspi_reader reader);

/* ---- functions for readers ---- */

/* Makes the candidate of a rule. Returns false when the rule cannot be applied or gives an impossible return
 * address. */
bool uspi_make_candidate(struct uspi_evidence *evidence, const struct uspi_rule *rule, unsigned doubts,
                         struct uspi_candidate *candidate);

/* Makes the candidate of the table's rule. */
bool uspi_make_table_candidate(struct uspi_evidence *evidence, struct uspi_candidate *candidate);

/* Judges a word that a table states to be a return address. */
struct uspi_return_address uspi_judge_by_table(struct uspi_evidence *evidence, usp_addr raw);

/* Returns whether two candidates are the same caller. */
bool uspi_agree(const struct uspi_evidence *evidence, const struct uspi_candidate *a, const struct uspi_candidate *b);

/* Returns whether the path has no doubts except that calls return. */
bool uspi_is_steady(const struct uspi_candidate *candidate);

/* Returns whether the code at the pc is readable. */
bool uspi_can_read_code(struct uspi_evidence *evidence);

/* Returns whether fp points to a plausible frame record. */
bool uspi_has_record(struct uspi_evidence *evidence);

/* Returns the bounds of the function, as the table or the target states them. `narrow`: also uses the image's list of
 * function starts, which takes longer. */
struct uspi_bounds uspi_bounds_of(struct uspi_evidence *evidence, bool narrow);

#endif
