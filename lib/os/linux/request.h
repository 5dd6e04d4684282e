/* SPDX-License-Identifier: MIT */
/* Requests: how a thread of this process is asked for its registers and its stack. This describes a request and its
 * memory. ask.h is the requester's side, answer.h the asked thread's, signal.h the signal itself.
 *
 * A request has a slot for each thread that is asked: one slot to capture one thread, one for every thread to capture
 * all. A slot's state is one word, {thread id, phase}, and every important change is one atomic step:
 *
 *         requester      requester                    handler, on the thread that is asked
 *           asks          withdraws
 *     IDLE ─────> ASKED ─────────────> IDLE
 *                   │
 *                   └──> TAKEN ──> READY ───> IDLE, when the request is used again
 *                  handler  handler    └────> LEFT: the handler stopped waiting; the copy may be torn
 *
 *   - The thread finds the request in memory, not in the signal. Pending signals of one number are merged, and the
 *     program may send the same signal. A handler takes any slot that is ASKED for its own thread, no matter which
 *     program sent the signal. If a signal arrives late, its handler finds no request and returns.
 *   - The requester withdraws by ASKED → IDLE. If that succeeds, no handler ever writes to the slot for this request.
 *     Otherwise the handler was first, and finishes. If a handler is kept from finishing (a frozen control group), it
 *     keeps the request: the requester abandons it, and it is reused when the slot is READY.
 *   - Slots need no generation number, because the word contains the thread id: a word that was reused and is ASKED
 *     for the same thread again has the same meaning.
 *   - A handler counts itself (uspi_handlers_of) before it looks for requests. A requester removes a request from the
 *     list before it reads that count. So a request's memory is unmapped only when no handler can see it.
 *   - A request that holds threads (a capture of all threads) resumes them by changing its round. A held thread
 *     accesses only the round's word meanwhile. It resumes by itself after a time that exceeds what a working
 *     requester needs. */
#ifndef USPI_OS_LINUX_REQUEST_H
#define USPI_OS_LINUX_REQUEST_H

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
    bool is_known; /* the stack's end is known, and all of it is readable while the thread is stopped */
};

struct uspi_slot {
    _Atomic(uint32_t) word; /* {thread id, phase} */
    uint32_t round;         /* the thread is held while the request's round has this value */

    /* Written by the handler between TAKEN and READY. */
    int32_t outcome; /* USP_OK, or why the thread did not answer */
    struct usp_registers registers;
    /* The live part of the thread's current stack. If that is an alternate signal stack, also of the interrupted
     * stack. */
    struct uspi_extent extents[2];
    size_t offset;                   /* offset of the copies in the arena */
    size_t copied[2];                /* copied bytes of each extent, from its beginning */
    size_t outer[2];                 /* copied bytes at its end, adjacent to the former; then comes the next extent */
    uintptr_t stack_low, stack_high; /* bounds of its own stack, if it runs on it; otherwise 0, 0 */
    uintptr_t unused_high;           /* beginning of the live part of its own stack; 0 not known */
    uint64_t arrived, left;          /* usp_clock() */
    uint64_t cpu_ns;                 /* of a held thread */
    char name[16];                   /* of a held thread */

    /* Used by the requester only. */
    struct uspi_lock_wait lock; /* the lock that a held thread waits for */
    int32_t status;             /* USP_OK while the thread may still answer */
    uint8_t sent;               /* number of signals sent */
    uint8_t excused;            /* how many times the thread was found unable to answer */
    bool is_repeated;           /* the id was asked before in this round, and its thread had ended */
    bool is_asleep;             /* it was given up because it sleeps uninterruptibly, with the processor time `ran` */
    /* Processor time of the thread when it was first seen asleep, or running with the signal blocked; 0: it was not. */
    uint64_t ran;
};

