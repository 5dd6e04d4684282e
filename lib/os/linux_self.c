/* SPDX-License-Identifier: MIT */
/* The calling thread on Linux: its stack's bounds, safe reads of this process's memory, the clock.
 * Other threads are linux_signal.c's, other processes linux_process.c's. */
#include "lib/os.h"

#include "arch/host.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096u
/* Pages that are probed to learn a stack in passing: 2 MB, some 50 µs once. */
#define PAGES_TO_LEARN 512u

_Thread_local __attribute__((tls_model("initial-exec"))) struct uspi_own_stack uspi_own_stack;

/* The top of the main thread's stack. */
static uintptr_t main_top;

__attribute__((constructor)) static void learn_main_stack(void) {
    /* The kernel puts the program's name above everything else on the main stack (fs/exec.c, fs/binfmt_elf.c). */
    main_top = (uintptr_t)getauxval(AT_EXECFN);
}

uint32_t uspi_os_kind(void) { return USP_OS_LINUX; }

bool uspi_os_can_read(uintptr_t address) {
    /* With an impossible `how` the kernel copies the set in before it looks: EFAULT says unreadable, EINVAL readable.
     * It reads 8 bytes. */
    int kept = errno;
    long r = syscall(SYS_rt_sigprocmask, ~0, address & ~(uintptr_t)7, NULL, 8);
    bool readable = r == 0 || errno != EFAULT;
    errno = kept;
    return readable;
}

static bool is_readable_to(uintptr_t from, uintptr_t to) {
    for (uintptr_t page = from & ~(uintptr_t)(PAGE - 1); page < to; page += PAGE) {
        if (!uspi_os_can_read(page)) return false;
    }
    return true;
}

/* The highest address that surely belongs to the calling thread's own stack: for the main thread what the kernel put
 * there, for others the thread's control block, which glibc and musl place at the top of its stack. */
static uintptr_t own_top(void) {
    return syscall(SYS_gettid) == getpid() ? main_top : (uintptr_t)pthread_self();
}

/* Between two addresses of one stack there is no unmapped page, and another stack in between would have its guard
 * page. */
bool uspi_os_learn_in_passing(uintptr_t sp) {
    uintptr_t high = own_top();
    if (sp >= high || high - sp > (uintptr_t)PAGES_TO_LEARN * PAGE) return false;
    uintptr_t from = uspi_own_stack.high == high && sp < uspi_own_stack.low ? uspi_own_stack.low : high;
    if (!is_readable_to(sp, from)) return false;
    uspi_own_stack.low = sp & ~(uintptr_t)(PAGE - 1);
    uspi_own_stack.high = high;
    return true;
}

int uspi_os_learn_thread(void) {
    uintptr_t high;
    if (uspi_os_stack(uspi_host_sp(), &high)) return USP_OK;
    pthread_attr_t attributes;
    void *low;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return USP_ERROR_SYSTEM;
    int failed = pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    if (failed != 0) return USP_ERROR_SYSTEM;
    if (uspi_host_sp() - (uintptr_t)low < size) {
        uspi_own_stack.low = (uintptr_t)low;
        uspi_own_stack.high = (uintptr_t)low + size;
    }
    return USP_OK;
}

/* Without the system call (seccomp, user-mode emulators): page by page, each probed before. */
USPI_NO_ASAN static int read_probed(uintptr_t from, uint8_t *to, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uintptr_t at = from + i;
        if ((i == 0 || (at & (PAGE - 1)) == 0) && !uspi_os_can_read(at)) return USP_ERROR_UNREADABLE;
        to[i] = *(const volatile uint8_t *)at;
    }
    return USP_OK;
}

int uspi_os_read(void *context, usp_addr from, void *to, size_t n) {
    (void)context;
    if (n == 0) return USP_OK;
    if (from > UINTPTR_MAX - (n - 1)) return USP_ERROR_UNREADABLE;
    int kept = errno;
    struct iovec local = {to, n}, remote = {(void *)(uintptr_t)from, n};
    long got = syscall(SYS_process_vm_readv, getpid(), &local, 1, &remote, 1, 0);
    int status = got == (long)n ? USP_OK : USP_ERROR_UNREADABLE;
    if (got < 0 && errno != EFAULT) status = read_probed((uintptr_t)from, to, n);
    errno = kept;
    return status;
}

int uspi_os_context_registers(const void *ucontext, struct usp_registers *registers) {
    return usp_registers_from_state(registers, USPI_HOST_ARCH, USP_STATE_LINUX_UCONTEXT, ucontext, SIZE_MAX);
}

bool uspi_os_swift_task(uint32_t *id) {
    *id = 0;
    return true;
}

uint64_t uspi_os_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
