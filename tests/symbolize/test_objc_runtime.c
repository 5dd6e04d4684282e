/* SPDX-License-Identifier: MIT */
/* Tests names from the Objective-C runtime of this process: a scripted runtime, with the functions that Apple's exports
 * and with those of GCC's. Each test runs in a process of its own, which at first has no runtime.
 * tests/symbolize/objc_gcc.sh tests GCC's own. */
#define _GNU_SOURCE 1
#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "lib/symbolize/strategy.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/libc.h"
#include "tests/support/suite.h"
#include "tests/symbolize/objc_scripted_runtime.h"

/* Functions that the script describes. */
static volatile int sink;
__attribute__((noinline)) static void first_method(void) { sink += 1; }
__attribute__((noinline)) static void second_method(void) { sink += 2; }
__attribute__((noinline)) static void class_method(void) { sink += 3; }
__attribute__((noinline)) static void late_method(void) { sink += 4; }
__attribute__((noinline)) static void no_method(void) { sink += 5; }

static const struct scripted_method instance_methods[] = {{"first", first_method}, {"second:with:", second_method}};
static const struct scripted_method class_methods[] = {{"make", class_method}};
static const struct scripted_method shared_methods[] = {{"first", first_method}};
static const struct scripted_method late_methods[] = {{"late", late_method}};
static const struct scripted_class meta = {"Thing", NULL, class_methods, 1};
static const struct scripted_class empty = {"None", NULL, NULL, 0};
static const struct scripted_class classes[] = {
    {"Thing", &meta, instance_methods, 2},
    {"Another", &empty, shared_methods, 1},
    {"Late", &empty, late_methods, 1},
};

static usp_addr address_of(void (*function)(void)) {
    usp_addr address = (usp_addr)(uintptr_t)function;
    return usp_arch_host() == USP_ARCH_ARMV7 ? address & ~(usp_addr)1 : address;
}

/* The path of a library that was built with this test. */
static void beside_this(const char *name, char *path, size_t capacity) {
    char own[4096];
    ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
    ck_assert_int_gt(n, 0);
    own[n] = '\0';
    char *slash = strrchr(own, '/');
    bool is_within = slash - own > 6 && strncmp(slash - 6, "/.libs", 6) == 0;
    *slash = '\0';
    snprintf(path, capacity, "%s%s/%s", own, is_within ? "" : "/.libs", name);
}

static struct scripted_script *script;
static struct scripted_calls *calls;

static void load_runtime(const char *name, int class_count) {
    char path[4200];
    beside_this(name, path, sizeof path);
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    ck_assert_msg(handle != NULL, "%s", dlerror());
    script = dlsym(handle, "scripted_classes");
    calls = dlsym(handle, "scripted_calls");
    ck_assert(script != NULL && calls != NULL);
    *script = (struct scripted_script){classes, class_count};
}

static const char *const libraries[] = {"objc_scripted_apple.so", "objc_scripted_gnu.so"};

/* ---- through the public interface ---- */

static void expect(struct usp_symbolizer *symbolizer, void (*function)(void), const char *name) {
    struct usp_symbol symbol;
    for (unsigned offset = 0; offset < 4; offset += 2) {
        ck_assert_int_eq(usp_symbolize(symbolizer, address_of(function) + offset, &symbol), USP_OK);
        ck_assert_str_eq(symbol.name, name);
        ck_assert_uint_eq(symbol.start, address_of(function));
        ck_assert_uint_eq(symbol.offset, offset);
        ck_assert_uint_eq(symbol.strategy,
                          name[0] == '-' || name[0] == '+' ? USP_STRATEGY_OBJC_RUNTIME : USP_STRATEGY_SYMTAB);
    }
}

START_TEST(methods) {
    struct usp_symbolizer *symbolizer;
    load_runtime(libraries[_i], 1);
    ck_assert_int_eq(usp_symbolizer_create(NULL, NULL, &symbolizer), USP_OK);
    expect(symbolizer, first_method, "-[Thing first]");
    expect(symbolizer, second_method, "-[Thing second:with:]");
    expect(symbolizer, class_method, "+[Thing make]");
    expect(symbolizer, no_method, "no_method");
    ck_assert_uint_eq(calls->messages, 0);
    usp_symbolizer_free(symbolizer);
}
END_TEST

