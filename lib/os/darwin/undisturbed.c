/* SPDX-License-Identifier: MIT */
/* Keeping the program's signals and cancellation from a thread that captures: see struct uspi_undisturbed in os.h. Threads are
 * stopped by the kernel here, and no signal of ours has to come through. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/darwin.h"

#include <pthread.h>
#include <signal.h>

_Static_assert(sizeof(sigset_t) <= sizeof(uint64_t), "a set of signals has 32 bits (xnu bsd/sys/signal.h)");

/* What the processor raises: the kernel ends a process that blocks these when they come. */
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
    /* The last step: what comes now may jump away. */
    if (kept->is_masked) pthread_sigmask(SIG_SETMASK, &mask, NULL);
}

#endif
