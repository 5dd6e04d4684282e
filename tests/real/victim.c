/* SPDX-License-Identifier: MIT */
/* See victim.h: the functions that both ways of stepping share. */
#define _GNU_SOURCE 1
#include "victim.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

bool victim_read(const struct victim *v, usp_addr from, void *to, size_t n) {
    struct iovec here = {to, n}, there = {(void *)(uintptr_t)(v->base + from), n};
    return process_vm_readv(v->pid, &here, 1, &there, 1, 0) == (ssize_t)n;
}

bool victim_load(const struct victim *v, usp_addr from, usp_addr *word) {
    uint8_t bytes[8];
    if (!victim_read(v, from, bytes, v->backend->word)) return false;
    *word = uspi_le(bytes, v->backend->word);
    return true;
}

usp_addr victim_auxiliary(const uint8_t *bytes, size_t n, unsigned word, uint64_t wanted) {
    for (size_t at = 0; at + 2 * word <= n; at += 2 * word) {
        if (uspi_le(bytes + at, word) == wanted) return uspi_le(bytes + at + word, word);
    }
    return 0;
}

const char *victim_input;

void victim_prepare_child(void) {
    const struct rlimit no_core = {0, 0};
    int nothing = open("/dev/null", O_RDWR), input = victim_input != NULL ? open(victim_input, O_RDONLY) : nothing;
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    personality(ADDR_NO_RANDOMIZE);
    setrlimit(RLIMIT_CORE, &no_core);
    dup2(input, 0);
    dup2(nothing, 1);
    if (getenv("USP_REAL_SHOW") == NULL) dup2(nothing, 2);
}
