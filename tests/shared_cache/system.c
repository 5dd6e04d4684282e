/* SPDX-License-Identifier: MIT */
// A dylib of the made shared caches that the others call: exported, static and never named functions, and pointers that
// need slide info.

#define KEPT __attribute__((noinline, used))

// Literal bytes between functions must not disturb the writer, which looks for instructions.
static const char text[] = "made for tests";
static int counters[64];
int sys_counter = 7;
static int *const moving[] = {counters, counters + 7, &sys_counter, counters + 63};
int *sys_pointers[] = {counters + 1, counters + 2, &sys_counter};
const char *sys_text = text;

KEPT static int hidden_add(int a, int b) {
    counters[a & 63] += b;
    return counters[b & 63] + a;
}

KEPT static int hidden_multiply(int a, int b) { return a * b + *moving[a & 3]; }

int sys_add(int a, int b) { return hidden_add(a, b) + sys_counter; }

int sys_multiply(int a, int b) { return hidden_multiply(a, b) + (int)sizeof text; }

int sys_abort(int a) { return sys_add(a, 3) * sys_multiply(a, 5) + *sys_pointers[a & 1]; }

int (*const sys_table[])(int, int) = {sys_add, sys_multiply, hidden_add, hidden_multiply};

// The linker asks for it where it makes lazy stubs.
__asm__(".globl dyld_stub_binder\ndyld_stub_binder:\n.p2align 2\n.long 0xd503201f\n.long 0xd65f03c0\n");
