/* SPDX-License-Identifier: MIT */
/* Tests names of images of this process: the program's own functions, libraries that are loaded and unloaded, a library
 * whose file was removed, and the vdso, which never had a file. */
#define _GNU_SOURCE 1
#include <check.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "tests/support/libc.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

/* A function's address as in a symbol, without the Thumb bit. */
static usp_addr start_of(usp_addr function) {
    return usp_arch_host() == USP_ARCH_ARMV7 ? function & ~(usp_addr)1 : function;
}

static char fixture[4096]; /* path of the library */
static char other[4096];   /* path of one with other names at the same offsets */

static void find_fixture(void) {
    ssize_t n = readlink("/proc/self/exe", fixture, sizeof fixture - 64);
    ck_assert_int_gt(n, 0);
    fixture[n] = '\0';
    /* Libtool keeps relinked programs in .libs, too. */
    char *slash = strrchr(fixture, '/');
    bool is_within = slash - fixture > 6 && strncmp(slash - 6, "/.libs", 6) == 0;
    strcpy(slash, is_within ? "/" : "/.libs/");
    strcpy(other, fixture);
    strcat(fixture, "names_fixture.so");
    strcat(other, "names_fixture_2.so");
}

struct library {
    void *handle;
    usp_addr exported, hidden;
};

/* Loads one of the two libraries, whose functions differ only in their names. */
static struct library load(const char *path) {
    struct library library = {.handle = dlopen(path, RTLD_NOW)};
    ck_assert_msg(library.handle != NULL, "%s", dlerror());
    void *symbol = dlsym(library.handle, "fixture_exported");
    if (symbol == NULL) symbol = dlsym(library.handle, "fixture_2_exported");
    uintptr_t (*ask)(int) = (uintptr_t (*)(int))(uintptr_t)symbol;
    ck_assert(ask != NULL);
    library.exported = ask(0);
    library.hidden = ask(1);
    return library;
}

