/* SPDX-License-Identifier: MIT */
/* The part of the crash kit's signal handlers that is Apple's own (lib/os/posix/crash.h): the kernel's threads, alternate
 * stacks, and the end of the process. Not compiled on watchOS, where threads cannot be stopped.
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

#include "lib/object/bytes.h"
#include "lib/object/macho.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* Sleep in ns of a thread that crashed while another one records. */
#define NAP UINT64_C(5000000)
/* Time in ns in which a fault repeats, if it is one. */
#define REPEATS UINT64_C(100000000)
/* Bytes of an alternate stack, and the least that a program's own must have (MINSIGSTKSZ). */
#define STACK_SIZE  ((size_t)128 << 10)
#define STACK_LEAST ((size_t)32 << 10)
/* si_code of a signal that was sent. */
#define SENT 0x10000
/* Number of signals that a sigset_t holds. */
#define SET_SIGNALS 31

static struct uspi_darwin_crash *state(struct uspi_posix_crash *c) { return (struct uspi_darwin_crash *)c; }

static struct uspi_posix_crash *make(void) { return uspi_darwin_map(sizeof(struct uspi_darwin_crash)); }

static void discard(struct uspi_posix_crash *c) { uspi_darwin_unmap(c, sizeof(struct uspi_darwin_crash)); }

/* ---- system calls ---- */

static int64_t own_process(void) { return getpid(); }

static uint64_t own_thread(void) { return uspi_darwin_own_thread(); }

static bool set_action(int number, const struct sigaction *action, struct sigaction *old) {
    return sigaction(number, action, old) == 0;
}

static bool set_mask(int how, uint64_t mask, uint64_t *old) {
    sigset_t set, before;
    sigemptyset(&set);
    for (int i = 1; i <= SET_SIGNALS; i++) {
        if ((mask >> (i - 1) & 1) != 0) sigaddset(&set, i);
    }
    if (pthread_sigmask(how, &set, &before) != 0) return false;
    if (old == NULL) return true;
    *old = 0;
    for (int i = 1; i <= SET_SIGNALS; i++) *old |= sigismember(&before, i) == 1 ? UINT64_C(1) << (i - 1) : 0;
    return true;
}

static bool own_stack(uintptr_t *low, size_t *size) {
#if TARGET_OS_TV
    (void)low;
    (void)size;
    return false;
#else
    stack_t now;
    if (sigaltstack(NULL, &now) != 0 || (now.ss_flags & SS_DISABLE) != 0) return false;
    *low = (uintptr_t)now.ss_sp;
    *size = now.ss_size;
    return true;
#endif
}

static void nap(struct uspi_posix_crash *c) {
    const mach_timespec_t nap = {0, (int)NAP};
    (void)semaphore_timedwait(state(c)->nap, nap);
}

static bool blocks(int number) {
    uint64_t mask;
    return set_mask(SIG_BLOCK, 0, &mask) && (mask >> (number - 1) & 1) != 0;
}

static bool has_left(const struct uspi_posix_crash *c, uint64_t recorder) {
    const thread_act_t port = ((const struct uspi_darwin_crash *)c)->first_port;
    struct usp_registers registers;
    uint64_t id;
    if (atomic_load(&c->stage) != USPI_POSIX_CRASH_PASSING_ON) return false;
    /* The thread has ended, and its name may be another one's. */
    if (!uspi_darwin_identify(port, &id) || id != recorder) return true;
    if (uspi_darwin_registers(port, &registers) != USP_OK) return false;
    /* Another thread's mask is not known. */
    return !uspi_posix_crash_is_in_handler(c, (uintptr_t)usp_registers_sp(&registers), true);
}

/* ---- the end ---- */

static bool is_fault(int number) {
    return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE;
}

/* Whether the signal may be a fault of the processor. */
static bool may_repeat(int number, const siginfo_t *info) {
    return is_fault(number) && info->si_code > 0 && info->si_code < SENT;
}

static void end(struct uspi_posix_crash *c, int number, const siginfo_t *info, void *context) {
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    ucontext_t *interrupted = context;
    sigset_t only;
    (void)sigaction(number, &standard, NULL);
    /* An earlier handler that crashes itself blocks the signal. */
    sigdelset(&interrupted->uc_sigmask, number);
    if (may_repeat(number, info)) {
        sigdelset(&interrupted->uc_sigmask, SIGALRM);
        c->first = number;
        state(c)->first_thread = pthread_self();
        uspi_posix_crash_begin_timer(c);
        uspi_posix_crash_set_timer(c, REPEATS);
        return;
    }
    sigemptyset(&only);
    sigaddset(&only, number);
    (void)pthread_sigmask(SIG_BLOCK, &only, NULL);
    (void)pthread_kill(pthread_self(), number);
}

/* The instruction that crashed in the handler repeats, and not the first one. */
static void end_in_handler(struct uspi_posix_crash *c, int number, const siginfo_t *info, void *context) {
    end(c, number, info, context);
}

static void end_late(struct uspi_posix_crash *c) {
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    (void)sigaction(c->first, &standard, NULL);
    (void)pthread_kill(state(c)->first_thread, c->first);
}

/* ---- a crash ---- */

