/* SPDX-License-Identifier: MIT */
/* Functions of every visibility, without headers, so that it compiles for any target; tests/symbolize/macho.sh links
 * it. */
extern int outside(const char *text, ...);
extern int outside_2(int x);

#define NOINLINE __attribute__((noinline))
#define HIDDEN   __attribute__((visibility("hidden")))

/* Local, hidden, visible and weak functions of different lengths, so that their starts are spread unevenly. */
#define FOUR(n)                                                                                                        \
    static NOINLINE int local_##n(int x) { return outside("local", x, n) * n + outside_2(x + n); }                     \
    NOINLINE HIDDEN int hidden_##n(int x) { return local_##n(x) + outside_2(n); }                                      \
    NOINLINE int visible_##n(int x) {                                                                                  \
        int sum = 0;                                                                                                   \
        for (int i = 0; i < x; i++) sum += hidden_##n(i) * (i + n);                                                    \
        return sum;                                                                                                    \
    }                                                                                                                  \
    NOINLINE __attribute__((weak)) int weak_##n(int x) { return visible_##n(x) ^ n; }

#define CALL(n) sum += weak_##n(sum) + visible_##n(sum);

#define TEN(of, n) of(n##0) of(n##1) of(n##2) of(n##3) of(n##4) of(n##5) of(n##6) of(n##7) of(n##8) of(n##9)
#define EIGHTY(of) TEN(of, 1) TEN(of, 2) TEN(of, 3) TEN(of, 4) TEN(of, 5) TEN(of, 6) TEN(of, 7) TEN(of, 8)

EIGHTY(FOUR)

int visible_data = 5;
static const int constants[4] = {1, 2, 3, 4};

/* A jump table: on some processors it is data between functions. */
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
    EIGHTY(CALL)
    return sum + visible_switch(sum);
}
