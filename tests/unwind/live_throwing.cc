// SPDX-License-Identifier: MIT
// Stops in a destructor that runs while an exception is thrown, for tests/unwind/live.py to examine.
#include <cstdio>
#include <unistd.h>

static volatile unsigned sink;

struct guard {
    explicit guard(unsigned n) : depth(n) {}
    __attribute__((noinline)) ~guard() {
        if (depth != 3) return;
        std::puts("ready");
        std::fflush(stdout);
        for (;;) pause();
    }
    unsigned depth;
};

__attribute__((noinline)) static void down(unsigned n) {
    guard here(n);
    if (n == 0) throw sink;
    down(n - 1);
    sink = sink + n;
}

int main() {
    try {
        down(6);
    } catch (unsigned n) {
        sink = n;
    }
    return 0;
}
