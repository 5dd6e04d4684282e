/* SPDX-License-Identifier: MIT */
/* System calls of the Linux layer, one of which fails: for tests that let each fail in turn. A test puts them into a
 * table of its own (lib/os/linux/calls.h), with others made by fails() and UNLESS. Many threads may make calls. */
#ifndef TESTS_SUPPORT_LINUX_FAILING_CALLS_H
#define TESTS_SUPPORT_LINUX_FAILING_CALLS_H

#include <errno.h>
#include <stdatomic.h>

#include "lib/os/linux/calls.h"

/* Call number `failing` fails with `reason`, and with `always` all later ones, too; 0: no call fails. opened and mapped
 * count what has not been released yet. */
static struct {
    _Atomic(unsigned) count;
    unsigned failing;
    int reason;
    bool always;
    _Atomic(bool) failed;
    _Atomic(long) opened, mapped;
} script;

static inline long fails(void) {
    unsigned number = atomic_fetch_add(&script.count, 1) + 1;
    bool is_it = script.failing != 0 && (script.always ? number >= script.failing : number == script.failing);
    if (is_it) atomic_store(&script.failed, true);
    return is_it ? -(long)script.reason : 0;
}

#define UNLESS(expression)                                                                                             \
    long e = fails();                                                                                                  \
    return e < 0 ? e : (expression)

static inline long s_open(int directory, const char *path, int flags) {
    long e = fails();
    if (e == 0) e = uspi_linux_real.open(directory, path, flags);
    script.opened += e >= 0;
    return e;
}

static inline long s_close(int fd) {
    script.opened--;
    return uspi_linux_real.close(fd);
}

static inline void *s_map(size_t n, bool filled) {
    void *at = fails() < 0 ? NULL : uspi_linux_real.map(n, filled);
    script.mapped += at != NULL;
    return at;
}

static inline long s_unmap(void *at, size_t n) {
    script.mapped--;
    return uspi_linux_real.unmap(at, n);
}

static inline long s_read(int fd, void *to, size_t n) { UNLESS(uspi_linux_real.read(fd, to, n)); }
static inline long s_pread(int fd, void *to, size_t n, uint64_t at) { UNLESS(uspi_linux_real.pread(fd, to, n, at)); }
static inline long s_rewind(int fd) { UNLESS(uspi_linux_real.rewind(fd)); }
static inline long s_list(int fd, void *to, size_t n) { UNLESS(uspi_linux_real.list_directory(fd, to, n)); }
static inline long s_links(int fd) { UNLESS(uspi_linux_real.count_links(fd)); }

static inline long s_read_process(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t n) {
    UNLESS(uspi_linux_real.read_process(pid, local, remote, n));
}

static inline long s_probe(uintptr_t address) { return fails() < 0 ? -EFAULT : uspi_linux_real.probe(address); }
static inline long s_send(pid_t pid, pid_t tid, int number) { UNLESS(uspi_linux_real.send_signal(pid, tid, number)); }
static inline long s_pending(uint64_t *set) { UNLESS(uspi_linux_real.pending_signals(set)); }
static inline long s_set_action(int number, const struct sigaction *action, struct sigaction *old) {
    UNLESS(uspi_linux_real.set_action(number, action, old));
}
static inline long s_set_mask(int how, const uint64_t *mask, uint64_t *old) {
    /* Giving back an earlier mask never fails. */
    long e = old != NULL ? fails() : 0;
    return e < 0 ? e : uspi_linux_real.set_mask(how, mask, old);
}
static inline long s_wait(_Atomic(uint32_t) *word, uint32_t seen, uint64_t deadline) {
    UNLESS(uspi_linux_real.wait(word, seen, deadline));
}
static inline long s_wake(_Atomic(uint32_t) *word, int count) { UNLESS(uspi_linux_real.wake(word, count)); }
static inline int64_t s_cpu_time(void) { UNLESS((long)uspi_linux_real.cpu_time()); }
static inline int64_t s_thread_cpu(pid_t tid) { UNLESS((long)uspi_linux_real.thread_cpu_time(tid)); }

/* Lets each call of a table fail that lists, times or captures threads of this process. */
static inline void fail_calls_of_captures(struct uspi_linux_calls *table) {
    table->open = s_open;
    table->close = s_close;
    table->map = s_map;
    table->unmap = s_unmap;
    table->read = s_read;
    table->pread = s_pread;
    table->rewind = s_rewind;
    table->list_directory = s_list;
    table->count_links = s_links;
    table->read_process = s_read_process;
    table->probe = s_probe;
    table->send_signal = s_send;
    table->pending_signals = s_pending;
    table->set_action = s_set_action;
    table->set_mask = s_set_mask;
    table->wait = s_wait;
    table->wake = s_wake;
    table->cpu_time = s_cpu_time;
    table->thread_cpu_time = s_thread_cpu;
}

/* Must be called before the next number is tried. */
static inline void fail_from_now(int reason, bool always) {
    script.count = 0;
    script.failed = false;
    script.reason = reason;
    script.always = always;
}

#endif
