/* SPDX-License-Identifier: MIT */
/* A second program for the emulator, more like a real program than a list of frame shapes: an interpreter, sorting with
 * callbacks, text, trees, matrices, state machines. Unwinding must not be fitted to a single program.
 *
 * Freestanding, and the same checksum on every processor, as workload.c is. */
#include "workload.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

static uint32_t random_state;

static uint32_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    random_state ^= random_state << 5;
    return random_state;
}

static uint32_t checksum(uint32_t hash, const void *data, size_t n) {
    const unsigned char *p = data;
    for (size_t i = 0; i < n; i++) hash = (hash ^ p[i]) * 0x01000193u;
    return hash;
}

/* ---- an arena ---- */

static _Alignas(16) unsigned char arena[32768];
static size_t arena_used;

NORETURN NOINLINE static void out_of_memory(size_t wanted) {
    for (;;) arena_used += wanted;
}

static void *allocate(size_t n) {
    size_t rounded = (n + 15) & ~(size_t)15;
    if (rounded > sizeof arena - arena_used) out_of_memory(n);
    void *p = arena + arena_used;
    arena_used += rounded;
    return p;
}

/* ---- text ---- */

struct text {
    char *at;
    size_t used, capacity;
};

static void put(struct text *t, char c) {
    if (t->used + 1 < t->capacity) t->at[t->used] = c;
    t->used++;
}

static void put_padded(struct text *t, const char *s, size_t n, unsigned width, bool left) {
    size_t pad = width > n ? width - n : 0;
    if (!left) {
        while (pad > 0) put(t, ' '), pad--;
    }
    for (size_t i = 0; i < n; i++) put(t, s[i]);
    while (pad > 0) put(t, ' '), pad--;
}

static size_t digits_of(char out[24], uint64_t v, unsigned base, bool upper) {
    static const char *const sets[] = {"0123456789abcdef", "0123456789ABCDEF"};
    char reversed[24];
    size_t n = 0;
    do {
        reversed[n++] = sets[upper][v % base];
        v /= base;
    } while (v != 0);
    for (size_t i = 0; i < n; i++) out[i] = reversed[n - 1 - i];
    return n;
}

static size_t length_of(const char *s) {
    const char *p = s;
    while (*p != '\0') p++;
    return (size_t)(p - s);
}

static size_t format_list(char *out, size_t capacity, const char *f, va_list ap) {
    struct text t = {out, 0, capacity};
    for (; *f != '\0'; f++) {
        if (*f != '%') {
            put(&t, *f);
            continue;
        }
        bool left = false;
        unsigned width = 0, longs = 0;
        if (*++f == '-') left = true, f++;
        for (; *f >= '0' && *f <= '9'; f++) width = width * 10 + (unsigned)(*f - '0');
        for (; *f == 'l'; f++) longs++;
        char digits[24];
        switch (*f) {
        case 'd': {
            int64_t v = longs > 1 ? va_arg(ap, int64_t) : va_arg(ap, int);
            if (v < 0) put(&t, '-');
            put_padded(&t, digits, digits_of(digits, v < 0 ? 0 - (uint64_t)v : (uint64_t)v, 10, false), width, left);
            break;
        }
        case 'x':
        case 'X':
        case 'u':
        case 'o': {
            uint64_t v = longs > 1 ? va_arg(ap, uint64_t) : va_arg(ap, unsigned);
            unsigned base = *f == 'u' ? 10 : *f == 'o' ? 8 : 16;
            put_padded(&t, digits, digits_of(digits, v, base, *f == 'X'), width, left);
            break;
        }
        case 's': {
            const char *s = va_arg(ap, const char *);
            if (s == NULL) s = "(null)";
            put_padded(&t, s, length_of(s), width, left);
            break;
        }
        case 'c': put(&t, (char)va_arg(ap, int)); break;
        case 'f': {
            double v = va_arg(ap, double);
            if (v < 0) put(&t, '-'), v = -v;
            unsigned whole = (unsigned)v;
            put_padded(&t, digits, digits_of(digits, whole, 10, false), width, left);
            put(&t, '.');
            for (int i = 0; i < 3; i++) {
                v = (v - (double)whole) * 10;
                whole = (unsigned)v;
                put(&t, (char)('0' + whole));
            }
            break;
        }
        case '%': put(&t, '%'); break;
        default: put(&t, '?'); break;
        }
    }
    if (capacity > 0) out[t.used < capacity ? t.used : capacity - 1] = '\0';
    return t.used;
}

