/* SPDX-License-Identifier: MIT */
/* Tells whether threads of another process were on a processor when they were stopped. */
#ifndef USPI_OS_RUNNING_H
#define USPI_OS_RUNNING_H

#include "lib/os/os.h"

/* What a thread did when it was stopped. */
enum uspi_running {
    USPI_WAITS,  /* waited in the kernel */
    USPI_IS_DUE, /* could run, but no processor was seen to run it: it had just been woken, or was preempted */
    USPI_RUNS    /* ran on a processor, or could run and the system does not tell more */
};

/* Returns what one of the threads did that uspi_os_other_stop has stopped last. Does not return USPI_WAITS. */
enum uspi_running uspi_os_other_running(const struct uspi_os_other *other, const struct usp_thread *thread);

#endif
