/* SPDX-License-Identifier: MIT */
/* See linux_signal.h. */
#include "lib/os/linux_signal.h"
#include "lib/os/linux_alternate.h"
#include "lib/os/linux_proc.h"

#include "arch/host.h"

#include <errno.h>
#include <string.h>
#include <ucontext.h>

/* How much of a stack is copied whose end is not known (a coroutine's). */
#define UNSURE_COPY 262144u
/* The requester looks after threads that have not answered: after 4 ms, then after twice as long each time. */
#define FIRST_LOOK 4000000u
/* A signal can be lost with a thread whose id is in use again; more often than this it is something else. */
#define SIGNALS_PER_REQUEST 3u
#define LAGGARDS            64u
/* Where the system refuses the futex call, waiting is sleeping. */
#define NAP             50000u
#define RESERVATION_MAX (sizeof(size_t) > 4 ? (uint64_t)4 << 30 : (uint64_t)512 << 20)

enum phase { IDLE = 0, ASKED, TAKEN, READY, LEFT };
#define PHASE_BITS 3u

static uint32_t word_of(pid_t tid, enum phase phase) { return (uint32_t)tid << PHASE_BITS | phase; }
static enum phase phase_of(uint32_t word) { return (enum phase)(word & ((1u << PHASE_BITS) - 1)); }
static pid_t thread_of(uint32_t word) { return (pid_t)(word >> PHASE_BITS); }

/* What a signal of ours carries: a mark, so that others are told apart at a glance, and the slot where to look first. */
#define COOKIE      ((uintptr_t)0xa7000000u)
#define COOKIE_SLOT ((uintptr_t)0x00ffffffu)

/* What handlers may look at; everything else is the requester's. */
static struct {
    _Atomic(struct uspi_reservation *) current;
    _Atomic(uint32_t) inside; /* handlers that run now */
} shared;

static struct {
    int number; /* of the signal, 0: none */
    pid_t pid;
    struct uspi_reservation *aside;
    /* Threads that may have a signal of ours pending for which nobody waits any more. */
    pid_t laggards[LAGGARDS];
    unsigned next_laggard;
} own;

/* ---- the handler ---- */

USPI_NO_ASAN static void copy_words(const struct uspi_extent *extent, uint8_t *to, size_t n) {
    /* Not memcpy: what lies on a stack may be fenced off by AddressSanitizer. */
    const volatile uintptr_t *from = (const volatile uintptr_t *)extent->from;
    uintptr_t *words = (uintptr_t *)(void *)to;
    for (size_t i = 0; i < n / sizeof *words; i++) words[i] = from[i];
}

size_t uspi_extent_copy(const struct uspi_extent *extent, uint8_t *to, size_t room) {
    size_t n = extent->size < room ? extent->size : room;
    if (!extent->sure) return uspi_linux_read_some(extent->from, to, n);
    n &= ~(sizeof(uintptr_t) - 1);
    copy_words(extent, to, n);
    return n;
}

/* Where the live part of a stack begins: at sp, or below where code may use a red zone, as far as that can be read. */
static uintptr_t live_from(uintptr_t sp) {
    const struct uspi_backend *b = uspi_backend_find(USPI_HOST_ARCH);
    uintptr_t from = (sp - (b != NULL ? b->red_zone : 0)) & ~(uintptr_t)15;
    uintptr_t page = sp & ~(uintptr_t)(USPI_LINUX_PAGE - 1);
    return from < page && !uspi_os_can_read(from) ? page : from;
}

static void describe_alternate_stack(struct uspi_slot *s, uintptr_t from, const stack_t *stack) {
    uintptr_t top = (uintptr_t)stack->ss_sp + stack->ss_size, high;
    s->extents[0] = (struct uspi_extent){from, (top - from) & ~(uintptr_t)15, true};
    const struct uspi_alternate alternate = {(uintptr_t)stack->ss_sp, top};
    const struct uspi_copied bytes = {(const uint8_t *)from, from, top - from};
    uintptr_t sp = (uintptr_t)uspi_alternate_interrupted(USPI_HOST_ARCH, alternate, &bytes);
    uintptr_t below = sp != 0 ? live_from(sp) : uspi_own_stack.low;
    if (sp == 0 || uspi_os_stack(sp, &high)) {
        s->extents[1] = (struct uspi_extent){below, (uspi_own_stack.high - below) & ~(uintptr_t)15, true};
        s->dead_high = below;
    } else {
        s->extents[1] = (struct uspi_extent){below, UNSURE_COPY, false};
    }
}

