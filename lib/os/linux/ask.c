/* SPDX-License-Identifier: MIT */
/* See ask.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/ask.h"
#include "lib/os/linux/proc.h"
#include "lib/os/linux/restart.h"
#include "lib/os/linux/second_copy.h"
#include "lib/os/linux/signal.h"

#include <errno.h>

/* Time in ns after which the requester first checks threads that have not answered. It checks again 4 ms after it asked
 * them, and then after twice as long each time. Threads that cannot answer are given up at the second check
 * (EXCUSES). */
#define FIRST_LOOK 2000000u
/* The same while all other threads are already held. */
#define LATE_LOOK 250000u
#define EXCUSES   2u
/* A thread cannot answer if it blocks the signal outside of our handlers, and still blocks it after it has run for this
 * time. In ns. */
#define ENOUGH_TIME 1000000u
/* Maximum number of signals sent for one request. A signal can be lost when the thread's id is reused; if more are
 * lost, there is another cause. */
#define SIGNALS_PER_REQUEST 3u
/* Sleep in ns that replaces waiting where the system refuses the futex call. */
#define NAP 50000u

bool uspi_slot_ready(const struct uspi_slot *slot) {
    return slot->status == USP_OK && uspi_slot_phase(slot) == USPI_READY;
}

/* Withdraws the request from a thread. Returns false when the thread is already answering. The thread id stays in the
 * word. */
static bool withdraw(struct uspi_request *r, struct uspi_slot *s, int status) {
    pid_t tid = uspi_slot_thread(s);
    uint32_t asked = uspi_slot_word(tid, USPI_ASKED);
    if (!atomic_compare_exchange_strong(&s->word, &asked, uspi_slot_word(tid, USPI_IDLE))) return false;
    s->status = status;
    atomic_fetch_sub(&r->goal, 1);
    return true;
}

static void send(struct uspi_request *r, struct uspi_slot *s) {
    long e = uspi_linux->send_signal(uspi_linux_pid(), uspi_slot_thread(s), atomic_load(&uspi_capturing.signal));
    if (e < 0) {
        withdraw(r, s, uspi_linux_status(e));
    } else {
        s->sent++;
    }
}

/* Whether a thread waits for the signal in sigwait. Such a thread does not block the signals that it waits for
 * (kernel/signal.c do_sigtimedwait), and takes the signal without a handler. */
static bool waits_for(pid_t tid, uint64_t signal) {
    uint64_t call, set;
    usp_addr first;
    return uspi_proc_syscall(0, tid, &call, &first) == 0 && uspi_linux_is_sigwait((long)call) &&
           uspi_linux_read_some((uintptr_t)first, &set, sizeof set) == sizeof set && (set & signal) != 0;
}

enum uspi_ability uspi_thread_ability(pid_t tid) {
    struct uspi_proc_stat stat;
    const int number = atomic_load(&uspi_capturing.signal);
    const uint64_t signal = number != 0 ? USPI_LINUX_SIGNAL(number) : 0;
    if (uspi_linux->probe_thread(uspi_linux_pid(), tid) == -ESRCH) return USPI_THREAD_GONE;
    int e = uspi_proc_stat(0, tid, &stat);
    if (e == -ENOENT || e == -ESRCH) return USPI_THREAD_GONE;
    if (e < 0) return USPI_THREAD_UNKNOWN;
    switch (stat.state) {
    /* A main thread that has ended keeps its id while other threads live. */
    case 'Z':
    case 'X':
    case 'x': return USPI_THREAD_GONE;
    /* The parent of a vfork child is in this state, too (kernel/fork.c wait_for_vfork_done). */
    case 'D': return USPI_THREAD_ASLEEP;
    case 'T':
    case 't': return USPI_THREAD_UNABLE;
    default: break;
    }
    const bool is_pending = (stat.pending & signal) != 0;
    /* If the signal is not pending any more, the kernel has delivered it, and its handler is about to begin. */
    if ((stat.blocked & signal) != 0 && stat.state == 'R') return is_pending ? USPI_THREAD_BLOCKS : USPI_THREAD_ASKED;
    if ((stat.blocked & signal) != 0) return USPI_THREAD_UNABLE;
    if (is_pending) return USPI_THREAD_ASKED;
    return stat.state == 'S' && waits_for(tid, signal) ? USPI_THREAD_UNABLE : USPI_THREAD_UNASKED;
}

