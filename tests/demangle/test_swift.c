/* SPDX-License-Identifier: MIT */
/* Tests demangling of Swift's names: each of tests/demangle/swift_names.txt in three styles, strings that are not
 * names, and the cost of hostile names. tests/demangle/swift.sh compares hundreds of thousands more with Swift's own
 * demangler. */
#include <check.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unspool/demangle.h>

#include "lib/demangle/swift/swift.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

#define NAMES_MAX 1000

/* A name, and its texts indexed by style (enum usp_demangle_style; NO is the name itself). */
struct known_name {
    char *lines[4];
};

static struct known_name names[NAMES_MAX];
static size_t name_count;

/* Reads the names in the file's order: the name, full, simple, short. */
static void read_names(void) {
    static const int order[] = {USP_DEMANGLE_NO, USP_DEMANGLE_FULL, USP_DEMANGLE_SIMPLE, USP_DEMANGLE_SHORT};
    static char line[65536];
    const char *source = getenv("srcdir");
    char path[4096];
    int next = 0;
    snprintf(path, sizeof path, "%s/tests/demangle/swift_names.txt", source != NULL ? source : ".");
    FILE *file = fopen(path, "r");
    ck_assert_msg(file != NULL, "%s cannot be opened", path);
    while (fgets(line, sizeof line, file) != NULL) {
        if (line[0] == '#') continue;
        line[strcspn(line, "\n")] = '\0';
        ck_assert_uint_lt(name_count, NAMES_MAX);
        ck_assert_msg((strncmp(line, "  ", 2) == 0) == (next > 0), "%s: %s", path, line);
        names[name_count].lines[order[next]] = strdup(next > 0 ? line + 2 : line);
        if (++next == 4) {
            next = 0;
            name_count++;
        }
    }
    fclose(file);
    ck_assert_int_eq(next, 0);
    ck_assert_uint_gt(name_count, 400);
}

static void free_names(void) {
    for (size_t i = 0; i < name_count; i++)
        for (size_t k = 0; k < 4; k++) free(names[i].lines[k]);
    name_count = 0;
}

static struct usp_demangler *demangler_for(uint32_t style) {
    struct usp_demangler *demangler;
    ck_assert_int_eq(usp_demangler_create(style, &demangler), USP_OK);
    return demangler;
}

static void expect(struct usp_demangler *demangler, const char *name, const char *text) {
    const char *answer = usp_demangle(demangler, name);
    ck_assert_msg(strcmp(answer, text) == 0, "%s:\n  is %s\n not %s", name, answer, text);
}

START_TEST(known_names) {
    uint32_t style = (uint32_t)_i;
    struct usp_demangler *demangler = demangler_for(style);
    for (size_t i = 0; i < name_count; i++) {
        ck_assert_msg(usp_mangling_of(names[i].lines[0]) == USP_MANGLING_SWIFT, "%s", names[i].lines[0]);
        expect(demangler, names[i].lines[0], names[i].lines[style]);
    }
    usp_demangler_free(demangler);
}
END_TEST

/* Text before and after the mangled part of a name must stay. */
START_TEST(surroundings) {
    struct usp_demangler *demangler = demangler_for(USP_DEMANGLE_SIMPLE);
    expect(demangler, "$s4shop3payyyF@plt", "pay()@plt");
    expect(demangler, "$s4shop3payyyF@@SHOP_1", "pay()@@SHOP_1");
    expect(demangler, "-[_TtC4shop4Cart add:with:]", "-[Cart add:with:]");
    expect(demangler, "+[_TtCC4shop4Cart4Item(Extra) make]", "+[Cart.Item(Extra) make]");
    expect(demangler, "-[_TtC4shop add:]", "-[_TtC4shop add:]");
    expect(demangler, "-[_TtC4shop4Cart", "-[Cart");
    usp_demangler_free(demangler);
}
END_TEST

/* Strings that stay as they are: cut names, names of Swift 3's functions and other types, names without an entity,
 * references to absent parts, references into a process's memory, which no symbol's name has, another library's names,
 * names that are too long. */
