/* SPDX-License-Identifier: MIT */
/* The table of known stacks over this process as it is: a library that goes, and comes back elsewhere. And memory that runs
 * out, in what is made of stacks. */
#define _GNU_SOURCE 1
#include "tests/failing_alloc.h"
#include "tests/suite.h"
#include "tests/text_fixtures.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

static char fixture[4096]; /* path of the library */

static void find_fixture(void) {
    ssize_t n = readlink("/proc/self/exe", fixture, sizeof fixture - 64);
    ck_assert_int_gt(n, 0);
    fixture[n] = '\0';
    /* Libtool keeps programs that were linked again in .libs as well. */
    char *slash = strrchr(fixture, '/');
    bool is_within = slash - fixture > 6 && strncmp(slash - 6, "/.libs", 6) == 0;
    strcpy(slash, is_within ? "/names_fixture.so" : "/.libs/names_fixture.so");
}

/* A stack of one call, in the library's function. */
static struct usp_stack stack_in(void *library, struct usp_frame *frame) {
    uintptr_t (*ask)(int) = (uintptr_t (*)(int))(uintptr_t)dlsym(library, "fixture_exported");
    ck_assert(ask != NULL);
    usp_addr pc = ask(0) + 2;
    struct usp_stack stack = make_stack(frame, &pc, 1);
    stack.arch = usp_arch_host();
    return stack;
}

/* The same stack before and after, though its addresses are others: counted as one, named again. */
START_TEST(library_comes_back_elsewhere) {
    struct usp_stack_table_options options;
    struct usp_stack_table *table;
    struct usp_symbolizer *symbolizer;
    struct usp_stack_record before, after;
    struct usp_frame frame;
    uint64_t first, second;
    usp_stack_table_options_init(&options);
    ck_assert_int_eq(usp_symbolizer_create(NULL, NULL, &symbolizer), USP_OK);
    options.symbolizer = symbolizer;
    ck_assert_int_eq(usp_stack_table_create(&options, &table), USP_OK);

    void *library = dlopen(fixture, RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    struct usp_stack stack = stack_in(library, &frame);
    usp_addr old_pc = frame.pc;
    ck_assert_int_eq(usp_stack_table_add(table, &stack, 1, &first), USP_OK);
    ck_assert_int_eq(usp_stack_table_get(table, first, &before), USP_OK);
    ck_assert_str_eq(before.symbols[0].name, "fixture_exported");
    dlclose(library);
    /* Something else lies where it was. */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *there = mmap((void *)(uintptr_t)(old_pc & ~(usp_addr)(page - 1)), page, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ck_assert(there != MAP_FAILED);
    library = dlopen(fixture, RTLD_NOW);
    stack = stack_in(library, &frame);
    ck_assert_uint_ne(frame.pc, old_pc);
    ck_assert_int_eq(usp_stack_table_add(table, &stack, 2, &second), USP_OK);
    ck_assert_uint_eq(second, first);
    ck_assert_int_eq(usp_stack_table_get(table, second, &after), USP_OK);
    ck_assert_uint_eq(after.count, 2);
    ck_assert_mem_eq(before.identity, after.identity, sizeof after.identity);
    ck_assert_str_eq(after.symbols[0].name, "fixture_exported");
    ck_assert_uint_eq(after.stack.frames[0].pc, frame.pc);
    ck_assert_uint_eq(after.symbols[0].image_load - before.symbols[0].image_load, frame.pc - old_pc);
    /* The record from before is as it was. */
    ck_assert_uint_eq(before.stack.frames[0].pc, old_pc);
    usp_stack_table_release(table, &before);
    usp_stack_table_release(table, &after);

    /* The old address is nothing's now: another stack. */
    frame.pc = old_pc;
    ck_assert_int_eq(usp_stack_table_add(table, &stack, 3, &second), USP_OK);
    ck_assert_uint_ne(second, first);
    munmap(there, page);
    dlclose(library);
    usp_stack_table_free(table);
    usp_symbolizer_free(symbolizer);
}
END_TEST

/* ---- memory ---- */

static const struct made_image images_table[] = {
    {"/app/main", 0x100000, 0x10000, USP_IMAGE_MAIN, "build-of-main"},
    {"/app/lib.so", 0x200000, 0x10000, 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* Each returns whether it got all it wanted; nothing stays behind when it did not. */

static bool use_table(const struct usp_images *images) {
    static const usp_addr pcs[] = {0x100010, 0x200020, 0x300030};
    struct usp_stack_table_options options;
    struct usp_stack_table *table = NULL;
    struct usp_symbolizer *symbolizer = NULL;
    struct usp_stack_record record;
    struct usp_frame frames[3];
    uint64_t number;
    struct usp_stack stack = make_stack(frames, pcs, 3);
    usp_stack_table_options_init(&options);
    options.images = images;
    options.max_stacks = 1;
    bool ok = usp_symbolizer_create(images, NULL, &symbolizer) == USP_OK;
    options.symbolizer = symbolizer;
    ok = ok && usp_stack_table_create(&options, &table) == USP_OK;
    ok = ok && usp_stack_table_add(table, &stack, 0, &number) == USP_OK;
    if (ok) {
        ok = usp_stack_table_get(table, number, &record) == USP_OK;
        stack.count = stack.physical = 2;
        ok = usp_stack_table_add(table, &stack, 0, NULL) == USP_OK && ok;
        usp_stack_table_release(table, &record);
    }
    usp_stack_table_free(table);
    usp_symbolizer_free(symbolizer);
    return ok;
}

static bool use_demangler(const struct usp_images *images) {
    struct usp_demangler *demangler;
    bool ok = true;
    (void)images;
    if (usp_demangler_create(USP_DEMANGLE_FULL, &demangler) != USP_OK) return false;
    for (int i = 0; i < 100; i++) {
        char name[32];
        snprintf(name, sizeof name, "_RNvC1a3n%02d", i);
        ok = strncmp(usp_demangle(demangler, name), "a::n", 4) == 0 && ok;
    }
    usp_demangler_free(demangler);
    return ok;
}

static bool use_filter(const struct usp_images *images) {
    struct usp_filter *filter;
    if (usp_filter_create(images, NULL, &filter) != USP_OK) return false;
    usp_filter_free(filter);
    return true;
}

static bool (*const users[])(const struct usp_images *) = {use_table, use_demangler, use_filter};

START_TEST(memory_runs_out) {
    struct usp_images *images = make_images(images_table, USP_ARCH_ARM64);
    long held = allocations_held();
    bool had_all = false;
    for (long n = 1; !had_all; n++) {
        fail_allocation(n);
        bool ok = users[_i](images);
        had_all = allocation_still_to_fail();
        fail_allocation(0);
        long now = allocations_held();
        ck_assert_int_eq(now, held);
        ck_assert(ok || !had_all);
        ck_assert_int_lt(n, 10000);
    }
    usp_images_free(images);
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all");
    tcase_add_unchecked_fixture(all, find_fixture, NULL);
    /* Without a backend nothing of this host can be named. */
    if (usp_arch_host() != USP_ARCH_NONE) tcase_add_test(all, library_comes_back_elsewhere);
    tcase_add_loop_test(all, memory_runs_out, 0, ELEMENTS(users));
    return run_suite("stack table, loaded", all);
}
