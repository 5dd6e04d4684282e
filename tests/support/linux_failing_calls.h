/* SPDX-License-Identifier: MIT */
/* System calls of the Linux layer for files and memory, one of which fails: for tests that let each fail in turn. A
 * test puts them into a table of its own (lib/os/linux/calls.h), with others made by fails() and UNLESS. */
#ifndef TESTS_LINUX_FAILING_CALLS_H
#define TESTS_LINUX_FAILING_CALLS_H

#include <stdatomic.h>

#include "lib/os/linux/calls.h"

/* Call number `failing` fails with `reason`, and with `always` all later ones, too; 0: no call fails. opened and mapped
 * count what has not been released yet. */
static struct {
    unsigned count, failing;
    int reason;
    bool always, failed;
    _Atomic(long) opened, mapped;
} script;

static inline long fails(void) {
    unsigned number = ++script.count;
    bool is_it = script.failing != 0 && (script.always ? number >= script.failing : number == script.failing);
    script.failed = script.failed || is_it;
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

/* Must be called before the next number is tried. */
static inline void fail_from_now(int reason, bool always) {
    script.count = 0;
    script.failed = false;
    script.reason = reason;
    script.always = always;
}

#endif