NOINLINE static size_t format(char *out, size_t capacity, const char *f, ...) {
    va_list ap;
    va_start(ap, f);
    size_t n = format_list(out, capacity, f, ap);
    va_end(ap);
    return n;
}

static const char *find_text(const char *in, const char *what) {
    size_t n = length_of(what);
    for (; *in != '\0'; in++) {
        size_t i = 0;
        while (i < n && in[i] == what[i]) i++;
        if (i == n) return in;
    }
    return NULL;
}

NOINLINE static uint32_t texts(uint32_t h) {
    char line[160];
    size_t n = format(line, sizeof line, "%5d|%-6u|%x|%X|%s|%c|%llu|%8s|%o|%f|%%", -42, h & 0xfff, h, ~h, "text", 'q',
                      (uint64_t)h << 13, "pad", 511u, (double)(h & 1023) * 0.125);
    h = checksum(h, line, n);
    const char *at = find_text(line, "pad");
    return at == NULL ? h : h + (uint32_t)(at - line);
}

/* ---- sorting, with callbacks ---- */

struct item {
    uint32_t key;
    uint16_t weight;
    char name[6];
};

typedef int (*compare)(const struct item *a, const struct item *b, void *context);

static int by_key(const struct item *a, const struct item *b, void *context) {
    (void)context;
    return a->key < b->key ? -1 : a->key > b->key;
}

static int by_weight_then_name(const struct item *a, const struct item *b, void *context) {
    unsigned *calls = context;
    ++*calls;
    if (a->weight != b->weight) return a->weight < b->weight ? 1 : -1;
    for (size_t i = 0; i < sizeof a->name; i++) {
        if (a->name[i] != b->name[i]) return a->name[i] - b->name[i];
    }
    return 0;
}

static void exchange(struct item *a, struct item *b) {
    struct item t = *a;
    *a = *b;
    *b = t;
}

static void insertion_sort(struct item *v, size_t n, compare f, void *context) {
    for (size_t i = 1; i < n; i++) {
        struct item t = v[i];
        size_t j = i;
        for (; j > 0 && f(&v[j - 1], &t, context) > 0; j--) v[j] = v[j - 1];
        v[j] = t;
    }
}

NOINLINE static void quick_sort(struct item *v, size_t n, compare f, void *context) {
    while (n > 6) {
        struct item pivot = v[n / 2];
        size_t i = 0, j = n - 1;
        for (;;) {
            while (f(&v[i], &pivot, context) < 0) i++;
            while (f(&v[j], &pivot, context) > 0) j--;
            if (i >= j) break;
            exchange(&v[i++], &v[j--]);
        }
        size_t left = j + 1;
        if (left < n - left) {
            quick_sort(v, left, f, context);
            v += left;
            n -= left;
        } else {
            quick_sort(v + left, n - left, f, context);
            n = left;
        }
    }
    insertion_sort(v, n, f, context);
}

static void sift(struct item *v, size_t root, size_t n, compare f, void *context) {
    for (size_t child; (child = 2 * root + 1) < n; root = child) {
        if (child + 1 < n && f(&v[child], &v[child + 1], context) < 0) child++;
        if (f(&v[root], &v[child], context) >= 0) return;
        exchange(&v[root], &v[child]);
    }
}

NOINLINE static void heap_sort(struct item *v, size_t n, compare f, void *context) {
    for (size_t i = n / 2; i-- > 0;) sift(v, i, n, f, context);
    while (n-- > 1) {
        exchange(&v[0], &v[n]);
        sift(v, 0, n, f, context);
    }
}

