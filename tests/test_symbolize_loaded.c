/* SPDX-License-Identifier: MIT */
/* Names of what is loaded in this process: our own functions, a library that comes and goes, one whose file is gone, and
 * the vdso, which never had one. */
#define _GNU_SOURCE 1
#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <unspool/unspool.h>

/* A function's address as a symbol has it. */
static usp_addr start_of(usp_addr function) {
    return usp_arch_host() == USP_ARCH_ARMV7 ? function & ~(usp_addr)1 : function;
}

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

struct library {
    void *handle;
    usp_addr exported, hidden;
};

static struct library load(const char *path) {
    struct library library = {.handle = dlopen(path, RTLD_NOW)};
    ck_assert_msg(library.handle != NULL, "%s", dlerror());
    uintptr_t (*ask)(int) = (uintptr_t (*)(int))(uintptr_t)dlsym(library.handle, "fixture_exported");
    ck_assert(ask != NULL);
    library.exported = ask(0);
    library.hidden = ask(1);
    return library;
}

static struct usp_symbolizer *create(void) {
    struct usp_symbolizer *symbolizer;
    ck_assert_int_eq(usp_symbolizer_create(NULL, NULL, &symbolizer), USP_OK);
    return symbolizer;
}

__attribute__((noinline)) static int one_of_ours(int n) { return n + 1; }

START_TEST(our_own_functions) {
    struct usp_symbolizer *symbolizer = create();
    struct usp_symbol symbol;
    int (*volatile function)(int) = one_of_ours;
    usp_addr start = start_of((usp_addr)(uintptr_t)function);
    ck_assert_int_eq(usp_symbolize(symbolizer, start + 1, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "one_of_ours");
    ck_assert_uint_eq(symbol.start, start);
    ck_assert_uint_eq(symbol.strategy, USP_STRATEGY_SYMTAB);
    ck_assert_ptr_nonnull(strstr(symbol.image_path, "test_symbolize_loaded"));
    usp_symbolizer_free(symbolizer);
}
END_TEST

START_TEST(names_stay_when_the_library_goes) {
    struct usp_symbolizer *symbolizer = create();
    struct usp_symbol exported, hidden, gone, again;
    struct library library = load(fixture);
    ck_assert_int_eq(usp_symbolize(symbolizer, library.exported, &exported), USP_OK);
    ck_assert_int_eq(usp_symbolize(symbolizer, library.hidden, &hidden), USP_OK);
    ck_assert_int_eq(dlclose(library.handle), 0);
    ck_assert_int_eq(usp_symbolize(symbolizer, library.exported, &gone), USP_ERROR_NOT_FOUND);
    ck_assert_ptr_null(gone.image_path);
    ck_assert_str_eq(exported.name, "fixture_exported");
    ck_assert_str_eq(hidden.name, "fixture_hidden");
    ck_assert_str_eq(hidden.image_path, fixture);
    library = load(fixture);
    ck_assert_int_eq(usp_symbolize(symbolizer, library.hidden, &again), USP_OK);
    ck_assert_ptr_eq(again.name, hidden.name);
    dlclose(library.handle);
    usp_symbolizer_free(symbolizer);
}
END_TEST

/* The loader still knows what is exported; for the rest there is no name, and the exported neighbour's is not taken. */
START_TEST(a_library_without_its_file) {
    char copy[] = "/tmp/unspool-fixture-XXXXXX", command[5000];
    int descriptor = mkstemp(copy);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    snprintf(command, sizeof command, "cp '%s' %s", fixture, copy);
    ck_assert_int_eq(system(command), 0);
    struct library library = load(copy);
    ck_assert_int_eq(unlink(copy), 0);
    struct usp_symbolizer *symbolizer = create();
    struct usp_symbol symbol;
    ck_assert_int_eq(usp_symbolize(symbolizer, library.exported + 1, &symbol), USP_OK);
    ck_assert_uint_eq(symbol.strategy, USP_STRATEGY_DLADDR);
    ck_assert_uint_eq(symbol.start, start_of(library.exported));
    ck_assert_uint_gt(symbol.extent, 1);
    struct usp_symbol hidden;
    ck_assert_int_eq(usp_symbolize(symbolizer, library.hidden, &hidden), USP_ERROR_NOT_FOUND);
    ck_assert_str_eq(hidden.image_path, copy);
    ck_assert_int_eq(dlclose(library.handle), 0);
    ck_assert_str_eq(symbol.name, "fixture_exported");
    usp_symbolizer_free(symbolizer);
}
END_TEST

START_TEST(the_vdso) {
    struct usp_images *images;
    ck_assert_int_eq(usp_images_self(&images), USP_OK);
    const struct usp_image *vdso = NULL;
    for (size_t i = 0; i < usp_images_count(images); i++) {
        if ((usp_images_get(images, i)->flags & USP_IMAGE_KERNEL) != 0) vdso = usp_images_get(images, i);
    }
    struct usp_symbolizer *symbolizer = create();
    unsigned named = 0;
    /* Emulators have none. */
    for (usp_addr at = vdso != NULL ? vdso->text_low : 1; vdso != NULL && at < vdso->text_high; at += 16) {
        struct usp_symbol symbol;
        Dl_info info;
        if (usp_symbolize(symbolizer, at, &symbol) != USP_OK) continue;
        named++;
        ck_assert_uint_eq(symbol.strategy, USP_STRATEGY_DLADDR);
        ck_assert(dladdr((void *)(uintptr_t)at, &info) != 0);
        ck_assert_str_eq(symbol.name, info.dli_sname);
    }
    ck_assert(vdso == NULL || named > 0);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}
END_TEST

/* ---- libraries come and go while others ask ---- */

struct storm {
    struct usp_symbolizer *symbolizer;
    _Atomic usp_addr exported;
    atomic_bool over;
    atomic_uint named, wrong;
};

static void *ask(void *argument) {
    struct storm *storm = argument;
    while (!atomic_load(&storm->over)) {
        struct usp_symbol symbol;
        if (usp_symbolize(storm->symbolizer, atomic_load(&storm->exported), &symbol) != USP_OK) continue;
        atomic_fetch_add(&storm->named, 1);
        if (strcmp(symbol.name, "fixture_exported") != 0) atomic_fetch_add(&storm->wrong, 1);
    }
    return NULL;
}

START_TEST(libraries_come_and_go) {
    struct storm storm = {.symbolizer = create()};
    pthread_t threads[4];
    struct library library = load(fixture);
    atomic_store(&storm.exported, library.exported);
    for (unsigned i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, &storm), 0);
    for (unsigned round = 0; round < 300 || atomic_load(&storm.named) < 100; round++) {
        dlclose(library.handle);
        library = load(fixture);
        atomic_store(&storm.exported, library.exported);
    }
    atomic_store(&storm.over, true);
    for (unsigned i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    ck_assert_uint_eq(atomic_load(&storm.wrong), 0);
    dlclose(library.handle);
    usp_symbolizer_free(storm.symbolizer);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("symbolize_loaded");
    TCase *loaded = tcase_create("loaded");
    tcase_set_timeout(loaded, 60);
    tcase_add_checked_fixture(loaded, find_fixture, NULL);
    tcase_add_test(loaded, our_own_functions);
    tcase_add_test(loaded, names_stay_when_the_library_goes);
    tcase_add_test(loaded, a_library_without_its_file);
    tcase_add_test(loaded, the_vdso);
    tcase_add_test(loaded, libraries_come_and_go);
    suite_add_tcase(suite, loaded);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
