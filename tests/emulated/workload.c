/* SPDX-License-Identifier: MIT */
/* A program made of frame shapes: the ways in which compilers build, use and undo a stack frame. Each way has a
 * function of its own, whose result goes into a checksum so that the compiler cannot leave it out.
 *
 * Freestanding; compiled once for each processor, system and option. It does not depend on the processor, and computes
 * the same checksum everywhere. By the checksum the harness knows that the emulator executed it like the processor. */
#include "workload.h"

#include <stdarg.h>
#include <stddef.h>

static volatile unsigned zero; /* never written: branches that depend on it are not taken, which no compiler knows */
static volatile unsigned sink;

NOINLINE static unsigned fold(unsigned hash, unsigned value) {
    hash ^= value;
    hash *= 0x9e3779b1u;
    return hash << 13 | hash >> 19;
}

/* ---- leaves ---- */

NOINLINE static unsigned leaf_nothing(unsigned x) { return x; }

NOINLINE static unsigned leaf_plain(unsigned a, unsigned b) { return (a << 3) - b + (a & b); }

NOINLINE static void leaf_void(unsigned *p) { *p += 3; }

/* More values alive at once than any of the processors has scratch registers: a leaf that saves registers, and on armv7
 * also uses lr. */
NOINLINE static unsigned leaf_pressure(const unsigned *v, unsigned n) {
    unsigned a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7];
    unsigned i = v[8], j = v[9], k = v[10], l = v[11], m = v[12], o = v[13], p = v[14], q = v[15];
    while (n-- > 0) {
        a += b ^ q;
        c -= d + a;
        e ^= f * c;
        g += h | e;
        i -= j & g;
        k += l ^ i;
        m ^= o + k;
        p += q ^ m;
        b = b << 7 | p >> 25;
        d ^= a;
        f += c;
        h ^= e;
        j += g;
        l ^= i;
        o += k;
        q ^= m + n;
    }
    return a ^ b ^ c ^ d ^ e ^ f ^ g ^ h ^ i ^ j ^ k ^ l ^ m ^ o ^ p ^ q;
}

/* Twelve values: enough to use r0–r12 and lr, too few to spill. */
NOINLINE static unsigned leaf_lr_scratch(const unsigned *v, unsigned n) {
    unsigned a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5], g = v[6], h = v[7], i = v[8];
    while (n-- > 0) {
        a = (a ^ b) + c;
        b = (b ^ d) - e;
        c = (c + f) ^ g;
        d = (d - h) ^ i;
        e = (e ^ a) + b;
        f = (f + c) ^ d;
        g ^= e;
        h += f;
        i -= g;
    }
    return a + b + c + d + e + f + g + h + i;
}

/* Locals in memory without a call: a frame without a saved return address, or the red zone. */
NOINLINE static unsigned leaf_array(unsigned seed) {
    volatile unsigned a[12];
    for (unsigned i = 0; i < 12; i++) a[i] = seed += i * 0x1234567u;
    unsigned s = 0;
    for (unsigned i = 0; i < 12; i += 5) s ^= a[i];
    return s;
}

NOINLINE static unsigned leaf_large(unsigned seed) {
    volatile unsigned a[700];
    a[0] = seed;
    a[699] = seed * 3;
    a[seed % 700] = 5;
    return a[0] + a[699] + a[seed % 700];
}

NOINLINE static unsigned leaf_branches(unsigned x) {
    if (x == 0) return 7;
    if (x < 10) return x * 5;
    if ((x & 1) != 0) return x >> 1;
    return x + 9;
}

NOINLINE static uint64_t leaf_64(uint64_t a, uint64_t b) { return (a * b) ^ (a >> 7) ^ (b << 9); }

/* ---- frames of all sizes ---- */

NOINLINE static unsigned frame_small(unsigned x) {
    volatile unsigned a[3] = {x, x + 1, x + 2};
    return fold(a[0], a[1]) + leaf_plain(a[2], x);
}

NOINLINE static unsigned frame_page(unsigned x) {
    volatile unsigned char a[5000];
    a[0] = (unsigned char)x;
    a[4999] = (unsigned char)(x >> 3);
    return fold(a[0], leaf_plain(a[4999], x)) + a[0];
}