static void describe_stack(struct uspi_slot *s, const stack_t *alternate) {
    uintptr_t sp = (uintptr_t)usp_registers_sp(&s->registers);
    uintptr_t from = live_from(sp), high;
    s->stack_low = s->stack_high = s->dead_high = 0;
    s->extents[1].size = 0;
    if (sp - (uintptr_t)alternate->ss_sp < alternate->ss_size) {
        describe_alternate_stack(s, from, alternate);
    } else if (uspi_os_stack(sp, &high)) {
        s->stack_low = uspi_own_stack.low < from ? uspi_own_stack.low : from;
        s->stack_high = high;
        s->dead_high = from;
        s->extents[0] = (struct uspi_extent){from, (high - from) & ~(uintptr_t)15, true};
    } else {
        s->extents[0] = (struct uspi_extent){from, UNSURE_COPY, false};
    }
}

static struct uspi_slot *find_request(struct uspi_reservation *r, pid_t tid, size_t first) {
    uint32_t asked = word_of(tid, ASKED);
    size_t used = atomic_load(&r->used);
    for (size_t i = 0; i <= used; i++) {
        /* First where the signal says, then everywhere: it may have been sent for an earlier request. */
        size_t at = i == 0 ? first : i - 1;
        if (at >= used) continue;
        uint32_t expected = asked;
        if (atomic_load_explicit(&r->slots[at].state, memory_order_relaxed) == asked &&
            atomic_compare_exchange_strong(&r->slots[at].state, &expected, word_of(tid, TAKEN))) {
            return &r->slots[at];
        }
    }
    return NULL;
}

static void nap_unless_expected(long result) {
    if (result < 0 && result != -EAGAIN && result != -EINTR && result != -ETIMEDOUT) uspi_linux->sleep(NAP);
}

/* `round` and `until` were read while the slot was still this thread's. */
static void wait_for_release(struct uspi_reservation *r, struct uspi_slot *s, pid_t tid, uint32_t round,
                             uint64_t until) {
    while (atomic_load(&r->round) == round) {
        nap_unless_expected(uspi_linux->wait(&r->round, round, until));
        if (atomic_load(&r->round) == round && uspi_os_clock() >= until) {
            uint32_t ready = word_of(tid, READY);
            atomic_compare_exchange_strong(&s->state, &ready, word_of(tid, LEFT));
            return;
        }
    }
}

static void answer(struct uspi_reservation *r, struct uspi_slot *s, pid_t tid, const ucontext_t *ucontext) {
    s->arrived = uspi_os_clock();
    if (uspi_os_context_registers(ucontext, &s->registers) != USP_OK) s->registers.known = 0;
    describe_stack(s, &ucontext->uc_stack);
    bool hold = r->hold;
    uint32_t round = s->round;
    uint64_t until = s->arrived + r->patience;
    if (hold) {
        if (uspi_linux->own_name(s->name) < 0) s->name[0] = '\0';
        int64_t cpu = uspi_linux->cpu_time();
        s->cpu_ns = cpu > 0 ? (uint64_t)cpu : 0;
    } else {
        s->offset = 0;
        s->copied[0] = uspi_extent_copy(&s->extents[0], r->arena, r->arena_size);
        s->copied[1] = uspi_extent_copy(&s->extents[1], r->arena + s->copied[0], r->arena_size - s->copied[0]);
    }
    s->left = uspi_os_clock();
    atomic_store(&s->state, word_of(tid, READY));
    if (atomic_fetch_add(&r->answered, 1) + 1 >= atomic_load(&r->goal)) uspi_linux->wake(&r->answered, 1);
    if (hold) wait_for_release(r, s, tid, round, until);
}

static void on_request(int number, siginfo_t *info, void *ucontext) {
    (void)number;
    uintptr_t cookie = (uintptr_t)info->si_value.sival_ptr;
    if (info->si_code != SI_QUEUE || (cookie & ~COOKIE_SLOT) != COOKIE) return;
    atomic_fetch_add(&shared.inside, 1);
    struct uspi_reservation *r = atomic_load(&shared.current);
    if (r != NULL) {
        pid_t tid = uspi_linux->own_thread();
        struct uspi_slot *s = find_request(r, tid, cookie & COOKIE_SLOT);
        if (s != NULL) answer(r, s, tid, ucontext);
    }
    atomic_fetch_sub(&shared.inside, 1);
}

