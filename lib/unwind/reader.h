/* SPDX-License-Identifier: MIT */
/* The contract of frame readers, and what the walker gives them.
 *
 * A reader is asked: given a frame's registers, the memory and the code around its pc, what are the caller's registers?
 * It answers with them and says how it knows, or that the frame is not its business, or that what it should have read
 * is corrupt. The walker asks an ordered array of readers (readers.c) and takes the first answer; it does all checks that
 * hold for every answer itself. New ways of unwinding are new entries in that array and change nothing else. */
#ifndef USPI_READER_H
#define USPI_READER_H

#include "arch/frame.h"
#include "lib/unwind/code.h"
#include "lib/unwind/kept_rules.h"
#include "lib/unwind/table.h"

/* What readers share during one walk. */
struct uspi_walk {
    const struct uspi_backend *backend;
    struct usp_target target;        /* the caller's, completed */
    uint64_t strip_mask;             /* the bits of a code or context pointer that are an address */
    uint32_t readers;                /* enum usp_readers, */
    uint32_t readers_first;          /* and those of them that come before the others */
    uint32_t stack_flags;            /* enum usp_stack_flags, gathered */
    struct uspi_shortcuts shortcuts; /* all zero: none */
    bool keeps_table_rules;          /* there is a cache, and the readers that are asked are those its rules are by */
    struct usp_unwind_tables tables; /* see uspi_unwind_tables_of */
    usp_addr tables_pc;              /* the address whose tables these are; 0: nobody asked */
    bool has_tables;
    usp_addr named_start,
        named_end; /* there: a function that its table names without a rule; 0: none, the end not known */
};

/* A frame, seen from inside. */
struct uspi_frame_state {
    struct usp_registers registers;
    bool exact;    /* the pc is where the thread stands (interrupted), not a return address */
    bool sp_known; /* registers' sp is the frame's own, not only a lower bound */
    uint32_t kind; /* enum usp_kind */
    uint32_t method;
    uint32_t flags; /* enum usp_frame_flags */
    usp_addr low;   /* the caller's record cannot lie below this address */
};

enum uspi_answer {
    USPI_FOUND,
    USPI_NOT_MINE,
    USPI_CORRUPT, /* of no use and suspicious: the walker goes on with the next reader and remembers it */
    USPI_STOPPED  /* the stack ends here, for the reason given */
};

/* A Swift async (extended) record. Its context stands below it, except while the frame is being made. */
struct uspi_extended {
    usp_addr record; /* 0: none */
    bool in_register;
    usp_addr context; /* when in_register */
};

/* What a reader says of a frame's caller. */
struct uspi_answer_data {
    struct uspi_frame_state caller; /* USPI_FOUND */
    usp_addr cfa;                   /* of the frame that was asked about; 0: not known */
    struct uspi_extended extended;  /* the record of the frame that was asked about, if it is one */
    uint32_t stop;                  /* USPI_STOPPED, USPI_NOT_MINE: enum usp_stop, */
    usp_addr stop_address;          /* and where */
};

/* *out is cleared before; the reader fills what its answer needs. */
typedef enum uspi_answer (*uspi_reader)(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                        struct uspi_answer_data *out);

struct uspi_reader_entry {
    uint32_t bit; /* enum usp_readers */
    uspi_reader read;
};

extern const struct uspi_reader_entry uspi_readers[];
extern const size_t uspi_reader_count;

enum uspi_answer uspi_read_signal_frame(struct uspi_walk *, const struct uspi_frame_state *, struct uspi_answer_data *);
enum uspi_answer uspi_read_darwin_signal_frame(struct uspi_walk *, const struct uspi_frame_state *,
                                               struct uspi_answer_data *);
enum uspi_answer uspi_read_compact(struct uspi_walk *, const struct uspi_frame_state *, struct uspi_answer_data *);
enum uspi_answer uspi_read_cfi(struct uspi_walk *, const struct uspi_frame_state *, struct uspi_answer_data *);
enum uspi_answer uspi_read_ehabi(struct uspi_walk *, const struct uspi_frame_state *, struct uspi_answer_data *);
enum uspi_answer uspi_read_instructions(struct uspi_walk *, const struct uspi_frame_state *, struct uspi_answer_data *);
enum uspi_answer uspi_read_frame_record(struct uspi_walk *, const struct uspi_frame_state *, struct uspi_answer_data *);

/* ---- what several readers need ---- */

static inline bool uspi_known(const struct usp_registers *r, unsigned reg) {
    return reg < USP_REGISTERS_MAX && (r->known >> reg & 1) != 0;
}

static inline void uspi_set(struct usp_registers *r, unsigned reg, usp_addr value) {
    r->value[reg] = value;
    r->known |= UINT64_C(1) << reg;
}

static inline void uspi_forget(struct usp_registers *r, unsigned reg) { r->known &= ~(UINT64_C(1) << reg); }

/* The memory that text is read from. */
static inline const struct usp_memory *uspi_code_memory(const struct uspi_walk *walk) {
    return walk->target.code.read != NULL ? &walk->target.code : &walk->target.memory;
}

/* USP_OK where the target knows that there is code, USP_ERROR_NOT_FOUND where it knows that there is none. */
static inline int uspi_ask_for_image(const struct uspi_walk *walk, usp_addr pc) {
    struct usp_region region;
    if (walk->target.image_at == NULL) return USP_ERROR_ABSENT;
    return walk->target.image_at(walk->target.context, pc, &region);
}

