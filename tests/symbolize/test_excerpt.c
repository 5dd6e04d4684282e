/* SPDX-License-Identifier: MIT */
/* Tests excerpts, which are made of an image while few addresses have been looked up. An excerpt's answers must be
 * those of the whole index, or it must have none. Also tests when it is replaced, its statistics, and what happens if
 * memory is short or threads look up at the same time. The files are made byte by byte, so that every host gives the
 * same results. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "lib/images/image_list.h"
#include "lib/symbolize/index/expected.h"
#include "lib/symbolize/store/index_write.h"
#include "tests/support/excerpt_compare.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"
#include "tests/support/symbol_file.h"
#include "tests/support/text_fixtures.h"

#define EM_X86_64 62

/* ---- candidates only ---- */

enum { CANDIDATES = 50, SPAN = 400 };
#define BASE UINT64_C(0x7f0012340000)

/* Tables that consist of a list of candidates. A number is an index into the list; with NAMED set, it is the number of
 * a name. */
#define NAMED (UINT32_C(1) << 31)
struct listed {
    struct uspi_tables contract;
    struct uspi_gathered_symbol all[CANDIDATES];
    size_t count;
};

static int gather_listed(const struct uspi_tables *tables, struct uspi_gathering *gathering) {
    const struct listed *listed = (const struct listed *)tables;
    int status = USP_OK;
    for (size_t i = 0; status == USP_OK && i < listed->count; i++) {
        const struct uspi_gathered_symbol *c = &listed->all[i];
        /* Half of the candidates are not even shown if they are not wanted. */
        if (i % 2 == 0 && !uspi_gathering_wants(gathering, c->start, c->end)) continue;
        status = c->symbol == USPI_NO_SYMBOL ? uspi_gather_boundary(gathering, c->start) : uspi_gather(gathering, c);
    }
    return status;
}

/* Gets a symbol as real tables do: a name has no further data, a symbol's entry has start and size, and some entries
 * have no start. */
static int get_listed(const struct uspi_tables *tables, uint32_t symbol, struct uspi_names *names,
                      struct uspi_symbol_answer *named) {
    const struct uspi_gathered_symbol *c = &((const struct listed *)tables)->all[symbol & ~NAMED];
    char name[16];
    int n = snprintf(name, sizeof name, "%u", (unsigned)(symbol & ~NAMED));
    if ((symbol & NAMED) == 0 && c->name != 0) named->start = c->start;
    if ((symbol & NAMED) == 0) named->size = c->end - c->start;
    named->name = uspi_names_keep(names, name, (size_t)n);
    return USP_OK;
}

static int prefer_lower(const void *context, uint32_t a, uint32_t b) {
    (void)context;
    return (a & ~NAMED) < (b & ~NAMED) ? -1 : 1;
}

static void make_listed(struct listed *listed) {
    *listed = (struct listed){.contract = {.gather = gather_listed, .get = get_listed, .prefer = prefer_lower}};
    listed->count = 1 + (size_t)rand() % CANDIDATES;
    const unsigned longest = rand() % 3 == 0 ? SPAN : 60;
    for (uint32_t i = 0; i < listed->count; i++) {
        const usp_addr start = BASE + (usp_addr)(rand() % SPAN);
        const unsigned kind = (unsigned)rand() % 8;
        struct uspi_gathered_symbol *c = &listed->all[i];
        const uint32_t rank = (uint32_t)(rand() % 3) + (rand() % 4 == 0 ? USPI_DATA_RANK : 0);
        *c = (struct uspi_gathered_symbol){start,     start,           i, rank, i % 3 == 0 ? 0 : NAMED | i,
                                           kind == 5, (uint8_t)(i % 2)};
        if (kind <= 5) c->end = start + 1 + (usp_addr)rand() % longest;
        if (kind == 7) c->symbol = USPI_NO_SYMBOL;
    }
}

START_TEST(random_candidates) {
    struct excerpt_tally tally = {0};
    srand((unsigned)_i + 1);
    for (unsigned round = 0; round < 300; round++) {
        struct listed listed;
        make_listed(&listed);
        compare_excerpts(&listed.contract, BASE - 5, BASE + SPAN + 70, 10 + (uint64_t)rand() % 150, 4, &tally);
    }
    /* Excerpts must have answered many look-ups. And where they had no answer, they would often enough have been wrong,
     * so that this proves something. */
    ck_assert_uint_gt(tally.decided, 10000);
    ck_assert_uint_gt(tally.wrong, 500);
}
END_TEST

/* ---- the symbols of an index file, in groups of 64 ---- */

enum { STORED = 400, STORED_SPAN = 4000 };

/* Makes an index of random functions of two strategies, of which some reach over whole groups, some have no size, and
 * some have other names. */