/* ---- the signal ---- */

static bool is_ours(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_request;
}

static bool is_free(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) == 0 && action->sa_handler == SIG_DFL;
}

static int try_install(int number) {
    struct sigaction action, old;
    if (uspi_linux->set_action(number, NULL, &old) < 0) return USP_ERROR_SYSTEM;
    if (is_ours(&old)) return USP_OK;
    if (!is_free(&old)) return USP_ERROR_BUSY;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_request;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    /* Nothing may run on a thread that is held: not even libc's own signals, which sigfillset leaves out. */
    memset(&action.sa_mask, 0xff, sizeof action.sa_mask);
    if (uspi_linux->set_action(number, &action, &old) < 0) return USP_ERROR_SYSTEM;
    if (is_free(&old)) return USP_OK;
    /* Somebody was faster. */
    uspi_linux->set_action(number, &old, NULL);
    return USP_ERROR_BUSY;
}

int uspi_signal_install(int wanted) {
    int status = USP_ERROR_SYSTEM;
    if (wanted != 0) {
        status = try_install(wanted);
        if (status == USP_OK) own.number = wanted;
    } else {
        /* Programs and libraries take the first ones, emulators and valgrind the last ones. */
        for (int number = SIGRTMAX - 5; number > SIGRTMIN && own.number == 0; number--) {
            status = try_install(number);
            if (status == USP_OK) own.number = number;
        }
    }
    own.pid = uspi_linux->own_process();
    return own.number != 0 ? USP_OK : status;
}

bool uspi_signal_is_ours(void) {
    struct sigaction action;
    return own.number != 0 && uspi_linux->set_action(own.number, NULL, &action) >= 0 && is_ours(&action);
}

void uspi_signal_uninstall(void) {
    if (uspi_signal_is_ours()) {
        struct sigaction action;
        memset(&action, 0, sizeof action);
        /* To ignore a signal removes it from every thread's queue (POSIX sigaction, kernel/signal.c do_sigaction): one
         * that comes later would end the process by the default action. While that cannot be had, the handler stays. */
        action.sa_handler = SIG_IGN;
        bool none_pending = uspi_linux->set_action(own.number, &action, NULL) >= 0;
        action.sa_handler = SIG_DFL;
        if (none_pending) uspi_linux->set_action(own.number, &action, NULL);
    }
    own.number = 0;
}

int uspi_signal_number(void) { return own.number; }

pid_t uspi_linux_pid(void) { return own.pid != 0 ? own.pid : uspi_linux->own_process(); }

void uspi_signal_after_fork(pid_t pid) {
    own.pid = pid;
    atomic_store(&shared.inside, 0);
    memset(own.laggards, 0, sizeof own.laggards);
    struct uspi_reservation *r = atomic_load(&shared.current);
    if (r != NULL) uspi_ask_begin(r, false);
}

/* ---- the reservation ---- */

struct uspi_reservation *uspi_reservation_current(void) { return atomic_load(&shared.current); }

static size_t rounded(size_t n, size_t to) { return (n + (to - 1)) / to * to; }

static struct uspi_reservation *reserve(size_t slot_count, size_t arena_size, uint64_t patience) {
    if (slot_count > COOKIE_SLOT || arena_size > RESERVATION_MAX) return NULL;
    size_t header = rounded(sizeof(struct uspi_reservation), 64);
    size_t slots = rounded(slot_count * sizeof(struct uspi_slot), 64);
    size_t listing = rounded(slot_count * 32 + 4096, 64);
    size_t places = 64;
    while (places < 2 * slot_count) places *= 2;
    size_t before = rounded(header + slots + listing + places * sizeof(uint32_t), USPI_LINUX_PAGE);
    size_t arena = rounded(arena_size, USPI_LINUX_PAGE);
    if (before + arena > RESERVATION_MAX) return NULL;
    struct uspi_reservation *r = uspi_linux->map(before + arena, false);
    if (r == NULL) return NULL;
    uint8_t *bytes = (uint8_t *)r;
    r->mapped = before + arena;
    r->slot_count = slot_count;
    r->slots = (struct uspi_slot *)(void *)(bytes + header);
    r->listing = (char *)bytes + header + slots;
    r->listing_size = listing;
    r->index = (uint32_t *)(void *)(r->listing + listing);
    r->index_mask = places - 1;
    r->arena = bytes + before;
    r->arena_size = arena;
    r->patience = patience;
    return r;
}

