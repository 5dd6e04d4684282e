/* SPDX-License-Identifier: MIT */
/* Tests what makes look-ups lock-free: readers and retired objects, the cache with its limit, stored names; and the
 * effect of a memory limit and of trimming on a symbolizer. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "lib/demangle/names.h"
#include "lib/images/image_list.h"
#include "lib/object/debug_link.h"
#include "lib/symbolize/cache/cache.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"
#include "tests/support/symbol_file.h"

#define EM_X86_64 62

/* ---- readers ---- */

struct thing {
    struct uspi_retired retired;
    unsigned *freed;
    _Atomic(int) value;
};

static void free_thing(struct uspi_retired *retired) {
    struct thing *thing = (struct thing *)retired;
    if (thing->freed != NULL) ++*thing->freed;
    atomic_store(&thing->value, -1);
    free(thing);
}

static struct thing *new_thing(unsigned *freed) {
    struct thing *thing = calloc(1, sizeof *thing);
    ck_assert_ptr_nonnull(thing);
    thing->freed = freed;
    return thing;
}

START_TEST(retired_things_stay_while_a_reader_is_inside) {
    static struct uspi_epoch readers;
    unsigned freed = 0;
    uint32_t early = uspi_epoch_enter(&readers);
    uspi_epoch_retire(&readers, &new_thing(&freed)->retired, free_thing);
    ck_assert_uint_eq(freed, 0);
    /* A reader that enters later does not keep the object, and does not affect the first reader. */
    for (unsigned i = 0; i < 10; i++) {
        uint32_t late = uspi_epoch_enter(&readers);
        uspi_epoch_collect(&readers);
        uspi_epoch_leave(&readers, late);
        uspi_epoch_collect(&readers);
    }
    ck_assert_uint_eq(freed, 0);
    uspi_epoch_leave(&readers, early);
    uint32_t later = uspi_epoch_enter(&readers);
    for (unsigned i = 0; i < 3; i++) uspi_epoch_collect(&readers);
    ck_assert_uint_eq(freed, 1);
    uspi_epoch_retire(&readers, &new_thing(&freed)->retired, free_thing);
    uspi_epoch_leave(&readers, later);
    uspi_epoch_drain(&readers);
    ck_assert_uint_eq(freed, 2);
}
END_TEST

/* At least one reader is always inside, and retired objects must be freed all the same. */
START_TEST(readers_who_overlap_for_ever) {
    static struct uspi_epoch readers;
    unsigned freed = 0;
    uint32_t held = uspi_epoch_enter(&readers);
    uspi_epoch_retire(&readers, &new_thing(&freed)->retired, free_thing);
    for (unsigned i = 0; i < 10; i++) {
        uint32_t next = uspi_epoch_enter(&readers);
        uspi_epoch_leave(&readers, held);
        held = next;
        uspi_epoch_collect(&readers);
    }
    uspi_epoch_leave(&readers, held);
    ck_assert_uint_eq(freed, 1);
}
END_TEST

struct exchange {
    struct uspi_epoch readers;
    _Atomic(struct thing *) current;
    atomic_bool over;
};

static void *read_things(void *argument) {
    struct exchange *e = argument;
    uintptr_t wrong = 0;
    while (!atomic_load(&e->over)) {
        uint32_t number = uspi_epoch_enter(&e->readers);
        wrong += atomic_load(&atomic_load(&e->current)->value) != 7;
        uspi_epoch_leave(&e->readers, number);
    }
    return (void *)wrong;
}

