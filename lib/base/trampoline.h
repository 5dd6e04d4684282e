/* SPDX-License-Identifier: MIT */
/* Signal trampolines: functions that return from signal handlers. The code whose frame follows theirs was interrupted
 * and made no call. */
#ifndef USPI_BASE_TRAMPOLINE_H
#define USPI_BASE_TRAMPOLINE_H

#include "lib/base/span.h"

/* Returns whether a name is that of a signal trampoline. */
static inline bool uspi_is_trampoline(struct uspi_span name) {
    /* Apple libplatform _sigtramp; glibc sysdeps/unix/sysv/linux (x86_64, i386, arm); the vdsos of Linux. */
    static const struct uspi_span names[] = {
        USPI_SPAN_INIT("_sigtramp"),
        USPI_SPAN_INIT("__restore_rt"),
        USPI_SPAN_INIT("__restore"),
        USPI_SPAN_INIT("__kernel_sigreturn"),
        USPI_SPAN_INIT("__kernel_rt_sigreturn"),
        USPI_SPAN_INIT("__default_sa_restorer"),
        USPI_SPAN_INIT("__default_rt_sa_restorer"),
    };
    if (name.length < 9 || name.bytes[0] != '_') return false;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (uspi_span_is(name, names[i])) return true;
    }
    return false;
}

#endif