/* Unmaps what was set aside when nobody can be looking at it. */
static void sweep(void) {
    while (own.aside != NULL && atomic_load(&shared.inside) == 0) {
        struct uspi_reservation *r = own.aside;
        own.aside = r->older;
        uspi_linux->unmap(r, r->mapped);
    }
}

static void set_aside(struct uspi_reservation *r) {
    if (r != NULL) {
        uspi_ask_release(r);
        r->older = own.aside;
        own.aside = r;
    }
    sweep();
}

bool uspi_reservation_replace(size_t slot_count, size_t arena_size, uint64_t patience) {
    struct uspi_reservation *r = reserve(slot_count, arena_size, patience);
    if (r == NULL) return false;
    set_aside(atomic_exchange(&shared.current, r));
    return true;
}

void uspi_reservation_drop(void) {
    set_aside(atomic_exchange(&shared.current, NULL));
    /* Handlers that are on their way out need a moment. One that does not get it keeps its memory. */
    for (unsigned i = 0; i < 200 && own.aside != NULL; i++) {
        uspi_linux->sleep(NAP);
        sweep();
    }
}

/* ---- asking ---- */

void uspi_ask_begin(struct uspi_reservation *r, bool hold) {
    uint32_t used = atomic_load(&r->used);
    atomic_store(&r->used, 0);
    for (uint32_t i = 0; i < used; i++) atomic_store(&r->slots[i].state, IDLE);
    if (used != 0) memset(r->index, 0, (r->index_mask + 1) * sizeof *r->index);
    r->hold = hold;
    atomic_store(&r->answered, 0);
    atomic_store(&r->goal, 0);
}

/* The place of a thread in the index, or the empty one where it belongs. Half of the places are always empty. */
static uint32_t *index_place(const struct uspi_reservation *r, pid_t tid) {
    size_t at = (uint32_t)tid * UINT32_C(0x9e3779b1) & r->index_mask;
    while (r->index[at] != 0 && uspi_slot_thread(&r->slots[r->index[at] - 1]) != tid) at = (at + 1) & r->index_mask;
    return &r->index[at];
}

struct uspi_slot *uspi_ask_find(const struct uspi_reservation *r, pid_t tid) {
    uint32_t slot = *index_place(r, tid);
    return slot != 0 ? &r->slots[slot - 1] : NULL;
}

bool uspi_slot_ready(const struct uspi_slot *slot) {
    return slot->status == USP_OK && phase_of(atomic_load(&slot->state)) == READY;
}

pid_t uspi_slot_thread(const struct uspi_slot *slot) { return thread_of(atomic_load(&slot->state)); }

static bool is_laggard(pid_t tid, bool forget) {
    for (unsigned i = 0; i < LAGGARDS; i++) {
        if (own.laggards[i] != tid) continue;
        if (forget) own.laggards[i] = 0;
        return true;
    }
    return false;
}

static void remember_laggard(pid_t tid) {
    if (!is_laggard(tid, false)) own.laggards[own.next_laggard++ % LAGGARDS] = tid;
}

/* Takes a request back. False when the thread was faster: it is answering. The thread id stays in the word. */
static bool withdraw(struct uspi_reservation *r, struct uspi_slot *s, int status) {
    pid_t tid = uspi_slot_thread(s);
    uint32_t asked = word_of(tid, ASKED);
    if (!atomic_compare_exchange_strong(&s->state, &asked, word_of(tid, IDLE))) return false;
    s->status = status;
    atomic_fetch_sub(&r->goal, 1);
    return true;
}

static void send(struct uspi_reservation *r, struct uspi_slot *s) {
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = own.number;
    info.si_code = SI_QUEUE;
    info.si_pid = own.pid;
    info.si_value.sival_ptr = (void *)(COOKIE | (uintptr_t)(s - r->slots));
    long e = uspi_linux->queue_signal(own.pid, uspi_slot_thread(s), own.number, &info);
    if (e < 0) {
        withdraw(r, s, uspi_linux_status(e));
    } else {
        s->sent++;
    }
}

static bool is_dead(char state) { return state == 'Z' || state == 'X' || state == 'x'; }

/* What the kernel says of a thread that does not answer, or did not the last time. */
enum finding { GONE, PENDING_BLOCKED, PENDING, NOT_PENDING, NOT_KNOWN };

