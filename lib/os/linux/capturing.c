/* SPDX-License-Identifier: MIT */
/* See capturing.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/capturing.h"

#include <errno.h>

#define WAITED 0x80000000u
/* Interval in ns at which a waiting thread checks whether the holder still exists. */
#define LOOK 20000000u
/* Sleep in ns that replaces waiting where the system refuses the futex call. */
#define NAP 50000u

struct uspi_capturing uspi_capturing;
_Thread_local USPI_TLS_MODEL struct uspi_capturing_thread uspi_capturing_thread;
_Thread_local USPI_TLS_MODEL struct uspi_own_stack uspi_own_stack;

/* ---- locks ---- */

bool uspi_turn_take(struct uspi_turn *turn, uint64_t deadline) {
    const uint32_t self = (uint32_t)uspi_linux->own_thread();
    uint32_t mine = self;
    for (;;) {
        uint32_t seen = 0;
        if (atomic_compare_exchange_strong(&turn->word, &seen, mine)) return true;
        const uint64_t now = uspi_os_clock();
        if ((seen & ~WAITED) == self || now >= deadline) return false;
        if ((seen & WAITED) == 0 && !atomic_compare_exchange_strong(&turn->word, &seen, seen | WAITED)) continue;
        seen |= WAITED;
        /* A thread that has waited does not know whether others still wait, so it keeps the bit set. */
        mine = self | WAITED;
        long e = uspi_linux->wait(&turn->word, seen, now + LOOK < deadline ? now + LOOK : deadline);
        if (e == -ETIMEDOUT && uspi_linux->probe_thread(uspi_linux_pid(), (pid_t)(seen & ~WAITED)) == -ESRCH &&
            atomic_compare_exchange_strong(&turn->word, &seen, mine)) {
            return true;
        }
        if (e < 0 && e != -EAGAIN && e != -EINTR && e != -ETIMEDOUT) uspi_linux->sleep(NAP);
    }
}

void uspi_turn_give(struct uspi_turn *turn) {
    if ((atomic_exchange(&turn->word, 0) & WAITED) != 0) uspi_linux->wake(&turn->word, 1);
}

/* ---- threads that could not answer ---- */

bool uspi_is_unanswering(pid_t tid) {
    for (unsigned i = 0; i < USPI_REMEMBERED; i++) {
        if (atomic_load_explicit(&uspi_capturing.unanswering[i], memory_order_relaxed) == tid) return true;
    }
    return false;
}

void uspi_remember_unanswering(pid_t tid) {
    if (uspi_is_unanswering(tid)) return;
    atomic_store(&uspi_capturing.unanswering[atomic_fetch_add(&uspi_capturing.next_unanswering, 1) % USPI_REMEMBERED],
                 tid);
}

void uspi_forget_unanswering(pid_t tid) {
    for (unsigned i = 0; i < USPI_REMEMBERED; i++) {
        pid_t expected = tid;
        atomic_compare_exchange_strong(&uspi_capturing.unanswering[i], &expected, 0);
    }
}

void uspi_forget_all_unanswering(void) {
    for (unsigned i = 0; i < USPI_REMEMBERED; i++) atomic_store(&uspi_capturing.unanswering[i], 0);
    atomic_store(&uspi_capturing.next_unanswering, 0);
}

/* ---- this process ---- */

pid_t uspi_linux_pid(void) {
    pid_t pid = atomic_load_explicit(&uspi_capturing.pid, memory_order_relaxed);
    return pid != 0 ? pid : uspi_linux->own_process();
}

#endif
