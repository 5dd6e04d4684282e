/* SPDX-License-Identifier: MIT */
/* Requests: how a thread of this process is asked for its registers and its stack. The requester's side: the memory, asking,
 * waiting, releasing. What a thread does when it is asked is answer.h's, the signal itself signal.h's.
 *
 * A request has a slot for each thread that is asked: one slot where one thread is captured, one for every thread where all
 * of them are. A slot's state is one word, {thread id, phase}, and every change that matters is one atomic step:
 *
 *         requester      requester                    handler, on the thread that is asked
 *           asks          withdraws
 *     IDLE ─────> ASKED ─────────────> IDLE
 *                   │
 *                   └──> TAKEN ──> READY ───> IDLE, when the request is used again
 *                  handler  handler    └────> LEFT: the handler did not wait any longer; the copy may be torn
 *
 * - The thread finds the request in memory, not in what the signal carries: signals of one number become one while they
 *   are pending, and the program may send the same one. A handler takes any slot that is ASKED of its own thread, whichever
 *   sender's signal made it run; a late signal finds nothing and its handler returns.
 * - The requester withdraws by ASKED → IDLE. Either that succeeds, and no handler ever writes to the slot for this request;
 *   or the handler was first, and finishes. A handler that is kept from finishing (a frozen control group) keeps the
 *   request: it is abandoned, and used again when the slot is READY.
 * - The thread id in the word is why slots need no generation: a word that has gone round and is ASKED of the same thread
 *   again means the same as before.
 * - A handler counts itself (uspi_handlers_of) before it looks for requests, and a requester takes a request out of
 *   the list before it looks at that count: so a request's memory is unmapped when no handler can see it.
 * - A request that holds threads (all of them are captured) lets them go by changing its round. A held thread touches
 *   nothing but the round's word meanwhile, and gives up by itself after a time that no working requester needs. */
#ifndef USPI_LINUX_REQUEST_H
#define USPI_LINUX_REQUEST_H

#include "lib/os/linux/capturing.h"

enum uspi_phase { USPI_IDLE = 0, USPI_ASKED, USPI_TAKEN, USPI_READY, USPI_LEFT };

#define USPI_PHASE_BITS 3u

static inline uint32_t uspi_slot_word(pid_t tid, enum uspi_phase phase) {
    return (uint32_t)tid << USPI_PHASE_BITS | phase;
}

/* The live part of a stack. */
struct uspi_extent {
    uintptr_t from;
    size_t size;
    bool is_known; /* the stack ends there, and all of it can be read as long as the thread is stopped */
};

struct uspi_slot {
    _Atomic(uint32_t) word; /* {thread id, phase} */
    uint32_t round;         /* while the request's round is this one, the thread is held */

    /* The handler's between TAKEN and READY. */
    int32_t outcome; /* USP_OK, or why the thread did not answer */
    struct usp_registers registers;
    struct uspi_extent
        extents[2];   /* of the stack it runs on; when that is an alternate signal stack, of the one that the
                                      signal interrupted too */
    size_t offset;    /* in the arena, of the copies */
    size_t copied[2]; /* bytes of the extents, one behind the other */
    uintptr_t stack_low, stack_high; /* of its own stack, when it runs on it; else 0, 0 */
    uintptr_t dead_high;             /* where the live part of its own stack begins; 0 not known */
    uint64_t arrived, left;          /* usp_clock() */
    uint64_t cpu_ns;                 /* of a held thread */
    char name[16];                   /* of a held thread */

    /* The requester's own. */
    int32_t status;   /* USP_OK while the thread may still answer */
    uint8_t sent;     /* signals */
    uint8_t excused;  /* how often the thread was seen to be unable to answer */
    bool is_repeated; /* the id was asked before in this round, and its thread had ended */
    uint64_t
        ran; /* the processor time that it had when it was first seen to run with the signal blocked; 0: it was not */
};

struct uspi_request {
    size_t mapped; /* bytes of the whole mapping, this header included */
    size_t slot_count, arena_size, listing_size;
    struct uspi_slot *slots;
    char *listing;            /* room for a directory listing of slot_count threads */
    _Atomic(uint32_t) *index; /* by thread id: a hash table of slot numbers + 1, index_mask + 1 of them */
    size_t index_mask;
    uint8_t *arena;
    uint64_t patience;            /* ns after which a held thread lets itself go */
    bool is_late;                 /* the requester's own: those that are asked now keep all the others waiting */
    bool holds;                   /* threads wait after they have answered; else they copy their stack themselves */
    _Atomic(uint32_t) round;      /* changes when held threads may go */
    _Atomic(uint32_t) answered;   /* slots that have become READY since the round began, */
    _Atomic(uint32_t) goal;       /* and how many of them wake the requester */
    _Atomic(uint32_t) used;       /* slots that were asked in this round */
    struct uspi_request *retired; /* the next one that is to be unmapped */
};

