/* SPDX-License-Identifier: MIT */
/* For tests/unwind/why.sh: a thread that waits, below functions that the compiler has given no unwind tables and no
 * frame records. */
#include <stdio.h>
#include <unistd.h>

static volatile int sink, leave;

__attribute__((noinline)) static void inner(void) {
    puts("ready");
    fflush(stdout);
    while (leave == 0) pause();
}

__attribute__((noinline)) static void middle(int n) {
    sink = n;
    inner();
    sink = n + 1;
}

__attribute__((noinline)) static void outer(int n) {
    middle(n + sink);
    sink = 0;
}

int main(int count, char **words) {
    (void)words;
    outer(count);
    return 0;
}
