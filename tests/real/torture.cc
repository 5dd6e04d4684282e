// SPDX-License-Identifier: MIT
// What shadow stacks and unwinders find hard, in one program: exceptions through frames with and without destructors,
// longjmp, handlers on either stack and jumps out of them, contexts that are switched, tail calls through pointers, lazily
// bound calls, realigned frames, alloca, callees that take their arguments off the stack.
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#define APART   __attribute__((noinline))
#define CLOBBER asm volatile("" ::: "memory")

static volatile int sink;

// ---- exceptions ----

struct guard {
    int *count;
    explicit guard(int *c) : count(c) { ++*count; }
    APART ~guard() { --*count; }
};

APART static int thrower(int depth, int kind) {
    if (depth > 0) {
        int n = 0;
        guard g(&n);
        return thrower(depth - 1, kind) + n;
    }
    if (kind == 0) throw std::runtime_error("a reason");
    if (kind == 1) throw kind;
    throw std::string("text");
}

APART static int catcher(int kind) {
    try {
        return thrower(kind + 2, kind);
    } catch (const std::runtime_error &e) {
        return (int)strlen(e.what());
    } catch (int i) {
        return i;
    }
}

APART static int rethrower(int kind) {
    try {
        return catcher(kind);
    } catch (...) {
        try {
            throw;
        } catch (const std::string &s) {
            return (int)s.size();
        }
    }
}

// ---- jumps ----

static sigjmp_buf out;

APART static int jump_from(int depth) {
    volatile char room[64];
    room[0] = (char)depth;
    if (depth == 0) siglongjmp(out, 7);
    return jump_from(depth - 1) + room[0];
}

APART static int jumps() {
    int result = sigsetjmp(out, 1);
    if (result != 0) return result;
    return jump_from(5);
}

// In the very function that calls setjmp.
APART static int jumps_directly() {
    static volatile int rounds;
    rounds = 0;
    jmp_buf here;
    if (setjmp(here) < 3) longjmp(here, ++rounds);
    return rounds;
}

// ---- signals ----

static volatile int handled;

static void count_signal(int signal) { handled = handled + signal; }

static void jump_out(int signal) {
    handled = handled + signal;
    siglongjmp(out, 3);
}

static void handle(int signal, void (*handler)(int), int flags) {
    struct sigaction a;
    memset(&a, 0, sizeof a);
    a.sa_handler = handler;
    a.sa_flags = flags;
    sigaction(signal, &a, NULL);
}

APART static int signals() {
    static char room[65536];
    stack_t other;
    memset(&other, 0, sizeof other);
    other.ss_sp = room;
    other.ss_size = sizeof room;
    sigaltstack(&other, NULL);
    handle(SIGUSR1, count_signal, 0);
    raise(SIGUSR1);
    handle(SIGUSR1, count_signal, SA_ONSTACK);
    raise(SIGUSR1);
    handle(SIGUSR2, jump_out, SA_ONSTACK);
    if (sigsetjmp(out, 1) == 0) raise(SIGUSR2);
    handle(SIGSEGV, jump_out, SA_SIGINFO);
    if (sigsetjmp(out, 1) == 0) sink = *(volatile int *)8;
    return handled;
}

// ---- contexts ----

static ucontext_t of_main, of_other;

APART static void give_way(int i) {
    sink = i;
    swapcontext(&of_other, &of_main);
}

static void other_main() {
    for (int i = 0; i < 3; i++) give_way(i);
}

APART static int contexts() {
    const size_t size = 256 << 10;
    void *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    getcontext(&of_other);
    of_other.uc_stack.ss_sp = room;
    of_other.uc_stack.ss_size = size;
    of_other.uc_link = &of_main;
    makecontext(&of_other, other_main, 0);
    for (int i = 0; i < 4; i++) swapcontext(&of_main, &of_other);
    munmap(room, size);
    return sink;
}

// ---- calls of all kinds ----

typedef int (*step)(int);

APART static int add_one(int n) {
    CLOBBER;
    return n + 1;
}
APART static int twice(int n) {
    CLOBBER;
    return n * 2;
}
static step table[4][2] = {{add_one, twice}, {twice, add_one}, {add_one, add_one}, {twice, twice}};

