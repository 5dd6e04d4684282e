/* SPDX-License-Identifier: MIT */
/* The request and the state of an exploration of code. explore.h advances it. */
#ifndef USPI_UNWIND_CODE_EXPLORER_H
#define USPI_UNWIND_CODE_EXPLORER_H

#include "lib/unwind/code/runs.h"
#include "lib/unwind/code/state.h"
#include "lib/unwind/frame/code.h"

/* Reasons why a path may be wrong although every instruction on it was understood. */
enum uspi_doubt {
    USPI_DOUBT_CALL = 1 << 0,      /* it continues after a call, which may never return */
    USPI_DOUBT_LAST_CALL = 1 << 1, /* USPI_TO_GOAL: that call is directly before the goal */
    USPI_DOUBT_SWITCH = 1 << 2,    /* it treats the code after an indirect jump as one of the jump's destinations */
    USPI_DOUBT_TAIL_CALL = 1 << 3, /* it treats an indirect jump as a tail call */
    USPI_DOUBT_ANY = 15
};

enum uspi_purpose {
    USPI_TO_RETURN, /* from a frame's pc: the rule is what a return restores */
    USPI_TO_GOAL,   /* from a function's start: the rule is what is known where the path reaches the goal */
    USPI_REACH      /* whether a path leads to the goal: the rule is empty */
};

/* A budget for paths through a whole function, which has some hundred instructions as a rule. */
#define USPI_EXPLORE_MAX 4096u

struct uspi_question {
    enum uspi_purpose purpose;
    usp_addr from, goal;
    usp_addr low, high;    /* linear flow stays in this range, jumps may leave it; high 0: no limits */
    uint32_t mode;         /* decoding mode at `from`, with the condition flags if they are known (USPI_MODE_FLAGS) */
    uint64_t unknown;      /* registers whose values from before `from` are lost */
    bool is_interrupted;   /* USPI_TO_GOAL: the goal is interrupted code, so no call need precede it */
    bool all_cases;        /* USPI_TO_RETURN: all code after a switch is tried as its cases, one by one */
    bool oldest_first;     /* of equally doubtful paths, the one that branched off first is the next, not the last */
    bool counts_arguments; /* i386: the arguments that callees remove are counted (uspi_code_popped): takes time */
    unsigned budget;       /* maximum number of instructions */
    unsigned allowed;      /* enum uspi_doubt: doubts that a path may have */
    const struct usp_memory *data; /* for function pointers at fixed addresses; NULL: they are not read */
    /* Registers at `from`, for indirect jumps through those that keep their values until then; NULL: not known. */
    const struct usp_registers *registers;
};

#define USPI_PENDING_MAX 64

/* The number of instructions after which room is made again at the earliest: looking for it takes as long as following
 * a path for some instructions. */
#define USPI_ROOM_GAP 16u

/* About 5 KB. */
struct uspi_explorer {
    struct uspi_code *code;
    const struct uspi_backend *backend;
    struct uspi_question question;
    uint32_t flags;         /* condition flags at the origin: see USPI_MODE_FLAGS; 0 after their use */
    unsigned budget;        /* instructions left */
    unsigned callee_budget; /* instructions of callees left */
    unsigned room_budget;   /* room is not made again before `budget` has fallen to this */
    bool has_found;         /* a rule or the goal was found */
    bool has_jump;          /* `jump` is valid */
    bool is_cut;            /* a path ended at code that cannot be read */
    bool has_looked;        /* a path depends on registers or data, not only on code */
    struct uspi_path jump;  /* the path at an indirect jump, which may be a switch or leave the function */
    unsigned pending_count;
    struct uspi_log log;
    struct uspi_runs runs;
    struct uspi_path pending[USPI_PENDING_MAX];
};

/* Returns an address relative to the origin, as runs of visited code contain it. Addresses 4 GB apart are not
 * distinguished. */
static inline int32_t uspi_from_origin(const struct uspi_explorer *x, usp_addr pc) {
    return (int32_t)(uint32_t)(pc - x->question.from);
}

/* Returns the address that is `at` bytes from the origin: the inverse. */
static inline usp_addr uspi_at_origin(const struct uspi_explorer *x, int32_t at) {
    return x->question.from + (usp_addr)(int64_t)at;
}

#endif