struct uspi_request {
    size_t mapped; /* bytes of the whole mapping, including this header */
    size_t slot_count, arena_size, listing_size;
    struct uspi_slot *slots;
    char *listing;            /* room for a directory listing of slot_count threads */
    _Atomic(uint32_t) *index; /* hash table by thread id: index_mask + 1 slot numbers + 1 */
    size_t index_mask;
    uint8_t *arena;
    uint64_t hold_limit; /* ns after which a held thread resumes by itself */
    size_t inner_most;   /* bytes that are copied of a stack that is larger, without its outermost part */
    bool is_late;        /* requester only: the threads asked now keep all others waiting */
    /* Threads wait after they have answered; otherwise they copy their stacks themselves. */
    bool holds;
    _Atomic(uint32_t) round;      /* changes to resume held threads */
    _Atomic(uint32_t) answered;   /* slots that became READY in this round */
    _Atomic(uint32_t) goal;       /* value of `answered` at which the requester is woken */
    _Atomic(uint32_t) used;       /* slots that were asked in this round */
    struct uspi_request *retired; /* the next request to unmap */
};

/* Returns how many bytes of a stack are copied. The end of an unknown stack is not known. */
static inline size_t uspi_extent_need(const struct uspi_request *r, const struct uspi_extent *extent) {
    const size_t most = r->inner_most + (size_t)USPI_COPY_OUTER;
    return extent->is_known && extent->size > most ? most : extent->size;
}

static inline enum uspi_phase uspi_slot_phase(const struct uspi_slot *slot) {
    return (enum uspi_phase)(atomic_load(&slot->word) & ((1u << USPI_PHASE_BITS) - 1));
}

static inline pid_t uspi_slot_thread(const struct uspi_slot *slot) {
    return (pid_t)(atomic_load(&slot->word) >> USPI_PHASE_BITS);
}

/* Returns a thread's entry in a request's index, or the empty entry for it. At least half of the entries are empty. */
static inline _Atomic(uint32_t) *uspi_index_place(const struct uspi_request *r, pid_t tid) {
    size_t at = (uint32_t)tid * UINT32_C(0x9e3779b1) & r->index_mask;
    for (size_t i = 0; i < r->index_mask; i++, at = (at + 1) & r->index_mask) {
        uint32_t slot = atomic_load(&r->index[at]);
        if (slot == 0 || uspi_slot_thread(&r->slots[slot - 1]) == tid) break;
    }
    return &r->index[at];
}

/* Returns the last slot for a thread in this round, or NULL. Async-signal-safe. */
static inline struct uspi_slot *uspi_ask_find(const struct uspi_request *r, pid_t tid) {
    uint32_t slot = atomic_load(uspi_index_place(r, tid));
    return slot != 0 ? &r->slots[slot - 1] : NULL;
}

/* The place of the request that captures all threads. Each other place is for a capture of one thread. */
#define USPI_SNAPSHOT_PLACE 0

/* Returns the request at a place, or NULL. */
static inline struct uspi_request *uspi_request_at(int place) { return atomic_load(&uspi_capturing.requests[place]); }

/* Gives the calling thread a request for one thread, with an arena of at least `arena_size` bytes. Returns its place,
 * USP_ERROR_NO_MEMORY, or USP_ERROR_BUSY when all places are taken. Never waits. */
int uspi_request_take(size_t arena_size);

/* Releases a request. abandoned: a handler still owns its slot. */
void uspi_request_give(int place, bool abandoned);

/* Puts a new request at a place that the caller holds. Returns false, without any change, when memory is exhausted or
 * the size is unreasonable. */
bool uspi_request_replace(int place, size_t slot_count, size_t arena_size);

/* Removes the request at a place that the caller holds. */
void uspi_request_drop(int place);

/* Unmaps all requests, and waits briefly for running handlers. A handler that still runs then keeps the memory mapped.
 * No request may be in use. */
void uspi_requests_free(void);

/* Resets the requests in the child after a fork, which has no other threads. */
void uspi_requests_after_fork(void);

/* Begins a round: clears the slots. If `holds`, threads wait after they have answered. */
void uspi_round_begin(struct uspi_request *r, bool holds);

/* Resumes held threads and ends the round. The slots keep their contents until the next round begins. */
void uspi_round_end(struct uspi_request *r);

#endif