NOINLINE static unsigned frame_pages(unsigned x) {
    volatile unsigned a[17000];
    a[0] = x;
    a[16999] = x ^ 5;
    return fold(a[16999], leaf_nothing(a[0]));
}

NOINLINE static unsigned frame_megabyte(unsigned x) {
    volatile unsigned char a[1200000];
    a[0] = (unsigned char)x;
    a[1199999] = 3;
    unsigned y = fold(a[0], a[1199999]);
    return y + leaf_plain(a[0], y);
}

NOINLINE static unsigned fill(unsigned char *p, unsigned n, unsigned seed) {
    for (unsigned i = 0; i < n; i++) p[i] = (unsigned char)(seed += i);
    return p[n / 2];
}

NOINLINE static unsigned frame_alloca(unsigned n) {
    unsigned char *p = __builtin_alloca(n + 9);
    return fill(p, n, n) + p[n / 3];
}

NOINLINE static unsigned frame_alloca_loop(unsigned n) {
    unsigned s = 0;
    for (unsigned i = 1; i <= n; i++) {
        unsigned char *p = __builtin_alloca(i * 24);
        s = fold(s, fill(p, i * 20, s));
    }
    return s;
}

/* Leaves the block, and so the array, in each turn. */
NOINLINE static unsigned frame_vla(unsigned n) {
    unsigned s = 1;
    for (unsigned i = 2; i < n; i++) {
        unsigned char a[i * 8];
        s = fold(s, fill(a, i * 8, s));
        if ((s & 3) == 3) continue;
        s += a[i];
    }
    return s;
}

NOINLINE static unsigned frame_aligned_64(unsigned x) {
    _Alignas(64) unsigned char a[128];
    unsigned r = fill(a, 128, x);
    return fold(r, (unsigned)((uintptr_t)a & 63));
}

NOINLINE static unsigned frame_aligned_4096(unsigned x) {
    _Alignas(4096) unsigned char a[100];
    unsigned r = fill(a, 100, x);
    return fold(r, (unsigned)((uintptr_t)a & 4095));
}

/* Neither the aligned locals nor the others can be addressed by sp: compilers also use a base pointer. */
NOINLINE static unsigned frame_aligned_alloca(unsigned n) {
    _Alignas(128) unsigned char a[64];
    unsigned char *p = __builtin_alloca(n + 16);
    unsigned r = fill(a, 64, n) + fill(p, n, n + 1);
    return fold(r, a[5] + p[n - 1]);
}

NOINLINE static unsigned leaf_aligned(unsigned x) {
    _Alignas(32) volatile unsigned a[8];
    a[x & 7] = x;
    a[(x + 1) & 7] = 9;
    return a[x & 7] + (unsigned)((uintptr_t)a & 31);
}

/* ---- arguments and results ---- */

NOINLINE static unsigned args_many(unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned f, unsigned g,
                                   unsigned h, unsigned i, unsigned j, unsigned k, unsigned l) {
    return fold(a - b + c * d, e ^ f) + (g | h) * i - (j ^ k) + l;
}

NOINLINE static unsigned args_mixed(uint64_t a, double b, unsigned char c, uint64_t d, float e, short f, uint64_t g,
                                    double h, unsigned i, uint64_t j, unsigned k) {
    return (unsigned)a + (unsigned)b + c + (unsigned)(d >> 3) + (unsigned)e + (unsigned)(f & 0xff) + (unsigned)g +
           (unsigned)h + i + (unsigned)j + k;
}

NOINLINE static unsigned args_nested(unsigned x) {
    return args_many(x, leaf_plain(x, 1), 3, fold(x, 2), 5, leaf_nothing(x), 7, 8, leaf_plain(x, x), 10,
                     args_mixed(x, 2.5, 3, 4, 5.5f, 6, 7, 8.25, 9, 10, 11), 12);
}

struct pair {
    unsigned a, b;
};

struct quad {
    uint64_t a, b;
};

struct large {
    unsigned v[24];
};

struct floats {
    float a, b;
};

NOINLINE static struct pair return_pair(unsigned x) {
    struct pair p = {x, x * 3};
    return p;
}