NOINLINE static uint32_t sorting(uint32_t h) {
    struct item v[24];
    unsigned calls = 0;
    for (size_t i = 0; i < 24; i++) {
        v[i].key = next_random();
        v[i].weight = (uint16_t)(next_random() % 5);
        for (size_t j = 0; j < sizeof v[i].name; j++) v[i].name[j] = (char)('a' + next_random() % 3);
    }
    quick_sort(v, 24, by_key, NULL);
    for (size_t i = 0; i < 24; i++) h = h * 31 + v[i].key;
    heap_sort(v, 24, by_weight_then_name, &calls);
    h = checksum(h, v[5].name, sizeof v[5].name);
    quick_sort(v, 24, by_weight_then_name, &calls);
    for (size_t i = 0; i < 24; i++) h = h * 31 + v[i].weight;
    return h + (calls != 0);
}

/* ---- an interpreter of a stack machine ---- */

enum op { HALT, PUSH, ADD, SUB, MUL, DIV, DUP, SWAP, POP, JMP, JZ, CALL, RET, LOAD, STORE, PRINT, NATIVE };

struct machine {
    const uint8_t *code;
    uint32_t stack[64];
    uint32_t calls[16];
    uint32_t memory[16];
    unsigned sp, csp, pc;
    char out[64];
    struct text text;
};

typedef uint32_t (*native)(struct machine *m, uint32_t argument);

NORETURN NOINLINE COLD static void machine_fault(struct machine *m, unsigned why) {
    for (;;) m->memory[why & 15]++;
}

static uint32_t native_square(struct machine *m, uint32_t x) {
    (void)m;
    return x * x;
}

static uint32_t native_print(struct machine *m, uint32_t x) {
    char digits[24];
    size_t n = digits_of(digits, x, 10, false);
    put_padded(&m->text, digits, n, 3, false);
    return (uint32_t)n;
}

static const native natives[] = {native_square, native_print};

static inline uint32_t pop(struct machine *m) {
    if (m->sp == 0) machine_fault(m, 1);
    return m->stack[--m->sp];
}

static inline void push(struct machine *m, uint32_t v) {
    if (m->sp == 64) machine_fault(m, 2);
    m->stack[m->sp++] = v;
}

NOINLINE static uint32_t interpret(struct machine *m, unsigned budget) {
    uint32_t a, b;
    while (budget-- > 0) {
        switch ((enum op)m->code[m->pc++]) {
        case HALT: return m->sp > 0 ? m->stack[m->sp - 1] : 0;
        case PUSH: push(m, m->code[m->pc++]); break;
        case ADD: a = pop(m), push(m, pop(m) + a); break;
        case SUB: a = pop(m), push(m, pop(m) - a); break;
        case MUL: a = pop(m), push(m, pop(m) * a); break;
        case DIV:
            a = pop(m);
            if (a == 0) machine_fault(m, 3);
            push(m, pop(m) / a);
            break;
        case DUP: a = pop(m), push(m, a), push(m, a); break;
        case SWAP: a = pop(m), b = pop(m), push(m, a), push(m, b); break;
        case POP: pop(m); break;
        case JMP: m->pc = m->code[m->pc]; break;
        case JZ:
            a = m->code[m->pc++];
            if (pop(m) == 0) m->pc = a;
            break;
        case CALL:
            if (m->csp == 16) machine_fault(m, 4);
            m->calls[m->csp++] = m->pc + 1;
            m->pc = m->code[m->pc];
            break;
        case RET:
            if (m->csp == 0) machine_fault(m, 5);
            m->pc = m->calls[--m->csp];
            break;
        case LOAD: push(m, m->memory[m->code[m->pc++] & 15]); break;
        case STORE: a = pop(m), m->memory[m->code[m->pc++] & 15] = a; break;
        case PRINT: put(&m->text, (char)pop(m)); break;
        case NATIVE: a = m->code[m->pc++], push(m, natives[a & 1](m, pop(m))); break;
        default: machine_fault(m, 6);
        }
    }
    return budget;
}

