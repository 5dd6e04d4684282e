/* SPDX-License-Identifier: MIT */
/* The signal handlers of the crash kit: decide which thread records the crash, call the handlers that were installed
 * before, and let the signal end the process as it would have ended without us.
 *
 *     record the report │ callback │ earlier handler, if there is one │ queue the original siginfo, return
 *
 * The end: the signal is blocked, its action restored, its siginfo queued for this thread. It is delivered when the
 * handler returns, so the core's first frame is the faulting instruction, and its siginfo is the original one. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/capturing.h"
#include "lib/os/linux/proc.h"
#include "lib/os/linux/request.h"
#include "lib/os/linux/signal.h"

#include "arch/host.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

#define SECOND UINT64_C(1000000000)
/* Sleep in ns of a thread that crashed while another one records. */
#define NAP UINT64_C(5000000)
/* Bytes of an alternate stack in addition to the kernel's frame, and the least that a program's own must have. */
#define STACK_SIZE  ((size_t)64 << 10)
#define STACK_LEAST ((size_t)32 << 10)
#define STACK_GUARD ((size_t)64 << 10)
/* Marks the lowest word of a stack of ours. */
#define STACK_MARK     UINT64_C(0x7573705f63726173)
#define SI_KERNEL_CODE 0x80
/* How much earlier than in ns a timer may end: setitimer counts in microseconds. */
#define TIMER_EARLY UINT64_C(1000000)
/* In place of the recorder while the kit is being uninstalled. */
#define ENDING (-1)

static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGTRAP, SIGILL, SIGFPE, SIGSYS};
#define SIGNALS (sizeof signals / sizeof *signals)

enum stage { STAGE_NONE = 0, STAGE_RECORDING, STAGE_PASSING_ON };

/* Where a thread faulted. */
struct position {
    pid_t thread;
    uint64_t pc, sp;
    uintptr_t address;
};

struct uspi_crash_signals {
    struct uspi_os_crash_hooks hooks;
    _Atomic(pid_t) process; /* the process that records; 0: none */
    struct earlier {
        bool is_ours;          /* our handler was installed */
        _Atomic(bool) is_gone; /* it ran, and may run only once (SA_RESETHAND) */
        struct sigaction action;
    } earlier[SIGNALS];

    _Atomic(pid_t) recorder; /* the thread that records a crash, or ENDING; 0: none */
    /* Written by that thread. */
    _Atomic(int) stage;   /* enum stage */
    uintptr_t handler_at; /* an address in its handler's frame */
    stack_t stack;        /* the alternate stack on which it runs; ss_size 0: it runs on the interrupted one */
    bool is_masked;       /* its earlier handler runs with the signal blocked, and the thread's state shows that */
    int first;            /* the signal, and its siginfo */
    siginfo_t first_info;
    struct position retracted; /* an earlier handler returned here, and the report was removed */
    uint64_t alarm_from;       /* the earliest time of our alarm; UINT64_MAX: no timer of ours runs */
    bool is_alarm_missed;      /* the program's own alarm came meanwhile */
    /* The program's timer, its handler of alarms, and the crashed thread's mask, if it is known. */
    struct itimerval timer;
    struct sigaction alarm;
    uint64_t mask;
    bool has_mask;
};

static struct earlier *earlier_of(struct uspi_crash_signals *c, int number) {
    for (size_t i = 0; i < SIGNALS; i++) {
        if (signals[i] == number) return &c->earlier[i];
    }
    return &c->earlier[0];
}

/* ---- the end ---- */

/* Makes the signal end the process when the handler returns. */
static void end_process(int number, const siginfo_t *info, void *context) {
    const uint64_t mask = USPI_LINUX_SIGNAL(number);
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    const pid_t process = uspi_linux->own_process(), self = uspi_linux->own_thread();
    uspi_linux->set_mask(SIG_BLOCK, &mask, NULL);
    uspi_linux->set_action(number, &standard, NULL);
    /* An earlier handler that crashes itself blocks the signal. */
    sigdelset(&((ucontext_t *)context)->uc_sigmask, number);
    if (uspi_linux->queue_signal(process, self, number, info) >= 0) return;
    /* A fault of the processor repeats when the instruction does. */
    if (info->si_code <= 0 || info->si_code == SI_KERNEL_CODE) uspi_linux->send_signal(process, self, number);
}

