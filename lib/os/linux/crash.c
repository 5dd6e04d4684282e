/* SPDX-License-Identifier: MIT */
/* The part of the crash kit's signal handlers that is Linux's own (lib/os/posix/crash.h): system calls, the request that
 * holds the other threads, alternate stacks, and the end of the process.
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
#include "lib/os/posix/crash.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ 51
#endif

/* Sleep in ns of a thread that crashed while another one records. */
#define NAP UINT64_C(5000000)
/* Bytes of an alternate stack in addition to the kernel's frame, and the least that a program's own must have. */
#define STACK_SIZE     ((size_t)64 << 10)
#define STACK_LEAST    ((size_t)32 << 10)
#define STACK_GUARD    ((size_t)64 << 10)
#define SI_KERNEL_CODE 0x80

static struct uspi_posix_crash *make(void) { return uspi_linux->map(sizeof(struct uspi_posix_crash), false); }

static void discard(struct uspi_posix_crash *c) { uspi_linux->unmap(c, sizeof *c); }

/* ---- system calls ---- */

static int64_t own_process(void) { return uspi_linux->own_process(); }

static uint64_t own_thread(void) { return (uint64_t)uspi_linux->own_thread(); }

static bool set_action(int number, const struct sigaction *action, struct sigaction *old) {
    return uspi_linux->set_action(number, action, old) >= 0;
}

static bool set_mask(int how, uint64_t mask, uint64_t *old) { return uspi_linux->set_mask(how, &mask, old) >= 0; }

static bool own_stack(uintptr_t *low, size_t *size) {
    stack_t now;
    if (uspi_linux->set_stack(NULL, &now) < 0 || now.ss_size == 0) return false;
    *low = (uintptr_t)now.ss_sp;
    *size = now.ss_size;
    return true;
}

static void nap(struct uspi_posix_crash *c) {
    (void)c;
    uspi_linux->sleep(NAP);
}

static bool thread_blocks(pid_t thread, int number, bool otherwise) {
    struct uspi_proc_stat stat;
    if (uspi_proc_stat(0, thread, &stat) != 0) return otherwise;
    return (stat.blocked & USPI_LINUX_SIGNAL(number)) != 0;
}

/* Asks /proc: an emulator's mask is not the system's. */
static bool blocks(int number) { return thread_blocks(uspi_linux->own_thread(), number, false); }

static bool has_left(const struct uspi_posix_crash *c, uint64_t recorder) {
    if (uspi_linux->probe_thread(uspi_linux->own_process(), (pid_t)recorder) == -ESRCH) return true;
    if (atomic_load(&c->stage) != USPI_POSIX_CRASH_PASSING_ON || !c->is_masked) return false;
    return !uspi_posix_crash_is_in_handler(c, 0, thread_blocks((pid_t)recorder, c->first, true));
}

/* ---- the end ---- */

/* A sandbox refuses to restore the signal's action: the handler would run again, for ever. A fault whose signal is
 * blocked ends the process by that signal (Linux kernel/signal.c, force_sig_info_to_task). A signal that was sent does
 * not. */
static void end_with_our_action(int number, const siginfo_t *info, void *context) {
    const bool repeats = (USPI_LINUX_FAULTS & USPI_LINUX_SIGNAL(number)) != 0 && number != SIGSYS && number != SIGTRAP;
    sigaddset(&((ucontext_t *)context)->uc_sigmask, number);
    if (!repeats || info->si_code <= 0)
        uspi_linux->send_signal(uspi_linux->own_process(), uspi_linux->own_thread(), SIGKILL);
}

static void end(struct uspi_posix_crash *c, int number, const siginfo_t *info, void *context) {
    const uint64_t mask = USPI_LINUX_SIGNAL(number);
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    const pid_t process = uspi_linux->own_process(), self = uspi_linux->own_thread();
    (void)c;
    uspi_linux->set_mask(SIG_BLOCK, &mask, NULL);
    if (uspi_linux->set_action(number, &standard, NULL) < 0) {
        end_with_our_action(number, info, context);
        return;
    }
    /* An earlier handler that crashes itself blocks the signal. */
    sigdelset(&((ucontext_t *)context)->uc_sigmask, number);
    if (uspi_linux->queue_signal(process, self, number, info) >= 0) return;
    /* A fault of the processor repeats when the instruction does. */
    if (info->si_code <= 0 || info->si_code == SI_KERNEL_CODE) uspi_linux->send_signal(process, self, number);
}