START_TEST(many_readers_one_writer) {
    static struct exchange e;
    pthread_t threads[4];
    unsigned freed = 0;
    enum { ROUNDS = 20000 };
    struct thing *first = new_thing(&freed);
    atomic_store(&first->value, 7);
    atomic_store(&e.current, first);
    for (unsigned i = 0; i < 4; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, read_things, &e), 0);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct thing *next = new_thing(&freed);
        atomic_store(&next->value, 7);
        struct thing *old = atomic_exchange(&e.current, next);
        uspi_epoch_retire(&e.readers, &old->retired, free_thing);
    }
    atomic_store(&e.over, true);
    for (unsigned i = 0; i < 4; i++) {
        void *wrong;
        ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
        ck_assert_ptr_null(wrong);
    }
    uspi_epoch_drain(&e.readers);
    ck_assert_uint_eq(freed, ROUNDS);
    free(atomic_load(&e.current));
}
END_TEST

/* ---- names ---- */

START_TEST(names_are_kept_once) {
    struct uspi_names *names = uspi_names_create();
    enum { COUNT = 5000 };
    static const char *kept[COUNT];
    char text[32];
    for (int i = 0; i < COUNT; i++) {
        int n = snprintf(text, sizeof text, "name_%d", i);
        kept[i] = uspi_names_keep(names, text, (size_t)n);
        ck_assert_str_eq(kept[i], text);
    }
    for (int i = 0; i < COUNT; i++) {
        /* The bytes after the name do not matter. */
        int n = snprintf(text, sizeof text, "name_%d@x", i);
        ck_assert_ptr_eq(uspi_names_keep(names, text, (size_t)n - 2), kept[i]);
    }
    uspi_names_clear(names);
    ck_assert_str_eq(uspi_names_keep(names, "name_1", 6), "name_1");
    uspi_names_free(names);
}
END_TEST

/* Names that are appended are copied each time, and are not found by their bytes. They have any length. */
START_TEST(names_are_appended) {
    struct uspi_names *names = uspi_names_create();
    enum { COUNT = 3000, LONGEST = 40000 };
    static const char *copies[COUNT];
    char *text = malloc(LONGEST + 1);
    memset(text, 'n', LONGEST);
    for (size_t i = 0; i < COUNT; i++) {
        const size_t length = i % 100 == 0 ? i * LONGEST / COUNT : i % 200;
        copies[i] = uspi_names_append(names, text, length);
        ck_assert_ptr_nonnull(copies[i]);
    }
    for (size_t i = 0; i < COUNT; i++) {
        const size_t length = i % 100 == 0 ? i * LONGEST / COUNT : i % 200;
        ck_assert_uint_eq(strlen(copies[i]), length);
        ck_assert_int_eq(memcmp(copies[i], text, length), 0);
        ck_assert(i == 0 || copies[i] != copies[i - 1]);
    }
    const char *kept = uspi_names_keep(names, "nn", 2);
    ck_assert_ptr_ne(kept, copies[2]);
    ck_assert_ptr_ne(uspi_names_append(names, "nn", 2), kept);
    ck_assert_ptr_eq(uspi_names_keep(names, "nn", 2), kept);
    uspi_names_clear(names);
    ck_assert_str_eq(uspi_names_append(names, "after", 5), "after");
    uspi_names_free(names);
    free(text);
}
END_TEST

/* ---- the checksum of split debug files ---- */

START_TEST(checksums) {
    /* The check value of CRC-32: "123456789". */
    static const char text[] = "123456789";
    struct uspi_source source = {.name = "text", .base = (const uint8_t *)text};
    uint32_t crc = 1;
    ck_assert_int_eq(uspi_debug_link_crc((struct uspi_bytes){&source, 0, 9}, &crc, NULL), USP_OK);
    ck_assert_uint_eq(crc, 0xcbf43926u);
    ck_assert_int_eq(uspi_debug_link_crc((struct uspi_bytes){&source, 0, 0}, &crc, NULL), USP_OK);
    ck_assert_uint_eq(crc, 0);
}
END_TEST

/* ---- a symbolizer with a limit ---- */

enum { FILES = 6 };

