/* SPDX-License-Identifier: MIT */
/* See capturing.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/capturing.h"

struct uspi_darwin_capturing uspi_darwin_capturing = {
    .stops = {.changes = PTHREAD_MUTEX_INITIALIZER},
    .announced = {.once = PTHREAD_ONCE_INIT},
};

#if !defined(__APPLE__)
_Thread_local __attribute__((tls_model("initial-exec"))) struct uspi_own_stack uspi_own_stack;
#endif

#endif
