/* SPDX-License-Identifier: MIT */
/* Measures symbolication: lookups in an existing index, against a scan of the whole table and against dladdr; the first
 * name from a file; and the making of an index, against llvm-nm printing the same file. Processor time, medians of many
 * rounds in which the contestants take turns, so that disturbances affect all of them. */
#define _GNU_SOURCE 1
#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "lib/images/image_list.h"
#include "tests/support/file_builder.h"

enum {
    SYMBOLS = 150000,
    ROUNDS = 21,
    LOOKUPS = 100000,
    WARMING = 300000,
    SCANS = 20,
    DLADDRS = 1000,
    BUILDS = 7,
    STACKS = 64,
    FRAMES = 40,
    SIGHTINGS = 20000
};
#define LOAD     UINT64_C(0x10000000)
#define TEXT_LOW UINT64_C(0x1000)
#define BUILD_ID "names"
#define ID_SIZE  5u

static uint64_t text_high;
static uint64_t starts[SYMBOLS];

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint64_t random_number(void) {
    /* xorshift64 (Marsaglia 2003). */
    static uint64_t x = UINT64_C(88172645463325252);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    return x;
}

static int by_value(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count) {
    qsort(values, count, sizeof *values, by_value);
    return values[count / 2];
}

/* ---- a file ---- */

static void put_section(struct builder *b, const uint64_t s[10]) {
    static const unsigned widths[10] = {4, 4, 8, 8, 8, 8, 4, 4, 8, 8};
    for (unsigned i = 0; i < 10; i++) put(b, widths[i], s[i]);
}

/* Writes an ELF64 file for x86_64. Its functions of many sizes lie one after the other; the table has the order of an
 * unsorted linker. */
static void make_file(const char *path) {
    static const char section_names[] = "\0.text\0.symtab\0.strtab\0.shstrtab\0.note";
    static uint64_t sizes[SYMBOLS], names[SYMBOLS];
    static uint32_t order[SYMBOLS];
    struct builder b = {0}, strings = {0};
    uint64_t at = TEXT_LOW;
    put(&strings, 1, 0);
    for (uint32_t i = 0; i < SYMBOLS; i++) {
        char name[64];
        starts[i] = at;
        sizes[i] = 16 + random_number() % 20 * 16;
        at += (sizes[i] + 15) & ~UINT64_C(15);
        names[i] = strings.size;
        int n = snprintf(name, sizeof name, "_ZN7project%u6module%u8functionEv%u", i % 97, i % 1013, i);
        put_bytes(&strings, name, (size_t)n + 1);
        order[i] = i;
    }
    text_high = at;
    /* In runs of 50 functions, as object files lie. */
    for (uint32_t i = 0; i < SYMBOLS / 50; i++) {
        uint32_t other = (uint32_t)(random_number() % (SYMBOLS / 50));
        for (uint32_t k = 0; k < 50; k++) {
            uint32_t kept = order[i * 50 + k];
            order[i * 50 + k] = order[other * 50 + k];
            order[other * 50 + k] = kept;
        }
    }
    put_bytes(&b, "\177ELF\2\1\1", 7);
    pad_to(&b, 16);
    put(&b, 2, 3); /* ET_DYN */
    put(&b, 2, 62);
    put(&b, 4, 1);
    put(&b, 8, 0);
    put(&b, 8, 64);
    put(&b, 8, 0); /* offset of the section headers, patched later */
    put(&b, 4, 0);
    const unsigned header[] = {64, 56, 1, 64, 6, 4};
    for (unsigned i = 0; i < 6; i++) put(&b, 2, header[i]);
    put(&b, 4, 1); /* PT_LOAD, readable and executable */
    put(&b, 4, 5);
    const uint64_t segment[] = {0, 0, 0, 0x1000, text_high, 0x1000};
    for (unsigned i = 0; i < 6; i++) put(&b, 8, segment[i]);
    uint64_t note = b.size;
    put(&b, 4, 4);
    put(&b, 4, ID_SIZE);
    put(&b, 4, 3);
    put_name(&b, "GNU", 4);
    put_name(&b, BUILD_ID, 8);
    uint64_t note_size = b.size - note, table = b.size;
    for (unsigned i = 0; i < 24; i++) put(&b, 1, 0);
    for (uint32_t i = 0; i < SYMBOLS; i++) {
        uint32_t k = order[i];
        put(&b, 4, names[k]);
        put(&b, 4, 0x00010012); /* global function, section 1 */
        put(&b, 8, starts[k]);
        put(&b, 8, sizes[k]);
    }
    uint64_t string_at = b.size;
    put_bytes(&b, strings.bytes, strings.size);
    uint64_t section_names_at = b.size;
    put_bytes(&b, section_names, sizeof section_names);
    align_to(&b, 8);
    patch(&b, 40, 8, b.size);
    put_section(&b, (const uint64_t[10]){0});
    put_section(&b, (const uint64_t[10]){1, 8, 6, TEXT_LOW, 0x1000, text_high - TEXT_LOW, 0, 0, 16, 0});
    put_section(&b, (const uint64_t[10]){7, 2, 0, 0, table, string_at - table, 3, 1, 8, 24});
    put_section(&b, (const uint64_t[10]){15, 3, 0, 0, string_at, strings.size, 0, 0, 1, 0});
    put_section(&b, (const uint64_t[10]){23, 3, 0, 0, section_names_at, sizeof section_names, 0, 0, 1, 0});
    put_section(&b, (const uint64_t[10]){33, 7, 0, 0, note, note_size, 0, 0, 4, 0});
    save(&b, path);
    builder_free(&b);
    builder_free(&strings);
}