/* A stack slot of the target, all of its bits. */
bool uspi_read_slot(const struct uspi_walk *walk, usp_addr at, uint64_t *value);

/* Whether the target names this return address as one that ends a stack. */
bool uspi_is_root(const struct usp_target *target, usp_addr pc);

/* The address by which a frame is looked up in tables of code: inside the call instruction of a return address. */
static inline usp_addr uspi_lookup_pc(const struct uspi_walk *walk, const struct uspi_frame_state *frame) {
    return frame->registers.value[walk->backend->pc] - (frame->exact ? 0 : 1);
}

/* The unwind tables of the image that holds a frame's code, NULL when there are none. They stay until another frame's are
 * asked for; rules with expressions are carried out by them. */
const struct usp_unwind_tables *uspi_unwind_tables_of(struct uspi_walk *walk, const struct uspi_frame_state *frame);

/* The memory that those are read from. */
static inline const struct usp_memory *uspi_table_memory(const struct uspi_walk *walk) {
    return walk->tables.memory.read != NULL ? &walk->tables.memory : uspi_code_memory(walk);
}

/* Decoding mode at the pc of a frame. */
uint32_t uspi_frame_mode(const struct uspi_walk *walk, const struct uspi_frame_state *frame);

/* How far a return address can be believed. */
enum uspi_credit {
    USPI_REFUTED,    /* zero, known not to be code, or no call precedes it */
    USPI_UNVERIFIED, /* nothing speaks against it, but the code could not be read */
    USPI_VERIFIED    /* it follows a call, or is a signal trampoline, or a root */
};

struct uspi_return_address {
    usp_addr pc;    /* without signature and Thumb bit */
    uint32_t flags; /* enum usp_frame_flags */
    enum uspi_credit credit;
    usp_addr callee; /* what the call before it calls, 0 not known */
};

/* Judges a word that should be a return address. */
struct uspi_return_address uspi_judge_return_address(struct uspi_walk *walk, struct uspi_code *code, usp_addr raw);

/* The frame record that a frame's fp points to, judged. Returns USP_STOP_NONE and fills both, or why there is none. */
uint32_t uspi_find_record(struct uspi_walk *walk, struct uspi_code *code, const struct uspi_frame_state *frame,
                          struct uspi_record *record, struct uspi_return_address *ra);

/* Carries out a rule. False when it needs an unknown register or unreadable memory; else *caller has the caller's
 * registers without its pc (that is judged apart): *raw_ra as found, *fp_at where fp was read from (0: it was not). A
 * return address that is USPI_OUTERMOST yields 0. */
bool uspi_apply_rule(const struct uspi_walk *walk, const struct uspi_frame_state *frame, const struct uspi_rule *rule,
                     struct usp_registers *caller, usp_addr *raw_ra, usp_addr *fp_at, bool *fp_extended);

/* The caller's stack pointer must lie above the frame's, by a word where the call pushed one or the frame made one, and on
 * the stack that the frame is on. */
bool uspi_is_plausible_cfa(const struct uspi_walk *walk, const struct uspi_frame_state *frame, usp_addr cfa);

/* Fills *extended for a frame whose record, at that address, is a Swift async one. */
void uspi_describe_extended(const struct uspi_walk *walk, const struct uspi_frame_state *frame, usp_addr record,
                            struct uspi_extended *extended);

/* The answer of a reader of unwind tables that has found a frame's rule. */
enum uspi_answer uspi_follow_table_rule(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                        const struct uspi_rule *rule, uint32_t method, struct uspi_answer_data *out);

/* The same where a table describes functions' bodies only (table.h): what the instructions say is asked as well of a frame
 * that was interrupted, which may stand in a prologue or an epilogue. */
enum uspi_answer uspi_follow_body_rule(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                       const struct uspi_table_entry *entry, uint32_t method,
                                       struct uspi_answer_data *out);

/* The answer by the FDE at an offset of the call frame information in __eh_frame, as compact unwind names it; USPI_NOT_MINE
 * when it is not that of the frame's code. */
enum uspi_answer uspi_follow_fde(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                 const struct usp_unwind_tables *tables, uint64_t offset, struct uspi_answer_data *out);

/* The same by a rule that was kept for this code; USPI_NOT_MINE when there is none or it leads nowhere. */
enum uspi_answer uspi_follow_kept_rule(struct uspi_walk *walk, const struct uspi_frame_state *frame,
                                       struct uspi_answer_data *out);

/* Makes registers as a kernel saved them an interrupted frame's: without signatures and tags, exact, sp known. The pc is
 * known. Kind and method are the caller's to set. */
void uspi_complete_interrupted(const struct uspi_walk *walk, struct uspi_frame_state *state);

/* For a frame whose return address is in the link register: whether its caller is going to take its own one out of a
 * scratch register at once. So does code that has called a piece of itself which the compiler shares with other functions
 * (LLVM's machine outliner). Such a caller stands where an interrupted frame could, in an epilogue too, and is given that
 * register. */
void uspi_resume_caller(const struct uspi_walk *walk, const struct uspi_frame_state *frame,
                        struct uspi_frame_state *caller);

/* Gives a caller its pc and how it was found. */
void uspi_set_caller(const struct uspi_walk *walk, struct uspi_frame_state *caller,
                     const struct uspi_return_address *ra, uint32_t kind, uint32_t method);

#endif