NOINLINE static struct quad return_quad(uint64_t x) {
    struct quad q = {x ^ 77, x * 5};
    return q;
}

NOINLINE static struct floats return_floats(unsigned x) {
    struct floats f = {(float)(x & 255), (float)(x & 15) * 0.5f};
    return f;
}

/* The caller's buffer is a hidden argument; on i386 the callee pops it. */
NOINLINE static struct large return_large(unsigned x) {
    struct large l;
    for (unsigned i = 0; i < 24; i++) l.v[i] = x += i;
    return l;
}

NOINLINE static struct large return_large_calling(unsigned x) {
    struct large l = return_large(x);
    l.v[3] = fold(l.v[2], l.v[1]);
    return l;
}

NOINLINE static unsigned pass_large(struct large l, unsigned n) { return l.v[n % 24] + l.v[(n + 7) % 24]; }

NOINLINE static unsigned structs(unsigned x) {
    struct pair p = return_pair(x);
    struct quad q = return_quad(x);
    struct large l = return_large_calling(x);
    struct floats f = return_floats(x);
    unsigned s = fold(p.a, p.b) + (unsigned)(q.a ^ q.b) + (unsigned)f.a + (unsigned)f.b;
    s += pass_large(l, s);
    return s + pass_large(return_large(s), 3);
}

/* Calling conventions in which the callee pops its arguments, where the processor has any (empty elsewhere). */
NOINLINE static CALLEE_POPS unsigned pops_arguments(unsigned a, unsigned b, unsigned c) {
    return fold(a, b) - leaf_plain(b, c);
}

NOINLINE static CALLEE_POPS unsigned pops_arguments_leaf(unsigned a, unsigned b) { return a * 3 ^ b; }

NOINLINE static unsigned callee_pops(unsigned x) {
    unsigned a = pops_arguments(x, x + 1, x + 2);
    unsigned b = pops_arguments_leaf(a, x);
    return pops_arguments(a, b, pops_arguments_leaf(b, a));
}

NOINLINE static unsigned varargs_sum(unsigned n, ...) {
    va_list ap;
    unsigned s = 0;
    va_start(ap, n);
    while (n-- > 0) s = s * 3 + va_arg(ap, unsigned);
    va_end(ap);
    return s;
}

NOINLINE static unsigned varargs_list(const char *kinds, va_list ap) {
    unsigned s = 0;
    for (; *kinds != '\0'; kinds++) {
        switch (*kinds) {
        case 'u': s = fold(s, va_arg(ap, unsigned)); break;
        case 'q': s = fold(s, (unsigned)va_arg(ap, uint64_t)); break;
        case 'd': s = fold(s, (unsigned)va_arg(ap, double)); break;
        default: s++; break;
        }
    }
    return s;
}

NOINLINE static unsigned varargs_mixed(const char *kinds, ...) {
    va_list ap;
    va_start(ap, kinds);
    unsigned s = varargs_list(kinds, ap);
    va_end(ap);
    return s;
}

/* ---- recursion ---- */

NOINLINE static unsigned recursion_fib(unsigned n) {
    if (n < 2) return n;
    return recursion_fib(n - 1) + recursion_fib(n - 2);
}

NOINLINE static unsigned recursion_odd(unsigned n, unsigned *steps);

NOINLINE static unsigned recursion_even(unsigned n, unsigned *steps) {
    ++*steps;
    if (n == 0) return 1;
    unsigned r = recursion_odd(n - 1, steps);
    *steps += r;
    return r;
}

NOINLINE static unsigned recursion_odd(unsigned n, unsigned *steps) {
    ++*steps;
    if (n == 0) return 0;
    unsigned r = recursion_even(n - 1, steps);
    *steps ^= r + n;
    return r;
}

NOINLINE static unsigned recursion_deep(unsigned n) {
    volatile unsigned here = n;
    if (n == 0) return leaf_array(3);
    unsigned r = recursion_deep(n - 1);
    return fold(r, here);
}

NOINLINE static unsigned recursion_ackermann(unsigned m, unsigned n) {
    if (m == 0) return n + 1;
    if (n == 0) return recursion_ackermann(m - 1, 1);
    return recursion_ackermann(m - 1, recursion_ackermann(m, n - 1));
}