static enum finding examine(pid_t tid) {
    struct uspi_proc_status status;
    if (uspi_linux->probe_thread(own.pid, tid) == -ESRCH) return GONE;
    int e = uspi_proc_status(0, tid, &status);
    if (e == -ENOENT || e == -ESRCH) return GONE;
    if (e < 0) return NOT_KNOWN;
    /* A main thread that has ended while others live on keeps its id. */
    if (is_dead(status.state)) return GONE;
    uint64_t bit = (uint64_t)1 << (own.number - 1);
    if ((status.pending & bit) == 0) return NOT_PENDING;
    return (status.blocked & bit) != 0 ? PENDING_BLOCKED : PENDING;
}

bool uspi_ask(struct uspi_reservation *r, pid_t tid) {
    uint32_t i = atomic_load(&r->used);
    if (i >= r->slot_count) return false;
    struct uspi_slot *s = &r->slots[i];
    s->round = atomic_load(&r->round);
    s->status = USP_OK;
    s->sent = 0;
    atomic_fetch_add(&r->goal, 1);
    atomic_store(&s->state, word_of(tid, ASKED));
    uint32_t *place = index_place(r, tid);
    s->again = *place != 0;
    *place = i + 1;
    atomic_store(&r->used, i + 1);
    if (!is_laggard(tid, false)) {
        send(r, s);
        return true;
    }
    switch (examine(tid)) {
    case GONE: withdraw(r, s, USP_ERROR_NO_THREAD); break;
    /* It has blocked the signal since the last time at least. Others should not be held up for it. */
    case PENDING_BLOCKED: withdraw(r, s, USP_ERROR_TIMEOUT); break;
    case PENDING: break;
    case NOT_PENDING:
    case NOT_KNOWN:
        is_laggard(tid, true);
        send(r, s);
        break;
    }
    return true;
}

static void look_after(struct uspi_reservation *r, struct uspi_slot *s) {
    pid_t tid = uspi_slot_thread(s);
    switch (examine(tid)) {
    case GONE:
        /* An ended main thread would collect signals. */
        if (withdraw(r, s, USP_ERROR_NO_THREAD) && tid == own.pid) remember_laggard(tid);
        break;
    case NOT_PENDING:
        if (s->sent < SIGNALS_PER_REQUEST && phase_of(atomic_load(&s->state)) == ASKED) send(r, s);
        break;
    case PENDING_BLOCKED:
    case PENDING:
    case NOT_KNOWN: break;
    }
}

static uint32_t count_phase(const struct uspi_reservation *r, enum phase phase) {
    uint32_t n = 0, used = atomic_load(&r->used);
    for (uint32_t i = 0; i < used; i++) n += phase_of(atomic_load(&r->slots[i].state)) == phase;
    return n;
}

/* Until every slot is READY or withdrawn, or `until`. */
static bool wait_until(struct uspi_reservation *r, uint64_t until) {
    for (;;) {
        uint32_t seen = atomic_load(&r->answered);
        if (seen >= atomic_load(&r->goal) && count_phase(r, ASKED) + count_phase(r, TAKEN) == 0) return true;
        if (uspi_os_clock() >= until) return false;
        nap_unless_expected(uspi_linux->wait(&r->answered, seen, until));
    }
}

bool uspi_ask_wait(struct uspi_reservation *r, uint64_t deadline) {
    uint64_t now = uspi_os_clock(), step = FIRST_LOOK;
    while (!wait_until(r, now + step < deadline ? now + step : deadline)) {
        uint32_t used = atomic_load(&r->used);
        now = uspi_os_clock();
        bool last = now >= deadline;
        for (uint32_t i = 0; i < used; i++) {
            struct uspi_slot *s = &r->slots[i];
            if (phase_of(atomic_load(&s->state)) != ASKED) continue;
            look_after(r, s);
            if (last && withdraw(r, s, USP_ERROR_TIMEOUT)) remember_laggard(uspi_slot_thread(s));
        }
        step *= 2;
        if (!last) continue;
        /* What is TAKEN now needs processor time and nothing else. */
        uint64_t grace = uspi_os_clock() + r->patience;
        return wait_until(r, grace);
    }
    return true;
}

void uspi_ask_release(struct uspi_reservation *r) {
    atomic_fetch_add(&r->round, 1);
    if (r->hold) uspi_linux->wake(&r->round, INT32_MAX);
}
