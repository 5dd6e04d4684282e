/* SPDX-License-Identifier: MIT */
/* What tests/capture/two_copies.c does with one copy of the library. */
#ifndef TESTS_CAPTURE_COPY_USER_H
#define TESTS_CAPTURE_COPY_USER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct copy_user {
    int (*prepare)(int signal, uint64_t timeout); /* signal 0: the library chooses; timeout in ns */
    void (*shutdown)(void);
    /* Both capture, and say whether the thread `id` has a frame in [low, high). */
    int (*capture)(uint64_t id, uint64_t low, uint64_t high, bool *found);
    int (*snapshot)(uint64_t id, uint64_t low, uint64_t high, bool *found, unsigned *missed);
    int (*name)(uint64_t address, const char *store, char *to, size_t size); /* store: see usp_symbolizer_options */
    int (*backtrace)(void **addresses, int count);
    const char *(*status_string)(int status);
};

extern const struct copy_user first_copy, second_copy;

#endif