/* ---- tail calls ---- */

NOINLINE static unsigned tail_target(unsigned a, unsigned b) { return fold(a, b) + 1; }

NOINLINE static unsigned tail_direct(unsigned a, unsigned b) { return tail_target(b, a); }

NOINLINE static unsigned tail_after_frame(unsigned a, unsigned b) {
    unsigned x = leaf_array(a);
    return tail_target(x + a, b);
}

typedef unsigned (*binary)(unsigned, unsigned);

static const binary binaries[] = {leaf_plain, fold, tail_target, tail_direct, tail_after_frame};

NOINLINE static unsigned tail_indirect(unsigned a, unsigned b) { return binaries[a % 5](b, a); }

NOINLINE static unsigned tail_indirect_after_frame(unsigned a, unsigned b) {
    binary f = binaries[(a + b) % 5];
    unsigned x = leaf_array(b);
    sink = x;
    return f(x, a);
}

NOINLINE static unsigned tail_conditional(unsigned a, unsigned b) {
    if (a == 0) return b;
    if ((a & 2) != 0) return tail_target(a, b);
    unsigned x = frame_small(a);
    if ((x & 1) != 0) return tail_direct(x, b);
    return x - b;
}

NOINLINE static unsigned tail_chain(unsigned n, unsigned s) {
    if (n == 0) return s;
    return tail_chain(n - 1, fold(s, n));
}

/* ---- control flow ---- */

NOINLINE static unsigned switch_dense(unsigned op, unsigned x) {
    switch (op) {
    case 0: return x + 1;
    case 1: return fold(x, 1);
    case 2: x = leaf_plain(x, 2); break;
    case 3: x ^= 0x55; break;
    case 4: x = frame_small(x); /* fall through */
    case 5: x += leaf_array(x); break;
    case 6: return x >> 3;
    case 7: x = fold(x, leaf_nothing(x)); break;
    case 8: return tail_target(x, 8);
    case 9: x *= 11; break;
    default: return 99;
    }
    return leaf_plain(x, op);
}

NOINLINE static unsigned switch_leaf(unsigned op, unsigned x) {
    switch (op) {
    case 10: return x * 3;
    case 11: return x - 5;
    case 12: return x ^ 0x1234;
    case 13: return x << 2 | x >> 30;
    case 14: return ~x;
    case 15: return x + 0x4321;
    case 16: return x * x;
    case 17: return x % 7;
    default: return x;
    }
}

NOINLINE static unsigned switch_sparse(unsigned op) {
    switch (op) {
    case 1: return fold(op, 2);
    case 100: return leaf_plain(op, 3);
    case 1000: return fold(op, leaf_nothing(4));
    case 5000: return 17;
    case 70000: return leaf_array(op);
    case 0x80000000u: return 5;
    default: return op * 3;
    }
}

NOINLINE static unsigned switch_in_loop(unsigned n) {
    unsigned s = 1;
    for (unsigned i = 0; i < n; i++) {
        switch (s & 7) {
        case 0: s += 3; continue;
        case 1: s = fold(s, i); break;
        case 2: s = switch_dense(i % 12, s); break;
        case 3: s ^= leaf_branches(i); break;
        case 4:
            if (i > 20) return s;
            s++;
            break;
        case 5: s = s * 5 + 1; break;
        case 6: s = leaf_plain(s, i); break;
        case 7: s >>= 1; break;
        }
        s += i;
    }
    return s;
}

NOINLINE static unsigned computed_goto(const unsigned char *code) {
    static const void *const labels[] = {&&halt, &&add, &&call, &&jump, &&leaf};
    unsigned acc = 1;
    /* clang 19 reads eight bytes from a constant label table on arm64_32. */
    goto *labels[*code + zero];
add:
    acc += code[1];
    code += 2;
    goto *labels[*code];
call:
    acc = fold(acc, code[1]);
    code += 2;
    goto *labels[*code];
jump:
    code += code[1];
    goto *labels[*code];
leaf:
    acc ^= leaf_branches(acc & 31);
    code++;
    goto *labels[*code];
halt:
    return acc;
}

