/* SPDX-License-Identifier: MIT */
/* The signal handlers of the crash kit: decide which thread records the crash, call the handlers that were installed
 * before, and let the signal end the process as it would have ended without us. Not compiled on watchOS, where threads
 * cannot be stopped.
 *
 *     record the report │ callback │ earlier handler, if there is one │ the signal again, return */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN
#include <TargetConditionals.h>
#endif

#if USPI_OS == USPI_OS_LINUX || (USPI_OS == USPI_OS_DARWIN && !TARGET_OS_WATCH)

#if USPI_OS == USPI_OS_LINUX
#define _GNU_SOURCE 1
#endif
#include "lib/os/posix/crash.h"

#include "arch/host.h"

#include <errno.h>
#include <string.h>

#define BIT(number) (UINT64_C(1) << ((number) - 1))
/* How much earlier than in ns a timer may end: setitimer counts in microseconds. */
#define TIMER_EARLY UINT64_C(1000000)

static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGTRAP, SIGILL, SIGFPE, SIGSYS,
#if USPI_OS == USPI_OS_DARWIN
                              SIGEMT
#endif
};
#define SIGNALS (sizeof signals / sizeof *signals)
_Static_assert(SIGNALS <= USPI_POSIX_CRASH_SIGNALS, "each signal has its earlier action");

static struct uspi_posix_crash_earlier *earlier_of(struct uspi_posix_crash *c, int number) {
    for (size_t i = 0; i < SIGNALS; i++) {
        if (signals[i] == number) return &c->earlier[i];
    }
    return &c->earlier[0];
}

/* SIG_DFL and SIG_IGN mean the same with SA_SIGINFO (Linux kernel/signal.c, xnu bsd/kern/kern_sig.c), and both members
 * of the union have them. */