static struct uspi_index_file *make_stored(void) {
    static const uint8_t id[16] = {1, 2};
    const struct uspi_index_header header = {
        .flags = USPI_INDEX_MACHO, .arch = USP_ARCH_ARM64, .build_id_size = sizeof id, .build_id = id};
    struct uspi_index_writer *writer = uspi_index_writer_create();
    struct uspi_index_file *index;
    uint8_t *bytes;
    size_t size;
    char name[16];
    for (unsigned i = 0; i < STORED; i++) {
        const usp_addr start = BASE + 10 * i + (usp_addr)(rand() % 10);
        const unsigned kind = (unsigned)rand() % 16;
        const uint64_t length = kind == 0   ? 0
                                : kind == 1 ? (uint64_t)rand() % (STORED_SPAN / 4)
                                            : 1 + (uint64_t)rand() % 20;
        snprintf(name, sizeof name, "f%u", i);
        ck_assert(uspi_index_add_symbol(writer, start, length, name,
                                        i % 5 == 0 ? USP_STRATEGY_OBJC_METADATA : USP_STRATEGY_SYMTAB));
        snprintf(name, sizeof name, "other%u", i);
        if (kind > 12) ck_assert(uspi_index_add_other_name(writer, start, name));
    }
    ck_assert_int_eq(uspi_index_finish(writer, &header, &bytes, &size), USP_OK);
    uspi_index_writer_free(writer);
    FILE *file = fopen(in_folder("stored"), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    fclose(file);
    free(bytes);
    ck_assert_int_eq(uspi_index_file_open(in_folder("stored"), &index, NULL), USP_OK);
    return index;
}

START_TEST(stored_symbols) {
    static const uint32_t strategies[] = {USP_STRATEGY_SYMTAB, USP_STRATEGY_OBJC_METADATA};
    struct excerpt_tally tally = {0};
    srand((unsigned)_i + 1);
    make_folder();
    struct uspi_index_file *index = make_stored();
    for (unsigned i = 0; i < 2; i++) {
        struct uspi_tables *tables;
        ck_assert_int_eq(uspi_index_tables_open(index, strategies[i], 0x1000, &tables), USP_OK);
        ck_assert(tables->skips);
        compare_excerpts(tables, BASE + 0x1000 - 5, BASE + 0x1000 + STORED_SPAN + 70, 10 + (uint64_t)rand() % 150, 40,
                         &tally);
        tables->close(tables);
    }
    uspi_index_file_close(index);
    remove_folder();
    ck_assert_uint_gt(tally.decided, 400);
    ck_assert_uint_gt(tally.wrong, 10);
}
END_TEST

/* Of the answers of two tables, the symbolizer takes the one with the higher start, if its function holds the address. */
static bool is_best(const struct uspi_symbol_answer *a, const struct uspi_symbol_answer *best, usp_addr address) {
    const bool holds = a->name != NULL && (a->size == 0 || address - a->start < a->size);
    return holds && (best->name == NULL || a->start > best->start);
}

/* Asks two tables as the symbolizer does, without an index: the second one only when the first has not the nearest
 * function. Returns false when one of them cannot answer. */
static bool find_best_directly(struct uspi_tables *const tables[2], usp_addr at, struct uspi_names *names,
                               struct uspi_symbol_answer *best) {
    *best = (struct uspi_symbol_answer){0};
    for (unsigned i = 0; i < 2 && !best->is_nearest; i++) {
        struct uspi_symbol_answer answer = {0};
        uint32_t symbol;
        if (!tables[i]->find_directly(tables[i], at, &symbol, &answer)) return false;
        if (symbol == USPI_NO_SYMBOL) continue;
        ck_assert_int_eq(tables[i]->get(tables[i], symbol, names, &answer), USP_OK);
        if (is_best(&answer, best, at)) *best = answer;
    }
    return true;
}

/* Excerpts of a single function, which read only the symbols from its start on, have together the answer of both whole
 * indexes. So have both tables without an index. */
START_TEST(stored_symbols_of_one_function) {
    static const uint32_t strategies[] = {USP_STRATEGY_SYMTAB, USP_STRATEGY_OBJC_METADATA};
    struct uspi_names *names = uspi_names_create();
    struct uspi_tables *tables[2];
    struct uspi_index whole[2];
    unsigned compared = 0;
    srand((unsigned)_i + 1);
    make_folder();
    struct uspi_index_file *index = make_stored();
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(uspi_index_tables_open(index, strategies[i], 0x1000, &tables[i]), USP_OK);
        index_tables(tables[i], NULL, &whole[i]);
    }
    for (usp_addr at = BASE + 0x1000 - 5; at < BASE + 0x1000 + STORED_SPAN + 70; at++) {
        struct uspi_symbol_answer answer, best = {0}, best_of_whole = {0}, direct;
        usp_addr low, start;
        if (!tables[0]->nearest(tables[0], at, &low)) continue;
        compared++;
        for (unsigned i = 0; i < 2; i++) {
            struct uspi_excerpt excerpt;
            struct uspi_index part;
            ck_assert(tables[i]->nearest(tables[i], at, &start) && start == low);
            uspi_excerpt_begin_at(&excerpt, low, at);
            index_tables(tables[i], &excerpt, &part);
            (void)ask_tables(tables[i], &part, at, names, &answer, &start);
            ck_assert_msg(uspi_excerpt_decides(&excerpt, at, start), "%#llx", (unsigned long long)at);
            if (is_best(&answer, &best, at)) best = answer;
            (void)ask_tables(tables[i], &whole[i], at, names, &answer, &start);
            if (is_best(&answer, &best_of_whole, at)) best_of_whole = answer;
            uspi_index_clear(&part);
        }
        ck_assert_msg(is_same_named(&best, &best_of_whole), "%#llx: %s instead of %s", (unsigned long long)at,
                      best.name != NULL ? best.name : "nothing",
                      best_of_whole.name != NULL ? best_of_whole.name : "nothing");
        ck_assert_msg(find_best_directly(tables, at, names, &direct), "%#llx has no answer without an index",
                      (unsigned long long)at);
        ck_assert_msg(is_same_named(&direct, &best_of_whole), "%#llx: %s without an index instead of %s",
                      (unsigned long long)at, direct.name != NULL ? direct.name : "nothing",
                      best_of_whole.name != NULL ? best_of_whole.name : "nothing");
    }
    ck_assert_uint_gt(compared, STORED_SPAN / 4);
    for (unsigned i = 0; i < 2; i++) {
        uspi_index_clear(&whole[i]);
        tables[i]->close(tables[i]);
    }
    uspi_names_free(names);
    uspi_index_file_close(index);
    remove_folder();
}
END_TEST