NOINLINE static uint32_t interpreter(uint32_t h) {
    static const uint8_t program[] = {
        PUSH,  6,      STORE, 0,    PUSH,   1,   STORE, 1, /* n = 6, f = 1 */
        LOAD,  0,      JZ,    26,   LOAD,   1,   LOAD,  0,    MUL, STORE, 1,    LOAD, 0, PUSH, 1, SUB, /* 8: f *= n */
        JMP,   38,                                                                                     /* 24 */
        LOAD,  1,      CALL,  42,   NATIVE, 1,   POP,   PUSH, 33,  PRINT, LOAD, 1,                     /* 26 */
        STORE, 0,      JMP,   8,                                                                       /* 38 */
        DUP,   NATIVE, 0,     PUSH, 7,      DIV, SWAP,  POP,  RET,                                     /* 42 */
    };
    struct machine m;
    m.code = program;
    m.sp = m.csp = m.pc = 0;
    for (size_t i = 0; i < 16; i++) m.memory[i] = 0;
    m.text = (struct text){m.out, 0, sizeof m.out};
    h += interpret(&m, 90 + (h & 31));
    return checksum(h, m.out, m.text.used);
}

/* ---- a parser of expressions, by recursive descent, with errors passed upwards ---- */

struct parser {
    const char *at;
    int depth;
    bool failed;
};

static int64_t parse_sum(struct parser *p);

static int64_t parse_atom(struct parser *p) {
    while (*p->at == ' ') p->at++;
    if (*p->at == '(') {
        p->at++;
        if (++p->depth > 20) {
            p->failed = true;
            return 0;
        }
        int64_t v = parse_sum(p);
        p->depth--;
        if (*p->at != ')') {
            p->failed = true;
            return 0;
        }
        p->at++;
        return v;
    }
    if (*p->at == '-') {
        p->at++;
        return -parse_atom(p);
    }
    if (*p->at < '0' || *p->at > '9') {
        p->failed = true;
        return -1;
    }
    int64_t v = 0;
    while (*p->at >= '0' && *p->at <= '9') v = v * 10 + (*p->at++ - '0');
    while (*p->at == ' ') p->at++;
    return v;
}

static int64_t parse_product(struct parser *p) {
    int64_t v = parse_atom(p);
    for (;;) {
        char c = *p->at;
        if (c != '*' && c != '/' && c != '%') return v;
        p->at++;
        int64_t w = parse_atom(p);
        if (p->failed) return v;
        if (c == '*') {
            v *= w;
        } else if (w == 0) {
            p->failed = true;
            return 0;
        } else if (c == '/') {
            v /= w;
        } else {
            v %= w;
        }
    }
}

NOINLINE static int64_t parse_sum(struct parser *p) {
    int64_t v = parse_product(p);
    while (!p->failed && (*p->at == '+' || *p->at == '-')) {
        if (*p->at++ == '+') {
            v += parse_product(p);
        } else {
            v -= parse_product(p);
        }
    }
    return v;
}

NOINLINE static uint32_t parsing(uint32_t h) {
    static const char *const inputs[] = {"1 + 2*3 - (4-(5+6))*7", "((((9))))%4*100000*3/7", "12/(3-3)", "(1+",
                                         "-(-(8))*x"};
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++) {
        struct parser p = {inputs[i], 0, false};
        int64_t v = parse_sum(&p);
        h = h * 33 + (uint32_t)v + (uint32_t)(v >> 32) + p.failed;
    }
    return h;
}

/* ---- a tree with a visitor ---- */

struct node {
    struct node *left, *right;
    uint32_t key;
    uint32_t priority;
};

static struct node *rotate_right(struct node *n) {
    struct node *l = n->left;
    n->left = l->right;
    l->right = n;
    return l;
}

static struct node *rotate_left(struct node *n) {
    struct node *r = n->right;
    n->right = r->left;
    r->left = n;
    return r;
}

NOINLINE static struct node *insert(struct node *n, uint32_t key) {
    if (n == NULL) {
        n = allocate(sizeof *n);
        *n = (struct node){NULL, NULL, key, next_random()};
        return n;
    }
    if (key < n->key) {
        n->left = insert(n->left, key);
        if (n->left->priority > n->priority) n = rotate_right(n);
    } else if (key > n->key) {
        n->right = insert(n->right, key);
        if (n->right->priority > n->priority) n = rotate_left(n);
    }
    return n;
}

