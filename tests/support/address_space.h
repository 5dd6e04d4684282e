/* SPDX-License-Identifier: MIT */
/* Forbids that this process gets more address space, as where memory is short: no file is mapped, no thread begins. */
#ifndef TESTS_SUPPORT_ADDRESS_SPACE_H
#define TESTS_SUPPORT_ADDRESS_SPACE_H

#include "tests/support/sanitized.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Whether a sanitizer or valgrind reserves address space of its own, so that a limit on it is impossible. */
static inline bool needs_address_space(void) {
    if (USP_SANITIZED) return true;
    const char *preload = getenv("LD_PRELOAD");
    return preload != NULL && strstr(preload, "vgpreload") != NULL;
}

/* Forbids further mappings; malloc's memory exists already. Returns false if that is impossible: under an emulator the
 * limit has no effect. */
static inline bool forbid_mappings(void) {
    struct rlimit limit;
    if (needs_address_space()) return false;
    free(malloc(4096));
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = 1;
    setrlimit(RLIMIT_AS, &limit);
    void *probe = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (probe != MAP_FAILED) munmap(probe, 4096);
    return probe == MAP_FAILED;
}

static inline void allow_mappings(void) {
    struct rlimit limit;
    getrlimit(RLIMIT_AS, &limit);
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_AS, &limit);
}

#endif
