/* SPDX-License-Identifier: MIT */
/* User-mode emulators have a thread of their own in the process that they run (QEMU util/rcu.c), with every signal blocked.
 * It belongs to no program, and each capture of all threads would wait for it: tests under such an emulator take it out
 * of what the kernel lists. */
#ifndef TESTS_LINUX_EMULATOR_H
#define TESTS_LINUX_EMULATOR_H

#include <dirent.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/os/linux/calls.h"
#include "tests/support/under.h"

static uint64_t emulators_thread;

/* Takes one thread out of what getdents64 gave (linux_dirent64: ino 8, off 8, reclen 2, type 1, name). Returns the size
 * that is left. */
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

/* Changes nothing where no emulator runs the program. To be called while the process has no threads of its own but the
 * main one. */
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