/* A name from the runtime must not remove the size that the symbol table gives. */
START_TEST(the_size_stays) {
    struct usp_symbolizer *symbolizer;
    struct usp_symbol before, after;
    ck_assert_int_eq(usp_symbolizer_create(NULL, NULL, &symbolizer), USP_OK);
    ck_assert_int_eq(usp_symbolize(symbolizer, address_of(first_method), &before), USP_OK);
    ck_assert_str_eq(before.name, "first_method");
    load_runtime(libraries[0], 1);
    ck_assert_int_eq(usp_symbolize(symbolizer, address_of(first_method), &after), USP_OK);
    ck_assert_str_eq(after.name, "-[Thing first]");
    ck_assert_uint_gt(before.extent, 0);
    ck_assert_uint_eq(after.extent, before.extent);
    usp_symbolizer_free(symbolizer);
}
END_TEST

/* ---- the runtime alone ---- */

static struct uspi_objc_runtime *runtime;
static struct uspi_names *names;
static struct uspi_symbol_answer named;

/* Asks when no symbol has a name. */
static int ask_at(usp_addr address) {
    const struct uspi_query query = {.address = address, .names = names};
    named = (struct uspi_symbol_answer){0};
    return uspi_objc_runtime_find(runtime, &query, &named);
}

/* is_wanted: no symbol has a name. Otherwise a symbol gives the function's start. */
static int ask(void (*function)(void), unsigned offset, bool is_wanted) {
    usp_addr start = address_of(function);
    const struct uspi_query query = {.address = start + offset, .names = names, .is_named = true, .named_start = start};
    if (is_wanted) return ask_at(start + offset);
    named = (struct uspi_symbol_answer){0};
    return uspi_objc_runtime_find(runtime, &query, &named);
}

static void begin(void) {
    runtime = uspi_objc_runtime_create(0);
    names = uspi_names_create();
    ck_assert(runtime != NULL && names != NULL);
}

static void end(void) {
    uspi_objc_runtime_free(runtime);
    uspi_names_free(names);
}

START_TEST(without_a_runtime) {
    begin();
    ck_assert_int_eq(ask(first_method, 0, true), USP_ERROR_ABSENT);
    load_runtime(libraries[0], 0);
    ck_assert_int_eq(ask(first_method, 0, true), USP_ERROR_NOT_FOUND);
    end();
}
END_TEST

/* A function after a method must not get the method's name. Only symbols and unwind information know where a method
 * ends; what 32-bit arm has for such short functions is not exact. */