NOINLINE static unsigned computed_goto_leaf(const unsigned char *code) {
    static const void *const labels[] = {&&halt, &&add, &&twice, &&less};
    unsigned acc = 3;
    for (;;) {
        goto *labels[*code++ & 3];
    add:
        acc += *code++;
        continue;
    twice:
        acc *= 2;
        continue;
    less:
        acc -= 5;
        continue;
    }
halt:
    return acc;
}

/* ---- prologues that come late, and returns before them ---- */

NOINLINE static unsigned early_null(const unsigned *p) {
    if (p == NULL) return 0;
    unsigned x = fold(p[0], p[1]);
    return fold(x, p[2]);
}

NOINLINE static unsigned early_range(unsigned x, unsigned y) {
    if (x > 1000) return x;
    if (x + y < 7) return y * 3;
    unsigned a = leaf_plain(x, y), b = fold(a, y), c = fold(b, a);
    return a ^ b ^ c;
}

NOINLINE static unsigned early_loop(const unsigned *p, unsigned n) {
    unsigned s = 0;
    for (unsigned i = 0; i < n; i++) s += p[i];
    if ((s & 3) != 1) return s;
    s = fold(s, n);
    return s + frame_small(s);
}

NOINLINE static unsigned late_slow_path(unsigned x) {
    unsigned y = x * 0x01000193u;
    if (__builtin_expect((y & 63) == 5, 0)) {
        y = fold(y, x);
        y ^= frame_page(y);
    }
    return y + x;
}

NOINLINE static unsigned loop_with_calls(unsigned n) {
    unsigned s = n;
    for (unsigned i = 0; i < n; i++) {
        s = fold(s, i);
        if ((s & 31) == 7) break;
        for (unsigned j = 0; j < (s & 3); j++) s += leaf_plain(i, j);
    }
    return s;
}

NOINLINE static unsigned loop_forever_until(unsigned limit) {
    unsigned s = 0, turns = 0;
    for (;;) {
        s = fold(s, turns++);
        if (turns > limit) goto out;
        if ((s & 0xff) == 0x80) break;
    }
    s ^= 1;
out:
    return s + turns;
}

NOINLINE static unsigned loop_do(unsigned n) {
    unsigned s = 0;
    do {
        s += leaf_nothing(n);
        leaf_void(&s);
    } while (n-- > 2 && s != 0);
    return s;
}

/* ---- calls that do not return, compiled but not executed ---- */

NORETURN NOINLINE static void fatal(unsigned why) {
    for (;;) sink = fold(sink, why);
}

NORETURN NOINLINE COLD static void fatal_cold(const char *message, unsigned why) {
    while (*message != '\0') why = fold(why, (unsigned char)*message++);
    fatal(why);
}

NOINLINE static unsigned dies_at_end(unsigned x) {
    if (__builtin_expect(zero == 0, 1)) return fold(x, 4);
    fatal(x);
}

NOINLINE static unsigned dies_in_the_middle(unsigned x) {
    if (zero != 0) fatal(x);
    unsigned y = fold(x, 9);
    if (y == 0x12345 + zero && zero != 0) fatal_cold("middle", y);
    return y + leaf_plain(x, y);
}

NOINLINE static unsigned dies_in_a_leaf(unsigned x) {
    if (zero != 0) fatal_cold("leaf", x);
    return x * 7;
}

NOINLINE static unsigned traps_otherwise(unsigned x) {
    if (zero != 0) __builtin_trap();
    unsigned y = leaf_array(x);
    if (y == zero && zero != 0) __builtin_trap();
    return y ^ x;
}

NOINLINE static unsigned dies_by_switch(unsigned x) {
    switch (x & 3) {
    case 0: return fold(x, 0);
    case 1: return x;
    case 2: x = leaf_array(x); break;
    case 3:
        if (zero == 0) return leaf_plain(x, 3);
        fatal(x);
    }
    return x + 1;
}

COLD NOINLINE static unsigned cold_path(unsigned x) {
    unsigned y = fold(x, 0xc01d);
    return y + leaf_array(y);
}

