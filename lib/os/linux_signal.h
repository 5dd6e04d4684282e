/* SPDX-License-Identifier: MIT */
/* How a thread of this process is asked for its registers and its stack: the memory for the answers, the signal, its
 * handler, asking, waiting, letting go. Who is asked, how often, and what becomes of the answers is linux_stop.c's.
 *
 * A request is a slot. Its state is one word, {thread id, phase}, and every change that matters is one atomic step:
 *
 *     IDLE ──ask──> ASKED ──handler──> TAKEN ──handler──> READY ──release──> IDLE
 *                     │                                     │
 *                     └──withdraw──> IDLE                   └──handler gives up──> LEFT
 *
 * - A handler may take any slot that is ASKED of its own thread, and no other; whoever's signal made it run. So it does
 *   not matter which of several signals arrives, whether one is late, or who sent it: a late one finds nothing ASKED of
 *   its thread and returns; a foreign one that finds something gives the answer that was wanted anyway.
 * - The requester withdraws by ASKED → IDLE. Either that succeeds, and no handler will ever write to the slot for this
 *   request, or the handler was first, and then the requester waits for READY: a moment's work that waits for nobody.
 *   A handler that is kept from it even so (a frozen control group) still owns its slot and the memory behind it: the
 *   whole reservation is set aside, and another one takes its place.
 * - The thread id in the word is why slots need no generation: a word that has gone round and is ASKED of the same
 *   thread again means the same as before.
 * - A reservation that was set aside is unmapped when no handler is inside. A handler counts itself in before it looks
 *   for the current reservation; the requester changes the current one before it looks at the count (both sequentially
 *   consistent): so either the requester sees the handler, or the handler sees the new reservation.
 * - A held thread waits in its handler until the round changes, and touches nothing but the round's word then. It also
 *   gives up by itself after a time that no working requester needs: a requester that was ended by a longjmp out of a
 *   signal handler must not freeze the process. READY → LEFT tells that the copy made of it may be torn.
 * - A signal that is still pending when the request was withdrawn stays in the thread's queue until the thread unblocks
 *   it. It is remembered, and no second one is sent as long as the kernel shows it pending: repeated captures of such a
 *   thread do not fill the queue. */
#ifndef USPI_LINUX_SIGNAL_H
#define USPI_LINUX_SIGNAL_H

#include "lib/os/linux.h"

struct uspi_extent {
    uintptr_t from;
    size_t size;
    bool sure; /* all of it can be read as long as the thread stands still */
};

/* An answer. Between READY and the release it is the requester's. */
struct uspi_slot {
    _Atomic(uint32_t) state;
    uint32_t round; /* while the reservation's round is this one, the thread is held */
    struct usp_registers registers;
    struct uspi_extent extents[2]; /* the live part of the stack it runs on; when that is an alternate signal stack, the
                                      live part of the one that the signal interrupted */
    size_t offset;                 /* in the arena, of */
    size_t copied[2];              /* so many bytes of the extents, one behind the other */
    uintptr_t stack_low, stack_high; /* of its own stack, when it runs on it; else 0, 0 */
    uintptr_t dead_high;             /* where the live part of its own stack begins; 0 not known */
    uint64_t arrived, left;          /* usp_clock() */
    uint64_t cpu_ns;                 /* of a held thread */
    char name[16];                   /* of a held thread */
    /* The requester's own. */
    int32_t status; /* USP_OK while the thread may still answer */
    uint32_t sent;  /* signals */
    bool again;     /* the id was asked before in this round, and its thread had ended */
};

struct uspi_reservation {
    size_t mapped; /* bytes of the whole mapping, this header included */
    size_t slot_count, arena_size, listing_size;
    struct uspi_slot *slots;
    char *listing;   /* room for a directory listing of slot_count threads */
    uint32_t *index; /* by thread id: a hash table of slot numbers + 1, index_mask + 1 of them */
    size_t index_mask;
    uint8_t *arena;
    uint64_t patience;              /* ns after which a held thread lets itself go */
    bool hold;                      /* threads wait after they have answered; else they copy their stack themselves */
    _Atomic(uint32_t) round;        /* changes when held threads may go */
    _Atomic(uint32_t) answered;     /* slots that have become READY since the round began, */
    _Atomic(uint32_t) goal;         /* and how many of them wake the requester */
    _Atomic(uint32_t) used;         /* slots that were asked in this round */
    struct uspi_reservation *older; /* set aside before */
};

/* ---- the signal ---- */

/* Installs the handler. wanted 0: for a free real-time signal of the library's choice. USP_OK, USP_ERROR_BUSY when the
 * signal has another owner, USP_ERROR_SYSTEM when no signal can be had. */
int uspi_signal_install(int wanted);

/* Gives the signal back if the handler is still ours, and removes what is still pending of it. Where the system refuses
 * that, the handler stays, which ignores what nobody waits for. */
void uspi_signal_uninstall(void);

/* The signal in use, 0 when none is. */
int uspi_signal_number(void);

/* Whether the handler is still ours. */
bool uspi_signal_is_ours(void);

/* Called in the child after fork, where no other thread exists any more. */
void uspi_signal_after_fork(pid_t pid);

/* ---- the reservation ---- */

/* The one in use, NULL before the first. The requester's lock must be held, here and below. */
struct uspi_reservation *uspi_reservation_current(void);

/* Puts a new one in the place of the current one. False, and nothing is changed, when there is no memory or it would be
 * larger than is sane. */
bool uspi_reservation_replace(size_t slot_count, size_t arena_size, uint64_t patience);

/* Sets the current one aside without another. */
void uspi_reservation_drop(void);

/* ---- asking ---- */

void uspi_ask_begin(struct uspi_reservation *r, bool hold);

/* Asks one more thread. False when all slots are used; else its slot is the last one used, with a status. */
bool uspi_ask(struct uspi_reservation *r, pid_t tid);

/* The slot that was last asked of a thread in this round, NULL when it was not. */
struct uspi_slot *uspi_ask_find(const struct uspi_reservation *r, pid_t tid);

/* Waits until every slot is READY or has a status that says why not. False when a handler still owns a slot: then the
 * reservation must be replaced or dropped, and nothing of it be used. */
bool uspi_ask_wait(struct uspi_reservation *r, uint64_t deadline);

/* Whether the slot's answer is there and (of a held thread) still true. */
bool uspi_slot_ready(const struct uspi_slot *slot);

pid_t uspi_slot_thread(const struct uspi_slot *slot);

/* Lets held threads go and ends the round. The slots keep what they hold until the next one begins. */
void uspi_ask_release(struct uspi_reservation *r);

/* Copies an extent of a thread that stands still. Returns how many bytes there were. Any time. */
size_t uspi_extent_copy(const struct uspi_extent *extent, uint8_t *to, size_t room);

#endif