APART static int tail_direct(int n) { return twice(n + 3); }
APART static int tail_through(step s, int n) { return s(n ^ 1); }
APART static int tail_by_table(int i, int n) { return table[i & 3][n & 1](n); }
APART static int tail_by_switch(int i, int n) {
    switch (i) {
    case 0: return add_one(n);
    case 1: return twice(n);
    case 2: return tail_direct(n);
    case 3: return tail_through(twice, n);
    case 4: return add_one(n) + 1;
    case 5: return twice(n) - 1;
    default: return n;
    }
}
APART static int call_by_table(int i, int n) { return table[i & 3][n & 1](n) + 1; }
// Through the linkage table, as the last thing.
APART static int tail_bound(const char *text) { return atoi(text); }
APART static int tail_bound_other(const char *text) { return (int)strtol(text, NULL, 10); }

#if defined(__i386__)
__attribute__((noinline, stdcall)) static int takes_off(int a, int b, int c) { return a + b * c + add_one(a); }
__attribute__((noinline, fastcall)) static int takes_off_fast(int a, int b, int c, int d) {
    return a + b * c + d + add_one(d);
}
#else
APART static int takes_off(int a, int b, int c) { return a + b * c + add_one(a); }
APART static int takes_off_fast(int a, int b, int c, int d) { return a + b * c + d + add_one(d); }
#endif
struct large {
    int words[12];
};
APART static large returns_struct(int n) {
    large l;
    for (int i = 0; i < 12; i++) l.words[i] = n + add_one(i);
    return l;
}

APART static int many(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j) {
    CLOBBER;
    return a + b * c - d + e * f - g + h * i + j + add_one(a);
}

APART static int variadic(int n, ...) {
    va_list all;
    int sum = 0;
    va_start(all, n);
    for (int i = 0; i < n; i++) sum += va_arg(all, int);
    va_end(all);
    return add_one(sum);
}

APART static int realigned(int n) {
    alignas(64) volatile int room[32];
    for (int i = 0; i < 32; i++) room[i] = add_one(i + n);
    return room[n & 31];
}

APART static int realigned_and_open(int n) {
    alignas(64) volatile int room[16];
    char *more = (char *)alloca((size_t)n * 16 + 16);
    memset(more, n, (size_t)n * 16 + 16);
    for (int i = 0; i < 16; i++) room[i] = add_one(more[i]);
    return room[n & 15];
}

APART static int opens(int n) {
    char *room = (char *)alloca((size_t)n + 1);
    snprintf(room, (size_t)n + 1, "%d", n);
    return (int)strlen(room);
}

APART static int large_frame(int n) {
    volatile char room[70000];
    room[n] = (char)n;
    return add_one(room[n]);
}

APART static int recurses(int n) { return n == 0 ? add_one(n) : recurses(n - 1) * 3 + 1; }

APART static int compares() {
    int numbers[] = {5, 3, 9, 1, 7, 2};
    qsort(numbers, 6, sizeof numbers[0],
          [](const void *a, const void *b) { return *(const int *)a - *(const int *)b; });
    return numbers[0];
}

APART static int library() {
    std::map<std::string, std::vector<int>> m;
    for (int i = 0; i < 20; i++) m["key" + std::to_string(i % 5)].push_back(i);
    int sum = 0;
    for (const auto &entry : m) sum += (int)entry.second.size();
    return sum;
}

int main(int count, char *arguments[]) {
    int sum = 0;
    for (int round = 0; round < 2; round++) {
        for (int kind = 0; kind < 3; kind++) sum += rethrower(kind);
        sum += jumps() + jumps_directly() + signals() + contexts();
        for (int i = 0; i < 7; i++) sum += tail_by_switch(i, round) + tail_by_table(i, round) + call_by_table(i, round);
        sum += tail_bound("12") + tail_bound_other("13") + takes_off(1, 2, 3) + takes_off_fast(1, 2, 3, 4);
        sum += returns_struct(round).words[3] + many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + variadic(3, 1, 2, 3);
        sum += realigned(round) + realigned_and_open(3) + opens(40) + large_frame(9) + recurses(6) + compares();
        sum += library();
    }
    printf("%d %d %s\n", sum, count, arguments[0]);
    return 0;
}