/* The whole index leaves out symbols more than 4 GB above the lowest start. An excerpt, which does not know the lowest
 * start, must leave them out too. */
START_TEST(more_than_4_gb_above_the_lowest) {
    static const uint64_t distances[] = {0xfffff000u, UINT32_MAX - 1, UINT32_MAX, UINT64_C(0x100000000),
                                         UINT64_C(1) << 40};
    for (unsigned i = 0; i < 5; i++) {
        const usp_addr far = BASE + distances[i];
        struct listed listed = {.contract = {.gather = gather_listed, .get = get_listed, .prefer = prefer_lower},
                                .all = {{BASE, BASE + 16, 0, 0, 0, false, 0}, {far, far + 16, 1, 0, 0, false, 0}},
                                .count = 2};
        struct uspi_names *names = uspi_names_create();
        struct uspi_excerpt excerpt;
        struct uspi_index whole, part;
        uspi_excerpt_begin(&excerpt);
        ck_assert(uspi_excerpt_add(&excerpt, far));
        index_tables(&listed.contract, &excerpt, &part);
        index_tables(&listed.contract, NULL, &whole);
        for (usp_addr at = far; at < far + 16; at++) {
            struct uspi_symbol_answer a, b;
            usp_addr start, start_of_whole;
            ck_assert_int_eq(ask_tables(&listed.contract, &part, at, names, &a, &start), USP_OK);
            int status = ask_tables(&listed.contract, &whole, at, names, &b, &start_of_whole);
            bool is_same = status == USP_OK && is_same_named(&a, &b);
            ck_assert_int_eq(uspi_excerpt_decides(&excerpt, at, start), is_same);
        }
        uspi_index_clear(&whole);
        uspi_index_clear(&part);
        uspi_names_free(names);
    }
}
END_TEST

START_TEST(windows_stay_apart_and_hold_what_was_asked) {
    srand((unsigned)_i + 1);
    static const usp_addr spans[] = {USPI_EXCERPT_BELOW, 1u << 20, UINT64_MAX};
    for (unsigned round = 0; round < 300; round++) {
        struct uspi_excerpt excerpt;
        usp_addr asked[200];
        unsigned n = 0;
        uspi_excerpt_begin(&excerpt);
        for (bool has_room = true; has_room && n < 200; n += has_room) {
            usp_addr address = (uint64_t)rand() << 33 ^ (uint64_t)rand() << 11 ^ (uint64_t)rand();
            if (spans[round % 3] != UINT64_MAX) address %= spans[round % 3];
            if (rand() % 10 == 0) address = UINT64_MAX - address % 3;
            asked[n] = address;
            has_room = uspi_excerpt_add(&excerpt, address);
            ck_assert(has_room || excerpt.count == USPI_EXCERPT_WINDOWS || address == UINT64_MAX);
        }
        for (unsigned i = 0; i < n; i++) ck_assert_ptr_nonnull(uspi_excerpt_window(&excerpt, asked[i]));
        for (uint32_t i = 0; i < excerpt.count; i++) {
            const struct uspi_window *w = &excerpt.windows[i];
            ck_assert_uint_lt(w->low, w->high);
            ck_assert_uint_eq(w->sure, w->low);
            if (i > 0) ck_assert_uint_lt(w[-1].high, w->low);
            ck_assert_ptr_eq(uspi_excerpt_window(&excerpt, w->low), w);
            ck_assert_ptr_eq(uspi_excerpt_window(&excerpt, w->high - 1), w);
            ck_assert_ptr_null(uspi_excerpt_window(&excerpt, w->high));
        }
    }
}
END_TEST

/* ---- a file whose code is wider than a window ---- */

enum { FUNCTIONS = 6000, SYMBOLS = FUNCTIONS + FUNCTIONS / 4 };
#define LOAD       UINT64_C(0x7f0012340000)
#define OTHER_LOAD UINT64_C(0x7f0082340000)
#define EXTRA      0x100u