static inline enum uspi_phase uspi_slot_phase(const struct uspi_slot *slot) {
    return (enum uspi_phase)(atomic_load(&slot->word) & ((1u << USPI_PHASE_BITS) - 1));
}

static inline pid_t uspi_slot_thread(const struct uspi_slot *slot) {
    return (pid_t)(atomic_load(&slot->word) >> USPI_PHASE_BITS);
}

/* The place of a thread in a request's index, or the empty one where it belongs. Half of the places are always empty. */
static inline _Atomic(uint32_t) *uspi_index_place(const struct uspi_request *r, pid_t tid) {
    size_t at = (uint32_t)tid * UINT32_C(0x9e3779b1) & r->index_mask;
    for (size_t i = 0; i < r->index_mask; i++, at = (at + 1) & r->index_mask) {
        uint32_t slot = atomic_load(&r->index[at]);
        if (slot == 0 || uspi_slot_thread(&r->slots[slot - 1]) == tid) break;
    }
    return &r->index[at];
}

/* The slot that was last asked of a thread in this round, NULL when it was not. Async-signal-safe. */
static inline struct uspi_slot *uspi_ask_find(const struct uspi_request *r, pid_t tid) {
    uint32_t slot = atomic_load(uspi_index_place(r, tid));
    return slot != 0 ? &r->slots[slot - 1] : NULL;
}

/* The request in a place; NULL: none. */
static inline struct uspi_request *uspi_request_at(int place) { return atomic_load(&uspi_capturing.requests[place]); }

/* ---- memory ---- */

/* Gives the calling thread a request for one thread, with an arena of `arena_size` bytes at least. Returns its place, or
 * USP_ERROR_NO_MEMORY, or USP_ERROR_BUSY when all places are taken. Never waits. */
int uspi_request_take(size_t arena_size);

/* Gives it back. abandoned: a handler still owns its slot. */
void uspi_request_give(int place, bool abandoned);

/* Puts a new request in a place that is the caller's. False, and nothing is changed, when there is no memory or it would be
 * larger than is sane. */
bool uspi_request_replace(int place, size_t slot_count, size_t arena_size);

/* Takes the request out of a place that is the caller's. */
void uspi_request_drop(int place);

/* Unmaps all of them, as far as no handler runs. No request may be in use. */
void uspi_requests_free(void);

/* In the child after a fork, where no other thread exists any more. */
void uspi_requests_after_fork(void);

/* ---- asking ---- */

void uspi_ask_begin(struct uspi_request *r, bool holds);

/* Asks one more thread. False when all slots are used; else its slot is the last one used, with a status. */
bool uspi_ask(struct uspi_request *r, pid_t tid);

/* The same for a thread that is known to be unable to answer: it is not asked, and its status is USP_ERROR_TIMEOUT. */
bool uspi_ask_without(struct uspi_request *r, pid_t tid);

/* Waits until every slot is READY or has a status that says why not. A thread that cannot answer (USPI_THREAD_UNABLE) is
 * given up at the second look, after 4 ms; so is one that has run meanwhile and still blocks the signal, and where others are
 * held one that slept uninterruptibly all the time. One that waits for a processor is waited for. False when a handler still
 * owns a slot: then the request must be abandoned or replaced. */
bool uspi_ask_wait(struct uspi_request *r, uint64_t deadline);

/* Whether the slot's answer is there and (of a held thread) still true. */
bool uspi_slot_ready(const struct uspi_slot *slot);

/* Lets held threads go and ends the round. The slots keep what they hold until the next one begins. */
void uspi_ask_release(struct uspi_request *r);

/* Whether a thread can answer, by what the system says of it. Async-signal-safe. */
enum uspi_ability {
    USPI_THREAD_GONE,
    USPI_THREAD_UNABLE,  /* it sleeps with the signal blocked or waits for it, is stopped */
    USPI_THREAD_ASLEEP,  /* it sleeps uninterruptibly, at this moment */
    USPI_THREAD_BLOCKS,  /* it runs, or waits for a processor, with the signal blocked: in a handler, mostly */
    USPI_THREAD_ASKED,   /* the signal is on its way to it */
    USPI_THREAD_UNASKED, /* it has no signal of ours */
    USPI_THREAD_UNKNOWN
};
enum uspi_ability uspi_thread_ability(pid_t tid);

#endif