typedef bool (*visitor)(const struct node *n, unsigned depth, void *context);

static bool visit(const struct node *n, unsigned depth, visitor f, void *context) {
    if (n == NULL) return true;
    return visit(n->left, depth + 1, f, context) && f(n, depth, context) && visit(n->right, depth + 1, f, context);
}

static bool sum_keys(const struct node *n, unsigned depth, void *context) {
    uint32_t *sum = context;
    *sum = *sum * 3 + n->key + depth;
    return true;
}

static bool stop_at(const struct node *n, unsigned depth, void *context) {
    uint32_t *limit = context;
    (void)depth;
    return n->key < *limit;
}

static unsigned height(const struct node *n) {
    if (n == NULL) return 0;
    unsigned l = height(n->left), r = height(n->right);
    return (l > r ? l : r) + 1;
}

NOINLINE static uint32_t trees(uint32_t h) {
    struct node *root = NULL;
    for (unsigned i = 0; i < 16; i++) root = insert(root, next_random() % 50);
    uint32_t limit = 25;
    visit(root, 0, sum_keys, &h);
    h += visit(root, 0, stop_at, &limit);
    return h + height(root);
}

/* ---- matrices, in double; small whole numbers, so every processor gets the same ---- */

#define SIDE 4

struct matrix {
    double v[SIDE][SIDE];
};

static struct matrix multiply(const struct matrix *a, const struct matrix *b) {
    struct matrix c;
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++) {
            double s = 0;
            for (int k = 0; k < SIDE; k++) s += a->v[i][k] * b->v[k][j];
            c.v[i][j] = s;
        }
    }
    return c;
}

static double map(struct matrix *m, double (*f)(double, void *), void *context) {
    double s = 0;
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++) s += m->v[i][j] = f(m->v[i][j], context);
    }
    return s;
}

static double reduce_number(double x, void *context) {
    int n = (int)x % *(int *)context;
    return (double)n;
}

NOINLINE static struct matrix power(struct matrix m, unsigned n) {
    struct matrix r = {{{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}}};
    int modulus = 97;
    for (; n > 0; n >>= 1) {
        if ((n & 1) != 0) r = multiply(&r, &m);
        m = multiply(&m, &m);
        map(&m, reduce_number, &modulus);
        map(&r, reduce_number, &modulus);
    }
    return r;
}

NOINLINE static uint32_t matrices(uint32_t h) {
    struct matrix m;
    for (int i = 0; i < SIDE; i++) {
        for (int j = 0; j < SIDE; j++) m.v[i][j] = (double)((h >> (i + j)) & 15);
    }
    struct matrix p = power(m, 5);
    for (int i = 0; i < SIDE; i++) h = h * 7 + (uint32_t)(int)p.v[i][SIDE - 1 - i];
    return h;
}

/* ---- state machines: by a table of functions, by a switch, by gotos ---- */

struct lexer;
typedef bool (*lexer_state)(struct lexer *l, char c);

struct lexer {
    lexer_state state;
    uint32_t words, numbers, errors, hash;
};

static bool in_nothing(struct lexer *l, char c);

static bool in_number(struct lexer *l, char c) {
    if (c >= '0' && c <= '9') {
        l->hash = l->hash * 10 + (uint32_t)(c - '0');
        return true;
    }
    l->numbers++;
    l->state = in_nothing;
    return in_nothing(l, c);
}

static bool in_word(struct lexer *l, char c) {
    if (c >= 'a' && c <= 'z') {
        l->hash = checksum(l->hash, &c, 1);
        return true;
    }
    l->words++;
    l->state = in_nothing;
    return l->state(l, c);
}

static bool in_nothing(struct lexer *l, char c) {
    if (c >= '0' && c <= '9') return (l->state = in_number)(l, c);
    if (c >= 'a' && c <= 'z') return (l->state = in_word)(l, c);
    if (c == ' ') return true;
    l->errors++;
    return false;
}

NOINLINE static uint32_t lexing(const char *s, uint32_t h) {
    struct lexer l = {in_nothing, 0, 0, 0, h};
    for (; *s != '\0'; s++) {
        if (!l.state(&l, *s) && l.errors > 2) break;
    }
    return l.hash + l.words * 3 + l.numbers * 5 + l.errors;
}

