/* SPDX-License-Identifier: MIT */
/* The signal handlers of the crash kit on Apple systems: decide which thread records the crash, call the handlers that
 * were installed before, and let the signal end the process as it would have ended without us. Not compiled on watchOS,
 * where threads cannot be stopped.
 *
 *     record the report │ callback │ earlier handler, if there is one │ restore the action, return
 *
 * The end: a fault repeats when the handler returns, and ends the process with its own cause. A signal that was sent is
 * sent again, blocked, so that it is delivered when the handler returns, at the interrupted instruction. For SIGBUS, and
 * on arm64 for SIGSEGV and SIGILL, siginfo does not tell these apart (xnu bsd/dev/arm/unix_signal.c, sendsig): if the
 * fault does not repeat, an alarm ends the process by the signal. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/crash.h"

#include <TargetConditionals.h>

#if !TARGET_OS_WATCH

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
/* Sleep in ns of a thread that crashed while another one records. */
#define NAP UINT64_C(5000000)
/* Time in ns in which a fault repeats, if it is one. */
#define REPEATS UINT64_C(100000000)
/* How much earlier than in ns a timer may end: setitimer counts in microseconds. */
#define TIMER_EARLY UINT64_C(1000000)
/* Bytes of an alternate stack, and the least that a program's own must have (MINSIGSTKSZ). */
#define STACK_SIZE  ((size_t)128 << 10)
#define STACK_LEAST ((size_t)32 << 10)
/* Marks the lowest word of a stack of ours. */
#define STACK_MARK UINT64_C(0x7573705f63726173)
/* In place of the recorder while the kit is being uninstalled. */
#define ENDING UINT64_MAX
/* si_code of a signal that was sent. */
#define SENT 0x10000

static const int signals[USPI_CRASH_SIGNALS] = {SIGSEGV, SIGBUS, SIGABRT, SIGTRAP, SIGILL, SIGFPE, SIGSYS, SIGEMT};

enum stage { STAGE_NONE = 0, STAGE_RECORDING, STAGE_PASSING_ON };

static struct uspi_darwin_earlier *earlier_of(struct uspi_darwin_crash *c, int number) {
    for (size_t i = 0; i < USPI_CRASH_SIGNALS; i++) {
        if (signals[i] == number) return &c->earlier[i];
    }
    return &c->earlier[0];
}

static bool is_handler(const struct sigaction *action) {
    return (action->sa_flags & SA_SIGINFO) != 0 || (action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN);
}

static bool is_fault(int number) {
    return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE;
}

/* Whether the signal may be a fault of the processor, which repeats. */
static bool may_repeat(int number, const siginfo_t *info) {
    return is_fault(number) && info->si_code > 0 && info->si_code < SENT;
}

/* ---- the timer ---- */

/* Ends a crash that takes too long, or a signal that is not a fault: any thread may run this. */
static void on_alarm(int number) {
    struct uspi_darwin_crash *c = atomic_load(&uspi_darwin_capturing.crash);
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    (void)number;
    if (c == NULL || c->alarm_from == UINT64_MAX) return;
    /* An alarm that was pending, or that another process has sent. */
    if (uspi_os_clock() < c->alarm_from) {
        c->is_alarm_missed = true;
        return;
    }
    (void)sigaction(c->first, &standard, NULL);
    (void)pthread_kill(c->first_thread, c->first);
}

static void set_timer(struct uspi_darwin_crash *c, uint64_t ns) {
    struct itimerval timer;
    memset(&timer, 0, sizeof timer);
    timer.it_value.tv_sec = (time_t)(ns / SECOND);
    timer.it_value.tv_usec = (int32_t)(ns % SECOND / 1000);
    c->alarm_from = uspi_os_clock() + ns - (ns < TIMER_EARLY ? ns : TIMER_EARLY);
    (void)setitimer(ITIMER_REAL, &timer, NULL);
}

static void begin_timer(struct uspi_darwin_crash *c, uint64_t ns) {
    struct sigaction action;
    struct itimerval none;
    sigset_t only;
    memset(&action, 0, sizeof action);
    memset(&none, 0, sizeof none);
    sigemptyset(&only);
    sigaddset(&only, SIGALRM);
    action.sa_handler = on_alarm;
    action.sa_flags = SA_ONSTACK | SA_NODEFER;
    c->alarm_from = UINT64_MAX;
    c->is_alarm_missed = false;
    (void)setitimer(ITIMER_REAL, &none, &c->timer);
    (void)sigaction(SIGALRM, &action, &c->alarm);
    set_timer(c, ns);
    /* The program may block it in all threads. */
    c->has_mask = pthread_sigmask(SIG_UNBLOCK, &only, &c->mask) == 0;
}