static struct usp_images *image_of(const char *path) {
    struct uspi_image_list list = {0};
    struct usp_images *images;
    struct usp_image image = {.path = path,
                              .load_address = LOAD,
                              .end = LOAD + text_high,
                              .slide = LOAD,
                              .text_low = LOAD,
                              .text_high = LOAD + text_high,
                              .arch = USP_ARCH_X86_64,
                              .build_id = BUILD_ID,
                              .build_id_size = ID_SIZE};
    if (uspi_image_list_add(&list, &image) != USP_OK || uspi_image_list_seal(&list, &images) != USP_OK) abort();
    return images;
}

static struct usp_symbolizer *create(const struct usp_images *images) {
    struct usp_symbolizer *symbolizer;
    if (usp_symbolizer_create(images, NULL, &symbolizer) != USP_OK) abort();
    return symbolizer;
}

/* ---- contestants ---- */

/* A symbol table as in Mach-O (mach-o/nlist.h), and the scan that BSBacktraceLogger makes: the nearest symbol below
 * wins. */
struct nlist_64 {
    uint32_t n_strx;
    uint8_t n_type, n_sect;
    uint16_t n_desc;
    uint64_t n_value;
};
static struct nlist_64 nlist[SYMBOLS];

static const struct nlist_64 *scan(uint64_t address) {
    const struct nlist_64 *best = NULL;
    uint64_t best_distance = UINT64_MAX;
    for (size_t i = 0; i < SYMBOLS; i++) {
        if (nlist[i].n_value == 0) continue;
        uint64_t distance = address - nlist[i].n_value;
        if (address >= nlist[i].n_value && distance <= best_distance) {
            best = &nlist[i];
            best_distance = distance;
        }
    }
    return best;
}

/* Times lookups of random addresses from low to high. */
static double time_lookups(struct usp_symbolizer *symbolizer, usp_addr low, usp_addr high) {
    static usp_addr addresses[LOOKUPS];
    struct usp_symbol symbol;
    size_t named = 0;
    /* Warms the caches, which the other contestant has filled with its data. Other addresses are used, enough to read
     * each cache line of the index and of the file's table. So random lookups are measured, with warm caches. */
    for (size_t i = 0; i < WARMING; i++) usp_symbolize(symbolizer, low + random_number() % (high - low), &symbol);
    for (size_t i = 0; i < LOOKUPS; i++) addresses[i] = low + random_number() % (high - low);
    double begin = now();
    for (size_t i = 0; i < LOOKUPS; i++) named += usp_symbolize(symbolizer, addresses[i], &symbol) == USP_OK;
    double each = (now() - begin) / (double)LOOKUPS;
    if (named == 0) abort();
    return each;
}

