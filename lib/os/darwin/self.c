/* SPDX-License-Identifier: MIT */
/* The calling thread on Apple systems: the bounds of its stack, safe reads of this process's memory, signature bits,
 * the clock. threads.c and window.c have other threads. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/capturing.h"

#include "arch/host.h"

#include <mach/mach_time.h>
#include <signal.h>
#include <sys/sysctl.h>
#include <sys/time.h>

/* The slot of the current Swift task in a thread's thread-specific data (Swift stdlib/public/Concurrency,
 * SWIFT_CONCURRENCY's thread-local key; Libc gen/thread_stack_async_pcs.c). */
#define SWIFT_TASK_SLOT 103u
/* Offset of the id in a Swift task: after four pointers and four bytes (Libc gen/thread_stack_async_pcs.c). */
#define TASK_ID_AT (4 * sizeof(uintptr_t) + 4)

/* xnu bsd/sys/_types/_ucontext.h */
_Static_assert(offsetof(ucontext_t, uc_mcontext) == (sizeof(void *) == 8 ? 48 : 28), "a ucontext as xnu lays it out");

uint32_t uspi_os_kind(void) { return USP_OS_DARWIN; }

/* ---- the stack ---- */

/* Returns the bounds that libpthread keeps for the calling thread. It reads the thread's own data and does not take its
 * list's lock (libpthread src/pthread.c). Old systems may report the main thread's size too small. Deeper addresses
 * then count as another stack, and are read with checks. */
static struct uspi_own_stack own_bounds(void) {
    pthread_t self = pthread_self();
    uintptr_t high = (uintptr_t)pthread_get_stackaddr_np(self);
    size_t size = pthread_get_stacksize_np(self);
    struct uspi_own_stack own = {size < high ? high - size : 0, high};
    return own;
}

#if defined(__APPLE__)
struct uspi_own_stack uspi_os_own_stack(void) { return own_bounds(); }

bool uspi_os_learn_in_passing(uintptr_t sp) {
    (void)sp;
    return false;
}
#else
bool uspi_os_learn_in_passing(uintptr_t sp) {
    uintptr_t high;
    if (uspi_own_stack.high == 0) uspi_own_stack = own_bounds();
    return uspi_on_known_stack(sp, &high);
}
#endif

bool uspi_os_has_stack(uintptr_t sp, size_t n) {
    const struct uspi_own_stack own = uspi_os_own_stack();
    return sp - own.low < own.high - own.low && sp - own.low >= n;
}

int uspi_os_learn_thread(void) {
    uintptr_t high;
    return uspi_os_stack(uspi_host_sp(), &high) ? USP_OK : USP_ERROR_UNSUPPORTED;
}

/* ---- memory ---- */

bool uspi_os_can_read(uintptr_t address) {
    uint8_t byte;
    return uspi_darwin_read(mach_task_self(), address, &byte, 1) == USP_OK;
}

int uspi_os_read(void *context, usp_addr from, void *to, size_t n) {
    (void)context;
    return uspi_darwin_read(mach_task_self(), from, to, n);
}

int uspi_os_read_pieces(const usp_addr *from, size_t count, void *to, size_t size) {
    int status = USP_OK;
    for (size_t i = 0; i < count && status == USP_OK; i++) {
        status = uspi_darwin_read(mach_task_self(), from[i], (uint8_t *)to + i * size, size);
    }
    return status;
}

/* ---- registers, signatures ---- */

int uspi_os_context_registers(const void *ucontext, struct usp_registers *registers) {
    const ucontext_t *context = ucontext;
    return usp_registers_from_state(registers, USPI_HOST_ARCH, USP_THREAD_STATE_DARWIN_MCONTEXT, context->uc_mcontext,
                                    SIZE_MAX);
}

static uint64_t own_handle(void) {
    struct thread_identifier_info ids;
    mach_msg_type_number_t count = THREAD_IDENTIFIER_INFO_COUNT;
    thread_act_t self = pthread_mach_thread_np(pthread_self());
    if (thread_info(self, THREAD_IDENTIFIER_INFO, (thread_info_t)&ids, &count) != KERN_SUCCESS) return 0;
    return ids.thread_handle;
}

void uspi_darwin_try_slots(void) {
    uintptr_t first = 0;
    uint64_t handle = own_handle();
    bool holds =
        handle != 0 && uspi_os_read(NULL, handle, &first, sizeof first) == USP_OK && first == (uintptr_t)pthread_self();
    atomic_store(&uspi_darwin_capturing.slots_are_known, holds);
}

usp_addr uspi_darwin_slots(uint64_t handle) { return atomic_load(&uspi_darwin_capturing.slots_are_known) ? handle : 0; }

usp_addr uspi_darwin_swift_slot(usp_addr slots) {
    return USPI_HOST_ASYNC && slots != 0 ? slots + SWIFT_TASK_SLOT * sizeof(uintptr_t) : 0;
}

static usp_addr own_swift_slot(void) {
    return atomic_load(&uspi_darwin_capturing.slots_are_known) ? uspi_darwin_swift_slot(own_handle()) : 0;
}

void uspi_os_describe_self(struct usp_target *target) {
    target->os = USP_OS_DARWIN;
    target->pac_mask = uspi_host_signature_bits();
    target->swift_task_slot = own_swift_slot();
}

bool uspi_os_swift_task(uint32_t *id) {
    uintptr_t task = 0;
    usp_addr slot = own_swift_slot();
    *id = 0;
    if (slot == 0 || uspi_os_read(NULL, slot, &task, sizeof task) != USP_OK) return true;
    return task != 0 && uspi_os_read(NULL, task + TASK_ID_AT, id, sizeof *id) == USP_OK && *id != 0;
}

bool uspi_darwin_is_translated(void) {
    int answer = atomic_load(&uspi_darwin_capturing.translated);
    if (answer == 0) {
        int translated = 0;
        size_t size = sizeof translated;
        /* Systems without Rosetta do not have this name. */
        if (sysctlbyname("sysctl.proc_translated", &translated, &size, NULL, 0) != 0) translated = 0;
        answer = translated == 1 ? 2 : 1;
        atomic_store(&uspi_darwin_capturing.translated, answer);
    }
    return answer == 2;
}

/* ---- the clock ---- */

uint64_t uspi_os_clock(void) {
    mach_timebase_info_data_t base;
    uint64_t ticks = mach_absolute_time();
    if (mach_timebase_info(&base) != KERN_SUCCESS || base.denom == 0) return ticks;
    /* Quotient and remainder are multiplied separately, so that the product does not overflow. */
    return ticks / base.denom * base.numer + ticks % base.denom * base.numer / base.denom;
}

/* Not timespec_get, which iOS has only since 13. */
uint64_t uspi_os_wall_clock(void) {
    struct timeval now;
    if (gettimeofday(&now, NULL) != 0) return 0;
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_usec * 1000u;
}

uint32_t uspi_os_thread_roots(usp_addr roots[USPI_THREAD_ROOTS]) {
    (void)roots;
    return 0;
}

usp_addr uspi_os_first_stack_top(void) { return 0; }

#endif