/* Gives the program its timer and its alarm back. */
static void end_timer(struct uspi_darwin_crash *c) {
    struct itimerval none;
    memset(&none, 0, sizeof none);
    (void)setitimer(ITIMER_REAL, &none, NULL);
    c->alarm_from = UINT64_MAX;
    /* The program's handler is not to run where the program blocks it. */
    if (c->has_mask) (void)pthread_sigmask(SIG_SETMASK, &c->mask, NULL);
    (void)sigaction(SIGALRM, &c->alarm, NULL);
    (void)setitimer(ITIMER_REAL, &c->timer, NULL);
    if (c->is_alarm_missed) (void)kill(getpid(), SIGALRM);
}

/* ---- the end ---- */

/* Makes the signal end the process when the handler returns. */
static void end_process(struct uspi_darwin_crash *c, int number, const siginfo_t *info, void *context) {
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    ucontext_t *interrupted = context;
    sigset_t only;
    (void)sigaction(number, &standard, NULL);
    /* An earlier handler that crashes itself blocks the signal. */
    sigdelset(&interrupted->uc_sigmask, number);
    if (may_repeat(number, info)) {
        sigdelset(&interrupted->uc_sigmask, SIGALRM);
        c->first = number;
        c->first_thread = pthread_self();
        begin_timer(c, REPEATS);
        return;
    }
    sigemptyset(&only);
    sigaddset(&only, number);
    (void)pthread_sigmask(SIG_BLOCK, &only, NULL);
    (void)pthread_kill(pthread_self(), number);
}

/* ---- the earlier handler ---- */