/* Measures one load that depends on the previous load, in as much memory as the index fills. A random lookup makes two
 * of them, the first in a small part of that memory. */
static double time_load(void) {
    enum { LINES = SYMBOLS * 8 / 64 };
    static struct line {
        uint32_t next;
        uint8_t padding[60];
    } lines[LINES];
    static uint32_t order[LINES];
    for (uint32_t i = 0; i < LINES; i++) order[i] = i;
    for (uint32_t i = LINES - 1; i > 0; i--) {
        uint32_t other = (uint32_t)(random_number() % i), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
    for (uint32_t i = 0; i < LINES; i++) lines[order[i]].next = order[(i + 1) % LINES];
    volatile uint32_t sink;
    uint32_t at = 0;
    double begin = 0;
    /* The first round loads the lines into the caches. */
    for (uint32_t i = 0; i < 4 * LINES; i++) {
        if (i == LINES) begin = now();
        at = lines[at].next;
    }
    sink = at;
    (void)sink;
    return (now() - begin) / (3.0 * (double)LINES);
}

static void compare_with_scan(struct usp_symbolizer *symbolizer) {
    static double ours[ROUNDS], scans[ROUNDS], loads[ROUNDS];
    volatile uintptr_t sink = 0;
    for (size_t i = 0; i < SYMBOLS; i++) nlist[i] = (struct nlist_64){1, 0x0e, 1, 0, LOAD + starts[i]};
    for (size_t round = 0; round < ROUNDS; round++) {
        ours[round] = time_lookups(symbolizer, LOAD + TEXT_LOW, LOAD + text_high);
        double begin = now();
        for (size_t i = 0; i < SCANS; i++) {
            sink = (uintptr_t)scan(LOAD + TEXT_LOW + random_number() % (text_high - TEXT_LOW));
        }
        scans[round] = (now() - begin) / (double)SCANS;
        loads[round] = time_load();
    }
    (void)sink;
    double o = median(ours, ROUNDS), s = median(scans, ROUNDS);
    printf("one look-up, %d symbols, random addresses   %10.1f ns   (fastest round %.1f)\n", SYMBOLS, o, ours[0]);
    printf("  a dependent load in as much memory            %10.1f ns\n", median(loads, ROUNDS));
    printf("  a scan of as many nlist entries               %10.1f ns   %.0f times\n", s, s / o);
}

/* Compares lookups in libc's code, between two functions of it that lie far apart. */
static void compare_with_dladdr(void) {
    static double ours[ROUNDS], theirs[ROUNDS];
    struct usp_symbolizer *symbolizer = create(NULL);
    struct usp_images *images;
    if (usp_images_create_self(&images) != USP_OK) abort();
    const struct usp_image *libc = usp_images_find(images, (usp_addr)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort"));
    if (libc == NULL) abort();
    for (size_t round = 0; round < ROUNDS; round++) {
        ours[round] = time_lookups(symbolizer, libc->text_low, libc->text_high);
        Dl_info info;
        double begin = now();
        for (size_t i = 0; i < DLADDRS; i++) {
            usp_addr address = libc->text_low + random_number() % (libc->text_high - libc->text_low);
            dladdr((void *)(uintptr_t)address, &info);
        }
        theirs[round] = (now() - begin) / (double)DLADDRS;
    }
    double o = median(ours, ROUNDS), t = median(theirs, ROUNDS);
    printf("one look-up in process, libc, random addresses  %10.1f ns\n", o);
    printf("  dladdr                                        %10.1f ns   %.0f times\n", t, t / o);
    usp_images_free(images);
    usp_symbolizer_free(symbolizer);
}

/* Times known stacks: each is in the table, is added again, and is looked up. */
static void time_known_stacks(const struct usp_images *images) {
    static struct usp_frame frames[STACKS][FRAMES];
    static double rounds[ROUNDS];
    struct usp_stack stacks[STACKS];
    struct usp_stack_table_options options;
    struct usp_stack_table *table;
    struct usp_stack_record record;
    uint64_t number;
    usp_stack_table_options_init(&options);
    options.images = images;
    if (usp_stack_table_create(&options, &table) != USP_OK) abort();
    for (unsigned i = 0; i < STACKS; i++) {
        usp_stack_init(&stacks[i], frames[i], FRAMES);
        stacks[i].arch = USP_ARCH_X86_64;
        stacks[i].count = FRAMES;
        for (unsigned k = 0; k < FRAMES; k++)
            frames[i][k].pc = LOAD + TEXT_LOW + random_number() % (text_high - TEXT_LOW);
    }
    for (size_t round = 0; round < ROUNDS; round++) {
        double begin = now();
        for (size_t i = 0; i < SIGHTINGS; i++) {
            if (usp_stack_table_add(table, &stacks[i % STACKS], i, &number) != USP_OK) abort();
            if (usp_stack_table_get(table, number, &record) != USP_OK || record.stack.count != FRAMES) abort();
            usp_stack_table_release(table, &record);
        }
        rounds[round] = (now() - begin) / (double)SIGHTINGS;
    }
    printf("a known stack of %d frames, counted and read     %10.1f ns\n", FRAMES, median(rounds, ROUNDS));
    usp_stack_table_free(table);
}

/* Returns the processor time of child processes so far. */
static double children(void) {
    struct rusage usage;
    getrusage(RUSAGE_CHILDREN, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e9 +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e3;
}

/* Accepts the first function, for which the whole index is made. Has the type usp_symbol_visitor. */
static int take_one(void *context, const struct usp_symbol *symbol) {
    (void)context, (void)symbol;
    return 1;
}

static void compare_with_nm(const char *path, const struct usp_images *images) {
    double firsts[BUILDS], ours[BUILDS], theirs[BUILDS];
    char command[256];
    bool has_nm = system("command -v llvm-nm-19 >/dev/null 2>&1") == 0;
    snprintf(command, sizeof command, "llvm-nm-19 %s >/dev/null", path);
    for (size_t i = 0; i < BUILDS; i++) {
        struct usp_symbolizer *symbolizer = create(images);
        struct usp_symbol symbol;
        double begin = now();
        if (usp_symbolize(symbolizer, LOAD + text_high / 2, &symbol) != USP_OK) abort();
        firsts[i] = now() - begin;
        usp_symbolizer_trim(symbolizer);
        begin = now();
        if (usp_symbolizer_visit(symbolizer, LOAD + TEXT_LOW, take_one, NULL) != 1) abort();
        ours[i] = now() - begin;
        struct usp_symbolizer_usage usage;
        usp_symbolizer_get_usage(symbolizer, &usage);
        if (i == 0)
            printf("the index                                       %10.3f bytes a symbol\n",
                   (double)usage.memory / (double)usage.symbols);
        usp_symbolizer_free(symbolizer);
        begin = children();
        if (has_nm && system(command) != 0) abort();
        theirs[i] = children() - begin;
    }
    double f = median(firsts, BUILDS), o = median(ours, BUILDS), t = median(theirs, BUILDS);
    printf("the first name, without it                      %10.1f ms\n", f / 1e6);
    printf("making it                                       %10.1f ms\n", o / 1e6);
    if (has_nm) {
        printf("  llvm-nm-19 printing the file                  %10.1f ms   %.1f times\n", t / 1e6, t / o);
    } else {
        printf("  llvm-nm-19 is not installed: left out\n");
    }
}

int main(void) {
    char path[] = "/tmp/unspool-names-XXXXXX";
    int descriptor = mkstemp(path);
    if (descriptor < 0) return 1;
    close(descriptor);
    make_file(path);
    struct usp_images *images = image_of(path);
    struct usp_symbolizer *symbolizer = create(images);
    compare_with_nm(path, images);
    compare_with_scan(symbolizer);
    time_known_stacks(images);
    compare_with_dladdr();
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    unlink(path);
    return 0;
}
