/* SPDX-License-Identifier: MIT */
/* A program whose threads wait for locks: `locks CASE`. Prints "ready" when the threads sleep, and waits to be killed.
 * tests/tool/locks.sh and tests/snapshot/test_linux_locks.c have the cases' expectations. Compiled as C++ it has the
 * locks of the C++ library. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1
#endif
#include "tests/tool/locks.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc != 2 || !locks_make(argv[1])) {
        fprintf(stderr, "usage: locks CASE\n");
        return 2;
    }
    puts("ready");
    fflush(stdout);
    for (;;) pause();
}