START_TEST(left_mangled) {
    static const char *const left[] = {
        "$s",
        "$s0",
        "$sS",
        "$sq",
        "$s4shop3payyyFTf",
        "$s4shop3payyyFTg5",
        "$s4shop3payyyFTQ",
        "$s4shop9payyyF",
        "$s4shop3payyyF!",
        "$s4shop3payyyAAF",
        "$s4shop3payyyAZF",
        "$s4shop3payyyA99999999999999999999_F",
        "$s4shop99999999999999999999payyyF",
        "$s4shop2147483647payyyF",
        "$sSiSgSgF",
        "$s4shop4CartCM",
        "$s4shop0012aname_with_bayyF",
        "$s\x01\x10\x20\x30\x40 D",
        "$s\x02\x10\x20\x30\x40_D",
        "$s4shop3payyy\x01zzzzCF",
        "$s4shop3payyy\x1fzzzzzzzzCF",
        "_T",
        "_T0",
        "_T0\x01zzzzD",
        "_TF",
        "_TF4shop3payFT_T_",
        "_TMC3AST4Decl",
        "_TTSg5Si___TF4shop3payurFxx",
        "_TtSi",
        "_TtGSaSi_",
        "_TtC4shop",
        "_TtC4shop9Cart",
        "_TtCF4shop3payFT_L_4Temp",
        "_TtCE4shop",
        "_TtGC4shop4Cart",
        "_TtGC4shop4CartSx_",
        "_TtGP4shop5Payer_",
        "_TtP4shop",
        "_TIFFmalloc",
        "@__swiftmacro_",
    };
    for (uint32_t style = USP_DEMANGLE_SIMPLE; style <= USP_DEMANGLE_SHORT; style++) {
        struct usp_demangler *demangler = demangler_for(style);
        for (size_t i = 0; i < sizeof left / sizeof *left; i++) expect(demangler, left[i], left[i]);
        usp_demangler_free(demangler);
    }
}
END_TEST

/* Each name is cut at every position, without a NUL after it, and each of its bytes is replaced by others. A memory
 * checker would report a read past the end. */
START_TEST(cut_and_changed) {
    static const char other[] = {'_', 'A', 'y', '0', '9', 'G', '\x01', '\xff'};
    struct uspi_swift *swift = uspi_swift_create();
    size_t text_length;
    ck_assert_ptr_nonnull(swift);
    for (size_t i = (size_t)_i; i < name_count; i += 4) {
        const char *name = names[i].lines[0];
        size_t length = strlen(name);
        for (size_t n = 0; n < length; n++) {
            uint32_t style = 1 + (uint32_t)(i + n) % 3;
            char *exact = malloc(n > 0 ? n : 1);
            memcpy(exact, name, n);
            uspi_swift_demangle(swift, exact, n, style, &text_length);
            free(exact);
            exact = malloc(length);
            memcpy(exact, name, length);
            exact[n] = other[n % sizeof other];
            uspi_swift_demangle(swift, exact, length, style, &text_length);
            free(exact);
        }
    }
    uspi_swift_free(swift);
}
END_TEST

/* ---- hostile names ---- */

struct builder {
    char bytes[USPI_SWIFT_NAME_MAX + 1];
    size_t length;
};

static struct builder *begin(const char *text) {
    static struct builder builder;
    builder.length = (size_t)snprintf(builder.bytes, sizeof builder.bytes, "%s", text);
    return &builder;
}

__attribute__((format(printf, 2, 3))) static void add(struct builder *builder, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    builder->length +=
        (size_t)vsnprintf(builder->bytes + builder->length, sizeof builder->bytes - builder->length, format, arguments);
    va_end(arguments);
    ck_assert_uint_lt(builder->length, sizeof builder->bytes);
}

static void add_times(struct builder *builder, unsigned times, const char *text) {
    while (times-- > 0) add(builder, "%s", text);
}

/* Adds a reference to the n-th entity that the name has introduced. */
static void add_reference(struct builder *builder, unsigned n) {
    if (n < 26) {
        add(builder, "A%c", 'A' + (int)n);
    } else if (n == 26) {
        add(builder, "A_");
    } else {
        add(builder, "A%u_", n - 27);
    }
}

/* Makes main.P<…, …> nested `times` deep, where each level contains the one before it twice. References 0: the module,
 * 1: "P", 2: main.P. */
static const char *doubling(unsigned times) {
    struct builder *builder = begin("$s4main1PVy");
    add_times(builder, times - 1, "ACy");
    add(builder, "SiSiG");
    for (unsigned i = 0; i + 1 < times; i++) {
        add_reference(builder, 3 + i);
        add(builder, "G");
    }
    add(builder, "D");
    return builder->bytes;
}

START_TEST(doubled_types) {
    struct usp_demangler *demangler = demangler_for(USP_DEMANGLE_FULL);
    expect(demangler, doubling(2), "main.P<main.P<Swift.Int, Swift.Int>, main.P<Swift.Int, Swift.Int>>");
    ck_assert_uint_gt(strlen(usp_demangle(demangler, doubling(12))), 4096 * strlen("main.P<>"));
    for (unsigned times = 20; times <= 4000; times *= 2) {
        const char *name = doubling(times);
        ck_assert_ptr_eq(usp_demangle(demangler, name), name);
    }
    usp_demangler_free(demangler);
}
END_TEST