static char path[sizeof folder + 16], other_path[sizeof folder + 16];
static struct file_symbol symbols[SYMBOLS + 1];
static char texts[SYMBOLS][24];
static uint64_t text_size;

/* Makes functions one after the other and with gaps between them, short ones and some longer than any window. Every
 * fourth shares its bytes: with an alias, a label, a function inside or one that extends beyond it. */
static void make_symbols(void) {
    uint64_t at = TEXT_LOW;
    size_t n = 0;
    srand(7);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        const uint64_t size = i % 500 == 499 ? 3 * USPI_EXCERPT_BELOW : 1 + (uint64_t)rand() % 400;
        snprintf(texts[n], sizeof texts[n], i % 7 == 0 ? "f%u@@V1" : "f%u", i);
        symbols[n] = (struct file_symbol){texts[n], at, i % 11 == 0 ? 0 : size, FUNC, (uint8_t)(i % 3), TEXT};
        n++;
        if (i % 4 == 0) {
            const unsigned kind = (unsigned)rand() % 4;
            snprintf(texts[n], sizeof texts[n], "also_%u", i);
            symbols[n] = (struct file_symbol){texts[n], at, size, FUNC, GLOBAL, TEXT};
            if (kind > 0) symbols[n].value += size / 2;
            if (kind == 1) symbols[n].size = size / 4;
            if (kind == 2) symbols[n].size = 0;
            n++;
        }
        at += size + (i % 5 == 0 ? (uint64_t)rand() % 300 : 0);
    }
    symbols[n] = (struct file_symbol){0};
    text_size = at - TEXT_LOW;
    /* Linkers do not sort symbols. */
    for (size_t i = n; i > 1; i--) {
        const size_t other = (size_t)rand() % i;
        const struct file_symbol kept = symbols[i - 1];
        symbols[i - 1] = symbols[other];
        symbols[other] = kept;
    }
}

/* is_unlinked: values count from the section's beginning, so they begin above 0. */
static void make_file(bool wide, bool is_unlinked) {
    const uint8_t build_id[] = {1, 2, 3, 4};
    make_symbols();
    if (is_unlinked) {
        for (struct file_symbol *s = symbols; s->name != NULL; s++) s->value -= TEXT_LOW;
    }
    struct symbol_file wanted = {
        .wide = wide, .machine = EM_X86_64, .symtab = symbols, .build_id = build_id, .build_id_size = sizeof build_id};
    struct builder b = build_symbol_file(&wanted);
    const size_t header = wide ? 64 : 40, sections = b.size - FILE_SECTIONS * header, word = wide ? 8 : 4;
    const uint64_t text_high = TEXT_LOW + text_size;
    patch(&b, sections + TEXT * header + 8 + 3 * word, (unsigned)word, text_size);
    patch(&b, sections + INIT * header + 8 + word, (unsigned)word, text_high);
    patch(&b, sections + DATA * header + 8 + word, (unsigned)word, text_high + EXTRA);
    if (is_unlinked) patch(&b, 16, 2, 1); /* ET_REL */
    save_new(&b, path);
    save_new(&b, other_path);
    builder_free(&b);
}

static void begin(void) {
    make_folder();
    snprintf(path, sizeof path, "%s/library", folder);
    snprintf(other_path, sizeof other_path, "%s/other", folder);
    make_file(true, false);
}

/* Tests the tables only: 64 bits, 32 bits, an unlinked object. */
START_TEST(tables_of_a_file) {
    make_file(_i != 1, _i == 2);
    struct excerpt_tally tally = {0};
    struct uspi_file *file;
    struct uspi_tables *tables;
    ck_assert_int_eq(uspi_file_open(path, &file, NULL), USP_OK);
    ck_assert_int_eq(uspi_elf_tables_open(file, NULL, &tables), USP_OK);
    compare_excerpts(tables, 0, TEXT_LOW + text_size + EXTRA, 0x3000, 20, &tally);
    ck_assert_uint_gt(tally.decided, 2 * tally.undecided);
    tables->close(tables);
    uspi_file_close(file);
}
END_TEST

/* The image list has the file twice, as two different files. */
static struct usp_images *loaded(void) {
    struct uspi_image_list list = {0};
    struct usp_images *images;
    const uint64_t end = TEXT_LOW + text_size + EXTRA;
    struct usp_image image = {.path = path,
                              .load_address = LOAD,
                              .text_low = LOAD + TEXT_LOW,
                              .text_high = LOAD + end,
                              .end = LOAD + end,
                              .slide = LOAD,
                              .arch = USP_ARCH_X86_64,
                              .build_id = {1, 2, 3, 4},
                              .build_id_size = 4};
    ck_assert_int_eq(uspi_image_list_add(&list, &image), USP_OK);
    image.path = other_path;
    image.load_address = image.slide = OTHER_LOAD;
    image.text_low += OTHER_LOAD - LOAD;
    image.text_high += OTHER_LOAD - LOAD;
    image.end += OTHER_LOAD - LOAD;
    ck_assert_int_eq(uspi_image_list_add(&list, &image), USP_OK);
    ck_assert_int_eq(uspi_image_list_seal(&list, &images), USP_OK);
    return images;
}