NOINLINE static unsigned utf8_length(const unsigned char *s, unsigned *bad) {
    unsigned n = 0;
next:
    if (*s == 0) return n;
    if (*s < 0x80) goto one;
    if (*s >= 0xc2 && *s < 0xe0) goto two;
    if (*s >= 0xe0 && *s < 0xf0) goto three;
invalid:
    ++*bad;
    s++;
    goto next;
one:
    s++, n++;
    goto next;
two:
    if ((s[1] & 0xc0) != 0x80) goto invalid;
    s += 2, n++;
    goto next;
three:
    if ((s[1] & 0xc0) != 0x80 || (s[2] & 0xc0) != 0x80) goto invalid;
    s += 3, n++;
    goto next;
}

/* ---- digests: many live values, unrolled ---- */

static uint32_t rotate(uint32_t v, unsigned n) { return v << n | v >> (32 - n); }

NOINLINE static void digest_block(uint32_t state[5], const unsigned char block[64]) {
    uint32_t w[80];
    for (unsigned i = 0; i < 16; i++) {
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 |
               block[4 * i + 3];
    }
    for (unsigned i = 16; i < 80; i++) w[i] = rotate(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (unsigned i = 0; i < 80; i++) {
        uint32_t f, k;
        if (i < 20) {
            f = (b & c) | (~b & d), k = 0x5a827999;
        } else if (i < 40) {
            f = b ^ c ^ d, k = 0x6ed9eba1;
        } else if (i < 60) {
            f = (b & c) | (b & d) | (c & d), k = 0x8f1bbcdc;
        } else {
            f = b ^ c ^ d, k = 0xca62c1d6;
        }
        uint32_t t = rotate(a, 5) + f + e + k + w[i];
        e = d, d = c, c = rotate(b, 30), b = a, a = t;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d, state[4] += e;
}

#define QUARTER(a, b, c, d)                                                                                            \
    (a += b, d = rotate(d ^ a, 16), c += d, b = rotate(b ^ c, 12), a += b, d = rotate(d ^ a, 8), c += d,               \
     b = rotate(b ^ c, 7))

NOINLINE static void stream_block(uint32_t out[16], const uint32_t in[16]) {
    uint32_t x0 = in[0], x1 = in[1], x2 = in[2], x3 = in[3], x4 = in[4], x5 = in[5], x6 = in[6], x7 = in[7];
    uint32_t x8 = in[8], x9 = in[9], xa = in[10], xb = in[11], xc = in[12], xd = in[13], xe = in[14], xf = in[15];
    for (int i = 0; i < 4; i++) {
        QUARTER(x0, x4, x8, xc);
        QUARTER(x1, x5, x9, xd);
        QUARTER(x2, x6, xa, xe);
        QUARTER(x3, x7, xb, xf);
        QUARTER(x0, x5, xa, xf);
        QUARTER(x1, x6, xb, xc);
        QUARTER(x2, x7, x8, xd);
        QUARTER(x3, x4, x9, xe);
    }
    out[0] = x0 + in[0], out[1] = x1 + in[1], out[2] = x2 + in[2], out[3] = x3 + in[3];
    out[4] = x4 + in[4], out[5] = x5 + in[5], out[6] = x6 + in[6], out[7] = x7 + in[7];
    out[8] = x8 + in[8], out[9] = x9 + in[9], out[10] = xa + in[10], out[11] = xb + in[11];
    out[12] = xc + in[12], out[13] = xd + in[13], out[14] = xe + in[14], out[15] = xf + in[15];
}

NOINLINE static uint32_t digests(uint32_t h) {
    uint32_t state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}, in[16], out[16];
    unsigned char block[64];
    for (unsigned i = 0; i < 64; i++) block[i] = (unsigned char)(h >> (i & 7));
    digest_block(state, block);
    for (unsigned i = 0; i < 16; i++) in[i] = state[i % 5] + i;
    stream_block(out, in);
    return out[0] ^ out[7] ^ out[15] ^ state[4];
}

/* ---- large numbers and a table ---- */

static unsigned large_multiply(uint32_t *v, unsigned n, uint32_t by) {
    uint64_t carry = 0;
    for (unsigned i = 0; i < n; i++) {
        carry += (uint64_t)v[i] * by;
        v[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry != 0) v[n++] = (uint32_t)carry;
    return n;
}

static uint32_t large_divide(uint32_t *v, unsigned n, uint32_t by) {
    uint64_t r = 0;
    while (n-- > 0) {
        r = r << 32 | v[n];
        v[n] = (uint32_t)(r / by);
        r %= by;
    }
    return (uint32_t)r;
}

NOINLINE static uint32_t factorials(uint32_t h) {
    uint32_t v[12] = {1};
    unsigned n = 1;
    for (uint32_t i = 2; i < 40; i++) n = large_multiply(v, n, i);
    while (n > 0) {
        h = h * 5 + large_divide(v, n, 1000000007u);
        while (n > 0 && v[n - 1] == 0) n--;
    }
    return h;
}

struct entry {
    struct entry *next;
    const char *name;
    uint32_t value;
};

static struct entry **lookup(struct entry **table, const char *name) {
    struct entry **p = &table[checksum(7, name, length_of(name)) & 7];
    while (*p != NULL && find_text((*p)->name, name) != (*p)->name) p = &(*p)->next;
    return p;
}

NOINLINE static uint32_t tables(uint32_t h) {
    static const char *const names[] = {"frame", "record", "link", "stack", "frame", "call", "site", "slide", "link"};
    struct entry *table[8] = {NULL};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct entry **p = lookup(table, names[i]);
        if (*p == NULL) {
            *p = allocate(sizeof **p);
            **p = (struct entry){NULL, names[i], 0};
        }
        (*p)->value += (uint32_t)i;
    }
    struct entry *e = *lookup(table, "link");
    return e != NULL ? h + e->value : h;
}

/* ---- recursion that moves things ---- */

static void hanoi(unsigned n, unsigned from, unsigned to, unsigned by, uint32_t *h) {
    if (n == 0) return;
    hanoi(n - 1, from, by, to, h);
    *h = *h * 3 + from * 7 + to;
    hanoi(n - 1, by, to, from, h);
}

static bool queens_safe(const unsigned char *row, unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        unsigned d = n - i;
        if (row[i] == row[n] || row[i] + d == row[n] || row[n] + d == row[i]) return false;
    }
    return true;
}