/* ---- the timer ---- */

/* Ends a crash that takes too long: any thread may run this. */
static void on_alarm(int number) {
    struct uspi_crash_signals *c = atomic_load(&uspi_capturing.crash);
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    const pid_t recorder = c != NULL ? atomic_load(&c->recorder) : 0;
    (void)number;
    if (recorder == 0) return;
    /* An alarm that was pending, or that another process has sent. */
    if (uspi_os_clock() < c->alarm_from) {
        c->is_alarm_missed = true;
        return;
    }
    uspi_linux->set_action(c->first, &standard, NULL);
    const pid_t process = uspi_linux->own_process();
    if (uspi_linux->queue_signal(process, recorder, c->first, &c->first_info) < 0) {
        uspi_linux->send_signal(process, recorder, c->first);
    }
}

static void set_timer(struct uspi_crash_signals *c, uint64_t ns) {
    const struct itimerval timer = {.it_value = {(time_t)(ns / SECOND), (suseconds_t)(ns % SECOND / 1000)}};
    c->alarm_from = uspi_os_clock() + ns - (ns < TIMER_EARLY ? ns : TIMER_EARLY);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

static void begin_timer(struct uspi_crash_signals *c) {
    const struct sigaction action = {.sa_handler = on_alarm, .sa_flags = (int)(SA_ONSTACK | SA_NODEFER)};
    const uint64_t mask = USPI_LINUX_SIGNAL(SIGALRM);
    const struct itimerval none = {.it_value = {0, 0}};
    c->alarm_from = UINT64_MAX;
    c->is_alarm_missed = false;
    (void)setitimer(ITIMER_REAL, &none, &c->timer);
    uspi_linux->set_action(SIGALRM, &action, &c->alarm);
    c->has_mask = uspi_linux->set_mask(SIG_UNBLOCK, &mask, &c->mask) >= 0;
}

/* Gives the program its timer and its alarm back. */
static void end_timer(struct uspi_crash_signals *c) {
    const struct itimerval none = {.it_value = {0, 0}};
    (void)setitimer(ITIMER_REAL, &none, NULL);
    c->alarm_from = UINT64_MAX;
    /* The program's handler is not to run where the program blocks it. */
    if (c->has_mask) uspi_linux->set_mask(SIG_SETMASK, &c->mask, NULL);
    uspi_linux->set_action(SIGALRM, &c->alarm, NULL);
    (void)setitimer(ITIMER_REAL, &c->timer, NULL);
    if (c->is_alarm_missed) (void)kill(uspi_linux->own_process(), SIGALRM);
}

/* ---- the earlier handler ---- */

/* Whether a thread blocks a signal. Returns false also if that is not known: an emulator's mask is not the system's. */
static bool blocks(pid_t thread, int number) {
    struct uspi_proc_stat stat;
    return uspi_proc_stat(0, thread, &stat) == 0 && (stat.blocked & USPI_LINUX_SIGNAL(number)) != 0;
}

/* Calls a handler with the mask that the kernel would have set for it.
 *   crash  NULL: nothing is recorded */
static void call_earlier(struct uspi_crash_signals *crash, struct earlier *earlier, int number, siginfo_t *info,
                         void *context) {
    const struct sigaction *action = &earlier->action;
    uint64_t mask = (action->sa_flags & (int)SA_NODEFER) != 0 ? 0 : USPI_LINUX_SIGNAL(number), before;
    for (int i = 1; i <= 64; i++) mask |= sigismember(&action->sa_mask, i) == 1 ? USPI_LINUX_SIGNAL(i) : 0;
    if ((action->sa_flags & (int)SA_RESETHAND) != 0) atomic_store(&earlier->is_gone, true);
    const bool is_masked = uspi_linux->set_mask(SIG_BLOCK, &mask, &before) >= 0;
    if (crash != NULL) crash->is_masked = mask != 0 && is_masked && blocks(uspi_linux->own_thread(), number);
    if ((action->sa_flags & (int)SA_SIGINFO) != 0) {
        action->sa_sigaction(number, info, context);
    } else {
        action->sa_handler(number);
    }
    if (is_masked) uspi_linux->set_mask(SIG_SETMASK, &before, NULL);
}

static struct position position_of(const siginfo_t *info, const void *context) {
    struct usp_registers registers;
    struct position at = {.thread = uspi_linux->own_thread(), .address = (uintptr_t)info->si_addr};
    if (uspi_os_context_registers(context, &registers) != USP_OK) return at;
    at.pc = usp_registers_pc(&registers);
    at.sp = usp_registers_sp(&registers);
    return at;
}

static bool is_same_position(const struct position *a, const struct position *b) {
    return a->thread == b->thread && a->pc == b->pc && a->sp == b->sp && a->address == b->address;
}

static void on_crash(int number, siginfo_t *info, void *context);

static bool is_still_ours(int number) {
    struct sigaction now;
    return uspi_linux->set_action(number, NULL, &now) >= 0 && (now.sa_flags & (int)SA_SIGINFO) != 0 &&
           now.sa_sigaction == on_crash;
}

/* Passes the signal on when nothing is recorded. */
static void pass_on(struct uspi_crash_signals *c, int number, siginfo_t *info, void *context) {
    struct earlier *earlier = earlier_of(c, number);
    if (uspi_is_handler(&earlier->action) && !atomic_load(&earlier->is_gone)) {
        call_earlier(NULL, earlier, number, info, context);
    } else {
        end_process(number, info, context);
    }
}

/* ---- a crash ---- */

static void record(struct uspi_crash_signals *c, int number, const siginfo_t *info, const void *context) {
    const bool is_fault = (USPI_LINUX_FAULTS & USPI_LINUX_SIGNAL(number)) != 0 && number != SIGSYS;
    struct uspi_os_crash crash = {
        .signal = (uint32_t)number,
        .code = info->si_code,
        .has_address = is_fault && info->si_code > 0 && info->si_code != SI_KERNEL_CODE,
        .address = is_fault && info->si_code > 0 ? (usp_addr)(uintptr_t)info->si_addr : 0,
        .sender = info->si_code <= 0 ? (int64_t)info->si_pid : 0,
        .thread = (uint64_t)uspi_linux->own_thread(),
        .ucontext = context,
    };
    if (uspi_linux->own_name(crash.name) < 0) crash.name[0] = '\0';
    c->hooks.record(c->hooks.context, &crash, uspi_os_clock() + c->hooks.timeout);
}

/* The earlier handler has returned: it has repaired the fault, or restored the signal's action so that the fault ends
 * the process, or done neither. The last case shows when the fault repeats: then it is recorded, and the earlier handler
 * is not called again. */
static void after_earlier(struct uspi_crash_signals *c, int number, const siginfo_t *info, void *context,
                          const struct position *before) {
    if (!is_still_ours(number)) {
        end_process(number, info, context);
        return;
    }
    /* glibc's abort ends the process after a handler has returned. If nothing ends it, the report is removed at the
     * process's clean end. */
    if (number != SIGABRT) {
        c->hooks.retract(c->hooks.context);
        if (info->si_code > 0) c->retracted = *before;
    }
    atomic_store(&c->stage, STAGE_NONE);
    atomic_store(&c->recorder, 0);
}

static bool is_on(const stack_t *stack, uintptr_t sp) { return sp - (uintptr_t)stack->ss_sp < stack->ss_size; }

static void take_crash(struct uspi_crash_signals *c, int number, siginfo_t *info, void *context) {
    struct earlier *earlier = earlier_of(c, number);
    const struct position at = position_of(info, context);
    const bool is_repeated = info->si_code > 0 && is_same_position(&at, &c->retracted);
    c->first = number;
    c->first_info = *info;
    c->handler_at = (uintptr_t)__builtin_frame_address(0);
    if (uspi_linux->set_stack(NULL, &c->stack) < 0 || !is_on(&c->stack, c->handler_at)) c->stack.ss_size = 0;
    memset(&c->retracted, 0, sizeof c->retracted);
    atomic_store(&c->stage, STAGE_RECORDING);
    begin_timer(c);
    set_timer(c, c->hooks.timeout + SECOND / 2);
    record(c, number, info, context);
    set_timer(c, c->hooks.timeout);
    c->hooks.tell(c->hooks.context);
    end_timer(c);
    atomic_store(&c->stage, STAGE_PASSING_ON);
    if (is_repeated || !uspi_is_handler(&earlier->action) || atomic_load(&earlier->is_gone)) {
        end_process(number, info, context);
        return;
    }
    call_earlier(c, earlier, number, info, context);
    after_earlier(c, number, info, context, &at);
}

/* ---- the recording thread has left its handler ---- */

/* Whether the recording thread is still in its handler, or in the earlier handler that it called, and has not left by
 * longjmp.
 *   sp         its stack pointer outside of our code; 0: not known
 *   is_masked  whether it blocks the signal of its crash */
static bool is_in_handler(const struct uspi_crash_signals *c, uintptr_t sp, bool is_masked) {
    /* The earlier handler began with the signal blocked. siglongjmp has restored the mask. */
    if (c->is_masked && !is_masked) return false;
    if (sp == 0) return true;
    if (c->stack.ss_size != 0) return is_on(&c->stack, sp);
    return sp < c->handler_at;
}

/* The same of another thread. */
static bool has_left(const struct uspi_crash_signals *c, pid_t recorder) {
    struct uspi_proc_stat stat;
    if (recorder <= 0) return false;
    if (uspi_linux->probe_thread(uspi_linux->own_process(), recorder) == -ESRCH) return true;
    if (atomic_load(&c->stage) != STAGE_PASSING_ON || !c->is_masked) return false;
    return uspi_proc_stat(0, recorder, &stat) == 0 &&
           !is_in_handler(c, 0, (stat.blocked & USPI_LINUX_SIGNAL(c->first)) != 0);
}

/* A thread crashes in its own handler, or after an earlier handler has left by longjmp. Returns whether it is a new
 * crash. */
static bool is_new_crash(const struct uspi_crash_signals *c, const void *context) {
    const ucontext_t *interrupted = context;
    struct usp_registers registers;
    uintptr_t sp = 0;
    if (atomic_load(&c->stage) != STAGE_PASSING_ON) return false;
    if (uspi_os_context_registers(context, &registers) == USP_OK) sp = (uintptr_t)usp_registers_sp(&registers);
    return !is_in_handler(c, sp, sigismember(&interrupted->uc_sigmask, c->first) == 1);
}

/* A thread crashes in its own handler. An earlier handler may do so on purpose, by another signal. */
static void end_in_handler(struct uspi_crash_signals *c, int number, siginfo_t *info, void *context) {
    if (atomic_load(&c->stage) == STAGE_PASSING_ON && number != c->first) {
        pass_on(c, number, info, context);
    } else {
        end_process(c->first, &c->first_info, context);
    }
}

/* Waits until the recording thread ends the process, or its earlier handler has repaired the fault. Returns whether this
 * thread now records. */
static bool wait_for_turn(struct uspi_crash_signals *c, pid_t self) {
    const uint64_t until = uspi_os_clock() + 2 * c->hooks.timeout + SECOND;
    pid_t recorder;
    do {
        recorder = 0;
        if (atomic_compare_exchange_strong(&c->recorder, &recorder, self)) return true;
        if (has_left(c, recorder)) break;
        uspi_linux->sleep(NAP);
    } while (uspi_os_clock() < until);
    /* The earlier report is whole. Its earlier handler has left by longjmp and so repaired the fault, or takes long. */
    const bool is_repaired = has_left(c, recorder);
    if (atomic_load(&c->stage) != STAGE_PASSING_ON || !atomic_compare_exchange_strong(&c->recorder, &recorder, self))
        return false;
    if (is_repaired) c->hooks.retract(c->hooks.context);
    return true;
}

static void handle(struct uspi_crash_signals *c, int number, siginfo_t *info, void *context) {
    const pid_t process = uspi_linux->own_process(), self = uspi_linux->own_thread();
    pid_t recorder = 0;
    if (atomic_load(&c->process) != process) {
        pass_on(c, number, info, context);
        return;
    }
    if (!atomic_compare_exchange_strong(&c->recorder, &recorder, self)) {
        if (recorder == self && !is_new_crash(c, context)) {
            end_in_handler(c, number, info, context);
            return;
        }
        /* A handler that has left by longjmp has repaired the fault. */
        if (recorder == self) c->hooks.retract(c->hooks.context);
        if (recorder != self && !wait_for_turn(c, self)) {
            end_process(number, info, context);
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

static void on_crash(int number, siginfo_t *info, void *context) {
    const int kept = errno;
    struct uspi_crash_signals *c = atomic_load(&uspi_capturing.crash);
    handle(c, number, info, context);
    errno = kept;
}

/* ---- installing ---- */

static int install_handlers(struct uspi_crash_signals *c) {
    struct sigaction action = {.sa_sigaction = on_crash};
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++) {
        struct sigaction before;
        struct earlier *earlier = &c->earlier[i];
        if (uspi_linux->set_action(signals[i], NULL, &before) < 0) return USP_ERROR_SYSTEM;
        const bool is_ignored = before.sa_handler == SIG_IGN;
        const bool is_ours = (before.sa_flags & (int)SA_SIGINFO) != 0 && before.sa_sigaction == on_crash;
        if (is_ignored || is_ours) continue;
        /* A system call that the signal interrupts continues as the earlier handler wants it. Without one the thread
         * does not go on, and its registers show the call, with a lock that it waits for. */
        const int restarts = uspi_is_handler(&before) ? before.sa_flags & (int)SA_RESTART : (int)SA_RESTART;
        action.sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_NODEFER) | restarts;
        /* A handler that was installed after ours, and calls ours, would be called by ours in turn. */
        if (!earlier->is_ours) {
            earlier->action = before;
            atomic_store(&earlier->is_gone, false);
        }
        if (uspi_linux->set_action(signals[i], &action, NULL) < 0) return USP_ERROR_SYSTEM;
        earlier->is_ours = true;
    }
    return USP_OK;
}

/* Reserves the request that holds the other threads. Without one, their stacks are missing. */
static int take_request(size_t max_threads) {
    const int place = uspi_request_take(1);
    if (place < 0) return place;
    if (!uspi_request_replace(place, max_threads, 1)) {
        uspi_request_give(place, false);
        return USP_ERROR_NO_MEMORY;
    }
    atomic_store(&uspi_capturing.crash_place, place);
    return USP_OK;
}

int uspi_os_crash_install(const struct uspi_os_crash_hooks *hooks) {
    struct uspi_crash_signals *c = atomic_load(&uspi_capturing.crash);
    if (c == NULL) {
        c = uspi_linux->map(sizeof *c, false);
        if (c == NULL) return USP_ERROR_NO_MEMORY;
        struct uspi_crash_signals *none = NULL;
        if (!atomic_compare_exchange_strong(&uspi_capturing.crash, &none, c)) {
            uspi_linux->unmap(c, sizeof *c);
            return USP_ERROR_BUSY;
        }
    }
    if (atomic_load(&c->process) == uspi_linux->own_process()) return USP_ERROR_BUSY;
    int status = atomic_load(&uspi_capturing.crash_place) != 0 ? USP_OK : take_request(hooks->max_threads);
    if (status == USP_OK) status = uspi_os_crash_thread_begin();
    if (status != USP_OK) return status;
    c->hooks = *hooks;
    atomic_store(&c->stage, STAGE_NONE);
    atomic_store(&c->recorder, 0);
    /* From here on a crash is recorded. */
    atomic_store(&c->process, uspi_linux->own_process());
    status = install_handlers(c);
    if (status != USP_OK) uspi_os_crash_uninstall();
    return status;
}

/* A destructor, and not atexit: a library that was unloaded must not be called. */
__attribute__((destructor)) static void end_with_process(void) {
    struct uspi_crash_signals *c = atomic_load(&uspi_capturing.crash);
    if (c != NULL && atomic_load(&c->process) == uspi_linux->own_process()) c->hooks.end(c->hooks.context);
}

static uint64_t own_mask(void) {
    const uint64_t none = 0;
    uint64_t mask = 0;
    return uspi_linux->set_mask(SIG_BLOCK, &none, &mask) >= 0 ? mask : UINT64_MAX;
}

/* Keeps crashes from being recorded. Waits while another thread records one, which then ends the process. Returns false
 * when an earlier handler runs: it may end the process. */
static bool begin_end(struct uspi_crash_signals *c) {
    const uint64_t until = uspi_os_clock() + 2 * c->hooks.timeout + SECOND;
    const pid_t self = uspi_linux->own_thread();
    pid_t recorder;
    do {
        recorder = 0;
        if (atomic_compare_exchange_strong(&c->recorder, &recorder, ENDING)) return true;
        if (recorder == self || atomic_load(&c->stage) == STAGE_PASSING_ON) break;
        uspi_linux->sleep(NAP);
    } while (uspi_os_clock() < until);
    const bool is_over = recorder == self ? !is_in_handler(c, (uintptr_t)__builtin_frame_address(0),
                                                           (own_mask() & USPI_LINUX_SIGNAL(c->first)) != 0)
                                          : has_left(c, recorder);
    return is_over && atomic_compare_exchange_strong(&c->recorder, &recorder, ENDING);
}

void uspi_os_crash_uninstall(void) {
    struct uspi_crash_signals *c = atomic_load(&uspi_capturing.crash);
    if (c == NULL || atomic_load(&c->process) != uspi_linux->own_process() || !begin_end(c)) return;
    atomic_store(&c->process, 0);
    for (size_t i = 0; i < SIGNALS; i++) {
        struct earlier *earlier = &c->earlier[i];
        if (!earlier->is_ours || !is_still_ours(signals[i])) continue;
        uspi_linux->set_action(signals[i], &earlier->action, NULL);
        earlier->is_ours = false;
    }
    const int place = atomic_exchange(&uspi_capturing.crash_place, 0);
    if (place != 0) {
        uspi_request_drop(place);
        uspi_request_give(place, false);
    }
    atomic_store(&c->stage, STAGE_NONE);
    atomic_store(&c->recorder, 0);
}

void *uspi_os_crash_context(void) {
    const struct uspi_crash_signals *c = atomic_load(&uspi_capturing.crash);
    return c != NULL && atomic_load(&c->process) == uspi_linux->own_process() ? c->hooks.context : NULL;
}

/* ---- alternate stacks ---- */

static size_t stack_size(void) {
    const size_t frame = (size_t)getauxval(AT_MINSIGSTKSZ), page = (size_t)getauxval(AT_PAGESZ);
    return (STACK_SIZE + frame + page - 1) / page * page;
}

int uspi_os_crash_thread_begin(void) {
    stack_t now;
    const size_t size = stack_size();
    if (uspi_linux->set_stack(NULL, &now) < 0) return USP_ERROR_SYSTEM;
    if ((now.ss_flags & (int)SS_DISABLE) == 0 && now.ss_size >= STACK_LEAST) return USP_OK;
    uint8_t *room = uspi_linux->map(STACK_GUARD + size, false);
    if (room == NULL) return USP_ERROR_NO_MEMORY;
    const stack_t stack = {.ss_sp = room + STACK_GUARD, .ss_size = size};
    memcpy(stack.ss_sp, &(uint64_t){STACK_MARK}, sizeof(uint64_t));
    /* Without the guard the stack still works. */
    (void)mprotect(room, STACK_GUARD, PROT_NONE);
    if (uspi_linux->set_stack(&stack, NULL) >= 0) return USP_OK;
    uspi_linux->unmap(room, STACK_GUARD + size);
    return USP_ERROR_SYSTEM;
}

void uspi_os_crash_thread_end(void) {
    stack_t now;
    uint64_t mark;
    const stack_t none = {.ss_flags = SS_DISABLE};
    const size_t size = stack_size();
    if (uspi_linux->set_stack(NULL, &now) < 0 || now.ss_size != size) return;
    memcpy(&mark, now.ss_sp, sizeof mark);
    if (mark != STACK_MARK || uspi_linux->set_stack(&none, NULL) < 0) return;
    uspi_linux->unmap((uint8_t *)now.ss_sp - STACK_GUARD, STACK_GUARD + size);
}

#endif