static void record(struct uspi_posix_crash *c, int number, const siginfo_t *info, const void *context) {
    struct usp_thread_info about;
    struct uspi_darwin_thread_data place;
    const bool repeats = may_repeat(number, info);
    struct uspi_os_crash crash = {
        .signal = (uint32_t)number,
        .code = info->si_code,
        .has_address = repeats,
        .address = repeats ? (usp_addr)(uintptr_t)info->si_addr : 0,
        .sender = info->si_code == SENT + 1 ? (int64_t)info->si_pid : 0,
        .thread = uspi_darwin_own_thread(),
        .ucontext = context,
    };
    state(c)->first_thread = pthread_self();
    state(c)->first_id = crash.thread;
    /* libpthread owns this right. */
    state(c)->first_port = pthread_mach_thread_np(pthread_self());
    if (uspi_darwin_describe(mach_task_self(), state(c)->first_port, 0, &about, &place)) crash.info = &about;
    c->hooks.record(c->hooks.context, &crash, uspi_os_clock() + c->hooks.timeout);
    /* The other threads were stopped until now: none of them could take an alarm. */
    uspi_posix_crash_begin_timer(c);
}

/* ---- installing ---- */

/* Reserves what the first crash needs. The memory of a parent that forked is this process's, its ports are not. */
static int reserve_for(struct uspi_darwin_crash *c, size_t max_threads) {
    c->exceptions = MACH_PORT_NULL;
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

static int reserve(struct uspi_posix_crash *c, size_t max_threads) {
    const int status = uspi_os_crash_thread_begin();
    /* tvOS has no alternate stacks. */
    return status == USP_OK || status == USP_ERROR_UNSUPPORTED ? reserve_for(state(c), max_threads) : status;
}

static void release(struct uspi_posix_crash *c) {
    uspi_darwin_exceptions_end(state(c));
    (void)semaphore_destroy(mach_task_self(), state(c)->nap);
}

/* The program stays. A library or bundle that the program may unload is kept. */
static bool keep_code(void) {
    Dl_info info;
    if (dladdr((const void *)(uintptr_t)make, &info) == 0) return false;
    const uint8_t *header = info.dli_fbase; /* struct mach_header: magic, cputype, cpusubtype, filetype */
    if (uspi_le32(header + 12) == USPI_MH_EXECUTE) return true;
    return dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
}

static void on_signal(int number, siginfo_t *info, void *context) {
    uspi_posix_crash_handle(atomic_load(&uspi_darwin_capturing.crash), number, info, context);
}

static void on_alarm(int number) {
    (void)number;
    uspi_posix_crash_alarm(atomic_load(&uspi_darwin_capturing.crash));
}

static const struct uspi_posix_crash_system crash_system = {
    .on_signal = on_signal,
    .on_alarm = on_alarm,
    .make = make,
    .discard = discard,
    .reserve = reserve,
    .release = release,
    .keep_code = keep_code,
    .own_process = own_process,
    .own_thread = own_thread,
    .set_action = set_action,
    .set_mask = set_mask,
    .own_stack = own_stack,
    .nap = nap,
    .blocks = blocks,
    .has_left = has_left,
    .may_repeat = may_repeat,
    .record = record,
    .end = end,
    .end_in_handler = end_in_handler,
    .end_late = end_late,
};

int uspi_os_crash_install(const struct uspi_os_crash_hooks *hooks) {
    const int status = uspi_posix_crash_install(&uspi_darwin_capturing.crash, &crash_system, hooks);
    if (status != USP_OK) return status;
    /* Without exceptions there are still the signals. */
    struct uspi_darwin_crash *c = state(atomic_load(&uspi_darwin_capturing.crash));
    c->exceptions_status = uspi_darwin_exceptions_begin(c);
    return USP_OK;
}

int uspi_os_crash_status(void) {
    struct uspi_posix_crash *c = atomic_load(&uspi_darwin_capturing.crash);
    return uspi_posix_crash_is_installed(c) ? state(c)->exceptions_status : USP_ERROR_NOT_PREPARED;
}

bool uspi_os_crash_pause(void) { return uspi_posix_crash_pause(atomic_load(&uspi_darwin_capturing.crash)); }

void uspi_os_crash_resume(void) { uspi_posix_crash_resume(atomic_load(&uspi_darwin_capturing.crash)); }

void uspi_os_crash_uninstall(void) { uspi_posix_crash_uninstall(atomic_load(&uspi_darwin_capturing.crash)); }

void *uspi_os_crash_context(void) {
    const struct uspi_posix_crash *c = atomic_load(&uspi_darwin_capturing.crash);
    return uspi_posix_crash_is_installed(c) ? c->hooks.context : NULL;
}

/* A destructor, and not atexit: a library that was unloaded must not be called. */
__attribute__((destructor)) static void end_with_process(void) {
    uspi_posix_crash_end_with_process(atomic_load(&uspi_darwin_capturing.crash));
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
    memcpy(stack.ss_sp, &(uint64_t){USPI_POSIX_CRASH_STACK_MARK}, sizeof(uint64_t));
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
    if (mark != USPI_POSIX_CRASH_STACK_MARK || sigaltstack(&none, NULL) != 0) return;
    uspi_darwin_unmap(now.ss_sp, STACK_SIZE);
}

#endif

#endif

#endif
