/* SPDX-License-Identifier: MIT */
/* Functions of every visibility, without headers, so that any target compiles it; tests/names/macho.sh links it. */
extern int outside(const char *text, ...);
extern int outside_2(int x);

#define NOINLINE __attribute__((noinline))
#define HIDDEN   __attribute__((visibility("hidden")))

/* Local, hidden, visible, weak; of different length, so that their starts are spread unevenly. */
#define FOUR(n)                                                                                                        \
    static NOINLINE int local_##n(int x) { return outside("local", x, n) * n + outside_2(x + n); }                     \
    NOINLINE HIDDEN int hidden_##n(int x) { return local_##n(x) + outside_2(n); }                                      \
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
TEN(3) TEN(4) TEN(5) TEN(6) TEN(7) TEN(8)

#define CALL(n) sum += weak_##n(sum) + visible_##n(sum);
#define CALL_TEN(n)                                                                                                    \
    CALL(n##0) CALL(n##1) CALL(n##2) CALL(n##3) CALL(n##4) CALL(n##5) CALL(n##6) CALL(n##7) CALL(n##8) CALL(n##9)

    int visible_data = 5;
static const int constants[4] = {1, 2, 3, 4};

/* A jump table: data between functions on some processors. */
NOINLINE int visible_switch(int x) {
    switch (x) {
    case 0: return outside_2(3);
    case 1: return outside_2(17) + 1;
    case 2: return outside("two");
    case 3: return outside_2(x) - 8;
    case 4: return visible_data++;
    case 5: return constants[x & 3];
    case 6: return outside_2(9) * 7;
    default: return 0;
    }
}

int main(int argc, char **argv) {
    int sum = argc + (argv != 0);
    CALL_TEN(1)
    CALL_TEN(2)
        CALL_TEN(3) CALL_TEN(4) CALL_TEN(5) CALL_TEN(6) CALL_TEN(7) CALL_TEN(8) return sum + visible_switch(sum);
}