NOINLINE static unsigned calls_cold(unsigned x) {
    unsigned s = fold(x, 1);
    if ((x & 1) != 0) s ^= cold_path(x);
    s += leaf_plain(s, x);
    if ((s & 7) == 3) {
        s = cold_path(s) + 1;
        if (zero != 0) fatal_cold("cold", s);
    }
    return s;
}

/* ---- floating point and vectors ---- */

NOINLINE static double real_leaf(double a, double b) { return a * 0.5 + b; }

/* Values alive across calls: the callee-saved floating point registers are pushed. All numbers are small multiples of
 * 2^-8, so that every processor computes the same result. */
NOINLINE static double real_saved(double a, double b, unsigned n) {
    double c = a + b, d = a - b, e = a * 0.25, f = b * 0.5, g = c + 1, h = d + 2;
    for (unsigned i = 0; i < n; i++) {
        c = real_leaf((double)i, e) + f;
        d += real_leaf(f, c);
        g = real_leaf(4, 2) + h;
        h = (double)(int)(g + c) * 0.25 + (double)i;
        if (d > 1000) d = 1;
    }
    return a + b + c + d + e + f + g + h;
}

NOINLINE static float real_array(const float *v, unsigned n) {
    float s = 0;
    for (unsigned i = 0; i < n; i++) s += v[i] * (float)(i & 3);
    return s;
}

NOINLINE static unsigned real_mixed(unsigned x) {
    float v[20];
    for (unsigned i = 0; i < 20; i++) v[i] = (float)((x + i) & 15);
    double r = real_saved((double)(x & 7), (double)(x & 3), 5);
    return (unsigned)(real_array(v, 20) + 0.5f) + (unsigned)(int)r;
}

typedef unsigned vector __attribute__((vector_size(16)));

NOINLINE static void vector_step(vector *a, const vector *b) { *a = (*a + *b) ^ (*b << 3); }

NOINLINE static unsigned vectors(unsigned x) {
    vector a = {x, x + 1, x + 2, x + 3}, b = {5, 6, 7, x};
    for (unsigned i = 0; i < 3; i++) {
        vector_step(&a, &b);
        b ^= a * 3;
    }
    return a[0] ^ a[1] ^ a[2] ^ a[3] ^ b[1];
}

/* ---- wide arithmetic: on 32-bit processors by helpers ---- */

NOINLINE static unsigned wide(unsigned x) {
    uint64_t a = leaf_64((uint64_t)x << 20 | 12345, x + 7u);
    uint64_t b = a / (x % 1000 + 3u);
    uint64_t c = a % (x % 77 + 2u);
    int64_t d = (int64_t)(a ^ b) / (int64_t)(c + 5u);
    int e = (int)x / (int)((x & 15) + 1) + (int)x % 13;
    return (unsigned)b ^ (unsigned)(c << 3) ^ (unsigned)((uint64_t)d >> (x & 31)) ^ (unsigned)e;
}

/* ---- function pointers ---- */

struct object {
    unsigned (*method)(struct object *, unsigned);
    unsigned state;
    struct object *next;
};

NOINLINE static unsigned method_count(struct object *o, unsigned x) { return o->state += x; }

NOINLINE static unsigned method_forward(struct object *o, unsigned x) {
    o->state++;
    return o->next->method(o->next, x + 1);
}

NOINLINE static unsigned method_wrap(struct object *o, unsigned x) {
    unsigned r = o->next->method(o->next, x);
    return fold(r, o->state++);
}

NOINLINE static unsigned methods(unsigned x) {
    struct object last = {method_count, x, NULL};
    struct object middle = {method_forward, 0, &last};
    struct object first = {method_wrap, 2, &middle};
    unsigned s = 0;
    for (struct object *o = &first; o != NULL; o = o->next) s = fold(s, o->method(o, x));
    return s;
}

NOINLINE static unsigned apply_to_all(const unsigned *v, unsigned n, unsigned (*f)(unsigned, unsigned)) {
    unsigned s = 0;
    for (unsigned i = 0; i < n; i++) s = f(s, v[i]);
    return s;
}

/* Written in assembly, for each processor (stubs_*.S). */
unsigned stub_leaf(unsigned x);
unsigned stub_jump(unsigned a, unsigned b);
unsigned stub_jump_register(unsigned a, unsigned b);
unsigned stub_thunk(unsigned a, unsigned b);
unsigned stub_calls(unsigned a, unsigned b);
unsigned stub_target(unsigned a, unsigned b);

