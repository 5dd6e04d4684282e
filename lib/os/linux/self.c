/* SPDX-License-Identifier: MIT */
/* The calling thread on Linux: the bounds of its stack, and safe reads of this process's memory. request.h has other
 * threads, tracer.h other processes. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/capturing.h"

#include "arch/host.h"
#include "lib/base/processor.h"

#include <errno.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <time.h>

#define PAGE USPI_LINUX_PAGE
/* Maximum number of pages that are probed to learn a stack in passing: a live part of 64 MB. A thread's first megabyte
 * takes some 30 µs, and known pages are not probed again. */
#define PAGES_TO_LEARN 16384u

__attribute__((constructor)) static void learn_main_stack(void) {
    /* The kernel puts the program's name above everything else on the main stack (fs/exec.c, fs/binfmt_elf.c). */
    uspi_capturing.main_top = (uintptr_t)getauxval(AT_EXECFN);
}

uint32_t uspi_os_kind(void) { return USP_OS_LINUX; }

int uspi_linux_status(long result) {
    switch (result < 0 ? -result : 0) {
    case 0: return USP_OK;
    case ESRCH:
    case ENOENT: return USP_ERROR_NO_THREAD;
    case EPERM:
    case EACCES: return USP_ERROR_PERMISSION;
    case ENOMEM: return USP_ERROR_NO_MEMORY;
    case ENOSYS: return USP_ERROR_UNSUPPORTED;
    case EFAULT: return USP_ERROR_UNREADABLE;
    default: return USP_ERROR_SYSTEM;
    }
}

/* The system call behind the probe takes a null pointer for "no set", and does not read it. */
bool uspi_os_can_read(uintptr_t address) { return address >= 8 && uspi_linux->probe(address) != -EFAULT; }

static bool is_readable_to(uintptr_t from, uintptr_t to) {
    for (uintptr_t page = from & ~(uintptr_t)(PAGE - 1); page < to; page += PAGE) {
        if (!uspi_os_can_read(page)) return false;
    }
    return true;
}

/* Returns the highest address that certainly belongs to the calling thread's own stack. For the main thread it is an
 * address that the kernel put there; for others the thread's control block, which glibc and musl place at the stack's
 * top. */
static uintptr_t own_top(void) {
    return uspi_linux->own_thread() == uspi_linux->own_process() ? uspi_capturing.main_top : (uintptr_t)pthread_self();
}

/* Two addresses belong to one stack if all pages between them are readable: another stack in between would have an
 * unreadable guard page. */
bool uspi_os_learn_in_passing(uintptr_t sp) {
    uintptr_t high = own_top();
    if (sp >= high || high - sp > (uintptr_t)PAGES_TO_LEARN * PAGE) return false;
    uintptr_t from = uspi_own_stack.high == high && sp < uspi_own_stack.low ? uspi_own_stack.low : high;
    if (!is_readable_to(sp, from)) return false;
    uspi_own_stack.low = sp & ~(uintptr_t)(PAGE - 1);
    uspi_own_stack.high = high;
    return true;
}

bool uspi_os_has_stack(uintptr_t sp, size_t n) {
    const struct uspi_own_stack own = uspi_own_stack;
    if (sp - own.low < own.high - own.low && sp - own.low >= n) return true;
    return !uspi_capturing_thread.knows_stack && sp > n && uspi_os_learn_in_passing(sp - n);
}

int uspi_os_learn_thread(void) {
    pthread_attr_t attributes;
    if (uspi_capturing_thread.knows_stack) return USP_OK;
    void *low;
    size_t size;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return USP_ERROR_SYSTEM;
    int failed = pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
    if (failed != 0) return USP_ERROR_SYSTEM;
    if (uspi_host_sp() - (uintptr_t)low < size) {
        const uintptr_t high = (uintptr_t)low + size;
        /* A handler that runs between the two assignments would combine the old low bound with the new high bound. */
        uspi_own_stack.high = 0;
        atomic_signal_fence(memory_order_seq_cst);
        uspi_own_stack.low = (uintptr_t)low;
        atomic_signal_fence(memory_order_seq_cst);
        uspi_own_stack.high = high;
        uspi_capturing_thread.knows_stack = true;
    }
    return USP_OK;
}

/* Reads without process_vm_readv, which seccomp or user-mode emulators may refuse: probes each page before reading
 * it. */
USPI_NO_ASAN static size_t read_probed(uintptr_t from, uint8_t *to, size_t n) {
    for (size_t i = 0; i < n; i++) {
        uintptr_t at = from + i;
        if ((i == 0 || (at & (PAGE - 1)) == 0) && !uspi_os_can_read(at)) return i;
        to[i] = *(const volatile uint8_t *)at;
    }
    return n;
}

/* Whether a 64-bit address belongs to the kernel: apart from a tagged pointer's tag it begins with 16 ones (Linux
 * Documentation/arch/x86/x86_64/mm.rst, arch/arm64/memory.rst). Negative numbers look like that, too. They are frequent
 * on stacks, and each would cost a system call. */
static bool is_kernels(uint64_t address) { return address >> 48 == 0xffff; }

size_t uspi_linux_read_some(uintptr_t from, void *to, size_t n) {
    if (n == 0 || is_kernels(from)) return 0;
    if (n - 1 > UINTPTR_MAX - from) n = UINTPTR_MAX - from + 1;
    struct iovec local = {to, n}, remote = {(void *)from, n};
    long got = uspi_linux->read_process(uspi_linux->own_process(), &local, &remote, 1);
    if (got >= 0) return (size_t)got;
    return got == -EFAULT ? 0 : read_probed(from, to, n);
}

int uspi_os_read(void *context, usp_addr from, void *to, size_t n) {
    (void)context;
    if (from > UINTPTR_MAX) return n == 0 ? USP_OK : USP_ERROR_UNREADABLE;
    return uspi_linux_read_some((uintptr_t)from, to, n) == n ? USP_OK : USP_ERROR_UNREADABLE;
}

int uspi_os_read_pieces(const usp_addr *from, size_t count, void *to, size_t size) {
    enum { AT_ONCE = 256 };
    struct iovec remote[AT_ONCE];
    uint8_t *at = to;
    while (count > 0) {
        size_t n = count < AT_ONCE ? count : AT_ONCE;
        for (size_t i = 0; i < n; i++) {
            if (from[i] > UINTPTR_MAX) return USP_ERROR_UNREADABLE;
            remote[i] = (struct iovec){(void *)(uintptr_t)from[i], size};
        }
        struct iovec local = {at, n * size};
        long got = uspi_linux->read_process(uspi_linux_pid(), &local, remote, n);
        if (got >= 0 || got == -EFAULT) {
            if (got != (long)(n * size)) return USP_ERROR_UNREADABLE;
        } else {
            for (size_t i = 0; i < n; i++) {
                if (read_probed((uintptr_t)from[i], at + i * size, size) != size) return USP_ERROR_UNREADABLE;
            }
        }
        from += n;
        at += n * size;
        count -= n;
    }
    return USP_OK;
}

int uspi_os_context_registers(const void *ucontext, struct usp_registers *registers) {
    return uspi_registers_from_state(registers, USPI_HOST_ARCH, USP_THREAD_STATE_LINUX_UCONTEXT, ucontext, SIZE_MAX);
}

bool uspi_os_swift_task(uint32_t *id) {
    *id = 0;
    return true;
}

#endif
