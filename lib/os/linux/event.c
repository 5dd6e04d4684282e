/* SPDX-License-Identifier: MIT */
/* Events and wake-ups for the library's own threads on Linux: a futex for threads, an eventfd for loops. */
#include "lib/os/which.h"

#if USPI_OS == USPI_OS_LINUX

#define _GNU_SOURCE 1
#include "lib/os/linux/linux.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

/* The longest single wait, in ns; longer waits are repeated. The futex call takes the time as a time_t, which may have
 * 32 bits. */
#define LONGEST UINT64_C(1000000000000)
/* Sleep in ns that replaces waiting where the system refuses the futex call. */
#define NAP UINT64_C(1000000)

void uspi_os_name_thread(const char *name) { (void)prctl(PR_SET_NAME, name, 0ul, 0ul, 0ul); }

int64_t uspi_os_process_id(void) { return uspi_linux->own_process(); }

bool uspi_event_init(struct uspi_event *event) {
    atomic_init(&event->word, 0);
    event->port = 0;
    return true;
}

void uspi_event_free(struct uspi_event *event) { (void)event; }

void uspi_event_set(struct uspi_event *event) {
    atomic_store(&event->word, 1);
    uspi_linux->wake(&event->word, 1);
}

bool uspi_event_wait(struct uspi_event *event, uint64_t deadline) {
    for (;;) {
        if (atomic_exchange(&event->word, 0) != 0) return true;
        uint64_t now = uspi_os_clock();
        if (now >= deadline) return false;
        long result = uspi_linux->wait(&event->word, 0, deadline - now > LONGEST ? now + LONGEST : deadline);
        bool is_expected = result >= 0 || result == -EAGAIN || result == -EINTR || result == -ETIMEDOUT;
        if (!is_expected) uspi_linux->sleep(deadline - now < NAP ? deadline - now : NAP);
    }
}

int uspi_os_signal_open(int fds[2]) {
    int kept = errno;
    fds[0] = fds[1] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    errno = kept;
    return fds[0] >= 0 ? USP_OK : USP_ERROR_SYSTEM;
}

void uspi_os_signal_close(int fds[2]) {
    if (fds[0] >= 0) uspi_linux->close(fds[0]);
    fds[0] = fds[1] = -1;
}

/* The write fails only when the descriptor is readable already. */
void uspi_os_signal_send(const int fds[2]) {
    static const uint64_t one = 1;
    int kept = errno;
    ssize_t written = write(fds[1], &one, sizeof one);
    (void)written;
    errno = kept;
}

void uspi_os_signal_clear(const int fds[2]) {
    uint64_t count;
    uspi_linux->read(fds[0], &count, sizeof count);
}

#endif
