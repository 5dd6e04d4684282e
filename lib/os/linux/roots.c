/* SPDX-License-Identifier: MIT */
/* Finds where stacks of this process end: the return addresses into the callers of start routines, by starting threads,
 * and the beginning of the first stack, by /proc. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/linux.h"
#include "lib/os/linux/proc.h"

#include "arch/host.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#ifndef __STDC_NO_THREADS__
#include <threads.h>
#endif

USPI_TEMPLATE uintptr_t caller(void) {
    return uspi_host_strip((uintptr_t)__builtin_extract_return_addr(__builtin_return_address(0)));
}

static __attribute__((noinline)) void *record_caller(void *to) {
    *(uintptr_t *)to = caller();
    return NULL;
}

#ifndef __STDC_NO_THREADS__
static __attribute__((noinline)) int record_c11_caller(void *to) {
    *(uintptr_t *)to = caller();
    return 0;
}
#endif

uint32_t uspi_os_thread_roots(usp_addr roots[USPI_THREAD_ROOTS]) {
    uintptr_t found[2] = {0, 0};
    pthread_t posix;
    uint32_t n = 0;
    sigset_t all, mask;
    /* No handler of the program may run on a thread that the program does not know. */
    sigfillset(&all);
    if (pthread_sigmask(SIG_SETMASK, &all, &mask) != 0) return 0;
    /* Both threads are started before either is waited for, because on a busy machine each wait is long. */
    const bool has_posix = pthread_create(&posix, NULL, record_caller, &found[0]) == 0;
#ifndef __STDC_NO_THREADS__
    /* glibc's start_thread calls the functions of C11 threads at another place. */
    thrd_t c11;
    const bool has_c11 = thrd_create(&c11, record_c11_caller, &found[1]) == thrd_success;
#endif
    if (has_posix && pthread_join(posix, NULL) == 0) roots[n++] = found[0];
#ifndef __STDC_NO_THREADS__
    if (has_c11 && thrd_join(c11, NULL) == thrd_success) roots[n++] = found[1];
#endif
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    return n;
}

usp_addr uspi_os_first_stack_top(void) {
    struct uspi_proc_stat stat;
    return uspi_proc_stat(0, 0, &stat) < 0 ? 0 : stat.stack_top;
}

void uspi_os_describe_self(struct usp_target *target) {
    target->os = USP_OS_LINUX;
    target->pac_mask = uspi_host_signature_bits();
}

#endif
