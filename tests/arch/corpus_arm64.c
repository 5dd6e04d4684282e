/* SPDX-License-Identifier: MIT */
/* Functions that arm64-check.sh compiles for many targets: each makes another kind of frame or accesses it in another
 * way. Needs no headers, so that it compiles for Apple's systems without an SDK. Never run. */
typedef __SIZE_TYPE__ size;
__extension__ typedef __int128 wide;

void use(void *);
int more(int);
extern int shared;

int leaf(int a, int b);
int tail_call(int a);
int shrink_wrapped(int *p, int n);
int dynamic_frame(size n);
int aligned_frame(void);
int many_registers(const int *p);
double saved_vectors(const double *p);
int switches(int n, char *s);
int through_pointer(int (*f)(int), int n);
long atomics(long *p, long n);
void vectorized(float *p, double *q, int *r, int n);
void *copies(char *to, const char *from, size n);
wide long_division(wide a, wide b);
int stops(int n);
int small_frame(int n), page_frame(int n), wide_frame(int n), huge_frame(int n);

int leaf(int a, int b) { return a * b + shared; }

int tail_call(int a) { return more(a + 1); }

int shrink_wrapped(int *p, int n) {
    if (p == 0) return 3;
    use(p);
    use(p + n);
    return more(n) + *p;
}

#define FRAME_OF(name, bytes)                                                                                          \
    int name(int n) {                                                                                                  \
        char local[bytes];                                                                                             \
        use(local);                                                                                                    \
        return local[n] + more(n);                                                                                     \
    }
FRAME_OF(small_frame, 24)
FRAME_OF(page_frame, 5000)
FRAME_OF(wide_frame, 70000)
FRAME_OF(huge_frame, 20000000)

int dynamic_frame(size n) {
    int *local = __builtin_alloca(n * sizeof *local);
    int fixed[7] = {0};
    use(local);
    use(fixed);
    return local[n - 1] + fixed[n % 7];
}

int aligned_frame(void) {
    _Alignas(128) char local[256];
    use(local);
    return local[5];
}

int many_registers(const int *p) {
    int a = more(p[0]), b = more(p[1]), c = more(p[2]), d = more(p[3]), e = more(p[4]), f = more(p[5]);
    int g = more(p[6]), h = more(p[7]), i = more(p[8]), j = more(p[9]), k = more(p[10]), l = more(p[11]);
    return a ^ more(b ^ c) ^ more(d ^ e) ^ more(f ^ g) ^ more(h ^ i) ^ more(j ^ k) ^ l;
}

double saved_vectors(const double *p) {
    double a = p[0] * p[1], b = p[2] + p[3], c = p[4] - p[5];
    use((void *)p);
    return a + b * (double)more((int)c);
}

int switches(int n, char *s) {
    switch (n) {
    case 0: use(s); return 1;
    case 1: return 7;
    case 2: use(s + 1); return 9;
    case 3: return n * 3;
    case 4: use(s + 2); return more(n);
    case 5: return 77;
    case 6: use(s + 6); return more(2);
    default: return 0;
    }
}

int through_pointer(int (*f)(int), int n) { return f(n) + f(n + 1); }

long atomics(long *p, long n) {
    long expected = 1;
    __atomic_compare_exchange_n(p, &expected, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    __atomic_fetch_or((int *)p, (int)n, __ATOMIC_RELAXED);
    return __atomic_fetch_add(p, n, __ATOMIC_ACQ_REL) + __atomic_exchange_n(p, expected, __ATOMIC_RELEASE);
}

void vectorized(float *p, double *q, int *r, int n) {
    for (int i = 0; i < n; i++) {
        p[i] = p[i] * 2 + (float)q[i];
        r[i] += (int)p[i];
    }
}

void *copies(char *to, const char *from, size n) {
    __builtin_memcpy(to, from, n);
    __builtin_memset(to + n, 0, n);
    return __builtin_memmove(to + 1, to, n);
}

wide long_division(wide a, wide b) { return a * b / 3; }

int stops(int n) {
    if (n > 3) __builtin_trap();
    return n;
}

#ifdef __clang__
#define CONTEXT __attribute__((swift_async_context)) char *
__attribute__((swiftasynccall)) void async_frame(CONTEXT context, int n);
__attribute__((swiftasynccall)) void async_frame(CONTEXT context, int n) {
    char local[500];
    use(local);
    use(context + n);
}
#endif
