/* SPDX-License-Identifier: MIT */
/* Threads that a snapshot could not stop because they slept uninterruptibly (state D). */
#ifndef TESTS_SUPPORT_LINUX_ASLEEP_H
#define TESTS_SUPPORT_LINUX_ASLEEP_H

#include <stdbool.h>

#include <unspool/unspool.h>

/* Whether the thread has no stack because it slept uninterruptibly and ran while it was copied. On a busy machine a
 * healthy thread does so, too: it waits for the kernel's lock of the address space. */
static inline bool was_asleep(const struct usp_snapshot_thread *t) {
    return t->status == USP_ERROR_TIMEOUT && t->info.run_state == 'D';
}

#endif