START_TEST(neighbours_get_no_name) {
    load_runtime(libraries[0], 1);
    begin();
    bool is_exact = LIBC_HAS_TABLES && usp_arch_host() != USP_ARCH_ARMV7;
    ck_assert_int_eq(ask(first_method, 2, true), is_exact ? USP_OK : USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(ask(first_method, 2, false), USP_OK);
    ck_assert_int_eq(ask(no_method, 2, false), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(ask(no_method, 0, true), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(ask(no_method, 2, true), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(ask(late_method, 2, true), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(ask_at(0), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(ask_at(UINTPTR_MAX), USP_ERROR_NOT_FOUND);
    end();
}
END_TEST

START_TEST(methods_that_share_their_code) {
    load_runtime(libraries[0], 2);
    begin();
    ck_assert_int_eq(ask(first_method, 0, true), USP_OK);
    ck_assert_str_eq(named.name, "-[Another first]");
    end();
}
END_TEST

/* The first question about an address inside a function may load the unwinder, which is an image too. */
static void load_unwinder(void) {
    ck_assert_int_eq(ask(no_method, 2, true), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(ask(no_method, 2, true), USP_ERROR_NOT_FOUND);
}

/* Classes must be listed once. New ones are noticed when a name is missing. */
START_TEST(classes_that_come_later) {
    load_runtime(libraries[0], 1);
    begin();
    load_unwinder();
    unsigned lists = calls->lists;
    for (unsigned i = 0; i < 100; i++) {
        ck_assert_int_eq(ask(second_method, 0, true), USP_OK);
        ck_assert_int_eq(ask(no_method, 0, true), USP_ERROR_NOT_FOUND);
    }
    ck_assert_uint_eq(calls->lists, lists);
    script->count = 3;
    ck_assert_int_eq(ask(late_method, 0, false), USP_ERROR_NOT_FOUND);
    ck_assert_uint_eq(calls->lists, lists);
    ck_assert_int_eq(ask(late_method, 0, true), USP_OK);
    ck_assert_str_eq(named.name, "-[Late late]");
    ck_assert_uint_eq(calls->lists, lists + 1);
    end();
}
END_TEST

/* A library can bring categories, which do not change the number of classes. */
START_TEST(images_that_come_later) {
    char path[4200];
    load_runtime(libraries[0], 1);
    begin();
    load_unwinder();
    ck_assert_int_eq(ask(late_method, 0, false), USP_ERROR_NOT_FOUND);
    unsigned lists = calls->lists;
    *script = (struct scripted_script){&classes[2], 1};
    ck_assert_int_eq(ask(late_method, 0, false), USP_ERROR_NOT_FOUND);
    ck_assert_uint_eq(calls->lists, lists);
    beside_this("names_fixture.so", path, sizeof path);
    ck_assert_ptr_nonnull(dlopen(path, RTLD_NOW));
    ck_assert_int_eq(ask(late_method, 0, false), USP_OK);
    ck_assert_str_eq(named.name, "-[Late late]");
    end();
}
END_TEST

#define THREADS 4u
#define CHANGES 50u

static struct usp_symbolizer *shared;
static _Atomic(unsigned) asked, right;
static _Atomic(bool) is_over;

/* A method that is always registered must always have its name. One that comes and goes has the runtime's name or the
 * symbol's. */
static void *name_methods(void *context) {
    (void)context;
    do {
        struct usp_symbol always, sometimes;
        asked++;
        if (usp_symbolize(shared, address_of(second_method), &always) != USP_OK) continue;
        if (usp_symbolize(shared, address_of(late_method), &sometimes) != USP_OK) continue;
        bool is_one = strcmp(sometimes.name, "-[Late late]") == 0 || strcmp(sometimes.name, "late_method") == 0;
        right += strcmp(always.name, "-[Thing second:with:]") == 0 && is_one;
    } while (!is_over);
    return NULL;
}

START_TEST(many_threads_while_classes_and_images_come_and_go) {
    pthread_t threads[THREADS];
    char path[4200];
    beside_this("names_fixture.so", path, sizeof path);
    load_runtime(libraries[0], 1);
    ck_assert_int_eq(usp_symbolizer_create(NULL, NULL, &shared), USP_OK);
    for (unsigned i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, name_methods, NULL), 0);
    }
    for (unsigned i = 0; i < CHANGES; i++) {
        script->count = i % 2 == 0 ? 3 : 1;
        void *handle = dlopen(path, RTLD_NOW);
        ck_assert_ptr_nonnull(handle);
        dlclose(handle);
        /* Slow threads must get their turn, too. */
        usleep(2000);
    }
    is_over = true;
    for (unsigned i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    ck_assert_uint_ge(asked, THREADS);
    ck_assert_uint_eq(right, asked);
    ck_assert_uint_eq(calls->messages, 0);
    usp_symbolizer_free(shared);
}
END_TEST

START_TEST(memory_lacks) {
    int status = USP_ERROR_NO_MEMORY;
    unsigned failures = 0;
    load_runtime(libraries[0], 1);
    /* The list of images exists already, and stays. */
    ck_assert_uint_ne(usp_images_generation(), 0);
    for (long n = 1; status != USP_OK; n++) {
        begin();
        fail_allocation(n);
        status = ask(second_method, 0, true);
        if (status == USP_ERROR_NO_MEMORY) failures++;
        fail_allocation(0);
        ck_assert(status == USP_OK || status == USP_ERROR_NO_MEMORY);
        /* An operation that failed is tried again. */
        ck_assert_int_eq(ask(second_method, 0, true), USP_OK);
        ck_assert_str_eq(named.name, "-[Thing second:with:]");
        end();
    }
    ck_assert_uint_ge(failures, 3);
}
END_TEST

int main(void) {
    /* The files of such a host cannot be read by this library. 77: Automake's "skipped". */
    if (usp_arch_host() == USP_ARCH_NONE) return 77;
    TCase *all = tcase_create("all");
    tcase_add_loop_test(all, methods, 0, 2);
    add_tests(all, the_size_stays, without_a_runtime, neighbours_get_no_name, methods_that_share_their_code,
              classes_that_come_later, images_that_come_later, many_threads_while_classes_and_images_come_and_go,
              memory_lacks);
    return run_suite("objc_runtime", all);
}
