/* SPDX-License-Identifier: MIT */
/* What an exploration of code is asked, and where it stands. How it goes on is explore.h's. */
#ifndef USPI_EXPLORER_H
#define USPI_EXPLORER_H

#include "lib/unwind/code/runs.h"
#include "lib/unwind/code/state.h"
#include "lib/unwind/frame/code.h"

/* How a way could be wrong, although every instruction on it was understood. */
enum uspi_doubt {
    USPI_DOUBT_CALL = 1 << 0,      /* it goes on behind a call, which may never return */
    USPI_DOUBT_LAST_CALL = 1 << 1, /* USPI_TO_GOAL: that call stands directly before the goal */
    USPI_DOUBT_SWITCH = 1 << 2,    /* it takes the code behind an indirect jump for one of its destinations */
    USPI_DOUBT_TAIL_CALL = 1 << 3, /* it takes an indirect jump for a tail call */
    USPI_DOUBT_ANY = 15
};

enum uspi_purpose {
    USPI_TO_RETURN, /* from the pc of a frame: the rule is what a return restores */
    USPI_TO_GOAL,   /* from a function's start: the rule is what is known where the goal is reached */
    USPI_REACH      /* whether the goal can be reached without a call: the rule is empty */
};

/* What callees take off the stack besides the return address (x86). */
enum uspi_pops {
    USPI_POPS_NOTHING,
    USPI_POPS_AS_CALLEE,     /* what the first return in the callee takes, where the call names it: costs time */
    USPI_POPS_AS_TAKEN_AGAIN /* the same; and where that is not known, what the next instruction takes off sp again */
};

struct uspi_question {
    enum uspi_purpose purpose;
    usp_addr from, goal;
    usp_addr low, high;  /* linear flow does not leave them, jumps may; high 0: no bounds */
    uint32_t mode;       /* decoding mode at `from`, with the condition flags where they are known (USPI_MODE_FLAGS) */
    uint64_t unknown;    /* registers that hold nothing from before `from` */
    bool is_interrupted; /* USPI_TO_GOAL: no call need have led to the goal that stands before it */
    enum uspi_pops pops; /* what callees are taken to do */
    unsigned budget;     /* instructions to look at, at most */
    unsigned allowed;    /* enum uspi_doubt: those that a way may have */
    const struct usp_memory *data; /* for pointers to functions at fixed addresses; NULL: they are not looked at */
};

#define USPI_PENDING_MAX 64

/* About 5 KB. */
struct uspi_explorer {
    struct uspi_code *code;
    const struct uspi_backend *backend;
    struct uspi_question question;
    uint32_t flags;         /* at the origin: see USPI_MODE_FLAGS; 0 when they are used up */
    unsigned budget;        /* that is left */
    unsigned callee_budget; /* instructions of callees that may still be looked at */
    bool has_found;         /* a rule, or the goal */
    bool has_jump;          /* USPI_TO_GOAL: the newest indirect jump, by which the function may also be left, */
    struct uspi_way jump;   /* as the way stood there */
    unsigned pending_count;
    struct uspi_log log;
    struct uspi_runs runs;
    struct uspi_way pending[USPI_PENDING_MAX];
};

#endif
