/* SPDX-License-Identifier: MIT */
/* See answer.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/alternate.h"
#include "lib/os/linux/answer.h"

#include "arch/host.h"

#include <errno.h>
#include <string.h>
#include <ucontext.h>

/* Bytes that are copied of a stack with an unknown end (a coroutine's). */
#define UNKNOWN_COPY 262144u
/* Sleep in ns that replaces waiting where the system refuses the futex call. */
#define NAP 50000u

USPI_NO_ASAN static void copy_words(const struct uspi_extent *extent, uint8_t *to, size_t n) {
    /* Not memcpy: AddressSanitizer may have poisoned parts of the stack. */
    const volatile uintptr_t *from = (const volatile uintptr_t *)extent->from;
    uintptr_t *words = (uintptr_t *)(void *)to;
    for (size_t i = 0; i < n / sizeof *words; i++) words[i] = from[i];
}

size_t uspi_extent_copy(const struct uspi_request *r, const struct uspi_extent *extent, uint8_t *to, size_t capacity,
                        size_t *outer) {
    size_t n = extent->size < capacity ? extent->size : capacity;
    *outer = 0;
    if (uspi_extent_need(r, extent) < extent->size && uspi_extent_need(r, extent) <= capacity) {
        const struct uspi_extent outermost = {extent->from + (extent->size - (size_t)USPI_COPY_OUTER),
                                              (size_t)USPI_COPY_OUTER, true};
        *outer = USPI_COPY_OUTER;
        n = r->inner_most;
        copy_words(&outermost, to + n, *outer);
    }
    if (!extent->is_known) return uspi_linux_read_some(extent->from, to, n);
    n &= ~(sizeof(uintptr_t) - 1);
    copy_words(extent, to, n);
    return n;
}

/* ---- where the stack is ---- */

/* Checks the room below the handler's frame. If neither the alternate stack's bounds nor the thread's own tell, the
 * memory is probed: below a stack there is an unreadable guard page. */
bool uspi_has_answer_room(const void *context) {
    const stack_t *alternate = &((const ucontext_t *)context)->uc_stack;
    const uintptr_t here = (uintptr_t)__builtin_frame_address(0), low = (uintptr_t)alternate->ss_sp;
    if (here - low < alternate->ss_size) return here - low >= USPI_ANSWER_STACK;
    if (here - uspi_capturing_thread.room_at < USPI_LINUX_PAGE) return true;
    if (here > uspi_own_stack.low && here < uspi_own_stack.high && here - uspi_own_stack.low >= USPI_ANSWER_STACK) {
        return true;
    }
    if (here < USPI_ANSWER_STACK || !uspi_os_can_read(here - USPI_ANSWER_STACK)) return false;
    uspi_capturing_thread.room_at = here;
    return true;
}

/* Returns where the readable part of the thread's own stack begins, for a stack pointer below it: the stack has
 * overflowed. Returns 0 if sp is not there. */
static uintptr_t overflowed_from(uintptr_t sp) {
    const uintptr_t low = uspi_own_stack.low;
    uintptr_t page = sp & ~(uintptr_t)(USPI_LINUX_PAGE - 1);
    if (sp >= low || low - sp >= USPI_STACK_OVERFLOW || uspi_os_can_read(sp)) return 0;
    /* The known part of the first thread's stack may begin above its lowest page. */
    while (page < low && !uspi_os_can_read(page)) page += USPI_LINUX_PAGE;
    return page < low ? page : low;
}

/* Returns where the live part of a stack begins: at sp, or below it where code may use a red zone, if that is
 * readable. */
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
    const uintptr_t overflowed = sp != 0 && !uspi_os_stack(sp, &high) ? overflowed_from(sp) : 0;
    uintptr_t below = overflowed != 0 ? overflowed : sp != 0 ? live_from(sp) : uspi_own_stack.low;
    if (sp == 0 || overflowed != 0 || uspi_os_stack(sp, &high)) {
        s->extents[1] = (struct uspi_extent){below, (uspi_own_stack.high - below) & ~(uintptr_t)15, true};
        s->unused_high = below;
    } else {
        s->extents[1] = (struct uspi_extent){below, UNKNOWN_COPY, false};
    }
}

static void describe_stack(struct uspi_slot *s, const stack_t *alternate) {
    uintptr_t sp = (uintptr_t)usp_registers_sp(&s->registers);
    uintptr_t from = live_from(sp), high;
    s->stack_low = s->stack_high = s->unused_high = 0;
    s->extents[1].size = 0;
    if (sp - (uintptr_t)alternate->ss_sp < alternate->ss_size) {
        describe_alternate_stack(s, from, alternate);
    } else if (uspi_os_stack(sp, &high)) {
        s->stack_low = uspi_own_stack.low < from ? uspi_own_stack.low : from;
        s->stack_high = high;
        s->unused_high = from;
        s->extents[0] = (struct uspi_extent){from, (high - from) & ~(uintptr_t)15, true};
    } else {
        s->extents[0] = (struct uspi_extent){from, UNKNOWN_COPY, false};
    }
}

