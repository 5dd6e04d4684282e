/* SPDX-License-Identifier: MIT */
/* Runs a function of the test before each system call of a capture or a snapshot, which counts the calls or leaves
 * there. */
#ifndef TESTS_SUPPORT_LINUX_EACH_CALL_H
#define TESTS_SUPPORT_LINUX_EACH_CALL_H

#include "lib/os/linux/calls.h"

static void (*before_each_call)(void);

#define AFTER_IT(name, arguments) (before_each_call(), uspi_linux_real.name arguments)

static inline long e_open(int directory, const char *path, int flags) {
    return AFTER_IT(open, (directory, path, flags));
}
static inline long e_list(int fd, void *to, size_t n) { return AFTER_IT(list_directory, (fd, to, n)); }
static inline void *e_map(size_t n, bool filled) { return AFTER_IT(map, (n, filled)); }
static inline long e_probe(uintptr_t address) { return AFTER_IT(probe, (address)); }
static inline long e_read_process(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t n) {
    return AFTER_IT(read_process, (pid, local, remote, n));
}
static inline pid_t e_own_process(void) { return AFTER_IT(own_process, ()); }
static inline pid_t e_own_thread(void) { return AFTER_IT(own_thread, ()); }
static inline long e_send_signal(pid_t pid, pid_t tid, int number) { return AFTER_IT(send_signal, (pid, tid, number)); }
static inline long e_set_action(int number, const struct sigaction *action, struct sigaction *old) {
    return AFTER_IT(set_action, (number, action, old));
}
static inline long e_set_mask(int how, const uint64_t *mask, uint64_t *old) {
    return AFTER_IT(set_mask, (how, mask, old));
}
static inline long e_query_mapping(int maps, struct uspi_mapping_query *query) {
    return AFTER_IT(query_mapping, (maps, query));
}
static inline long e_wait(_Atomic(uint32_t) *word, uint32_t seen, uint64_t deadline) {
    return AFTER_IT(wait, (word, seen, deadline));
}
static inline long e_wake(_Atomic(uint32_t) *word, int count) { return AFTER_IT(wake, (word, count)); }

static inline void run_before_each_call(struct uspi_linux_calls *calls, void (*function)(void)) {
    before_each_call = function;
    calls->open = e_open;
    calls->list_directory = e_list;
    calls->map = e_map;
    calls->probe = e_probe;
    calls->read_process = e_read_process;
    calls->own_process = e_own_process;
    calls->own_thread = e_own_thread;
    calls->send_signal = e_send_signal;
    calls->set_action = e_set_action;
    calls->set_mask = e_set_mask;
    calls->query_mapping = e_query_mapping;
    calls->wait = e_wait;
    calls->wake = e_wake;
}

#endif