static void end_in_handler(struct uspi_posix_crash *c, int number, const siginfo_t *info, void *context) {
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    if (uspi_linux->set_action(c->first, &standard, NULL) < 0) {
        end_with_our_action(number, info, context);
    } else {
        end(c, c->first, &c->first_info, context);
    }
}

static void end_late(struct uspi_posix_crash *c) {
    const struct sigaction standard = {.sa_handler = SIG_DFL};
    const pid_t process = uspi_linux->own_process(), recorder = (pid_t)atomic_load(&c->recorder);
    if (recorder == 0) return;
    if (uspi_linux->set_action(c->first, &standard, NULL) < 0) {
        uspi_linux->send_signal(process, recorder, SIGKILL);
        return;
    }
    if (uspi_linux->queue_signal(process, recorder, c->first, &c->first_info) < 0) {
        uspi_linux->send_signal(process, recorder, c->first);
    }
}

/* ---- a crash ---- */

static bool may_repeat(int number, const siginfo_t *info) {
    (void)number;
    return info->si_code > 0;
}

static void record(struct uspi_posix_crash *c, int number, const siginfo_t *info, const void *context) {
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
    uspi_posix_crash_begin_timer(c);
    uspi_posix_crash_set_timer(c, c->hooks.timeout + USPI_POSIX_CRASH_SECOND / 2);
    if (uspi_linux->own_name(crash.name) < 0) crash.name[0] = '\0';
    c->hooks.record(c->hooks.context, &crash, uspi_os_clock() + c->hooks.timeout);
}

/* ---- installing ---- */

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

static int reserve(struct uspi_posix_crash *c, size_t max_threads) {
    (void)c;
    const int status = atomic_load(&uspi_capturing.crash_place) != 0 ? USP_OK : take_request(max_threads);
    return status == USP_OK ? uspi_os_crash_thread_begin() : status;
}

static void release(struct uspi_posix_crash *c) {
    const int place = atomic_exchange(&uspi_capturing.crash_place, 0);
    (void)c;
    if (place == 0) return;
    uspi_request_drop(place);
    uspi_request_give(place, false);
}

/* The program, and the shared library (-z nodelete), stay. A library that the program may unload can contain the static
 * one. musl unloads no library. */
static bool keep_code(void) {
#ifdef __GLIBC__
    struct link_map *own = NULL;
    Dl_info info;
    if (dladdr1((const void *)(uintptr_t)make, &info, (void **)&own, RTLD_DL_LINKMAP) == 0 || own == NULL) return false;
    if (own->l_name[0] == '\0') return true;
    return dlopen(own->l_name, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE) != NULL;
#elif defined(__BIONIC__)
    return false;
#else
    return true;
#endif
}

static void on_signal(int number, siginfo_t *info, void *context) {
    uspi_posix_crash_handle(atomic_load(&uspi_capturing.crash), number, info, context);
}

static void on_alarm(int number) {
    (void)number;
    uspi_posix_crash_alarm(atomic_load(&uspi_capturing.crash));
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
    return uspi_posix_crash_install(&uspi_capturing.crash, &crash_system, hooks);
}

bool uspi_os_crash_pause(void) { return uspi_posix_crash_pause(atomic_load(&uspi_capturing.crash)); }

void uspi_os_crash_resume(void) { uspi_posix_crash_resume(atomic_load(&uspi_capturing.crash)); }

void uspi_os_crash_uninstall(void) { uspi_posix_crash_uninstall(atomic_load(&uspi_capturing.crash)); }

int uspi_os_crash_status(void) {
    return uspi_posix_crash_is_installed(atomic_load(&uspi_capturing.crash)) ? USP_OK : USP_ERROR_NOT_PREPARED;
}

void *uspi_os_crash_context(void) {
    const struct uspi_posix_crash *c = atomic_load(&uspi_capturing.crash);
    return uspi_posix_crash_is_installed(c) ? c->hooks.context : NULL;
}

/* A destructor, and not atexit: a library that was unloaded must not be called. */
__attribute__((destructor)) static void end_with_process(void) {
    uspi_posix_crash_end_with_process(atomic_load(&uspi_capturing.crash));
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
    memcpy(stack.ss_sp, &(uint64_t){USPI_POSIX_CRASH_STACK_MARK}, sizeof(uint64_t));
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
    if (mark != USPI_POSIX_CRASH_STACK_MARK || uspi_linux->set_stack(&none, NULL) < 0) return;
    uspi_linux->unmap((uint8_t *)now.ss_sp - STACK_GUARD, STACK_GUARD + size);
}

#endif