/* Gives up root's rights for the rest of this test's process. */
static void become_another_user(void) {
    if (getuid() != 0) return;
    ck_assert_int_eq(setuid(65534), 0);
    /* Otherwise /proc/self would belong to root from now on. */
    ck_assert_int_eq(prctl(PR_SET_DUMPABLE, 1), 0);
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

static usp_addr offset_of(usp_addr address) {
    Dl_info info;
    ck_assert(dladdr((void *)(uintptr_t)address, &info) != 0);
    return address - (usp_addr)(uintptr_t)info.dli_fbase;
}

/* Checks what the tests below rely on when one library replaces the other. */
START_TEST(the_libraries_have_the_same_offsets) {
    struct library libraries[2] = {load(fixture), load(other)};
    ck_assert_uint_eq(offset_of(libraries[0].exported), offset_of(libraries[1].exported));
    ck_assert_uint_eq(offset_of(libraries[0].hidden), offset_of(libraries[1].hidden));
    for (unsigned i = 0; i < 2; i++) dlclose(libraries[i].handle);
}
END_TEST

START_TEST(names_stay_when_the_library_goes) {
    if (!LIBC_UNLOADS) return;
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

/* ---- a library without its file ---- */

/* Loads a copy of a library and removes the copy. */
static struct library load_and_remove(const char *from, char copy[64]) {
    char command[5000];
    strcpy(copy, "/tmp/unspool-fixture-XXXXXX");
    int descriptor = mkstemp(copy);
    ck_assert_int_ge(descriptor, 0);
    close(descriptor);
    snprintf(command, sizeof command, "cp '%s' %s", from, copy);
    ck_assert_int_eq(system(command), 0);
    struct library library = load(copy);
    ck_assert_int_eq(unlink(copy), 0);
    return library;
}

/* Whether the system permits opening the file that is mapped at an address (CAP_CHECKPOINT_RESTORE). */
static bool can_open_mapping(usp_addr address) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[4096], path[96];
    unsigned long long low, high, offset, first_low = 0, first_high = 0;
    ck_assert_ptr_nonnull(maps);
    while (fgets(line, sizeof line, maps) != NULL) {
        if (sscanf(line, "%llx-%llx %*s %llx", &low, &high, &offset) != 3) continue;
        if (offset == 0) {
            first_low = low;
            first_high = high;
        }
        if (address >= low && address < high) break;
    }
    fclose(maps);
    snprintf(path, sizeof path, "/proc/self/map_files/%llx-%llx", first_low, first_high);
    int descriptor = open(path, O_RDONLY);
    if (descriptor >= 0) close(descriptor);
    return descriptor >= 0;
}

/* Exported names are still in the library's memory; the others are readable only if the system permits opening mapped
 * files. A function must never get its exported neighbour's name. */
START_TEST(a_library_without_its_file) {
    char copy[64];
    struct library library = load_and_remove(fixture, copy);
    struct usp_symbolizer *symbolizer = create();
    struct usp_symbol symbol, hidden;
    if (_i == 1) become_another_user();
    ck_assert_int_eq(usp_symbolize(symbolizer, library.exported + 1, &symbol), USP_OK);
    ck_assert_uint_eq(symbol.strategy, USP_STRATEGY_SYMTAB);
    ck_assert_uint_eq(symbol.start, start_of(library.exported));
    ck_assert_uint_gt(symbol.extent, 1);
    int status = usp_symbolize(symbolizer, library.hidden, &hidden);
    ck_assert_int_eq(status, can_open_mapping(library.exported) ? USP_OK : USP_ERROR_NOT_FOUND);
    if (status == USP_OK) ck_assert_str_eq(hidden.name, "fixture_hidden");
    ck_assert_str_eq(hidden.image_path, copy);
    ck_assert_int_eq(dlclose(library.handle), 0);
    ck_assert_str_eq(symbol.name, "fixture_exported");
    usp_symbolizer_free(symbolizer);
}
END_TEST

/* In a library whose file was removed, a symbol has no size. Its neighbour, which is not exported, must not get its
 * name. */
START_TEST(an_unsized_function_without_its_file) {
    char copy[64];
    struct library library = load_and_remove(fixture, copy);
    const usp_addr bare = (usp_addr)(uintptr_t)dlsym(library.handle, "fixture_bare");
    if (bare == 0) return; /* there is no such function for this processor */
    const usp_addr start = start_of(bare);
    const unsigned length = usp_arch_host() == USP_ARCH_X86_64 || usp_arch_host() == USP_ARCH_I386 ? 1
                            : bare != start                                                        ? 2
                                                                                                   : 4;
    struct usp_symbolizer *symbolizer = create();
    struct usp_symbol symbol;
    if (_i == 1) become_another_user();
    ck_assert_int_eq(usp_symbolize(symbolizer, start, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "fixture_bare");
    ck_assert_int_eq(usp_symbolize(symbolizer, start + length - 1, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "fixture_bare");
    int status = usp_symbolize(symbolizer, start + length, &symbol);
    ck_assert_int_eq(status, can_open_mapping(library.exported) ? USP_OK : USP_ERROR_NOT_FOUND);
    if (status == USP_OK) ck_assert_str_eq(symbol.name, "fixture_beside");
    ck_assert_int_eq(dlclose(library.handle), 0);
    usp_symbolizer_free(symbolizer);
}
END_TEST

/* The same for another process, which has the library and the vdso at the same addresses. */
START_TEST(another_process_without_the_file) {
    char copy[64];
    struct library library = load_and_remove(fixture, copy);
    if (_i == 1) become_another_user();
    int ready[2];
    ck_assert_int_eq(pipe(ready), 0);
    pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        char end;
        close(ready[1]);
        /* Waits until the parent is done or has ended. */
        _exit(read(ready[0], &end, 1) == 0 ? 0 : 1);
    }
    close(ready[0]);
    struct usp_images *images;
    struct usp_symbolizer_options options;
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    ck_assert_int_eq(usp_images_create_process(child, &images, NULL, 0), USP_OK);
    usp_symbolizer_options_init(&options);
    /* Nothing tells whose memory it is. */
    ck_assert_int_eq(usp_symbolizer_create(images, &options, &symbolizer), USP_OK);
    ck_assert_int_eq(usp_symbolize(symbolizer, library.exported + 1, &symbol), USP_ERROR_NOT_FOUND);
    usp_symbolizer_free(symbolizer);
    options.process = child;
    ck_assert_int_eq(usp_symbolizer_create(images, &options, &symbolizer), USP_OK);
    ck_assert_int_eq(usp_symbolize(symbolizer, library.exported + 1, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "fixture_exported");
    ck_assert_uint_eq(symbol.start, start_of(library.exported));
    int status = usp_symbolize(symbolizer, library.hidden, &symbol);
    ck_assert_int_eq(status, can_open_mapping(library.exported) ? USP_OK : USP_ERROR_NOT_FOUND);
    const usp_addr own = start_of((usp_addr)(uintptr_t)&one_of_ours);
    ck_assert_int_eq(usp_symbolize(symbolizer, own + 1, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "one_of_ours");
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    close(ready[1]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_int_eq(status, 0);
    dlclose(library.handle);
}
END_TEST

/* Without a build id a library cannot be told from another one that has replaced it, so the loader is asked. */
START_TEST(a_library_that_only_the_loader_knows) {
    /* A library that stays loaded is read from its memory. */
    if (!LIBC_UNLOADS) return;
    char copy[64];
    struct library library = load_and_remove(other, copy);
    struct usp_symbolizer *symbolizer = create();
    struct usp_symbol symbol;
    become_another_user();
    bool opens = can_open_mapping(library.exported);
    ck_assert_int_eq(usp_symbolize(symbolizer, library.exported + 1, &symbol), USP_OK);
    ck_assert_uint_eq(symbol.strategy, opens ? USP_STRATEGY_SYMTAB : USP_STRATEGY_DLADDR);
    ck_assert_uint_eq(symbol.start, start_of(library.exported));
    ck_assert_uint_gt(symbol.extent, 1);
    struct usp_symbol hidden;
    if (!opens) ck_assert_int_eq(usp_symbolize(symbolizer, library.hidden, &hidden), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(dlclose(library.handle), 0);
    ck_assert_str_eq(symbol.name, "fixture_2_exported");
    usp_symbolizer_free(symbolizer);
}
END_TEST

START_TEST(the_vdso) {
    struct usp_images *images;
    ck_assert_int_eq(usp_images_create_self(&images), USP_OK);
    const struct usp_image *vdso = NULL;
    for (size_t i = 0; i < usp_images_count(images); i++) {
        if ((usp_images_get(images, i)->flags & USP_IMAGE_KERNEL) != 0) vdso = usp_images_get(images, i);
    }
    struct usp_symbolizer *symbolizer = create();
    unsigned named = 0;
    /* Emulators have no vdso. */
    for (usp_addr at = vdso != NULL ? vdso->text_low : 1; vdso != NULL && at < vdso->text_high; at += 16) {
        struct usp_symbol symbol;
        Dl_info info;
        if (usp_symbolize(symbolizer, at, &symbol) != USP_OK) continue;
        named++;
        ck_assert_uint_eq(symbol.strategy, USP_STRATEGY_SYMTAB);
        ck_assert(dladdr((void *)(uintptr_t)at, &info) != 0);
        ck_assert_uint_eq(symbol.start, start_of((usp_addr)(uintptr_t)info.dli_saddr));
    }
    ck_assert(vdso == NULL || named > 0);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}
END_TEST

/* ---- which images can go ---- */

static uint32_t flags_of(usp_addr address) {
    struct usp_images *images;
    ck_assert_int_eq(usp_images_create_self(&images), USP_OK);
    const struct usp_image *image = usp_images_find(images, address);
    ck_assert_ptr_nonnull(image);
    uint32_t flags = image->flags;
    usp_images_free(images);
    return flags;
}

START_TEST(what_was_linked_stays) {
    struct library library = load(fixture);
    ck_assert_uint_ne(flags_of((usp_addr)(uintptr_t)&one_of_ours) & USP_IMAGE_PERMANENT, 0);
    ck_assert_uint_ne(flags_of((usp_addr)(uintptr_t)dlsym(RTLD_DEFAULT, "malloc")) & USP_IMAGE_PERMANENT, 0);
    ck_assert_uint_eq(flags_of(library.exported) & USP_IMAGE_PERMANENT, LIBC_UNLOADS ? 0 : USP_IMAGE_PERMANENT);
    dlclose(library.handle);
}
END_TEST

/* Another library is loaded at the same address, and the first one's names must not be used. */
START_TEST(another_library_at_the_same_address) {
    if (!LIBC_UNLOADS) return;
    struct usp_symbolizer *symbolizer = create();
    unsigned same = 0;
    usp_addr before = 0;
    for (unsigned round = 0; round < 20; round++) {
        bool is_other = round % 2 == 1;
        struct library library = load(is_other ? other : fixture);
        struct usp_symbol symbol;
        ck_assert_int_eq(usp_symbolize(symbolizer, library.hidden, &symbol), USP_OK);
        ck_assert_str_eq(symbol.name, is_other ? "fixture_2_hidden" : "fixture_hidden");
        same += library.hidden == before;
        before = library.hidden;
        dlclose(library.handle);
        ck_assert_int_eq(usp_symbolize(symbolizer, library.hidden, &symbol), USP_ERROR_NOT_FOUND);
    }
    /* Otherwise this test has shown nothing. */
    if (!is_slowed()) ck_assert_uint_gt(same, 0);
    usp_symbolizer_free(symbolizer);
}
END_TEST

/* ---- a list for signal handlers ---- */

static atomic_uint handled, handled_wrong;

static void look_at_list(int number) {
    uint32_t ticket;
    (void)number;
    const struct usp_images *images = usp_images_acquire(&ticket);
    const struct usp_image *own = usp_images_find(images, (usp_addr)(uintptr_t)&one_of_ours);
    if (own == NULL || strstr(own->path, "test_symbolize_loaded") == NULL) atomic_fetch_add(&handled_wrong, 1);
    atomic_fetch_add(&handled, 1);
    usp_images_release(ticket);
}

static void *be_interrupted(void *argument) {
    const atomic_bool *over = argument;
    while (!atomic_load(over)) raise(SIGUSR1);
    return NULL;
}

START_TEST(handlers_read_the_registered_list) {
    if (!LIBC_UNLOADS) return;
    struct sigaction action = {.sa_handler = look_at_list};
    atomic_bool over = false;
    pthread_t threads[2];
    uint32_t ticket;
    ck_assert_ptr_null(usp_images_acquire(&ticket));
    usp_images_release(ticket);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    const struct usp_images *first = usp_images_acquire(&ticket);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    uint32_t second;
    ck_assert_ptr_eq(usp_images_acquire(&second), first);
    usp_images_release(second);
    ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
    for (unsigned i = 0; i < 2; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, be_interrupted, &over), 0);
    for (unsigned round = 0; round < 50 || atomic_load(&handled) < 100; round++) {
        struct library library = load(fixture);
        ck_assert_int_eq(usp_images_refresh(), USP_OK);
        const struct usp_images *now = usp_images_acquire(&second);
        ck_assert_ptr_nonnull(usp_images_find(now, library.exported));
        ck_assert_ptr_ne(now, first);
        usp_images_release(second);
        dlclose(library.handle);
        ck_assert_int_eq(usp_images_refresh(), USP_OK);
        now = usp_images_acquire(&second);
        ck_assert_ptr_null(usp_images_find(now, library.exported));
        usp_images_release(second);
    }
    atomic_store(&over, true);
    for (unsigned i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    ck_assert_uint_eq(atomic_load(&handled_wrong), 0);
    /* The list was held all the time. */
    ck_assert_ptr_nonnull(usp_images_find(first, (usp_addr)(uintptr_t)&one_of_ours));
    usp_images_release(ticket);
}
END_TEST

/* ---- libraries are loaded and unloaded during look-ups ---- */

struct storm {
    struct usp_symbolizer *symbolizer;
    _Atomic usp_addr exported[2], hidden[2];
    atomic_bool over;
    atomic_uint named, wrong;
};

/* Whether a name is right for a function: either library may be at the address of the other, but nothing else. */
static bool is_name_of(const char *name, const char *function) {
    char expected[64];
    snprintf(expected, sizeof expected, "fixture_2_%s", function);
    return strcmp(name, expected) == 0 || (strncmp(name, "fixture_", 8) == 0 && strcmp(name + 8, function) == 0);
}

static void *ask(void *argument) {
    struct storm *storm = argument;
    const usp_addr own = start_of((usp_addr)(uintptr_t)&one_of_ours);
    for (unsigned i = 0; !atomic_load(&storm->over); i++) {
        struct usp_symbol symbol;
        bool is_exported = i % 2 == 0;
        usp_addr address = atomic_load(is_exported ? &storm->exported[i / 2 % 2] : &storm->hidden[i / 2 % 2]);
        if (usp_symbolize(storm->symbolizer, address, &symbol) == USP_OK) {
            atomic_fetch_add(&storm->named, 1);
            if (!is_name_of(symbol.name, is_exported ? "exported" : "hidden")) atomic_fetch_add(&storm->wrong, 1);
        }
        int status = usp_symbolize(storm->symbolizer, own + 1, &symbol);
        if (status != USP_OK || strcmp(symbol.name, "one_of_ours") != 0) atomic_fetch_add(&storm->wrong, 1);
    }
    return NULL;
}

static struct library load_into(struct storm *storm, unsigned which) {
    struct library library = load(which == 0 ? fixture : other);
    atomic_store(&storm->exported[which], library.exported);
    atomic_store(&storm->hidden[which], library.hidden);
    return library;
}

/* Without a memory limit, and with one that evicts every index at once. */
START_TEST(libraries_come_and_go) {
    struct storm storm = {.symbolizer = NULL};
    struct usp_symbolizer_options options;
    pthread_t threads[8];
    usp_symbolizer_options_init(&options);
    options.memory_limit = _i == 0 ? 0 : 1;
    ck_assert_int_eq(usp_symbolizer_create(NULL, &options, &storm.symbolizer), USP_OK);
    struct library libraries[2] = {load_into(&storm, 0), load_into(&storm, 1)};
    for (unsigned i = 0; i < 8; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, &storm), 0);
    for (unsigned round = 0; round < 100 || atomic_load(&storm.named) < 100; round++) {
        /* In turn, so that each takes the other's place. */
        dlclose(libraries[0].handle);
        dlclose(libraries[1].handle);
        libraries[round % 2] = load_into(&storm, round % 2);
        libraries[1 - round % 2] = load_into(&storm, 1 - round % 2);
    }
    atomic_store(&storm.over, true);
    for (unsigned i = 0; i < 8; i++) pthread_join(threads[i], NULL);
    ck_assert_uint_eq(atomic_load(&storm.wrong), 0);
    for (unsigned i = 0; i < 2; i++) dlclose(libraries[i].handle);
    usp_symbolizer_free(storm.symbolizer);
}
END_TEST

int main(void) {
    /* The files of such a host cannot be read by this library. 77: Automake's "skipped". */
    if (usp_arch_host() == USP_ARCH_NONE) return 77;
    TCase *loaded = tcase_create("loaded");
    tcase_add_checked_fixture(loaded, find_fixture, NULL);
    add_tests(loaded, our_own_functions, the_libraries_have_the_same_offsets, names_stay_when_the_library_goes);
    tcase_add_loop_test(loaded, a_library_without_its_file, 0, 2);
    tcase_add_loop_test(loaded, an_unsized_function_without_its_file, 0, 2);
    /* A user-mode emulator's processes have other addresses in the host than they know, and /proc shows the host's. */
    if (!is_user_emulated()) tcase_add_loop_test(loaded, another_process_without_the_file, 0, 2);
    add_tests(loaded, a_library_that_only_the_loader_knows, the_vdso, what_was_linked_stays,
              handlers_read_the_registered_list, another_library_at_the_same_address);
    tcase_add_loop_test(loaded, libraries_come_and_go, 0, 2);
    return run_suite("symbolize_loaded", loaded);
}