static bool is_handler(const struct sigaction *action) {
    return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* ---- the timer ---- */

void uspi_posix_crash_alarm(struct uspi_posix_crash *c) {
    /* An alarm that was pending, or that another process has sent. */
    if (uspi_os_clock() < atomic_load(&c->alarm_from)) {
        atomic_store(&c->is_alarm_missed, true);
        return;
    }
    c->system->end_late(c);
}

void uspi_posix_crash_set_timer(struct uspi_posix_crash *c, uint64_t ns) {
    struct itimerval timer;
    memset(&timer, 0, sizeof timer);
    timer.it_value.tv_sec = (time_t)(ns / USPI_POSIX_CRASH_SECOND);
    timer.it_value.tv_usec = (int32_t)(ns % USPI_POSIX_CRASH_SECOND / 1000);
    atomic_store(&c->alarm_from, uspi_os_clock() + ns - (ns < TIMER_EARLY ? ns : TIMER_EARLY));
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

void uspi_posix_crash_begin_timer(struct uspi_posix_crash *c) {
    struct sigaction action;
    struct itimerval none;
    memset(&action, 0, sizeof action);
    memset(&none, 0, sizeof none);
    action.sa_handler = c->system->on_alarm;
    action.sa_flags = (int)(SA_ONSTACK | SA_NODEFER);
    atomic_store(&c->alarm_from, UINT64_MAX);
    atomic_store(&c->is_alarm_missed, false);
    (void)setitimer(ITIMER_REAL, &none, &c->timer);
    (void)c->system->set_action(SIGALRM, &action, &c->alarm);
    /* The program may block it in all threads. */
    c->has_mask = c->system->set_mask(SIG_UNBLOCK, BIT(SIGALRM), &c->mask);
}

/* Gives the program its timer and its alarm back. */
static void end_timer(struct uspi_posix_crash *c) {
    struct itimerval none;
    memset(&none, 0, sizeof none);
    (void)setitimer(ITIMER_REAL, &none, NULL);
    atomic_store(&c->alarm_from, UINT64_MAX);
    /* The program's handler is not to run where the program blocks it. */
    if (c->has_mask) (void)c->system->set_mask(SIG_SETMASK, c->mask, NULL);
    (void)c->system->set_action(SIGALRM, &c->alarm, NULL);
    (void)setitimer(ITIMER_REAL, &c->timer, NULL);
    if (atomic_load(&c->is_alarm_missed)) (void)kill((pid_t)c->system->own_process(), SIGALRM);
}

/* ---- the earlier handler ---- */

static bool calls_earlier(const struct uspi_posix_crash_earlier *earlier) {
    return is_handler(&earlier->action) && !atomic_load(&earlier->is_gone);
}

/* Calls a handler with the mask that the kernel would have set for it.
 *   is_recorded  the calling thread records a crash */
static void call_earlier(struct uspi_posix_crash *c, bool is_recorded, int number, siginfo_t *info, void *context) {
    struct uspi_posix_crash_earlier *earlier = earlier_of(c, number);
    const struct sigaction *action = &earlier->action;
    uint64_t mask = (action->sa_flags & (int)SA_NODEFER) != 0 ? 0 : BIT(number), before;
    for (int i = 1; i < NSIG && i <= 64; i++) mask |= sigismember(&action->sa_mask, i) == 1 ? BIT(i) : 0;
    if ((action->sa_flags & (int)SA_RESETHAND) != 0) atomic_store(&earlier->is_gone, true);
    const bool is_masked = c->system->set_mask(SIG_BLOCK, mask, &before);
    if (is_recorded) c->is_masked = mask != 0 && is_masked && c->system->blocks(number);
    if ((action->sa_flags & (int)SA_SIGINFO) != 0) {
        action->sa_sigaction(number, info, context);
    } else {
        action->sa_handler(number);
    }
    if (is_masked) (void)c->system->set_mask(SIG_SETMASK, before, NULL);
}

static struct uspi_posix_crash_position position_of(const struct uspi_posix_crash *c, const siginfo_t *info,
                                                    const void *context) {
    struct usp_registers registers;
    struct uspi_posix_crash_position at = {.thread = c->system->own_thread(), .address = (uintptr_t)info->si_addr};
    if (uspi_os_context_registers(context, &registers) != USP_OK) return at;
    at.pc = usp_registers_pc(&registers);
    at.sp = usp_registers_sp(&registers);
    return at;
}

static bool is_same_position(const struct uspi_posix_crash_position *a, const struct uspi_posix_crash_position *b) {
    return a->thread == b->thread && a->pc == b->pc && a->sp == b->sp && a->address == b->address;
}

static bool is_our_action(const struct uspi_posix_crash *c, const struct sigaction *action) {
    return (action->sa_flags & (int)SA_SIGINFO) != 0 && action->sa_sigaction == c->system->on_signal;
}

static bool is_still_ours(const struct uspi_posix_crash *c, int number) {
    struct sigaction now;
    return c->system->set_action(number, NULL, &now) && is_our_action(c, &now);
}

/* Passes the signal on when nothing is recorded. */
static void pass_on(struct uspi_posix_crash *c, int number, siginfo_t *info, void *context) {
    struct uspi_posix_crash_earlier *earlier = earlier_of(c, number);
    if (calls_earlier(earlier)) {
        call_earlier(c, false, number, info, context);
    } else {
        c->system->end(c, number, info, context);
    }
}

/* ---- a crash ---- */

/* The earlier handler has returned: it has repaired the fault, or restored the signal's action so that the fault ends
 * the process, or done neither. The last case shows when the fault repeats: then it is recorded, and the earlier handler
 * is not called again. */
static void after_earlier(struct uspi_posix_crash *c, int number, const siginfo_t *info, void *context,
                          const struct uspi_posix_crash_position *before) {
    if (!is_still_ours(c, number)) {
        c->system->end(c, number, info, context);
        return;
    }
    /* abort ends the process after a handler has returned. If nothing ends it, the report is removed at the process's
     * clean end. */
    if (number != SIGABRT) {
        c->hooks.retract(c->hooks.context);
        if (c->system->may_repeat(number, info)) c->retracted = *before;
    }
    atomic_store(&c->stage, USPI_POSIX_CRASH_NONE);
    atomic_store(&c->recorder, 0);
}

static bool is_on_stack(const struct uspi_posix_crash *c, uintptr_t sp) { return sp - c->stack_low < c->stack_size; }

/* The report is written: calls the program's callback. */
static void tell(struct uspi_posix_crash *c) {
    uspi_posix_crash_set_timer(c, c->hooks.timeout);
    c->hooks.tell(c->hooks.context);
    end_timer(c);
}

static void take_crash(struct uspi_posix_crash *c, int number, siginfo_t *info, void *context) {
    struct uspi_posix_crash_earlier *earlier = earlier_of(c, number);
    const struct uspi_posix_crash_position at = position_of(c, info, context);
    const bool is_repeated = c->system->may_repeat(number, info) && is_same_position(&at, &c->retracted);
    const bool is_recorded = atomic_load(&c->stage) == USPI_POSIX_CRASH_RECORDED;
    c->first = number;
    c->first_info = *info;
    c->handler_at = (uintptr_t)__builtin_frame_address(0);
    if (!c->system->own_stack(&c->stack_low, &c->stack_size) || !is_on_stack(c, c->handler_at)) c->stack_size = 0;
    memset(&c->retracted, 0, sizeof c->retracted);
    if (!is_recorded) {
        atomic_store(&c->stage, USPI_POSIX_CRASH_RECORDING);
        c->system->record(c, number, info, context);
        tell(c);
    }
    atomic_store(&c->stage, USPI_POSIX_CRASH_PASSING_ON);
    if (is_repeated || !calls_earlier(earlier)) {
        c->system->end(c, number, info, context);
        return;
    }
    call_earlier(c, true, number, info, context);
    after_earlier(c, number, info, context, &at);
}

/* ---- the recording thread has left its handler ---- */

bool uspi_posix_crash_is_in_handler(const struct uspi_posix_crash *c, uintptr_t sp, bool is_masked) {
    /* The earlier handler began with the signal blocked. siglongjmp has restored the mask. */
    if (c->is_masked && !is_masked) return false;
    if (sp == 0) return true;
    return c->stack_size != 0 ? is_on_stack(c, sp) : sp < c->handler_at;
}

/* The same of another thread. */
static bool has_left(const struct uspi_posix_crash *c, uint64_t recorder) {
    return recorder != 0 && recorder != USPI_POSIX_CRASH_ENDING && c->system->has_left(c, recorder);
}

/* A thread crashes in its own handler, or after an earlier handler has left by longjmp. Returns whether it is a new
 * crash. */
static bool is_new_crash(const struct uspi_posix_crash *c, const void *context) {
    const ucontext_t *interrupted = context;
    struct usp_registers registers;
    uintptr_t sp = 0;
    if (atomic_load(&c->stage) != USPI_POSIX_CRASH_PASSING_ON) return false;
    if (uspi_os_context_registers(context, &registers) == USP_OK) sp = (uintptr_t)usp_registers_sp(&registers);
    return !uspi_posix_crash_is_in_handler(c, sp, sigismember(&interrupted->uc_sigmask, c->first) == 1);
}

/* A thread crashes in its own handler. An earlier handler may do so on purpose, by another signal. */
static void end_in_handler(struct uspi_posix_crash *c, int number, siginfo_t *info, void *context) {
    if (atomic_load(&c->stage) == USPI_POSIX_CRASH_PASSING_ON && number != c->first) {
        pass_on(c, number, info, context);
    } else {
        c->system->end_in_handler(c, number, info, context);
    }
}

/* Waits until the recording thread ends the process, or its earlier handler has repaired the fault. Returns whether this
 * thread now records. */
static bool wait_for_turn(struct uspi_posix_crash *c, uint64_t self) {
    const uint64_t until = uspi_os_clock() + 2 * c->hooks.timeout + USPI_POSIX_CRASH_SECOND;
    uint64_t recorder;
    do {
        recorder = 0;
        if (atomic_compare_exchange_strong(&c->recorder, &recorder, self)) return true;
        if (has_left(c, recorder)) break;
        c->system->nap(c);
    } while (uspi_os_clock() < until);
    /* The earlier report is whole. Its earlier handler has left by longjmp and so repaired the fault, or takes long. */
    const bool is_repaired = has_left(c, recorder);
    if (atomic_load(&c->stage) != USPI_POSIX_CRASH_PASSING_ON ||
        !atomic_compare_exchange_strong(&c->recorder, &recorder, self))
        return false;
    if (is_repaired) c->hooks.retract(c->hooks.context);
    return true;
}

static void handle(struct uspi_posix_crash *c, int number, siginfo_t *info, void *context) {
    const int64_t process = c->system->own_process();
    const uint64_t self = c->system->own_thread();
    uint64_t recorder = 0;
    if (atomic_load(&c->process) != process || self == 0) {
        pass_on(c, number, info, context);
        return;
    }
    if (!atomic_compare_exchange_strong(&c->recorder, &recorder, self)) {
        const bool is_recorded = recorder == self && atomic_load(&c->stage) == USPI_POSIX_CRASH_RECORDED;
        if (recorder == self && !is_recorded && !is_new_crash(c, context)) {
            end_in_handler(c, number, info, context);
            return;
        }
        /* A handler that has left by longjmp has repaired the fault. */
        if (recorder == self && !is_recorded) c->hooks.retract(c->hooks.context);
        if (recorder != self && !wait_for_turn(c, self)) {
            c->system->end(c, number, info, context);
            return;
        }
    }
    if (atomic_load(&c->process) == process) {
        take_crash(c, number, info, context);
    } else {
        /* The kit was uninstalled meanwhile. */
        atomic_store(&c->recorder, 0);
        pass_on(c, number, info, context);
    }
}

/* ---- another thread records ---- */

bool uspi_posix_crash_begin_for(struct uspi_posix_crash *c, uint64_t thread, int number) {
    const uint64_t self = c->system->own_thread();
    uint64_t recorder = 0;
    if (!uspi_posix_crash_is_installed(c) || self == 0) return false;
    if (atomic_load(&c->recorder) == thread && atomic_load(&c->stage) == USPI_POSIX_CRASH_RECORDED) {
        /* The fault repeats, and no handler ran: the thread blocks the signal, and would repeat the fault for ever. */
        c->system->end_late(c);
        return false;
    }
    /* The program ignores the signal, or handles it itself. */
    if (!is_still_ours(c, number)) return false;
    if (!atomic_compare_exchange_strong(&c->recorder, &recorder, self)) return false;
    c->first = number;
    c->handler_at = (uintptr_t)__builtin_frame_address(0);
    c->stack_size = 0;
    c->is_masked = false;
    atomic_store(&c->stage, USPI_POSIX_CRASH_RECORDING);
    return true;
}

void uspi_posix_crash_end_for(struct uspi_posix_crash *c, uint64_t thread) {
    struct sigaction standard;
    memset(&standard, 0, sizeof standard);
    standard.sa_handler = SIG_DFL;
    /* The other threads were stopped until now: none of them could take an alarm. */
    uspi_posix_crash_begin_timer(c);
    tell(c);
    /* Without a handler the signal ends the process also where the thread has no stack for one. */
    if (!calls_earlier(earlier_of(c, c->first))) (void)c->system->set_action(c->first, &standard, NULL);
    atomic_store(&c->stage, USPI_POSIX_CRASH_RECORDED);
    atomic_store(&c->recorder, thread);
}

void uspi_posix_crash_handle(struct uspi_posix_crash *c, int number, siginfo_t *info, void *context) {
    const int kept = errno;
    handle(c, number, info, context);
    errno = kept;
}

/* ---- installing ---- */

static int install_handlers(struct uspi_posix_crash *c) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = c->system->on_signal;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction before;
        struct uspi_posix_crash_earlier *earlier = &c->earlier[i];
        if (!c->system->set_action(signals[i], NULL, &before)) return USP_ERROR_SYSTEM;
        if (before.sa_handler == SIG_IGN || is_our_action(c, &before)) continue;
        /* A system call that the signal interrupts continues as the earlier handler wants it. Without one the thread
         * does not go on, and its registers show the call, with a lock that it waits for. */
        const int restarts = is_handler(&before) ? before.sa_flags & (int)SA_RESTART : (int)SA_RESTART;
        action.sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_NODEFER) | restarts;
        /* A handler that was installed after ours, and calls ours, would be called by ours in turn. */
        if (!earlier->is_ours) {
            earlier->action = before;
            atomic_store(&earlier->is_gone, false);
        }
        if (!c->system->set_action(signals[i], &action, NULL)) return USP_ERROR_SYSTEM;
        earlier->is_ours = true;
    }
    return USP_OK;
}

