/* SPDX-License-Identifier: MIT */
/* Keeps the program's signals and cancellation from a thread that captures: see struct uspi_undisturbed in os.h. The
 * kernel stops threads here, so no signal of ours has to stay unblocked. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/darwin.h"

#include <pthread.h>
#include <signal.h>

_Static_assert(sizeof(sigset_t) <= sizeof(uint64_t), "a set of signals has 32 bits (xnu bsd/sys/signal.h)");

/* Signals that the processor raises: the kernel ends a process that blocks one of these when it is raised. */
static const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS};

void uspi_os_undisturbed_begin(struct uspi_undisturbed *kept) {
    sigset_t all, mask;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &kept->cancellation);
    sigfillset(&all);
    for (unsigned i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
    kept->is_masked = pthread_sigmask(SIG_BLOCK, &all, &mask) == 0;
    kept->mask = 0;
    memcpy(&kept->mask, &mask, sizeof mask);
}

void uspi_os_undisturbed_end(const struct uspi_undisturbed *kept) {
    sigset_t mask;
    memcpy(&mask, &kept->mask, sizeof mask);
    pthread_setcancelstate(kept->cancellation, NULL);
    /* This is the last step, because a handler that runs now may jump away. */
    if (kept->is_masked) pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

#endif