static struct usp_symbolizer *limited(const struct usp_images *images, uint64_t limit) {
    struct usp_symbolizer_options options;
    struct usp_symbolizer *symbolizer;
    usp_symbolizer_options_init(&options);
    options.memory_limit = limit;
    ck_assert_int_eq(usp_symbolizer_create(images, &options, &symbolizer), USP_OK);
    return symbolizer;
}

static int stop_at_once(void *context, const struct usp_symbol *symbol) {
    (void)context, (void)symbol;
    return 1;
}

static void make_whole(struct usp_symbolizer *symbolizer) {
    ck_assert_int_eq(usp_symbolizer_visit(symbolizer, LOAD + TEXT_LOW, stop_at_once, NULL), 1);
}

static struct usp_symbolizer_usage usage_of(struct usp_symbolizer *symbolizer) {
    struct usp_symbolizer_usage usage;
    ck_assert_int_eq(usp_symbolizer_get_usage(symbolizer, &usage), USP_OK);
    return usage;
}

static bool is_same_symbol(const struct usp_symbol *x, const struct usp_symbol *y) {
    return is_same_string(x->name, y->name) && x->start == y->start && x->extent == y->extent &&
           x->offset == y->offset && x->strategy == y->strategy && x->image_load == y->image_load;
}

static bool is_same_answer(struct usp_symbolizer *a, struct usp_symbolizer *b, usp_addr address) {
    struct usp_symbol x, y;
    const int status = usp_symbolize(a, address, &x);
    return usp_symbolize(b, address, &y) == status && is_same_symbol(&x, &y);
}

/* ---- look-ups that are announced ---- */

enum { SITES = 24 };
struct sites {
    struct uspi_expected expected;
    usp_addr all[SITES];
    unsigned count;
};
static _Atomic(unsigned) visits;

static void visit_sites(const struct uspi_expected *expected, usp_addr low, usp_addr high,
                        bool (*take)(void *context, usp_addr address), void *context) {
    const struct sites *sites = (const struct sites *)expected;
    visits++;
    for (unsigned i = 0; i < sites->count; i++) {
        if (sites->all[i] >= low && sites->all[i] < high && !take(context, sites->all[i])) return;
    }
}

/* Compares the answer of a symbolizer that is made for this look-up, and to which no other one was announced. Sets
 * *count to the number of symbols that it has read. */
static bool is_same_alone(const struct usp_images *images, struct usp_symbolizer *whole, usp_addr address,
                          uint64_t *count) {
    const struct sites alone = {.expected = {visit_sites}, .all = {address}, .count = 1};
    struct usp_symbolizer *fresh = limited(images, 0);
    struct usp_symbol x, y;
    const int status = uspi_symbolize_expecting(fresh, NULL, address, &alone.expected, &x);
    const bool is_same = usp_symbolize(whole, address, &y) == status && is_same_symbol(&x, &y);
    *count = usage_of(fresh).symbols;
    usp_symbolizer_free(fresh);
    return is_same;
}

/* Each address is looked up first, once more after a distant one, and as the only one. In the last case hardly more may
 * be read than the symbols at the address. */
START_TEST(first_questions) {
    struct usp_images *images = loaded();
    struct usp_symbolizer *whole = limited(images, 0);
    unsigned questions = 0, few = 0;
    make_whole(whole);
    for (size_t i = 0; i < SYMBOLS; i += 29) {
        const usp_addr start = LOAD + symbols[i].value;
        const usp_addr asked[] = {start, start + (symbols[i].size > 0 ? symbols[i].size - 1 : 0),
                                  start + symbols[i].size, start - 1};
        for (unsigned k = 0; k < 4; k++) {
            struct usp_symbolizer *fresh = limited(images, 0);
            ck_assert_msg(is_same_answer(fresh, whole, asked[k]), "%s, question %u", symbols[i].name, k);
            const usp_addr far = LOAD + TEXT_LOW + (asked[k] - LOAD + text_size / 2) % text_size;
            ck_assert(is_same_answer(fresh, whole, far));
            ck_assert(is_same_answer(fresh, whole, asked[k]));
            usp_symbolizer_free(fresh);
            uint64_t count;
            ck_assert_msg(is_same_alone(images, whole, asked[k], &count), "%s, question %u", symbols[i].name, k);
            few += count <= 3;
            questions++;
        }
    }
    ck_assert_uint_gt(few, questions / 4 * 3);
    usp_symbolizer_free(whole);
    usp_images_free(images);
}
END_TEST

/* ---- the images of this process: tables of real linkers, with linkage tables and versions ---- */

struct starts {
    usp_addr *all; /* absolute; as many as fit */
    size_t count, capacity;
};

static int add_start(void *context, const struct usp_symbol *symbol) {
    struct starts *starts = context;
    if (starts->count + 2 > starts->capacity) return 1;
    starts->all[starts->count++] = symbol->start;
    starts->all[starts->count++] = symbol->start + symbol->extent;
    return 0;
}