static struct uspi_posix_crash *find_or_make(struct uspi_posix_crash *_Atomic *place,
                                             const struct uspi_posix_crash_system *system) {
    struct uspi_posix_crash *c = atomic_load(place), *none = NULL;
    if (c != NULL) return c;
    c = system->make();
    if (c == NULL) return NULL;
    c->system = system;
    atomic_store(&c->alarm_from, UINT64_MAX);
    if (atomic_compare_exchange_strong(place, &none, c)) return c;
    system->discard(c);
    return none;
}

int uspi_posix_crash_install(struct uspi_posix_crash *_Atomic *place, const struct uspi_posix_crash_system *system,
                             const struct uspi_os_crash_hooks *hooks) {
    struct uspi_posix_crash *c = find_or_make(place, system);
    if (c == NULL) return USP_ERROR_NO_MEMORY;
    if (uspi_posix_crash_is_installed(c)) return USP_ERROR_BUSY;
    int status = system->reserve(c, hooks->max_threads);
    if (status != USP_OK) return status;
    c->hooks = *hooks;
    c->stays = system->keep_code();
    atomic_store(&c->alarm_from, UINT64_MAX);
    atomic_store(&c->stage, USPI_POSIX_CRASH_NONE);
    atomic_store(&c->recorder, 0);
    /* From here on a crash is recorded. */
    atomic_store(&c->process, system->own_process());
    status = install_handlers(c);
    if (status != USP_OK && uspi_posix_crash_pause(c)) uspi_posix_crash_uninstall(c);
    return status;
}