unsigned stub_target(unsigned a, unsigned b) { return fold(a, b) ^ 0x57ab; }

NOINLINE static unsigned stubs(unsigned x) {
    unsigned s = stub_leaf(x);
    s = fold(s, stub_jump(s, x));
    s = fold(s, stub_jump_register(x, s));
    s = fold(s, stub_thunk(s, s));
    return fold(s, stub_calls(x, s));
}

/* ---- the whole program ---- */

static unsigned one_round(unsigned h, unsigned r) {
    static const unsigned char program[] = {1, 7, 2, 9, 4, 3, 3, 1, 1, 5, 4, 2, 3, 0};
    static const unsigned char leaf_program[] = {1, 7, 2, 3, 1, 9, 2, 2, 0};
    unsigned v[16];
    for (unsigned i = 0; i < 16; i++) v[i] = fold(h, i + r);
    h = fold(h, leaf_pressure(v, 5));
    h = fold(h, leaf_lr_scratch(v, 4));
    h = fold(h, leaf_nothing(h) + leaf_plain(h, r) + leaf_array(h) + leaf_large(h));
    leaf_void(&h);
    for (unsigned i = 0; i < 14; i += 3) h = fold(h, leaf_branches(i));
    h = fold(h, frame_small(h) + frame_page(h));
    h = fold(h, frame_pages(h) + frame_megabyte(h));
    h = fold(h, frame_alloca(h % 50 + 5) + frame_alloca_loop(3) + frame_vla(6));
    h = fold(h, frame_aligned_64(h) + frame_aligned_4096(h) + frame_aligned_alloca(h % 40 + 3) + leaf_aligned(h));
    h = fold(h, args_nested(h));
    h = fold(h, structs(h));
    h = fold(h, callee_pops(h));
    h = fold(h, varargs_sum(7, 1u, h, 3u, r, 5u, 6u, 7u));
    h = fold(h, varargs_mixed("uqduxqdu", 1u, (uint64_t)h, 2.0, r, (uint64_t)5, 3.0, 9u));
    unsigned steps = 0;
    h = fold(h, recursion_fib(7) + recursion_even(9, &steps) + steps);
    h = fold(h, recursion_deep(40));
    h = fold(h, recursion_ackermann(2, 2));
    h = fold(h, tail_direct(h, r) + tail_after_frame(h, 3) + tail_chain(4, h));
    for (unsigned i = 0; i < 6; i++) {
        h = fold(h, tail_indirect(h + i, i) + tail_indirect_after_frame(h, i) + tail_conditional(h >> i, i));
        h = fold(h, dies_by_switch(h + i) + calls_cold(h ^ i));
        h = fold(h, early_range(i * 300, h & 15) + early_range(i, i) + late_slow_path(h + i));
        h = fold(h, early_loop(v, i + 3) + early_null(i == 2 ? NULL : v));
    }
    for (unsigned i = 0; i < 11; i++) h = fold(h, switch_dense(i, h) + switch_leaf(i + 9, h));
    h = fold(h, switch_sparse(1) + switch_sparse(100) + switch_sparse(1000) + switch_sparse(70000) + switch_sparse(h));
    h = fold(h, switch_in_loop(30));
    h = fold(h, computed_goto(program) + computed_goto_leaf(leaf_program));
    h = fold(h, loop_with_calls(12) + loop_forever_until(9) + loop_do(6));
    h = fold(h, dies_at_end(h) + dies_in_the_middle(h) + dies_in_a_leaf(h) + traps_otherwise(h));
    h = fold(h, real_mixed(h) + vectors(h));
    h = fold(h, wide(h) + wide(h >> 9));
    h = fold(h, methods(h) + apply_to_all(v, 16, fold) + apply_to_all(v, 9, leaf_plain));
    return fold(h, stubs(h));
}

unsigned usp_workload(unsigned rounds) {
    unsigned h = 1;
    for (unsigned r = 0; r < rounds; r++) h = one_round(h, r);
    return h;
}