static void make_files(void) {
    make_folder();
    for (uint8_t i = 0; i < FILES; i++) {
        char path[sizeof folder + 16], name[32];
        /* One name that is in the file, and one that must be stored. */
        struct file_symbol symbols[] = {{name, 0x1000, 0x10, 2, 1, TEXT}, {"read@@V1", 0x1100, 0x10, 2, 1, TEXT}, {0}};
        struct symbol_file file = {
            .wide = true, .machine = EM_X86_64, .symtab = symbols, .build_id = &i, .build_id_size = 1};
        snprintf(path, sizeof path, "%s/%u", folder, i);
        snprintf(name, sizeof name, "function_%u", i);
        struct builder b = build_symbol_file(&file);
        save_new(&b, path);
        builder_free(&b);
    }
}

static usp_addr load_of(unsigned file) { return UINT64_C(0x10000000) * (file + 1); }

static struct usp_images *all_files(void) {
    struct uspi_image_list list = {0};
    struct usp_images *images;
    for (uint8_t i = 0; i < FILES; i++) {
        char path[sizeof folder + 16];
        snprintf(path, sizeof path, "%s/%u", folder, i);
        struct usp_image image = {.path = path,
                                  .load_address = load_of(i),
                                  .end = load_of(i) + FILE_END,
                                  .slide = load_of(i),
                                  .arch = USP_ARCH_X86_64,
                                  .build_id = {i},
                                  .build_id_size = 1};
        ck_assert_int_eq(uspi_image_list_add(&list, &image), USP_OK);
    }
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

static struct usp_symbolizer_usage usage_of(struct usp_symbolizer *symbolizer) {
    struct usp_symbolizer_usage usage;
    ck_assert_int_eq(usp_symbolizer_get_usage(symbolizer, &usage), USP_OK);
    return usage;
}

static const char *name_in(struct usp_symbolizer *symbolizer, unsigned file, usp_addr at) {
    struct usp_symbol symbol;
    ck_assert_int_eq(usp_symbolize(symbolizer, load_of(file) + at, &symbol), USP_OK);
    return symbol.name;
}

/* The least recently used index is evicted; names stay valid. */
START_TEST(the_limit_holds) {
    struct usp_images *images = all_files();
    struct usp_symbolizer *symbolizer = limited(images, 0);
    name_in(symbolizer, 0, 0x1000);
    struct usp_symbolizer_usage usage = usage_of(symbolizer);
    ck_assert_uint_eq(usage.images, 1);
    ck_assert_uint_eq(usage.symbols, 2);
    ck_assert_uint_gt(usage.memory, 0);
    const uint64_t each = usage.memory;
    for (unsigned i = 0; i < FILES; i++) name_in(symbolizer, i, 0x1000);
    usage = usage_of(symbolizer);
    ck_assert_uint_eq(usage.images, FILES);
    ck_assert_uint_eq(usage.memory, FILES * each);
    ck_assert_uint_eq(usage.indexes_given_up, 0);
    usp_symbolizer_free(symbolizer);

    const char *names[FILES];
    symbolizer = limited(images, 3 * each);
    for (unsigned i = 0; i < FILES; i++) {
        names[i] = name_in(symbolizer, i, 0x1000);
        name_in(symbolizer, 0, 0x1100);
        ck_assert_uint_le(usage_of(symbolizer).memory, 3 * each);
    }
    usage = usage_of(symbolizer);
    ck_assert_uint_eq(usage.indexes_made, FILES);
    ck_assert_uint_eq(usage.indexes_given_up, FILES - 3);
    /* The first and the last two are cached. */
    name_in(symbolizer, 0, 0x1000);
    name_in(symbolizer, FILES - 1, 0x1000);
    name_in(symbolizer, FILES - 2, 0x1000);
    ck_assert_uint_eq(usage_of(symbolizer).indexes_made, FILES);
    for (unsigned i = 0; i < FILES; i++) {
        char expected[32];
        snprintf(expected, sizeof expected, "function_%u", i);
        ck_assert_str_eq(names[i], expected);
        ck_assert_ptr_eq(name_in(symbolizer, i, 0x1000), names[i]);
    }
    ck_assert_uint_gt(usage_of(symbolizer).indexes_made, FILES);
    usp_symbolizer_free(symbolizer);

    /* One index is kept, however small the limit is. */
    symbolizer = limited(images, 1);
    for (unsigned i = 0; i < 2 * FILES; i++) name_in(symbolizer, i % FILES, 0x1100);
    usage = usage_of(symbolizer);
    ck_assert_uint_eq(usage.images, 1);
    ck_assert_uint_eq(usage.indexes_made, 2 * FILES);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}
END_TEST

START_TEST(trimmed_it_is_as_new) {
    struct usp_images *images = all_files();
    struct usp_symbolizer *symbolizer = limited(images, 0);
    for (unsigned round = 0; round < 3; round++) {
        for (unsigned i = 0; i < FILES; i++) {
            char expected[32];
            snprintf(expected, sizeof expected, "function_%u", i);
            ck_assert_str_eq(name_in(symbolizer, i, 0x1000), expected);
            ck_assert_str_eq(name_in(symbolizer, i, 0x1100), "read");
        }
        ck_assert_uint_eq(usage_of(symbolizer).images, FILES);
        usp_symbolizer_trim(symbolizer);
        ck_assert_uint_eq(usage_of(symbolizer).images, 0);
        ck_assert_uint_eq(usage_of(symbolizer).memory, 0);
    }
    usp_symbolizer_free(symbolizer);
    usp_symbolizer_trim(NULL);
    struct usp_symbolizer_usage usage;
    ck_assert_int_eq(usp_symbolizer_get_usage(NULL, &usage), USP_OK);
    ck_assert_uint_eq(usage.images, 0);
    ck_assert_int_eq(usp_symbolizer_get_usage(NULL, NULL), USP_ERROR_ARGUMENT);
    usp_images_free(images);
}
END_TEST

struct crowd {
    struct usp_symbolizer *symbolizer;
    unsigned seed;
};

static void *ask_for_all(void *argument) {
    struct crowd *crowd = argument;
    uintptr_t wrong = 0;
    for (unsigned i = 0; i < 2000; i++) {
        crowd->seed = crowd->seed * 1664525 + 1013904223;
        unsigned file = crowd->seed >> 16 & 0xff;
        struct usp_symbol symbol;
        char expected[32];
        file %= FILES;
        snprintf(expected, sizeof expected, "function_%u", file);
        bool kept = (crowd->seed >> 28 & 1) != 0;
        int status = usp_symbolize(crowd->symbolizer, load_of(file) + (kept ? 0x1108 : 0x1008), &symbol);
        wrong += status != USP_OK || strcmp(symbol.name, kept ? "read" : expected) != 0;
    }
    return (void *)wrong;
}

/* Indexes are evicted while other threads search them. */
START_TEST(threads_at_the_limit) {
    struct usp_images *images = all_files();
    struct usp_symbolizer *symbolizer = limited(images, 1);
    pthread_t threads[8];
    struct crowd crowds[8];
    for (unsigned i = 0; i < 8; i++) {
        crowds[i] = (struct crowd){symbolizer, i + 1};
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_for_all, &crowds[i]), 0);
    }
    for (unsigned i = 0; i < 8; i++) {
        void *wrong;
        ck_assert_int_eq(pthread_join(threads[i], &wrong), 0);
        ck_assert_ptr_null(wrong);
    }
    ck_assert_uint_gt(usage_of(symbolizer).indexes_given_up, 0);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}
END_TEST

int main(void) {
    TCase *parts = tcase_create("parts");
    add_tests(parts, retired_things_stay_while_a_reader_is_inside, readers_who_overlap_for_ever,
              many_readers_one_writer, names_are_kept_once, names_are_appended, checksums);
    TCase *limit = tcase_create("limit");
    tcase_add_checked_fixture(limit, make_files, remove_folder);
    add_tests(limit, the_limit_holds, trimmed_it_is_as_new, threads_at_the_limit);
    return run_suite("symbolize_cache", parts, limit);
}