static unsigned queens(unsigned char *row, unsigned n, unsigned size) {
    if (n == size) return 1;
    unsigned found = 0;
    for (row[n] = 0; row[n] < size; row[n]++) {
        if (queens_safe(row, n)) found += queens(row, n + 1, size);
    }
    return found;
}

typedef uint32_t (*step)(uint32_t);

static uint32_t step_double(uint32_t x) { return x + x; }
static uint32_t step_random(uint32_t x) { return x ^ next_random(); }
static uint32_t step_texts(uint32_t x) { return texts(x); }

NOINLINE static step choose(uint32_t x) {
    static const step steps[] = {step_double, step_random, step_texts};
    return steps[x % 3];
}

static uint32_t other(uint32_t h) {
    unsigned char row[8];
    unsigned bad = 0;
    hanoi(4, 1, 2, 3, &h);
    h += queens(row, 0, 4);
    h = lexing("word 12 other3x !! z9 ?", h);
    h += utf8_length((const unsigned char *)"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xff ok", &bad) * 3 + bad;
    for (int i = 0; i < 3; i++) h = choose(h + (uint32_t)i)(h);
    return h;
}

unsigned usp_workload(unsigned rounds) {
    static uint32_t (*const parts[])(uint32_t) = {texts,    sorting, interpreter, parsing,    trees,
                                                  matrices, digests, tables,      factorials, other};
    uint32_t h = 0x811c9dc5;
    random_state = 2463534242u;
    for (unsigned r = 0; r < rounds; r++) {
        arena_used = 0;
        for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) h = h * 31 + parts[i](h);
    }
    return h;
}
