/* SPDX-License-Identifier: MIT */
/* Tests of the table of known stacks with this process's images: libraries that are unloaded, loaded elsewhere, or
 * replaced by others at the same place. Also tests exhausted memory in functions that make objects from stacks. */
#define _GNU_SOURCE 1
#include "lib/images/own_images.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/folder.h"
#include "tests/support/libc.h"
#include "tests/support/suite.h"
#include "tests/support/text_fixtures.h"
#include "tests/support/under.h"

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

static char fixture[4096]; /* path of the library */
static char other[4096];   /* path of a library with other names at the same offsets, without a build id */

static void find_fixture(void) {
    ssize_t n = readlink("/proc/self/exe", fixture, sizeof fixture - 64);
    ck_assert_int_gt(n, 0);
    fixture[n] = '\0';
    /* Libtool keeps relinked programs in .libs too. */
    char *slash = strrchr(fixture, '/');
    bool is_within = slash - fixture > 6 && strncmp(slash - 6, "/.libs", 6) == 0;
    strcpy(slash, is_within ? "/../../symbolize/.libs/" : "/../symbolize/.libs/");
    strcpy(other, fixture);
    strcat(fixture, "names_fixture.so");
    strcat(other, "names_fixture_2.so");
}

/* Makes a stack of one frame, in the library's function. */
static struct usp_stack stack_in(void *library, struct usp_frame *frame) {
    void *symbol = dlsym(library, "fixture_exported");
    if (symbol == NULL) symbol = dlsym(library, "fixture_2_exported");
    uintptr_t (*ask)(int) = (uintptr_t (*)(int))(uintptr_t)symbol;
    ck_assert(ask != NULL);
    usp_addr pc = ask(0) + 2;
    struct usp_stack stack = make_stack(frame, &pc, 1);
    stack.arch = usp_arch_host();
    return stack;
}

static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW);
    ck_assert_msg(library != NULL, "%s", dlerror());
    return library;
}

static struct usp_stack_table *create_table(uint32_t max_stacks) {
    struct usp_stack_table_options options;
    struct usp_stack_table *table;
    usp_stack_table_options_init(&options);
    options.max_stacks = max_stacks;
    ck_assert_int_eq(usp_stack_table_create(&options, &table), USP_OK);
    return table;
}

static struct usp_symbolizer *create_symbolizer(void) {
    struct usp_symbolizer *symbolizer;
    ck_assert_int_eq(usp_symbolizer_create(NULL, NULL, &symbolizer), USP_OK);
    return symbolizer;
}

/* Returns the record's only frame as text, which the caller frees. */
static char *text_of(const struct usp_stack_record *record, struct usp_symbolizer *symbolizer) {
    struct usp_format_options options;
    struct usp_images *images;
    struct gathered text = {0};
    usp_format_options_init(&options);
    options.style = USP_FORMAT_PLAIN;
    options.symbolizer = symbolizer;
    ck_assert_int_eq(usp_stack_record_images(record, &images), USP_OK);
    options.images = images;
    ck_assert_int_eq(usp_format_stack(&record->stack, NULL, &options, gather, &text), USP_OK);
    usp_images_free(images);
    return text.text;
}

static void check_name(const struct usp_stack_record *record, struct usp_symbolizer *symbolizer, const char *name) {
    char *text = text_of(record, symbolizer);
    ck_assert_msg(strncmp(text, name, strlen(name)) == 0 && text[strlen(name)] == ' ', "%s instead of %s", text, name);
    free(text);
}

/* The same stack before and after the library was loaded again at another address: it is counted as one, and
 * symbolicated at both addresses. */