/* One character stands for many repetitions: a tuple of 2^31, a subset with that number. */
START_TEST(repeated) {
    static const char *const cases[] = {"$s4shop3payyySi_S2147483647itF", "$s4shop3payyyAA4CartV_A2047CtF",
                                        "$s4shop3payyyAA4CartV_A2147483647CtF", "$s4shop3payyySdFTJrS2147483647pSr",
                                        "$s4shop$2147483646_D"};
    struct usp_demangler *demangler = demangler_for(USP_DEMANGLE_FULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_uint_lt(strlen(usp_demangle(demangler, cases[i])), 1 << 20);
    usp_demangler_free(demangler);
}
END_TEST

/* Makes a name as deep as its length permits. */
static const char *deep(unsigned kind) {
    struct builder *builder;
    const unsigned times = 15000;
    switch (kind) {
    case 0:
        builder = begin("$sSi");
        add_times(builder, times, "Sg");
        add(builder, "D");
        break;
    case 1:
        builder = begin("$sy");
        add_times(builder, times, "yc");
        add(builder, "D");
        break;
    case 2:
        builder = begin("$s4shop3payyyF");
        add_times(builder, times, "TA");
        break;
    case 3:
        builder = begin("$s4shop3payyyF");
        add_times(builder, times / 2, "1aL_V");
        break;
    case 4:
        builder = begin("_TtGC4shop3Box");
        add_times(builder, times, "GSa");
        add(builder, "Si");
        add_times(builder, times, "_");
        break;
    case 5:
        builder = begin("_Tt");
        add_times(builder, times, "C");
        add(builder, "4shop4Cart");
        break;
    case 6:
        builder = begin("_TtC");
        add_times(builder, times / 3, "E4shop");
        break;
    case 7:
        builder = begin("_TtGC4shop3Box");
        add_times(builder, times, "T");
        break;
    case 8:
        builder = begin("$s");
        add_times(builder, times, "Si_");
        add(builder, "tD");
        break;
    default:
        builder = begin("$s4shop4CartV");
        add_times(builder, times, "1aV");
        add(builder, "D");
        break;
    }
    return builder->bytes;
}
#define DEEP_KINDS 10

START_TEST(nested_deeply) {
    struct usp_demangler *demangler = demangler_for(1 + (uint32_t)_i % 3);
    for (unsigned kind = 0; kind < DEEP_KINDS; kind++) {
        const char *name = deep(kind), *text = usp_demangle(demangler, name);
        ck_assert(text == name || strlen(text) > 0);
    }
    const char *name = deep(0);
    ck_assert_ptr_ne(usp_demangle(demangler, name), name);
    usp_demangler_free(demangler);
}
END_TEST

START_TEST(length_limit) {
    struct usp_demangler *demangler = demangler_for(USP_DEMANGLE_SIMPLE);
    size_t length = USPI_SWIFT_NAME_MAX;
    char *name = malloc(length + 2), *identifier;
    for (unsigned over = 0; over < 2; over++) {
        length = USPI_SWIFT_NAME_MAX + over;
        memset(name, 'a', length);
        name[length] = '\0';
        int digits = snprintf(name, length, "$s4shop%zu", length - strlen("$s4shop65535yyF"));
        name[digits] = 'a';
        identifier = name + digits;
        memcpy(name + length - 3, "yyF", 3);
        const char *text = usp_demangle(demangler, name);
        if (over != 0) {
            ck_assert_ptr_eq(text, name);
        } else {
            ck_assert_uint_eq(strlen(text), strlen(identifier) - strlen("yyF") + strlen("()"));
        }
    }
    free(name);
    usp_demangler_free(demangler);
}
END_TEST

/* ---- memory and stack ---- */

/* Whichever allocation fails, the result must be the text or the name, and nothing may leak. */
START_TEST(without_memory) {
    static const char name[] = "$s4main1PVyACySiSiGADGD";
    static const char text[] = "P<P<Int, Int>, P<Int, Int>>";
    bool was_text = false, was_name = false;
    long before = allocations_held();
    for (long n = 1;; n++) {
        struct usp_demangler *demangler;
        fail_allocation(n);
        int status = usp_demangler_create(USP_DEMANGLE_SHORT, &demangler);
        const char *answer = usp_demangle(demangler, name);
        bool is_over = allocation_still_to_fail();
        fail_allocation(0);
        ck_assert_int_eq(status, demangler != NULL ? USP_OK : USP_ERROR_NO_MEMORY);
        if (answer == name) {
            was_name = true;
        } else {
            ck_assert_str_eq(answer, text);
            was_text = true;
        }
        usp_demangler_free(demangler);
        ck_assert_int_eq(allocations_held(), before);
        if (is_over) break;
        ck_assert_int_lt(n, 100);
    }
    ck_assert(was_text && was_name);
}
END_TEST

/* Each name has a component of another size, for which one block of memory is allocated. The demangler must not keep
 * all of these blocks. */
START_TEST(memory_kept) {
    struct uspi_swift *swift = uspi_swift_create();
    const unsigned times = 1000;
    long before = allocations_held();
    ck_assert_ptr_nonnull(swift);
    for (unsigned i = 0; i < times; i++) {
        /* The module's name again, and a word after it. */
        const unsigned length = 20000 + i * 40;
        struct builder *builder = begin("$s4shop0A");
        size_t text_length;
        add(builder, "%u", length);
        memset(builder->bytes + builder->length, 'a', length);
        builder->length += length;
        add(builder, "yyF");
        const char *text =
            uspi_swift_demangle(swift, builder->bytes, builder->length, USP_DEMANGLE_SHORT, &text_length);
        ck_assert_ptr_nonnull(text);
        ck_assert_uint_eq(text_length, strlen("shop()") + length);
    }
    ck_assert_int_lt(allocations_held() - before, times / 5);
    uspi_swift_free(swift);
}
END_TEST

#define STACK    ((size_t)1 << 18)
#define PAINT    0x5a
#define PROMISED ((size_t)16 << 10) /* by the header */

static unsigned char *stack;

static void *demangle_everything(void *argument) {
    struct usp_demangler *demangler = argument;
    for (size_t i = 0; demangler != NULL && i < name_count; i++) usp_demangle(demangler, names[i].lines[0]);
    for (unsigned kind = 0; demangler != NULL && kind < DEEP_KINDS; kind++) usp_demangle(demangler, deep(kind));
    return NULL;
}

/* Returns how many bytes of stack a thread needs to demangle the names. */
static size_t stack_used(struct usp_demangler *demangler) {
    pthread_attr_t attributes;
    pthread_t thread;
    size_t clean = 0;
    memset(stack, PAINT, STACK);
    pthread_attr_init(&attributes);
    ck_assert_int_eq(pthread_attr_setstack(&attributes, stack, STACK), 0);
    ck_assert_int_eq(pthread_create(&thread, &attributes, demangle_everything, demangler), 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
    while (clean < STACK && stack[clean] == PAINT) clean++;
    return STACK - clean;
}

/* Demangling must not need more stack than promised, beyond that of a thread that does nothing. The thread also builds
 * the names, which counts too. */
START_TEST(stack_need) {
    if (is_slowed()) return; /* memcheck forbids reading what a thread's stack was */
    stack = aligned_alloc(65536, STACK);
    ck_assert_ptr_nonnull(stack);
    size_t nothing = stack_used(NULL), most = 0;
    for (uint32_t style = USP_DEMANGLE_SIMPLE; style <= USP_DEMANGLE_SHORT; style++) {
        struct usp_demangler *demangler = demangler_for(style);
        size_t used = stack_used(demangler);
        if (used > most) most = used;
        usp_demangler_free(demangler);
    }
    free(stack);
    printf("Swift's names need %zu bytes of stack\n", most - nothing);
    /* Sanitizers use additional memory around each variable. */
    if (!USP_SANITIZED) ck_assert_uint_le(most - nothing, PROMISED);
}
END_TEST

static void *demangle_all(void *argument) {
    struct usp_demangler *demangler = argument;
    for (size_t i = 0; i < name_count; i++) {
        if (strcmp(usp_demangle(demangler, names[i].lines[0]), names[i].lines[USP_DEMANGLE_FULL]) != 0)
            return names[i].lines[0];
    }
    return NULL;
}

START_TEST(many_threads) {
    struct usp_demangler *demangler = demangler_for(USP_DEMANGLE_FULL);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, demangle_all, demangler), 0);
    for (int i = 0; i < 4; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_msg(failed == NULL, "%s", (const char *)failed);
    }
    usp_demangler_free(demangler);
}
END_TEST

int main(void) {
    TCase *all = tcase_create("names"), *hostile = tcase_create("hostile"), *need = tcase_create("need");
    tcase_add_unchecked_fixture(all, read_names, free_names);
    tcase_add_unchecked_fixture(hostile, read_names, free_names);
    tcase_add_unchecked_fixture(need, read_names, free_names);
    tcase_add_loop_test(all, known_names, USP_DEMANGLE_SIMPLE, USP_DEMANGLE_SHORT + 1);
    add_tests(all, surroundings, left_mangled, many_threads);
    tcase_add_loop_test(hostile, cut_and_changed, 0, 4);
    tcase_add_loop_test(hostile, nested_deeply, 0, 3);
    add_tests(hostile, doubled_types, repeated, length_limit);
    add_tests(need, without_memory, memory_kept, stack_need);
    return run_suite("Swift's names", all, hostile, need);
}