/* Returns a thread's ability. `ability` is what this check found; the result also depends on earlier checks:
 *
 *   - A thread in a handler of ours blocks the signal, and may answer many other requests first. It can answer.
 *   - Any other running thread that blocks the signal may be about to enter or leave such a handler. It cannot answer
 *     if it still blocks the signal after it has run for ENOUGH_TIME.
 *   - A thread that slept uninterruptibly at two checks, and did not run in between, does not wake up soon. It cannot
 *     answer if this request holds other threads; otherwise the requester waits for it. */
static enum uspi_ability ability_since(const struct uspi_request *r, struct uspi_slot *s, enum uspi_ability ability) {
    uint64_t ran, before = s->ran;
    if (ability != USPI_THREAD_BLOCKS && ability != USPI_THREAD_ASLEEP) return ability;
    if (ability == USPI_THREAD_BLOCKS && atomic_load(uspi_handlers_of(uspi_slot_thread(s))) != 0) return ability;
    if (uspi_proc_run_time(0, uspi_slot_thread(s), &ran) < 0) return ability;
    if (before == 0 || ability == USPI_THREAD_ASLEEP) s->ran = ran;
    if (before == 0) return ability;
    const bool is_unable = ability == USPI_THREAD_BLOCKS ? ran - before >= ENOUGH_TIME : ran == before && r->holds;
    s->is_asleep = is_unable && ability == USPI_THREAD_ASLEEP;
    return is_unable ? USPI_THREAD_UNABLE : ability;
}

static struct uspi_slot *add(struct uspi_request *r, pid_t tid, enum uspi_phase phase) {
    uint32_t i = atomic_load(&r->used);
    if (i >= r->slot_count) return NULL;
    struct uspi_slot *s = &r->slots[i];
    s->round = atomic_load(&r->round);
    s->status = s->outcome = USP_OK;
    s->sent = s->excused = 0;
    s->is_asleep = false;
    s->ran = 0;
    _Atomic(uint32_t) *place = uspi_index_place(r, tid);
    s->is_repeated = atomic_load(place) != 0;
    atomic_fetch_add(&r->goal, phase == USPI_ASKED);
    atomic_store(&s->word, uspi_slot_word(tid, phase));
    atomic_store(place, i + 1);
    atomic_store(&r->used, i + 1);
    return s;
}

bool uspi_ask_without(struct uspi_request *r, pid_t tid) {
    struct uspi_slot *s = add(r, tid, USPI_IDLE);
    if (s != NULL) s->status = USP_ERROR_TIMEOUT;
    return s != NULL;
}

bool uspi_ask(struct uspi_request *r, pid_t tid) {
    struct uspi_slot *s = add(r, tid, USPI_ASKED);
    if (s == NULL) return false;
    if (uspi_is_unanswering(tid)) {
        /* The thread could not answer the last time. If it still cannot, it gets no signal that it does not want, and
         * no other thread is held longer because of it. */
        enum uspi_ability ability = uspi_thread_ability(tid);
        if (ability == USPI_THREAD_GONE) withdraw(r, s, USP_ERROR_NO_THREAD);
        if (ability == USPI_THREAD_UNABLE) withdraw(r, s, USP_ERROR_TIMEOUT);
        if (s->status != USP_OK) return true;
        /* Records this check, so that the next one can decide. */
        if (ability == USPI_THREAD_BLOCKS || ability == USPI_THREAD_ASLEEP) {
            (void)ability_since(r, s, ability);
        } else {
            uspi_forget_unanswering(tid);
        }
    }
    send(r, s);
    return true;
}

/* Whether a snapshot may hold the thread that is asked. A held thread sleeps with every signal blocked, and answers
 * afterwards. It is still in its handler for a moment when the snapshot has ended. */
static bool may_be_held(const struct uspi_request *r, pid_t tid) {
    return r != uspi_request_at(USPI_SNAPSHOT_PLACE) &&
           (atomic_load(&uspi_capturing.asked[USPI_SNAPSHOT_PLACE]) != 0 || atomic_load(uspi_handlers_of(tid)) != 0);
}

