/* SPDX-License-Identifier: MIT */
/* See second_copy.h. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#include "lib/os/linux/second_copy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

/* Signals that the kernel removes from every mask. */
#define UNMASKED (USPI_LINUX_SIGNAL(SIGKILL) | USPI_LINUX_SIGNAL(SIGSTOP))
/* The signals that /proc/PID/stat shows. */
#define SHOWN UINT64_C(0x7fffffff)
/* Interval in ns at which a copy checks whether the other one has finished its stop. */
#define LOOK 200000u

bool uspi_is_copys_action(const struct sigaction *action) {
    uint64_t mask;
    memcpy(&mask, &action->sa_mask, sizeof mask);
    return (action->sa_flags & SA_SIGINFO) != 0 && (mask | UNMASKED) == (USPI_HANDLER_MASK | UNMASKED);
}

bool uspi_blocks_as_copy(uint64_t blocked) {
    const uint64_t open = USPI_LINUX_FAULTS | UNMASKED | USPI_LINUX_SIGNAL(SIGURG) | USPI_LINUX_SIGNAL(SIGWINCH);
    return (blocked & USPI_LINUX_FAULTS) == 0 && ((blocked | open) & SHOWN) == SHOWN;
}

int uspi_copies_lock(uint64_t deadline, int *lock) {
    long e = uspi_linux->open(AT_FDCWD, "/proc/self/maps", O_RDONLY);
    *lock = (int)e;
    if (e < 0) return USP_OK;
    for (;;) {
        e = uspi_linux->lock_file(*lock, LOCK_EX | LOCK_NB);
        if (e >= 0) return USP_OK;
        if ((e != -EAGAIN && e != -EINTR) || uspi_os_clock() >= deadline) break;
        uspi_linux->sleep(LOOK);
    }
    uspi_linux->close(*lock);
    *lock = -1;
    return e == -EAGAIN || e == -EINTR ? USP_ERROR_BUSY : USP_OK;
}

void uspi_copies_unlock(int lock) {
    if (lock < 0) return;
    /* A child that was forked meanwhile has the descriptor, too, so closing it does not unlock the file. */
    uspi_linux->lock_file(lock, LOCK_UN);
    uspi_linux->close(lock);
}

#endif