bool uspi_posix_crash_is_installed(const struct uspi_posix_crash *c) {
    return c != NULL && atomic_load(&c->process) == c->system->own_process();
}

/* Keeps crashes from being recorded. Waits while another thread records one, which then ends the process. Returns false
 * when an earlier handler runs: it may end the process. */
static bool begin_end(struct uspi_posix_crash *c) {
    const uint64_t until = uspi_os_clock() + 2 * c->hooks.timeout + USPI_POSIX_CRASH_SECOND,
                   self = c->system->own_thread();
    uint64_t recorder, mask = UINT64_MAX;
    do {
        recorder = 0;
        if (atomic_compare_exchange_strong(&c->recorder, &recorder, USPI_POSIX_CRASH_ENDING)) return true;
        if (recorder == self || atomic_load(&c->stage) == USPI_POSIX_CRASH_PASSING_ON) break;
        c->system->nap(c);
    } while (uspi_os_clock() < until);
    if (!c->system->set_mask(SIG_BLOCK, 0, &mask)) mask = UINT64_MAX;
    const bool is_over = recorder == self ? !uspi_posix_crash_is_in_handler(c, (uintptr_t)__builtin_frame_address(0),
                                                                            (mask & BIT(c->first)) != 0)
                                          : has_left(c, recorder);
    return is_over && atomic_compare_exchange_strong(&c->recorder, &recorder, USPI_POSIX_CRASH_ENDING);
}

bool uspi_posix_crash_pause(struct uspi_posix_crash *c) { return uspi_posix_crash_is_installed(c) && begin_end(c); }

void uspi_posix_crash_resume(struct uspi_posix_crash *c) {
    atomic_store(&c->stage, USPI_POSIX_CRASH_NONE);
    atomic_store(&c->recorder, 0);
}

void uspi_posix_crash_uninstall(struct uspi_posix_crash *c) {
    atomic_store(&c->process, 0);
    for (size_t i = 0; i < SIGNALS; i++) {
        struct uspi_posix_crash_earlier *earlier = &c->earlier[i];
        if (!earlier->is_ours || !is_still_ours(c, signals[i])) continue;
        (void)c->system->set_action(signals[i], &earlier->action, NULL);
        earlier->is_ours = false;
    }
    c->system->release(c);
    uspi_posix_crash_resume(c);
}

void uspi_posix_crash_end_with_process(const struct uspi_posix_crash *c) {
    if (uspi_posix_crash_is_installed(c)) c->hooks.end(c->hooks.context, c->stays);
}

#endif