/* Whether another copy of the library may hold the thread, or the thread is in a capture by another copy that uses the
 * other signal. It answers afterwards. */
static bool may_be_held_by_copy(const struct uspi_request *r, pid_t tid) {
    struct uspi_proc_stat stat;
    return !r->holds && uspi_proc_stat(0, tid, &stat) == 0 && uspi_blocks_as_copy(stat.blocked) &&
           uspi_signal_has_second_copy();
}

static void look_after(struct uspi_request *r, struct uspi_slot *s) {
    pid_t tid = uspi_slot_thread(s);
    const bool was_held = may_be_held(r, tid);
    const enum uspi_ability ability = ability_since(r, s, uspi_thread_ability(tid));
    if (ability == USPI_THREAD_UNABLE && (was_held || may_be_held(r, tid) || may_be_held_by_copy(r, tid))) return;
    switch (ability) {
    case USPI_THREAD_GONE:
        /* An ended main thread keeps its id as long as the process lives. */
        if (withdraw(r, s, USP_ERROR_NO_THREAD) && tid == uspi_linux_pid()) uspi_remember_unanswering(tid);
        break;
    case USPI_THREAD_UNABLE:
        if ((++s->excused >= EXCUSES || s->ran != 0) && withdraw(r, s, USP_ERROR_TIMEOUT))
            uspi_remember_unanswering(tid);
        break;
    case USPI_THREAD_UNASKED:
        if (s->sent < SIGNALS_PER_REQUEST && uspi_slot_phase(s) == USPI_ASKED) send(r, s);
        break;
    case USPI_THREAD_BLOCKS:
    case USPI_THREAD_ASLEEP:
    case USPI_THREAD_ASKED:
    case USPI_THREAD_UNKNOWN: break;
    }
}

static uint32_t count_phase(const struct uspi_request *r, enum uspi_phase phase) {
    uint32_t n = 0, used = atomic_load(&r->used);
    for (uint32_t i = 0; i < used; i++) n += uspi_slot_phase(&r->slots[i]) == phase;
    return n;
}

/* Waits until every slot is READY or withdrawn. Returns false when `until` (usp_clock) has passed. */
static bool wait_until(struct uspi_request *r, uint64_t until) {
    for (;;) {
        uint32_t seen = atomic_load(&r->answered);
        if (seen >= atomic_load(&r->goal) && count_phase(r, USPI_ASKED) + count_phase(r, USPI_TAKEN) == 0) return true;
        if (uspi_os_clock() >= until) return false;
        long e = uspi_linux->wait(&r->answered, seen, until);
        if (e < 0 && e != -EAGAIN && e != -EINTR && e != -ETIMEDOUT) uspi_linux->sleep(NAP);
    }
}

static void take_outcomes(const struct uspi_request *r) {
    uint32_t used = atomic_load(&r->used);
    for (uint32_t i = 0; i < used; i++) {
        struct uspi_slot *s = &r->slots[i];
        if (s->status != USP_OK) continue;
        if (uspi_slot_phase(s) == USPI_TAKEN) s->status = USP_ERROR_TIMEOUT;
        if (uspi_slot_phase(s) == USPI_READY) s->status = s->outcome;
    }
}

bool uspi_ask_wait(struct uspi_request *r, uint64_t deadline) {
    uint64_t now = uspi_os_clock(), step = r->is_late ? LATE_LOOK : FIRST_LOOK;
    bool is_over = false;
    for (unsigned look = 0; !is_over && !wait_until(r, now + step < deadline ? now + step : deadline); look++) {
        uint32_t used = atomic_load(&r->used);
        now = uspi_os_clock();
        is_over = now >= deadline;
        /* The program may have installed a handler meanwhile, which now receives the signal. */
        if (!uspi_signal_is_ours()) uspi_signal_restore(now);
        for (uint32_t i = 0; i < used; i++) {
            struct uspi_slot *s = &r->slots[i];
            if (uspi_slot_phase(s) != USPI_ASKED) continue;
            look_after(r, s);
            if (is_over) withdraw(r, s, USP_ERROR_TIMEOUT);
        }
        if (look > 0) step *= 2;
    }
    take_outcomes(r);
    return count_phase(r, USPI_TAKEN) == 0;
}

#endif
