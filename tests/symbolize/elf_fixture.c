/* SPDX-License-Identifier: MIT */
/* Functions of every binding, aliases, ifuncs, labels, versions, for tests/symbolize/elf.sh. Uses no headers, so that
 * it compiles for any target. */
extern int outside(const char *text, ...);
extern int outside_2(int x);
extern int *outside_3(void);

#define NOINLINE __attribute__((noinline))

#define FOUR(n)                                                                                                        \
    static NOINLINE int local_##n(int x) { return outside("local", x, n) * n + outside_2(x + n); }                     \
    NOINLINE __attribute__((visibility("hidden"))) int hidden_##n(int x) { return local_##n(x) + outside_2(n); }       \
    NOINLINE int visible_##n(int x) {                                                                                  \
        int sum = 0;                                                                                                   \
        for (int i = 0; i < x; i++) sum += hidden_##n(i) * (i + n);                                                    \
        return sum;                                                                                                    \
    }                                                                                                                  \
    NOINLINE __attribute__((weak)) int weak_##n(int x) { return visible_##n(x) ^ n; }
#define TEN(n)                                                                                                         \
    FOUR(n##0) FOUR(n##1) FOUR(n##2) FOUR(n##3) FOUR(n##4) FOUR(n##5) FOUR(n##6) FOUR(n##7) FOUR(n##8) FOUR(n##9)
TEN(1)
TEN(2)
TEN(3)

/* Aliases of each binding; the weak one is the first in the alphabet. */
int __aliased(int x);
NOINLINE int __aliased(int x) { return outside_2(x) * 3; }
int aliased(int x) __attribute__((alias("__aliased")));
int a_weak_alias(int x) __attribute__((weak, alias("__aliased")));

/* A function without a size, and a label in a function with a size. */
#if defined(__arm__)
#define RETURN "bx lr\n"
#else
#define RETURN "ret\n"
#endif
__asm__(".text\n.globl unsized\nunsized:\nnop\n" RETURN ".p2align 2\n"
        ".type with_label, %function\nwith_label:\n.long 0\n.globl inner_label\ninner_label:\n.long 0\n.long 0\n"
        ".size with_label, . - with_label\n"
        ".p2align 4\n");

#ifdef USP_TEST_IFUNC
static int chosen_slow(int x) { return outside_2(x) + 1; }
static int chosen_fast(int x) { return outside_2(x) + 2; }
static int (*choose(void))(int) { return outside_3() != 0 ? chosen_fast : chosen_slow; }
int chosen(int x) __attribute__((ifunc("choose")));
#endif

int table(int x) {
    int sum = aliased(x) + a_weak_alias(x) + *outside_3();
    for (int i = 0; i < x; i++) sum += weak_10(i) + weak_11(i) + weak_20(i) + weak_21(i) + weak_30(i);
#ifdef USP_TEST_IFUNC
    sum += chosen(x);
#endif
    return sum;
}

/* Takes the function's address, so that calls of it go through .plt.got where binding is lazy. */
int (*pointer(void))(int) { return outside_2; }
