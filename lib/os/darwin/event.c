/* SPDX-License-Identifier: MIT */
/* Events and wake-ups for the library's own threads on Apple systems: a kernel semaphore for threads, a pipe for
 * loops. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_DARWIN

#include "lib/os/darwin/darwin.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
/* The longest single wait, which fits into a mach_timespec_t; longer waits are repeated. */
#define LONGEST (1000 * SECOND)

void uspi_os_name_thread(const char *name) { (void)pthread_setname_np(name); }

int64_t uspi_os_process_id(void) { return getpid(); }

bool uspi_event_init(struct uspi_event *event) {
    semaphore_t port = MACH_PORT_NULL;
    atomic_init(&event->word, 0);
    event->port = 0;
    if (semaphore_create(mach_task_self(), &port, SYNC_POLICY_FIFO, 0) != KERN_SUCCESS) return false;
    event->port = port;
    return true;
}

void uspi_event_free(struct uspi_event *event) {
    if (event->port != 0) semaphore_destroy(mach_task_self(), event->port);
    event->port = 0;
}

void uspi_event_set(struct uspi_event *event) {
    atomic_store(&event->word, 1);
    semaphore_signal(event->port);
}

/* The semaphore may still be signalled for an event that an earlier call consumed, and end this wait too early. Then
 * the word is 0, and the wait goes on. */
bool uspi_event_wait(struct uspi_event *event, uint64_t deadline) {
    for (;;) {
        if (atomic_exchange(&event->word, 0) != 0) return true;
        uint64_t now = uspi_os_clock();
        if (now >= deadline) return false;
        uint64_t left = deadline - now < LONGEST ? deadline - now : LONGEST;
        mach_timespec_t wait = {(unsigned)(left / SECOND), (int)(left % SECOND)};
        kern_return_t result = semaphore_timedwait(event->port, wait);
        /* In the child of a fork the parent's port is not valid. */
        if (result != KERN_SUCCESS && result != KERN_OPERATION_TIMED_OUT && result != KERN_ABORTED) return false;
    }
}

static bool unblock(int fd) { return fcntl(fd, F_SETFL, O_NONBLOCK) == 0 && fcntl(fd, F_SETFD, FD_CLOEXEC) == 0; }

int uspi_os_signal_open(int fds[2]) {
    int kept = errno;
    bool ok = pipe(fds) == 0;
    if (!ok) {
        fds[0] = fds[1] = -1;
    } else if (!unblock(fds[0]) || !unblock(fds[1])) {
        uspi_os_signal_close(fds);
        ok = false;
    }
    errno = kept;
    return ok ? USP_OK : USP_ERROR_SYSTEM;
}

void uspi_os_signal_close(int fds[2]) {
    for (unsigned i = 0; i < 2; i++) {
        if (fds[i] >= 0) close(fds[i]);
        fds[i] = -1;
    }
}

/* The write fails only when the pipe is full, and then it is readable already. */
void uspi_os_signal_send(const int fds[2]) {
    static const uint8_t one = 1;
    int kept = errno;
    ssize_t written = write(fds[1], &one, sizeof one);
    (void)written;
    errno = kept;
}

void uspi_os_signal_clear(const int fds[2]) {
    uint8_t bytes[64];
    int kept = errno;
    while (read(fds[0], bytes, sizeof bytes) > 0) continue;
    errno = kept;
}

#endif