/* Calls a handler with the mask that the kernel would have set for it. */
static void call_earlier(struct uspi_darwin_earlier *earlier, int number, siginfo_t *info, void *context) {
    const struct sigaction *action = &earlier->action;
    sigset_t mask = action->sa_mask, before;
    if ((action->sa_flags & SA_NODEFER) == 0) sigaddset(&mask, number);
    if ((action->sa_flags & SA_RESETHAND) != 0) atomic_store(&earlier->is_gone, true);
    const bool is_masked = pthread_sigmask(SIG_BLOCK, &mask, &before) == 0;
    if ((action->sa_flags & SA_SIGINFO) != 0) {
        action->sa_sigaction(number, info, context);
    } else {
        action->sa_handler(number);
    }
    if (is_masked) (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static struct uspi_darwin_position position_of(const siginfo_t *info, const void *context) {
    struct usp_registers registers;
    struct uspi_darwin_position at = {.thread = uspi_darwin_own_thread(), .address = (uintptr_t)info->si_addr};
    if (uspi_os_context_registers(context, &registers) != USP_OK) return at;
    at.pc = usp_registers_pc(&registers);
    at.sp = usp_registers_sp(&registers);
    return at;
}

static bool is_same_position(const struct uspi_darwin_position *a, const struct uspi_darwin_position *b) {
    return a->thread == b->thread && a->pc == b->pc && a->sp == b->sp && a->address == b->address;
}

static void on_crash(int number, siginfo_t *info, void *context);

static bool is_still_ours(int number) {
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 && now.sa_sigaction == on_crash;
}

/* Passes the signal on when nothing is recorded. */
static void pass_on(struct uspi_darwin_crash *c, int number, siginfo_t *info, void *context) {
    struct uspi_darwin_earlier *earlier = earlier_of(c, number);
    if (is_handler(&earlier->action) && !atomic_load(&earlier->is_gone)) {
        call_earlier(earlier, number, info, context);
    } else {
        end_process(c, number, info, context);
    }
}

/* ---- a crash ---- */

static void record(struct uspi_darwin_crash *c, int number, const siginfo_t *info, const void *context) {
    struct usp_thread_info about;
    struct uspi_darwin_thread_data place;
    struct uspi_os_crash crash = {
        .signal = (uint32_t)number,
        .code = info->si_code,
        .has_address = may_repeat(number, info),
        .address = may_repeat(number, info) ? (usp_addr)(uintptr_t)info->si_addr : 0,
        .sender = info->si_code == SENT + 1 ? (int64_t)info->si_pid : 0,
        .thread = uspi_darwin_own_thread(),
        .ucontext = context,
    };
    /* libpthread owns this right. */
    const thread_act_t own = pthread_mach_thread_np(pthread_self());
    if (uspi_darwin_describe(mach_task_self(), own, 0, &about, &place)) crash.info = &about;
    c->hooks.record(c->hooks.context, &crash, uspi_os_clock() + c->hooks.timeout);
}

/* The earlier handler has returned: it has repaired the fault, or restored the signal's action so that the fault ends
 * the process, or done neither. The last case shows when the fault repeats: then it is recorded, and the earlier handler
 * is not called again. */
static void after_earlier(struct uspi_darwin_crash *c, int number, const siginfo_t *info, void *context,
                          const struct uspi_darwin_position *before) {
    if (!is_still_ours(number)) {
        end_process(c, number, info, context);
        return;
    }
    /* abort ends the process after a handler has returned. If nothing ends it, the report is removed at the process's
     * clean end. */
    if (number != SIGABRT) {
        c->hooks.retract(c->hooks.context);
        if (may_repeat(number, info)) c->retracted = *before;
    }
    atomic_store(&c->stage, STAGE_NONE);
    atomic_store(&c->recorder, 0);
}

/* Notes where the handler runs. */
static void note_handler(struct uspi_darwin_crash *c) {
    c->handler_at = (uintptr_t)__builtin_frame_address(0);
    c->stack_low = c->stack_high = 0;
#if !TARGET_OS_TV
    stack_t now;
    if (sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_DISABLE) != 0) return;
    const uintptr_t low = (uintptr_t)now.ss_sp;
    if (c->handler_at - low >= now.ss_size) return;
    c->stack_low = low;
    c->stack_high = low + now.ss_size;
#endif
}

static void take_crash(struct uspi_darwin_crash *c, int number, siginfo_t *info, void *context) {
    struct uspi_darwin_earlier *earlier = earlier_of(c, number);
    const struct uspi_darwin_position at = position_of(info, context);
    const bool is_repeated = may_repeat(number, info) && is_same_position(&at, &c->retracted);
    c->first = number;
    c->first_info = *info;
    c->first_thread = pthread_self();
    note_handler(c);
    memset(&c->retracted, 0, sizeof c->retracted);
    atomic_store(&c->stage, STAGE_RECORDING);
    /* The other threads are stopped meanwhile: none of them could take an alarm. */
    record(c, number, info, context);
    begin_timer(c, c->hooks.timeout);
    c->hooks.tell(c->hooks.context);
    end_timer(c);
    atomic_store(&c->stage, STAGE_PASSING_ON);
    if (is_repeated || !is_handler(&earlier->action) || atomic_load(&earlier->is_gone)) {
        end_process(c, number, info, context);
        return;
    }
    call_earlier(earlier, number, info, context);
    after_earlier(c, number, info, context, &at);
}

/* A thread crashes in its own handler, or after an earlier handler has left by longjmp. Returns whether it is a new
 * crash. */
static bool is_new_crash(const struct uspi_darwin_crash *c, const void *context) {
    struct usp_registers registers;
    if (atomic_load(&c->stage) != STAGE_PASSING_ON) return false;
    if (uspi_os_context_registers(context, &registers) != USP_OK) return false;
    const uintptr_t sp = (uintptr_t)usp_registers_sp(&registers);
    return c->stack_high != 0 ? sp - c->stack_low >= c->stack_high - c->stack_low : sp >= c->handler_at;
}

/* A thread crashes in its own handler. An earlier handler may do so on purpose, by another signal. */
static void end_in_handler(struct uspi_darwin_crash *c, int number, siginfo_t *info, void *context) {
    if (atomic_load(&c->stage) == STAGE_PASSING_ON && number != c->first) {
        pass_on(c, number, info, context);
    } else {
        end_process(c, number, info, context);
    }
}

static void sleep_a_little(const struct uspi_darwin_crash *c) {
    const mach_timespec_t nap = {0, (int)NAP};
    (void)semaphore_timedwait(c->nap, nap);
}

/* Waits until the recording thread ends the process, or its earlier handler has repaired the fault. Returns whether this
 * thread now records. */
static bool wait_for_turn(struct uspi_darwin_crash *c, uint64_t self) {
    const uint64_t until = uspi_os_clock() + 2 * c->hooks.timeout + SECOND;
    uint64_t recorder;
    do {
        recorder = 0;
        if (atomic_compare_exchange_strong(&c->recorder, &recorder, self)) return true;
        sleep_a_little(c);
    } while (uspi_os_clock() < until);
    /* The earlier report is whole. Its earlier handler takes long, or has left by longjmp. */
    return atomic_load(&c->stage) == STAGE_PASSING_ON && atomic_compare_exchange_strong(&c->recorder, &recorder, self);
}

static void handle(struct uspi_darwin_crash *c, int number, siginfo_t *info, void *context) {
    const uint64_t self = uspi_darwin_own_thread();
    const int64_t process = getpid();
    uint64_t recorder = 0;
    if (atomic_load(&c->process) != process || self == 0) {
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
            end_process(c, number, info, context);
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
    handle(atomic_load(&uspi_darwin_capturing.crash), number, info, context);
    errno = kept;
}

/* ---- installing ---- */

static int install_handlers(struct uspi_darwin_crash *c) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_crash;
    for (size_t i = 0; i < USPI_CRASH_SIGNALS; i++) {
        struct sigaction before;
        struct uspi_darwin_earlier *earlier = &c->earlier[i];
        if (sigaction(signals[i], NULL, &before) != 0) return USP_ERROR_SYSTEM;
        const bool has_info = (before.sa_flags & SA_SIGINFO) != 0;
        if ((!has_info && before.sa_handler == SIG_IGN) || (has_info && before.sa_sigaction == on_crash)) continue;
        const int restarts = is_handler(&before) ? before.sa_flags & SA_RESTART : SA_RESTART;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | restarts;
        /* A handler that was installed after ours, and calls ours, would be called by ours in turn. */
        if (!earlier->is_ours) {
            earlier->action = before;
            atomic_store(&earlier->is_gone, false);
        }
        if (sigaction(signals[i], &action, NULL) != 0) return USP_ERROR_SYSTEM;
        earlier->is_ours = true;
    }
    return USP_OK;
}

static struct uspi_darwin_crash *find_or_make(void) {
    struct uspi_darwin_crash *c = atomic_load(&uspi_darwin_capturing.crash), *none = NULL;
    if (c != NULL) return c;
    c = uspi_darwin_map(sizeof *c);
    if (c == NULL || atomic_compare_exchange_strong(&uspi_darwin_capturing.crash, &none, c)) return c;
    uspi_darwin_unmap(c, sizeof *c);
    return none;
}

/* Reserves what the first crash needs. The memory of a parent that forked is this process's, its ports are not. */
static int reserve(struct uspi_darwin_crash *c, size_t max_threads) {
    if (semaphore_create(mach_task_self(), &c->nap, SYNC_POLICY_FIFO, 0) != KERN_SUCCESS) return USP_ERROR_SYSTEM;
    if (max_threads > c->max_threads) {
        struct uspi_held *held = uspi_darwin_map(max_threads * sizeof *held);
        struct usp_thread_info *infos = uspi_darwin_map(max_threads * sizeof *infos);
        if (held == NULL || infos == NULL) {
            uspi_darwin_unmap(held, max_threads * sizeof *held);
            uspi_darwin_unmap(infos, max_threads * sizeof *infos);
            (void)semaphore_destroy(mach_task_self(), c->nap);
            return USP_ERROR_NO_MEMORY;
        }
        uspi_darwin_unmap(c->held, c->max_threads * sizeof *held);
        uspi_darwin_unmap(c->infos, c->max_threads * sizeof *infos);
        c->held = held;
        c->infos = infos;
        c->max_threads = max_threads;
    }
    return USP_OK;
}

int uspi_os_crash_install(const struct uspi_os_crash_hooks *hooks) {
    struct uspi_darwin_crash *c = find_or_make();
    if (c == NULL) return USP_ERROR_NO_MEMORY;
    if (atomic_load(&c->process) == getpid()) return USP_ERROR_BUSY;
    int status = uspi_os_crash_thread_begin();
    /* tvOS has no alternate stacks. */
    if (status == USP_OK || status == USP_ERROR_UNSUPPORTED) status = reserve(c, hooks->max_threads);
    if (status != USP_OK) return status;
    c->hooks = *hooks;
    c->alarm_from = UINT64_MAX;
    atomic_store(&c->stage, STAGE_NONE);
    atomic_store(&c->recorder, 0);
    /* From here on a crash is recorded. */
    atomic_store(&c->process, getpid());
    status = install_handlers(c);
    if (status != USP_OK) uspi_os_crash_uninstall();
    return status;
}

/* A destructor, and not atexit: a library that was unloaded must not be called. */
__attribute__((destructor)) static void end_with_process(void) {
    struct uspi_darwin_crash *c = atomic_load(&uspi_darwin_capturing.crash);
    if (c != NULL && atomic_load(&c->process) == getpid()) c->hooks.end(c->hooks.context);
}

/* Keeps crashes from being recorded. Waits while another thread records one, which then ends the process. Returns false
 * when an earlier handler runs: it may end the process. */
static bool begin_end(struct uspi_darwin_crash *c) {
    const uint64_t until = uspi_os_clock() + 2 * c->hooks.timeout + SECOND, self = uspi_darwin_own_thread();
    uint64_t recorder;
    do {
        recorder = 0;
        if (atomic_compare_exchange_strong(&c->recorder, &recorder, ENDING)) return true;
        if (recorder == self || atomic_load(&c->stage) == STAGE_PASSING_ON) break;
        sleep_a_little(c);
    } while (uspi_os_clock() < until);
    /* This thread is out of the handler if that has left by longjmp. */
    const uintptr_t sp = (uintptr_t)__builtin_frame_address(0);
    const bool is_out = c->stack_high != 0 ? sp - c->stack_low >= c->stack_high - c->stack_low : sp >= c->handler_at;
    return recorder == self && is_out && atomic_compare_exchange_strong(&c->recorder, &recorder, ENDING);
}

void uspi_os_crash_uninstall(void) {
    struct uspi_darwin_crash *c = atomic_load(&uspi_darwin_capturing.crash);
    if (c == NULL || atomic_load(&c->process) != getpid() || !begin_end(c)) return;
    atomic_store(&c->process, 0);
    for (size_t i = 0; i < USPI_CRASH_SIGNALS; i++) {
        struct uspi_darwin_earlier *earlier = &c->earlier[i];
        if (!earlier->is_ours || !is_still_ours(signals[i])) continue;
        (void)sigaction(signals[i], &earlier->action, NULL);
        earlier->is_ours = false;
    }
    (void)semaphore_destroy(mach_task_self(), c->nap);
    atomic_store(&c->stage, STAGE_NONE);
    atomic_store(&c->recorder, 0);
}

void *uspi_os_crash_context(void) {
    const struct uspi_darwin_crash *c = atomic_load(&uspi_darwin_capturing.crash);
    return c != NULL && atomic_load(&c->process) == getpid() ? c->hooks.context : NULL;
}

/* ---- alternate stacks ---- */

#if TARGET_OS_TV

int uspi_os_crash_thread_begin(void) { return USP_ERROR_UNSUPPORTED; }

void uspi_os_crash_thread_end(void) {}

#else

int uspi_os_crash_thread_begin(void) {
    stack_t now, stack;
    if (sigaltstack(NULL, &now) != 0) return USP_ERROR_SYSTEM;
    if ((now.ss_flags & SS_DISABLE) == 0 && now.ss_size >= STACK_LEAST) return USP_OK;
    memset(&stack, 0, sizeof stack);
    stack.ss_sp = uspi_darwin_map(STACK_SIZE);
    stack.ss_size = STACK_SIZE;
    if (stack.ss_sp == NULL) return USP_ERROR_NO_MEMORY;
    memcpy(stack.ss_sp, &(uint64_t){STACK_MARK}, sizeof(uint64_t));
    if (sigaltstack(&stack, NULL) == 0) return USP_OK;
    uspi_darwin_unmap(stack.ss_sp, STACK_SIZE);
    return USP_ERROR_SYSTEM;
}

void uspi_os_crash_thread_end(void) {
    stack_t now, none;
    uint64_t mark;
    memset(&none, 0, sizeof none);
    none.ss_flags = SS_DISABLE;
    none.ss_size = STACK_SIZE;
    if (sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_DISABLE) != 0 || now.ss_size != STACK_SIZE) return;
    memcpy(&mark, now.ss_sp, sizeof mark);
    if (mark != STACK_MARK || sigaltstack(&none, NULL) != 0) return;
    uspi_darwin_unmap(now.ss_sp, STACK_SIZE);
}

#endif

#endif

#endif