/* ---- answering ---- */

/* Waits until the request's round changes, or until `until` (usp_clock): then marks the slot as LEFT. `round` and
 * `until` were read while the slot still belonged to this thread. */
static void wait_for_release(struct uspi_request *r, struct uspi_slot *s, pid_t tid, uint32_t round, uint64_t until) {
    while (atomic_load(&r->round) == round) {
        long e = uspi_linux->wait(&r->round, round, until);
        if (e < 0 && e != -EAGAIN && e != -EINTR && e != -ETIMEDOUT) uspi_linux->sleep(NAP);
        if (atomic_load(&r->round) == round && uspi_os_clock() >= until) {
            uint32_t ready = uspi_slot_word(tid, USPI_READY);
            atomic_compare_exchange_strong(&s->word, &ready, uspi_slot_word(tid, USPI_LEFT));
            return;
        }
    }
}

static __attribute__((noinline)) void describe(struct uspi_request *r, struct uspi_slot *s, const ucontext_t *context) {
    if (uspi_os_context_registers(context, &s->registers) != USP_OK) s->registers.known = 0;
    describe_stack(s, &context->uc_stack);
    if (r->holds) {
        if (uspi_linux->own_name(s->name) < 0) s->name[0] = '\0';
        int64_t cpu = uspi_linux->cpu_time();
        s->cpu_ns = cpu > 0 ? (uint64_t)cpu : 0;
    } else {
        s->offset = 0;
        s->copied[0] = uspi_extent_copy(r, &s->extents[0], r->arena, r->arena_size, &s->outer[0]);
        const size_t used = s->copied[0] + s->outer[0];
        s->copied[1] = uspi_extent_copy(r, &s->extents[1], r->arena + used, r->arena_size - used, &s->outer[1]);
    }
}

static void answer(struct uspi_request *r, struct uspi_slot *s, pid_t tid, const ucontext_t *context) {
    s->arrived = uspi_os_clock();
    s->outcome = uspi_has_answer_room(context) ? USP_OK : USP_ERROR_STACK_FULL;
    if (s->outcome == USP_OK) describe(r, s, context);
    const bool holds = r->holds && s->outcome == USP_OK;
    const uint32_t round = s->round;
    s->left = uspi_os_clock();
    const uint64_t until = s->left + r->hold_limit;
    atomic_store(&s->word, uspi_slot_word(tid, USPI_READY));
    if (atomic_fetch_add(&r->answered, 1) + 1 >= atomic_load(&r->goal)) uspi_linux->wake(&r->answered, 1);
    if (holds) wait_for_release(r, s, tid, round, until);
}

/* Takes the thread's slot if the thread is asked there. */
static bool take_slot(struct uspi_slot *s, pid_t tid) {
    uint32_t asked = uspi_slot_word(tid, USPI_ASKED);
    return s != NULL && atomic_compare_exchange_strong(&s->word, &asked, uspi_slot_word(tid, USPI_TAKEN));
}

void uspi_answer_requests(const void *context) {
    const pid_t tid = uspi_linux->own_thread();
    atomic_fetch_add(uspi_handlers_of(tid), 1);
    /* Place 0, whose request holds the thread, comes last. */
    for (uint32_t i = atomic_load(&uspi_capturing.places); i-- > 0;) {
        const uint32_t asked = atomic_load(&uspi_capturing.asked[i]);
        if (asked == 0) continue;
        if (asked != (uint32_t)tid && asked != USPI_EVERYONE) continue;
        struct uspi_request *r = uspi_request_at((int)i);
        struct uspi_slot *s = r != NULL ? uspi_ask_find(r, tid) : NULL;
        if (take_slot(s, tid)) answer(r, s, tid, context);
    }
    atomic_fetch_sub(uspi_handlers_of(tid), 1);
}

/* memset and memcpy are included because compilers insert calls of them. */
void uspi_answer_prepare(void) {
    _Atomic(uint32_t) word = 0;
    char name[16], copy[16];
    uint64_t set;
    volatile size_t n = sizeof copy;
    memset(name, 0, n);
    memcpy(copy, name, n);
    uspi_linux_read_some((uintptr_t)name, copy, n);
    uspi_linux->own_name(name);
    uspi_linux->own_thread();
    uspi_linux->own_process();
    uspi_linux->cpu_time();
    uspi_linux->pending_signals(&set);
    uspi_linux->probe((uintptr_t)name);
    uspi_linux->wake(&word, 1);
    uspi_linux->wait(&word, 1, 0);
    uspi_os_clock();
}

#endif
