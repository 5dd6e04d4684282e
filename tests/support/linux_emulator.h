/* SPDX-License-Identifier: MIT */
/* A user-mode emulator has a thread of its own in the process that it runs (QEMU util/rcu.c), with every signal
 * blocked. It does not belong to the program, and each capture of all threads would wait for it. Tests under such an
 * emulator remove it from the kernel's list. */
#ifndef TESTS_SUPPORT_LINUX_EMULATOR_H
#define TESTS_SUPPORT_LINUX_EMULATOR_H

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/os/linux/calls.h"
#include "tests/support/under.h"

static uint64_t emulators_thread;

/* Removes one thread from the result of getdents64 (linux_dirent64: ino 8, off 8, reclen 2, type 1, name). Returns the
 * new size. */
static inline long take_out_of_listing(char *entries, long size, uint64_t thread) {
    for (long at = 0; at < size;) {
        uint16_t length;
        memcpy(&length, entries + at + 16, sizeof length);
        if (strtoull(entries + at + 19, NULL, 10) == thread) {
            memmove(entries + at, entries + at + length, (size_t)(size - at - length));
            return size - length;
        }
        at += length;
    }
    return size;
}

static inline long list_without_emulator(int fd, void *to, size_t n) {
    long got = uspi_linux_real.list_directory(fd, to, n);
    return got > 0 ? take_out_of_listing(to, got, emulators_thread) : got;
}

static inline long count_without_emulator(int fd) {
    long links = uspi_linux_real.count_links(fd);
    return links > 0 ? links - 1 : links;
}

/* Makes `table` leave out the emulator's thread; changes nothing if there is no emulator. Call it while the process has
 * only its main thread. */
static inline void leave_out_emulator(struct uspi_linux_calls *table) {
    DIR *d = is_user_emulated() ? opendir("/proc/self/task") : NULL;
    for (const struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        uint64_t id = strtoull(e->d_name, NULL, 10);
        if (id != 0 && id != (uint64_t)getpid()) emulators_thread = id;
    }
    if (d != NULL) closedir(d);
    if (emulators_thread == 0) return;
    table->list_directory = list_without_emulator;
    table->count_links = count_without_emulator;
}

#endif