static void compare_image(const struct usp_image *image, struct usp_symbolizer *whole) {
    enum { QUESTIONS = 200 };
    static usp_addr all[200000];
    struct starts starts = {all, 0, sizeof all / sizeof all[0]};
    if (usp_symbolizer_visit(whole, image->load_address, add_start, &starts) < 0) return;
    for (size_t i = 0; i < starts.count; i += 1 + starts.count / QUESTIONS) {
        for (usp_addr at = all[i] - 1; at <= all[i] + 1; at++) {
            struct usp_symbolizer *fresh = limited(NULL, 0);
            ck_assert_msg(is_same_answer(fresh, whole, at), "%s at %#llx", image->path,
                          (unsigned long long)(at - image->slide));
            usp_symbolizer_free(fresh);
            uint64_t count;
            ck_assert_msg(is_same_alone(NULL, whole, at, &count), "%s at %#llx", image->path,
                          (unsigned long long)(at - image->slide));
        }
    }
    struct excerpt_tally tally = {0};
    struct uspi_file *file;
    struct uspi_tables *tables;
    if (uspi_file_open(image->path, &file, NULL) != USP_OK) return;
    if (uspi_elf_tables_open(file, NULL, &tables) == USP_OK) {
        compare_excerpts(tables, image->text_low - image->slide, image->text_high - image->slide, 0x1000, 20, &tally);
        tables->close(tables);
    }
    uspi_file_close(file);
}

START_TEST(real_files) {
    struct usp_images *images;
    /* Without an operating system there are no images. */
    if (usp_images_create_self(&images) != USP_OK) return;
    struct usp_symbolizer *whole = limited(NULL, 0);
    for (size_t i = 0; i < usp_images_count(images); i++) compare_image(usp_images_get(images, i), whole);
    usp_symbolizer_free(whole);
    usp_images_free(images);
}
END_TEST

/* ---- stacks ---- */

/* The first address of function number i, which must be a short one. */
static usp_addr start_of(unsigned i) {
    char name[24];
    const int n = snprintf(name, sizeof name, "f%u", i);
    for (const struct file_symbol *s = symbols; s->name != NULL; s++) {
        if (strncmp(s->name, name, (size_t)n) == 0 && (s->name[n] == '\0' || s->name[n] == '@')) return LOAD + s->value;
    }
    ck_abort_msg("%s is not there", name);
    return 0;
}

/* Functions from number `first` on, each some windows after the one before, and an address of no image. */
static struct sites make_sites(unsigned count, unsigned first) {
    struct sites sites = {.expected = {visit_sites}, .count = count};
    for (unsigned i = 0; i < count; i++) sites.all[i] = i % 5 == 4 ? 0x1000 : start_of(first + i * 450);
    return sites;
}

static void ask_all(struct usp_symbolizer *symbolizer, struct usp_symbolizer *whole, const struct sites *sites) {
    for (unsigned i = 0; i < sites->count; i++) {
        struct usp_symbol symbol;
        (void)uspi_symbolize_expecting(symbolizer, NULL, sites->all[i], &sites->expected, &symbol);
        ck_assert(is_same_answer(symbolizer, whole, sites->all[i]));
    }
}

/* For a stack, symbols are read once for all its addresses. The next stack makes the whole index, after which nothing
 * is read any more. */
START_TEST(stacks_are_read_for_together) {
    struct usp_images *images = loaded();
    struct usp_symbolizer *symbolizer = limited(images, 0), *whole = limited(images, 0);
    make_whole(whole);
    const struct usp_symbolizer_usage all = usage_of(whole);
    visits = 0;
    for (unsigned i = 0; i < 3; i++) {
        const struct sites sites = make_sites(4, 1 + i * 100);
        ask_all(symbolizer, whole, &sites);
        ck_assert_uint_eq(visits, 1);
        const struct usp_symbolizer_usage usage = usage_of(symbolizer);
        ck_assert_uint_eq(usage.images, 1);
        ck_assert_uint_eq(usage.indexes_made, 1);
        ck_assert_uint_eq(usage.indexes_given_up, 0);
        if (i == 0) ck_assert_uint_lt(usage.symbols, all.symbols / 2);
        if (i == 0) ck_assert_uint_lt(usage.memory, all.memory);
        if (i > 0) ck_assert_uint_eq(usage.symbols, all.symbols);
    }
    ck_assert_uint_eq(usage_of(symbolizer).memory, all.memory);
    usp_symbolizer_trim(symbolizer);
    ck_assert_uint_eq(usage_of(symbolizer).memory, 0);
    ck_assert_uint_eq(usage_of(symbolizer).symbols, 0);
    usp_symbolizer_free(symbolizer);
    usp_symbolizer_free(whole);
    usp_images_free(images);
}
END_TEST

/* For single addresses, the second distant look-up makes the whole index, or the first one in a function that is too
 * long. */