START_TEST(library_comes_back_elsewhere) {
    struct usp_symbolizer *symbolizer = create_symbolizer();
    struct usp_stack_table *table = create_table(100);
    struct usp_stack_record before, after;
    struct usp_frame frame;
    uint64_t first, second;

    void *library = load(fixture);
    struct usp_stack stack = stack_in(library, &frame);
    usp_addr old_pc = frame.pc;
    ck_assert_int_eq(usp_stack_table_add(table, &stack, 1, &first), USP_OK);
    ck_assert_int_eq(usp_stack_table_get(table, first, &before), USP_OK);
    check_name(&before, symbolizer, "fixture_exported");
    dlclose(library);
    /* Maps other memory where the library was. */
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    void *there = mmap((void *)(uintptr_t)(old_pc & ~(usp_addr)(page - 1)), page, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    ck_assert(there != MAP_FAILED);
    library = load(fixture);
    stack = stack_in(library, &frame);
    ck_assert_uint_ne(frame.pc, old_pc);
    ck_assert_int_eq(usp_stack_table_add(table, &stack, 2, &second), USP_OK);
    ck_assert_uint_eq(second, first);
    ck_assert_int_eq(usp_stack_table_get(table, second, &after), USP_OK);
    ck_assert_uint_eq(after.count, 2);
    ck_assert_mem_eq(before.identity, after.identity, sizeof after.identity);
    ck_assert_uint_eq(after.stack.frames[0].pc, frame.pc);
    check_name(&after, symbolizer, "fixture_exported");
    /* The record from before is unchanged. */
    ck_assert_uint_eq(before.stack.frames[0].pc, old_pc);
    check_name(&before, symbolizer, "fixture_exported");
    usp_stack_table_release(table, &before);
    usp_stack_table_release(table, &after);

    /* No image contains the old address now, so this is another stack. */
    frame.pc = old_pc;
    ck_assert_int_eq(usp_stack_table_add(table, &stack, 3, &second), USP_OK);
    ck_assert_uint_ne(second, first);
    munmap(there, page);
    dlclose(library);
    usp_stack_table_free(table);
    usp_symbolizer_free(symbolizer);
}
END_TEST

static void copy_file(const char *from, const char *to) {
    char command[2 * sizeof fixture + 16];
    snprintf(command, sizeof command, "cp '%s' '%s'", from, to);
    ck_assert_int_eq(system(command), 0);
}

/* A record of an unloaded library is symbolicated, whatever was loaded at the same place since. It has no names once
 * the library's file was removed. `first` is loaded first. */
static void check_unloaded(const char *first_path, const char *first_name, const char *second_path,
                           const char *second_name) {
    struct usp_symbolizer *symbolizer = create_symbolizer();
    struct usp_stack_table *table = create_table(100);
    struct usp_stack_record gone, there;
    struct usp_frame frame;
    uint64_t first, second;
    const char *path = in_folder("library.so");
    copy_file(first_path, path);
    void *library = load(path);
    struct usp_stack stack = stack_in(library, &frame);
    usp_addr pc = frame.pc;
    ck_assert_int_eq(usp_stack_table_add(table, &stack, 1, &first), USP_OK);
    dlclose(library);
    library = load(second_path);
    stack = stack_in(library, &frame);
    /* An emulator may choose another place. */
    if (frame.pc != pc && is_user_emulated()) {
        dlclose(library);
        usp_stack_table_free(table);
        usp_symbolizer_free(symbolizer);
        return;
    }
    ck_assert_uint_eq(frame.pc, pc);
    ck_assert_int_eq(usp_stack_table_add(table, &stack, 2, &second), USP_OK);
    ck_assert_uint_ne(second, first);
    ck_assert_int_eq(usp_stack_table_get(table, first, &gone), USP_OK);
    ck_assert_int_eq(usp_stack_table_get(table, second, &there), USP_OK);
    ck_assert_mem_ne(gone.identity, there.identity, sizeof gone.identity);
    check_name(&gone, symbolizer, first_name);
    check_name(&there, symbolizer, second_name);

    usp_symbolizer_free(symbolizer);
    symbolizer = create_symbolizer();
    ck_assert_int_eq(unlink(path), 0);
    char *text = text_of(&gone, symbolizer);
    ck_assert_msg(strncmp(text, "library.so + ", 13) == 0, "%s", text);
    free(text);
    check_name(&there, symbolizer, second_name);
    usp_stack_table_release(table, &gone);
    usp_stack_table_release(table, &there);
    dlclose(library);
    usp_stack_table_free(table);
    usp_symbolizer_free(symbolizer);
}

START_TEST(library_left_its_place_to_another) {
    if (_i == 0) {
        check_unloaded(fixture, "fixture_exported", other, "fixture_2_exported");
    } else {
        check_unloaded(other, "fixture_2_exported", fixture, "fixture_exported");
    }
}
END_TEST

/* A library is loaded and unloaded, each time at another place. Images are kept only as long as their stacks. */
START_TEST(remembered_images_are_bounded) {
    enum { ROUNDS = 40 };
    struct usp_stack_table *table = create_table(2);
    struct usp_stack_table_statistics statistics;
    void *taken[ROUNDS];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct usp_frame frame;
        void *library = load(i % 2 == 0 ? fixture : other);
        struct usp_stack stack = stack_in(library, &frame);
        ck_assert_int_eq(usp_stack_table_add(table, &stack, i, NULL), USP_OK);
        dlclose(library);
        taken[i] = mmap((void *)(uintptr_t)(frame.pc & ~(usp_addr)(page - 1)), page, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        ck_assert(taken[i] != MAP_FAILED);
        usp_stack_table_get_statistics(table, &statistics);
        ck_assert_uint_le(statistics.stacks, 2);
        ck_assert_uint_le(statistics.images, 3);
    }
    for (unsigned i = 0; i < ROUNDS; i++) munmap(taken[i], page);
    usp_stack_table_free(table);
}
END_TEST

/* Without a list of images, and while older lists are held so that none can be published, the caller learns that it
 * may try again. The table does not count the stack, and is as usable as before. */
START_TEST(list_of_images_is_busy) {
    enum { TICKETS_MAX = 100 };
    struct usp_stack_table *table = create_table(10);
    struct usp_stack_table_statistics statistics;
    struct usp_frame frame;
    const usp_addr pc = (usp_addr)(uintptr_t)suite_run_list;
    struct usp_stack stack = make_stack(&frame, &pc, 1);
    uint32_t tickets[TICKETS_MAX], count = 0;
    uint64_t number = 7;
    stack.arch = usp_arch_host();
    while (usp_images_refresh() == USP_OK) {
        ck_assert_uint_lt(count, TICKETS_MAX);
        ck_assert(usp_images_acquire(&tickets[count++]) != NULL);
        uspi_own_images_withdraw();
    }
    ck_assert_int_eq(usp_images_refresh(), USP_ERROR_BUSY);
    ck_assert_int_eq(usp_stack_table_add(table, &stack, 1, &number), USP_ERROR_BUSY);
    ck_assert_uint_eq(number, 7);
    while (count > 0) usp_images_release(tickets[--count]);
    ck_assert_int_eq(usp_stack_table_add(table, &stack, 1, &number), USP_OK);
    ck_assert_uint_eq(number, 1);
    usp_stack_table_get_statistics(table, &statistics);
    ck_assert_uint_eq(statistics.sightings, 1);
    usp_stack_table_free(table);
}
END_TEST

/* ---- memory ---- */

static const struct made_image images_table[] = {
    {"/app/main", 0x100000, 0x10000, USP_IMAGE_MAIN, "build-of-main"},
    {"/app/lib.so", 0x200000, 0x10000, 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* Each function returns whether every allocation succeeded. If one failed, no memory is leaked. */

static bool use_table(const struct usp_images *images) {
    static const usp_addr pcs[] = {0x100010, 0x200020, 0x300030};
    struct usp_stack_table_options options;
    struct usp_stack_table *table = NULL;
    struct usp_symbolizer *symbolizer = NULL;
    struct usp_images *of_record;
    struct usp_stack_record record;
    struct usp_symbol symbol;
    struct usp_frame frames[3];
    uint64_t number;
    struct usp_stack stack = make_stack(frames, pcs, 3);
    usp_stack_table_options_init(&options);
    options.images = images;
    options.max_stacks = 1;
    bool ok = usp_symbolizer_create(NULL, NULL, &symbolizer) == USP_OK;
    ok = ok && usp_stack_table_create(&options, &table) == USP_OK;
    ok = ok && usp_stack_table_add(table, &stack, 0, &number) == USP_OK;
    if (ok) {
        if (usp_stack_table_get(table, number, &record) != USP_OK) abort();
        ok = usp_stack_record_images(&record, &of_record) == USP_OK;
        ok =
            ok && usp_symbolize_image(symbolizer, usp_images_get(of_record, 0), pcs[0], &symbol) != USP_ERROR_NO_MEMORY;
        usp_images_free(of_record);
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
    /* The list of this process's images is kept between calls. */
    (void)usp_images_refresh();
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
    TCase *loaded = tcase_create("loaded"), *memory = tcase_create("memory");
    tcase_add_unchecked_fixture(loaded, find_fixture, NULL);
    tcase_add_checked_fixture(loaded, make_folder, remove_folder);
    /* Without a backend, no code of this host can be symbolicated. */
    if (usp_arch_host() != USP_ARCH_NONE && LIBC_UNLOADS) {
        add_tests(loaded, library_comes_back_elsewhere, remembered_images_are_bounded);
        tcase_add_loop_test(loaded, library_left_its_place_to_another, 0, 2);
    }
    add_tests(loaded, list_of_images_is_busy);
    tcase_add_loop_test(memory, memory_runs_out, 0, ELEMENTS(users));
    return run_suite("stack table, loaded", loaded, memory);
}
