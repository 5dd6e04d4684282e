/* SPDX-License-Identifier: MIT */
/* Keeps the program's signals and cancellation from a thread that captures: see struct uspi_undisturbed in os.h.
 *
 * Our own signal is not blocked, because two threads that capture each other have to answer each other. If the program
 * has a handler for the same signal, that handler has to wait meanwhile (uspi_capturing_thread.owed): the signal is
 * sent again at the end. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/capturing.h"

#include <pthread.h>

void uspi_os_undisturbed_begin(struct uspi_undisturbed *kept) {
    const int number = atomic_load(&uspi_capturing.signal);
    const uint64_t mask = ~(USPI_LINUX_FAULTS | (number != 0 ? USPI_LINUX_SIGNAL(number) : 0));
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &kept->cancellation);
    kept->is_masked = uspi_linux->set_mask(SIG_BLOCK, &mask, &kept->mask) >= 0;
    /* Counted only after signals are blocked: otherwise a handler that jumps away could leave the count raised. */
    uspi_capturing_thread.calls++;
}

void uspi_os_undisturbed_end(const struct uspi_undisturbed *kept) {
    uspi_capturing_thread.calls--;
    if (uspi_capturing_thread.calls == 0 && uspi_capturing_thread.owed) {
        const int number = atomic_load(&uspi_capturing.signal);
        const uint64_t mask = number != 0 ? USPI_LINUX_SIGNAL(number) : 0;
        uspi_capturing_thread.owed = false;
        /* The signal stays blocked until the mask is restored, and then arrives together with all others. */
        uspi_linux->set_mask(SIG_BLOCK, &mask, NULL);
        if (number != 0) uspi_linux->send_signal(uspi_linux_pid(), uspi_linux->own_thread(), number);
    }
    pthread_setcancelstate(kept->cancellation, NULL);
    /* This is the last step, because a handler that runs now may jump away. */
    if (kept->is_masked) uspi_linux->set_mask(SIG_SETMASK, &kept->mask, NULL);
}

#endif