START_TEST(single_questions) {
    struct usp_images *images = loaded();
    struct usp_symbolizer *whole = limited(images, 0), *symbolizer = limited(images, 0);
    make_whole(whole);
    const uint64_t all = usage_of(whole).symbols;
    ck_assert(is_same_answer(symbolizer, whole, start_of(3250)));
    ck_assert_uint_lt(usage_of(symbolizer).symbols, all / 4);
    ck_assert(is_same_answer(symbolizer, whole, start_of(3260)));
    ck_assert(is_same_answer(symbolizer, whole, start_of(3240)));
    ck_assert_uint_lt(usage_of(symbolizer).symbols, all / 4);
    ck_assert(is_same_answer(symbolizer, whole, start_of(1250)));
    ck_assert_uint_eq(usage_of(symbolizer).symbols, all);
    usp_symbolizer_trim(symbolizer);
    for (size_t i = 0; i < SYMBOLS && usage_of(symbolizer).symbols == 0; i++) {
        if (symbols[i].size <= 2 * USPI_EXCERPT_BELOW) continue;
        ck_assert(is_same_answer(symbolizer, whole, LOAD + symbols[i].value + USPI_EXCERPT_BELOW * 2));
    }
    ck_assert_uint_eq(usage_of(symbolizer).symbols, all);
    ck_assert_uint_eq(usage_of(symbolizer).indexes_made, 2);
    usp_symbolizer_free(symbolizer);
    /* More places than windows. */
    symbolizer = limited(images, 0);
    struct sites sites = {.expected = {visit_sites}, .count = SITES};
    for (unsigned i = 0; i < SITES; i++) sites.all[i] = LOAD + TEXT_LOW + text_size / SITES * i;
    struct usp_symbol symbol;
    ck_assert_uint_gt(text_size / SITES, USPI_EXCERPT_BELOW + USPI_EXCERPT_ABOVE);
    (void)uspi_symbolize_expecting(symbolizer, NULL, sites.all[1], &sites.expected, &symbol);
    ck_assert_uint_eq(usage_of(symbolizer).symbols, all);
    usp_symbolizer_free(symbolizer);
    usp_symbolizer_free(whole);
    usp_images_free(images);
}
END_TEST

/* A report announces the addresses that it will look up. */
START_TEST(reports_are_read_for_together) {
    struct usp_images *images = loaded();
    struct usp_symbolizer *symbolizer = limited(images, 0), *whole = limited(images, 0);
    make_whole(whole);
    const struct sites sites = make_sites(12, 2);
    struct usp_frame frames[12];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, 12);
    memset(frames, 0, sizeof frames);
    stack.arch = USP_ARCH_X86_64;
    stack.count = stack.physical = 12;
    for (unsigned i = 0; i < 12; i++) frames[i].pc = sites.all[i] + 1;
    struct usp_format_options options;
    usp_format_options_init(&options);
    options.images = images;
    struct gathered reports[2] = {{0}};
    for (unsigned i = 0; i < 2; i++) {
        options.symbolizer = i == 0 ? symbolizer : whole;
        ck_assert_int_eq(usp_format_stack(&stack, NULL, &options, gather, &reports[i]), USP_OK);
    }
    ck_assert_ptr_nonnull(strstr(reports[0].text, "f902"));
    ck_assert_str_eq(reports[0].text, reports[1].text);
    for (unsigned i = 0; i < 2; i++) free(reports[i].text);
    ck_assert_uint_lt(usage_of(symbolizer).symbols, usage_of(whole).symbols);
    ck_assert_uint_gt(usage_of(symbolizer).symbols, 0);
    usp_symbolizer_free(symbolizer);
    usp_symbolizer_free(whole);
    usp_images_free(images);
}
END_TEST

/* ---- no memory, little memory, many threads ---- */

/* Uses no function of the test library, because it allocates too. Looks up four stacks, and again those for which
 * memory was short for a moment. Returns whether all answers were right. */
static bool ask_without(const struct usp_images *images, const struct sites stacks[4], char names[4][4][24], long n,
                        bool *failed) {
    struct usp_symbolizer *symbolizer;
    bool is_right = true;
    fail_allocation(n);
    *failed = false;
    for (unsigned tries = 0; tries < 2 && usp_symbolizer_create(images, NULL, &symbolizer) != USP_OK; tries++) {
        is_right = is_right && !allocation_still_to_fail();
    }
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned k = 0; k < 4; k++) {
            const usp_addr at = stacks[i].all[k];
            struct usp_symbol symbol;
            int status = uspi_symbolize_expecting(symbolizer, NULL, at, &stacks[i].expected, &symbol);
            if (status == USP_ERROR_NO_MEMORY) {
                is_right = is_right && !allocation_still_to_fail();
                status = uspi_symbolize_expecting(symbolizer, NULL, at, &stacks[i].expected, &symbol);
            }
            is_right = is_right && status == USP_OK && strcmp(symbol.name, names[i][k]) == 0;
        }
    }
    *failed = !allocation_still_to_fail();
    fail_allocation(0);
    usp_symbolizer_free(symbolizer);
    return is_right;
}

START_TEST(each_allocation_fails) {
    struct usp_images *images = loaded();
    struct usp_symbolizer *whole = limited(images, 0);
    struct sites stacks[4];
    char names[4][4][24];
    make_whole(whole);
    for (unsigned i = 0; i < 4; i++) {
        stacks[i] = make_sites(4, 1 + i * 100);
        for (unsigned k = 0; k < 4; k++) {
            struct usp_symbol symbol;
            ck_assert_int_eq(usp_symbolize(whole, stacks[i].all[k], &symbol), USP_OK);
            snprintf(names[i][k], sizeof names[i][k], "%s", symbol.name);
        }
    }
    usp_symbolizer_free(whole);
    long n = 0;
    for (bool failed = true; failed;) {
        const long before = allocations_held();
        bool is_right = ask_without(images, stacks, names, ++n, &failed);
        const long after = allocations_held();
        ck_assert_msg(is_right, "allocation %ld", n);
        ck_assert_int_eq(after, before);
    }
    ck_assert_int_gt(n, 40);
    usp_images_free(images);
}
END_TEST

/* With the smallest limit one index is kept. An excerpt counts as its image's index. */
START_TEST(the_limit_of_memory) {
    struct usp_images *images = loaded();
    struct usp_symbolizer *symbolizer = limited(images, 1), *whole = limited(images, 0);
    for (unsigned i = 0; i < 12; i++) {
        const struct sites sites = make_sites(4, 1 + i / 2 * 100);
        for (unsigned k = 0; k < 4; k++) {
            const usp_addr at = sites.all[k] + (i % 2 != 0 ? OTHER_LOAD - LOAD : 0);
            struct usp_symbol symbol;
            ck_assert_int_eq(uspi_symbolize_expecting(symbolizer, NULL, at, &sites.expected, &symbol), USP_OK);
            ck_assert(is_same_answer(symbolizer, whole, at));
        }
        const struct usp_symbolizer_usage usage = usage_of(symbolizer);
        ck_assert_uint_eq(usage.images, 1);
        ck_assert_uint_eq(usage.indexes_made, i + 1);
        ck_assert_uint_eq(usage.indexes_given_up, i);
    }
    usp_symbolizer_free(symbolizer);
    usp_symbolizer_free(whole);
    usp_images_free(images);
}
END_TEST

enum { THREADS = 8, ASKED = 400 };
struct asked {
    usp_addr address, start;
    uint64_t extent;
    int status;
};
struct crowd {
    struct usp_symbolizer *symbolizer;
    const struct asked *asked;
    unsigned first;
};

static void *ask_often(void *argument) {
    const struct crowd *crowd = argument;
    uintptr_t wrong = 0;
    for (unsigned i = 0; i < ASKED; i++) {
        const struct asked *a = &crowd->asked[(crowd->first + i) % ASKED];
        const struct sites next = {.expected = {visit_sites}, .all = {a->address}, .count = 1};
        struct usp_symbol symbol;
        const int status =
            uspi_symbolize_expecting(crowd->symbolizer, NULL, a->address, i % 3 != 0 ? &next.expected : NULL, &symbol);
        wrong += status != a->status || symbol.start != a->start || symbol.extent != a->extent;
    }
    return (void *)wrong;
}

/* Excerpts are replaced while other threads search them, with and without being evicted. */
START_TEST(threads_ask_at_once) {
    struct usp_images *images = loaded();
    struct usp_symbolizer *whole = limited(images, 0);
    static struct asked asked[ASKED];
    make_whole(whole);
    srand((unsigned)_i + 1);
    for (unsigned i = 0; i < ASKED; i++) {
        struct usp_symbol symbol;
        asked[i].address = (i % 2 != 0 ? LOAD : OTHER_LOAD) + TEXT_LOW + (uint64_t)rand() % text_size;
        asked[i].status = usp_symbolize(whole, asked[i].address, &symbol);
        asked[i].start = symbol.start;
        asked[i].extent = symbol.extent;
    }
    /* With the limit nearly every look-up makes an index anew. */
    for (unsigned round = 0; round < (_i == 0 ? 10 : 1); round++) {
        struct usp_symbolizer *symbolizer = limited(images, (uint64_t)_i);
        pthread_t threads[THREADS];
        struct crowd crowds[THREADS];
        for (unsigned i = 0; i < THREADS; i++) {
            crowds[i] = (struct crowd){symbolizer, asked, i * (ASKED / THREADS)};
            ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_often, &crowds[i]), 0);
        }
        for (unsigned i = 0; i < THREADS; i++) {
            void *wrong;
            ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
            ck_assert_ptr_null(wrong);
        }
        usp_symbolizer_free(symbolizer);
    }
    usp_symbolizer_free(whole);
    usp_images_free(images);
}
END_TEST

int main(void) {
    TCase *candidates = tcase_create("candidates");
    add_loop_tests(candidates, 0, 4, random_candidates, windows_stay_apart_and_hold_what_was_asked);
    add_tests(candidates, more_than_4_gb_above_the_lowest);
    tcase_add_loop_test(candidates, stored_symbols, 0, 6);
    tcase_add_loop_test(candidates, stored_symbols_of_one_function, 0, 6);
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, begin, remove_folder);
    add_loop_tests(files, 0, 3, tables_of_a_file);
    add_tests(files, first_questions, real_files, stacks_are_read_for_together, single_questions,
              reports_are_read_for_together, each_allocation_fails, the_limit_of_memory);
    add_loop_tests(files, 0, 2, threads_ask_at_once);
    return run_suite("excerpt", candidates, files);
}
