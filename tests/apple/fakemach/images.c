/* SPDX-License-Identifier: MIT */
/* Tests images on the scripted kernel: images that the loader announces, the loader's own lists, and lists that change
 * or are damaged. Layouts: xnu EXTERNAL_HEADERS/mach-o/loader.h, dyld include/mach-o/dyld_images.h. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/host.h"
#include "lib/images/own_images.h"
#include "tests/apple/fakemach/stacks.h"
#include "tests/support/dyld_cache_bytes.h"
#include "tests/support/folder.h"
#include "tests/support/sanitized.h"
#include "tests/support/suite.h"

#define IMAGE_SIZE 4096u
#define PROGRAM    0u
#define LIBRARY    1u
#define PLUGIN     2u
#define LOADER     3u
#define IMAGES     4u

enum { EXECUTE = 2, DYLIB = 6, DYLINKER = 7 };

static _Alignas(4096) uint8_t images[IMAGES][IMAGE_SIZE];
static const char *const paths[IMAGES] = {"/Apps/Demo.app/Demo", "/usr/lib/libdemo.dylib", "/Apps/Demo.app/plugin",
                                          "/usr/lib/dyld"};
static uintptr_t entries[2][3], infos[FAKE_TASKS][32];

static uint8_t *put32(uint8_t *at, uint32_t value) {
    memcpy(at, &value, 4);
    return at + 4;
}

static uint8_t *put_word(uint8_t *at, uintptr_t value) {
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static uint32_t processor(void) {
    switch (USPI_HOST_ARCH) {
    case USP_ARCH_ARM64: return 0x0100000c;
    case USP_ARCH_X86_64: return 0x01000007;
    default: return 7;
    }
}

/* Writes a header, a text segment that begins at address 0, and a UUID of equal bytes. */
static void write_image(uint8_t *image, uint32_t type, uint8_t uuid) {
    bool wide = sizeof(void *) == 8;
    uint32_t segment_size = wide ? 72 : 56;
    memset(image, 0, IMAGE_SIZE);
    uint8_t *at = put32(image, wide ? 0xfeedfacf : 0xfeedface);
    at = put32(at, processor());
    at = put32(at, 0);
    at = put32(at, type);
    at = put32(at, 2);
    at = put32(at, segment_size + 24);
    at += wide ? 8 : 4;
    uint8_t *segment = at;
    at = put32(at, wide ? 0x19 : 1);
    at = put32(at, segment_size);
    memcpy(at, "__TEXT", 6);
    at = put_word(at + 16, 0);
    at = put_word(at, IMAGE_SIZE);
    at = put_word(at, 0);
    at = put_word(at, IMAGE_SIZE);
    at = put32(at, 5);
    put32(at, 5);
    at = put32(segment + segment_size, 0x1b);
    at = put32(at, 24);
    memset(at, uuid, 16);
}

static void write_infos(uintptr_t *to, uint32_t count, uintptr_t array) {
    bool wide = sizeof(void *) == 8;
    uint8_t *at = (uint8_t *)to;
    memset(to, 0, sizeof infos[0]);
    put32(at, 15);
    put32(at + 4, count);
    put_word(at + 8, array);
    put_word(at + (wide ? 32 : 20), (uintptr_t)images[LOADER]);
    put_word(at + (wide ? 152 : 80), 0x4000);
    memset(at + (wide ? 160 : 84), 0xca, 16);
    put_word(at + (wide ? 176 : 100), 0x7000000);
}

void make_images(void) {
    static const uint32_t types[IMAGES] = {EXECUTE, DYLIB, DYLIB, DYLINKER};
    ck_assert_int_eq(mprotect(images, sizeof images, PROT_READ | PROT_WRITE), 0);
    for (size_t i = 0; i < IMAGES; i++) write_image(images[i], types[i], (uint8_t)(0x10 + i));
    for (size_t i = 0; i < LOADER; i++) {
        fake.images[i].header = (uintptr_t)images[i];
        fake.images[i].path = paths[i];
    }
    for (size_t i = 0; i < 2; i++) {
        entries[i][0] = (uintptr_t)images[i];
        entries[i][1] = (uintptr_t)paths[i];
    }
    write_infos(infos[FAKE_OWN], 2, (uintptr_t)entries);
    write_infos(infos[FAKE_OTHER], 2, (uintptr_t)entries);
    for (size_t i = 0; i < FAKE_TASKS; i++) fake.dyld_infos[i] = (uintptr_t)infos[i];
}

static void start_images(void) {
    start();
    make_images();
}

static const struct usp_image *image_of(const struct usp_images *list, size_t i) {
    return usp_images_find(list, (uintptr_t)images[i] + 8);
}

static void check_image(const struct usp_images *list, size_t i, const char *path, uint32_t flags) {
    const struct usp_image *image = image_of(list, i);
    ck_assert_ptr_nonnull(image);
    ck_assert_uint_eq(image->load_address, (uintptr_t)images[i]);
    ck_assert_uint_eq(image->text_low, (uintptr_t)images[i]);
    ck_assert_uint_eq(image->text_high, (uintptr_t)images[i] + IMAGE_SIZE);
    ck_assert_uint_eq(image->slide, (uintptr_t)images[i]);
    ck_assert_uint_eq(image->arch, USPI_HOST_ARCH);
    ck_assert_uint_eq(image->build_id_size, 16);
    for (size_t b = 0; b < 16; b++) ck_assert_uint_eq(image->build_id[b], 0x10 + i);
    ck_assert_str_eq(image->path, path);
    ck_assert_uint_eq(image->flags, USP_IMAGE_MACHO | flags);
}

static void check_cache(const struct usp_images *list) {
    struct usp_shared_cache cache;
    ck_assert_int_eq(usp_images_shared_cache(list, &cache), USP_OK);
    ck_assert_uint_eq(cache.base, 0x7000000);
    ck_assert_uint_eq(cache.slide, 0x4000);
    for (size_t b = 0; b < 16; b++) ck_assert_uint_eq(cache.uuid[b], 0xca);
}

START_TEST(test_own_images) {
    struct usp_images *list;
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_images_create_self(&list), USP_OK);
    ck_assert_uint_eq(usp_images_count(list), 4);
    check_image(list, PROGRAM, paths[PROGRAM], USP_IMAGE_MAIN | USP_IMAGE_PERMANENT);
    check_image(list, LIBRARY, paths[LIBRARY], 0);
    check_image(list, PLUGIN, paths[PLUGIN], 0);
    check_image(list, LOADER, "", USP_IMAGE_LOADER | USP_IMAGE_PERMANENT);
    check_cache(list);
    usp_images_free(list);

    fake_unload(PLUGIN);
    ck_assert_int_eq(usp_images_create_self(&list), USP_OK);
    ck_assert_uint_eq(usp_images_count(list), 3);
    ck_assert_ptr_null(image_of(list, PLUGIN));
    usp_images_free(list);
    fake.images[PLUGIN].header = (uintptr_t)images[PLUGIN];
    fake.images[PLUGIN].path = "/elsewhere";
    fake_load(PLUGIN);
    ck_assert_int_eq(usp_images_create_self(&list), USP_OK);
    check_image(list, PLUGIN, "/elsewhere", 0);
    usp_images_free(list);
    check_clean(&before, "own images");
}
END_TEST

static bool is_listed(size_t i) {
    uint32_t ticket;
    const struct usp_images *list = usp_images_acquire(&ticket);
    const bool is_listed = list != NULL && image_of(list, i) != NULL;
    usp_images_release(ticket);
    return is_listed;
}

/* A capture by an older list refused the code of a library that lies where an unloaded one had its data. It asks
 * whether the image is still loaded; that other images were unloaded does not matter. */
START_TEST(test_images_that_are_still_loaded) {
    struct uspi_own_images own;
    prepare();
    const uint32_t ticket = uspi_own_images_enter(&own);
    const struct usp_image *plugin = image_of(own.images, PLUGIN), *library = image_of(own.images, LIBRARY);
    ck_assert(uspi_own_images_have(own.generation, plugin));
    fake_unload(PLUGIN);
    ck_assert(!uspi_own_images_have(own.generation, plugin));
    ck_assert(uspi_own_images_have(own.generation, library));
    ck_assert(uspi_own_images_have(own.generation, image_of(own.images, PROGRAM)));
    /* With a newer list, only an image that stays is known. */
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    ck_assert(!uspi_own_images_have(own.generation, library));
    ck_assert(uspi_own_images_have(own.generation, image_of(own.images, PROGRAM)));
    usp_images_release(ticket);
}
END_TEST

/* The program does not announce that it has loaded or unloaded something. Captures of other threads and snapshots must
 * notice it. */
START_TEST(test_loaded_later) {
    struct usp_frame frames[32];
    struct usp_stack stack;
    struct usp_snapshot *s;
    prepare();
    ck_assert(is_listed(PLUGIN));
    fake_unload(PLUGIN);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    ck_assert(!is_listed(PLUGIN));
    fake.images[PLUGIN].header = (uintptr_t)images[PLUGIN];
    fake_load(PLUGIN);
    ck_assert(!is_listed(PLUGIN));
    ck_assert_int_eq(capture_thread(TARGET, &stack, frames, 32), USP_OK);
    ck_assert(is_listed(PLUGIN));
    fake_unload(PLUGIN);
    ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
    usp_snapshot_free(s);
    ck_assert(!is_listed(PLUGIN));
}
END_TEST

/* More images than the first slots hold; some have been unloaded. */
START_TEST(test_many_images) {
    struct usp_images *list;
    ck_assert_int_eq(usp_images_create_self(&list), USP_OK);
    usp_images_free(list);
    /* The layer's slots take any address from the loader; lists leave out addresses without a valid header. */
    for (size_t i = 0; i < 600; i++) {
        fake.images[4].header = 0x10000 + 16 * i;
        fake.images[4].path = "/nothing";
        fake_load(4);
    }
    ck_assert_int_eq(usp_images_create_self(&list), USP_OK);
    ck_assert_uint_eq(usp_images_count(list), 4);
    usp_images_free(list);
    for (size_t i = 0; i < 600; i++) {
        fake.images[4].header = 0x10000 + 16 * i;
        fake_unload(4);
    }
    fake_unload(PLUGIN);
    ck_assert_int_eq(usp_images_create_self(&list), USP_OK);
    ck_assert_uint_eq(usp_images_count(list), 3);
    usp_images_free(list);
}
END_TEST

START_TEST(test_images_of_process) {
    struct usp_images *list;
    struct usp_shared_cache cache;
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_images_create_process(FAKE_OTHER_PID, &list, NULL, 0), USP_OK);
    ck_assert_uint_eq(usp_images_count(list), 3);
    check_image(list, PROGRAM, paths[PROGRAM], USP_IMAGE_MAIN);
    check_image(list, LIBRARY, paths[LIBRARY], 0);
    check_image(list, LOADER, "", USP_IMAGE_LOADER);
    check_cache(list);
    usp_images_free(list);
    /* An older loader's list has no fields about the shared cache. */
    put32((uint8_t *)infos[FAKE_OTHER], 14);
    ck_assert_int_eq(usp_images_create_process(FAKE_OTHER_PID, &list, NULL, 0), USP_OK);
    ck_assert_int_eq(usp_images_shared_cache(list, &cache), USP_ERROR_NOT_FOUND);
    ck_assert_uint_eq(cache.base, 0);
    usp_images_free(list);
    char error[128];
    ck_assert_int_eq(usp_images_create_process(99, &list, error, sizeof error), USP_ERROR_NO_THREAD);
    ck_assert_str_eq(error, "process 99 does not exist, or has ended");
    fake.dyld_infos[FAKE_OTHER] = 8;
    ck_assert_int_eq(usp_images_create_process(FAKE_OTHER_PID, &list, NULL, 0), USP_ERROR_SYSTEM);
    check_clean(&before, "images of a process");
}
END_TEST

/* ---- names from a shared cache's files ---- */

static void save(const char *name, size_t size) {
    FILE *file = fopen(in_folder(name), "wb");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
}

/* Writes the files of a cache whose image has the processor and the UUID of a loaded one, and makes the loaded one an
 * image of a cache, as dyld maps it: its load commands have the addresses before the slide. */
static void make_cached(size_t i) {
    uint64_t linked = BASE + IMAGE;
    put_cache(0x1d0);
    put32(bytes + IMAGE + 4, processor());
    memset(bytes + 0x3000, (int)(0x10 + i), 16);
    memset(bytes + IMAGE + 32 + 152 + 72 + 24 + 8, (int)(0x10 + i), 16);
    /* The code is in the image's first page. */
    put(IMAGE + 32 + 104, 8, linked + 0x800);
    put(LINKING + 8, 8, linked + 0x840);
    put(LINKING + 16 + 8, 8, linked + 0x800);
    put(LOCALS + 0x58, 8, linked + 0x840);
    save("dyld_shared_cache", SIZE);
    put32(images[i] + 24, 0x80000000);
    memcpy(images[i] + 32 + 24, &linked, sizeof linked);
}

/* Two symbolizers share the files of one cache: for another process, and for this one. */
START_TEST(test_names_of_a_cache) {
    struct usp_symbolizer_options options;
    struct usp_symbolizer *symbolizers[2];
    struct usp_dyld_caches *caches;
    struct usp_images *own;
    struct usp_snapshot *s;
    struct usp_symbol symbol;
    if (sizeof(void *) != 8) return;
    make_folder();
    make_cached(LIBRARY);
    ck_assert_int_eq(usp_dyld_caches_create(&caches), USP_OK);
    ck_assert_int_eq(usp_dyld_caches_add(caches, in_folder("dyld_shared_cache"), NULL, NULL, NULL, 0), USP_OK);
    usp_symbolizer_options_init(&options);
    options.dyld_caches = caches;
    ck_assert_int_eq(usp_snapshot_create_process(FAKE_OTHER_PID, NULL, &s, NULL, 0), USP_OK);
    ck_assert_int_eq(usp_symbolizer_create_for_snapshot(s, &options, &symbolizers[0]), USP_OK);
    ck_assert_int_eq(usp_images_create_self(&own), USP_OK);
    ck_assert_int_eq(usp_symbolizer_create(own, &options, &symbolizers[1]), USP_OK);
    for (size_t i = 0; i < 2; i++) {
        const usp_addr load = (uintptr_t)images[LIBRARY];
        ck_assert_int_eq(usp_symbolize(symbolizers[i], load + 0x844, &symbol), USP_OK);
        ck_assert_str_eq(symbol.name, "hidden");
        ck_assert_uint_eq(symbol.start, load + 0x840);
        ck_assert_int_eq(usp_symbolize(symbolizers[i], load + 0x804, &symbol), USP_OK);
        ck_assert_str_eq(symbol.name, "public");
    }
    for (size_t i = 0; i < 2; i++) usp_symbolizer_free(symbolizers[i]);
    usp_images_free(own);
    usp_snapshot_free(s);
    usp_dyld_caches_free(caches);
    remove_folder();
}
END_TEST

static void complete_list(void) { write_infos(infos[FAKE_OTHER], 2, (uintptr_t)entries); }

/* Reads the list without the loader's lock. The loader marks its list while it changes it. */
START_TEST(test_changing_list) {
    struct usp_images *list;
    struct usp_snapshot *s;
    char error[128];
    write_infos(infos[FAKE_OTHER], 2, 0);
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_images_create_process(FAKE_OTHER_PID, &list, error, sizeof error), USP_ERROR_BUSY);
    ck_assert_ptr_nonnull(strstr(error, "is loading or unloading libraries"));
    check_clean(&before, "a list that is being changed");
    /* The threads are captured all the same. */
    ck_assert_int_eq(usp_snapshot_create_process(FAKE_OTHER_PID, NULL, &s, NULL, 0), USP_OK);
    check_stack(&usp_snapshot_get_thread(s, 0)->stack, FRAMES, 500);
    usp_snapshot_free(s);
    fake.hook = complete_list;
    fake.hook_at = fake_account.calls[FAKE_VM_READ] + 2;
    ck_assert_int_eq(usp_images_create_process(FAKE_OTHER_PID, &list, NULL, 0), USP_OK);
    ck_assert_uint_eq(usp_images_count(list), 3);
    usp_images_free(list);
    write_infos(infos[FAKE_OTHER], UINT32_MAX, (uintptr_t)entries);
    ck_assert_int_eq(usp_images_create_process(FAKE_OTHER_PID, &list, NULL, 0), USP_ERROR_SYSTEM);
    write_infos(infos[FAKE_OTHER], 2, 8);
    ck_assert_int_eq(usp_images_create_process(FAKE_OTHER_PID, &list, NULL, 0), USP_ERROR_SYSTEM);
    check_clean(&before, "nonsense");
}
END_TEST

static int image_at(size_t i, struct usp_image *image, char *path, size_t path_size) {
    return usp_image_at((uintptr_t)images[i] + 8, image, path, path_size);
}

/* Finds images in a handler by the loader's own list, also images that were not registered. It takes no lock, allocates
 * nothing and does not call the loader. */
START_TEST(test_image_at) {
    static const enum fake_call others[] = {FAKE_MALLOC, FAKE_FREE, FAKE_LIBPTHREAD, FAKE_LOADER, FAKE_LIBDISPATCH};
    struct usp_image image;
    char path[64], cut[5];
    struct fake_account before = fake_account;
    fake.counting = true;
    int status = image_at(LIBRARY, &image, path, sizeof path);
    fake.counting = false;
    ck_assert_int_eq(status, USP_OK);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_uint_eq(fake_account.calls[others[i]], before.calls[others[i]]);
    }
    ck_assert_uint_eq(image.load_address, (uintptr_t)images[LIBRARY]);
    ck_assert_uint_eq(image.end, (uintptr_t)images[LIBRARY] + IMAGE_SIZE);
    ck_assert_uint_eq(image.build_id_size, 16);
    ck_assert_uint_eq(image.build_id[0], 0x10 + LIBRARY);
    ck_assert_ptr_eq(image.path, path);
    ck_assert_str_eq(path, paths[LIBRARY]);
    ck_assert_int_eq(image_at(PROGRAM, &image, cut, sizeof cut), USP_OK);
    ck_assert_uint_ne(image.flags & USP_IMAGE_MAIN, 0);
    ck_assert_str_eq(cut, "/App");
    ck_assert_int_eq(image_at(LOADER, &image, path, sizeof path), USP_OK);
    ck_assert_uint_ne(image.flags & USP_IMAGE_LOADER, 0);
    ck_assert_str_eq(path, "");
    /* Addresses that belong to no image of the list: after an image, below all, above all. */
    ck_assert_int_eq(image_at(PLUGIN, &image, path, sizeof path), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(usp_image_at(8, &image, path, sizeof path), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(usp_image_at(UINTPTR_MAX, &image, path, sizeof path), USP_ERROR_NOT_FOUND);
    /* While the loader changes its list, the registered images are used. */
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    before = fake_account;
    write_infos(infos[FAKE_OWN], 2, 0);
    ck_assert_int_eq(image_at(PLUGIN, &image, path, sizeof path), USP_OK);
    ck_assert_str_eq(path, paths[PLUGIN]);
    ck_assert_int_eq(usp_image_at(8, &image, path, sizeof path), USP_ERROR_BUSY);
    /* The same where the loader has no list. */
    fake.dyld_infos[FAKE_OWN] = 8;
    ck_assert_int_eq(image_at(PLUGIN, &image, path, sizeof path), USP_OK);
    ck_assert_int_eq(usp_image_at(8, &image, path, sizeof path), USP_ERROR_NOT_FOUND);
    check_clean(&before, "usp_image_at");
}
END_TEST

/* The list still has an image that is unmapped, or whose header is damaged. */
START_TEST(test_image_at_nothing) {
    struct usp_image image;
    char path[64];
    memset(images[LIBRARY], 0, 64);
    ck_assert_int_eq(image_at(LIBRARY, &image, path, sizeof path), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(mprotect(images[LIBRARY], IMAGE_SIZE, PROT_NONE), 0);
    ck_assert_int_eq(image_at(LIBRARY, &image, path, sizeof path), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(image_at(PROGRAM, &image, path, sizeof path), USP_OK);
    ck_assert_int_eq(mprotect(images, sizeof images, PROT_READ | PROT_WRITE), 0);
}
END_TEST

static void unload_plugin(void) {
    if (fake.images[PLUGIN].header != 0) fake_unload(PLUGIN);
    if (mprotect(images[PLUGIN], IMAGE_SIZE, PROT_NONE) != 0) abort();
}

/* An image and its memory disappear before each read in turn. Lists must have it as it was or not at all. After the
 * last read it stays. */
START_TEST(test_unloaded_meanwhile) {
    struct usp_images *list;
    struct usp_snapshot *s;
    size_t missed = 0;
    bool is_gone = true;
    prepare();
    fake_unload(PLUGIN);
    for (size_t at = 1; is_gone; at++) {
        ck_assert_int_eq(mprotect(images, sizeof images, PROT_READ | PROT_WRITE), 0);
        if (fake.images[PLUGIN].header == 0) {
            fake.images[PLUGIN].header = (uintptr_t)images[PLUGIN];
            fake_load(PLUGIN);
        }
        for (size_t i = 0; i < THREADS_OF_PROCESS; i++) fill_stack(i);
        struct fake_account before = fake_account;
        fake.hook = unload_plugin;
        fake.hook_at = fake_account.calls[FAKE_VM_READ] + at;
        ck_assert_int_eq(usp_snapshot_create_self(NULL, &s), USP_OK);
        const struct usp_images *found = usp_snapshot_images(s);
        check_image(found, LIBRARY, paths[LIBRARY], 0);
        check_stack(&usp_snapshot_get_thread(s, TARGET)->stack, FRAMES, 300);
        is_gone = fake.images[PLUGIN].header == 0;
        if (image_of(found, PLUGIN) != NULL) {
            check_image(found, PLUGIN, paths[PLUGIN], 0);
        } else {
            ck_assert(is_gone);
            missed++;
        }
        usp_snapshot_free(s);
        check_clean(&before, "unloaded meanwhile");
    }
    ck_assert_uint_gt(missed, 4);
    fake.hook_at = 0;
    ck_assert_int_eq(mprotect(images, sizeof images, PROT_READ | PROT_WRITE), 0);
    ck_assert_int_eq(usp_images_create_self(&list), USP_OK);
    usp_images_free(list);
}
END_TEST

/* Each word of an image's headers in turn gets other values. The other images must stay as they are. */
START_TEST(test_corrupt_headers) {
    static const uint32_t values[] = {0, 1, 0x7fffffff, 0x80000000, 0xffffffff, 0x19, 24, 0xfeedfacf};
    struct usp_images *list;
    struct fake_account before = fake_account;
    for (size_t at = 0; at < 160; at += 4) {
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            write_image(images[PLUGIN], DYLIB, 0x10 + PLUGIN);
            put32(images[PLUGIN] + at, values[v]);
            ck_assert_int_eq(usp_images_create_self(&list), USP_OK);
            const struct usp_image *library = NULL;
            for (size_t i = 0; i < usp_images_count(list); i++) {
                const struct usp_image *image = usp_images_get(list, i);
                ck_assert_uint_ge(image->end, image->load_address);
                if (image->load_address == (uintptr_t)images[LIBRARY]) library = image;
            }
            ck_assert_ptr_nonnull(library);
            ck_assert_str_eq(library->path, paths[LIBRARY]);
            usp_images_free(list);
        }
    }
    check_clean(&before, "corrupt headers");
}
END_TEST

/* A process with another processor's code (Rosetta) must be reported before any of its threads is stopped. */
START_TEST(test_other_processor) {
    struct usp_snapshot *s;
    char error[200];
    put32(images[PROGRAM] + 4, USPI_HOST_ARCH == USP_ARCH_ARM64 ? 0x01000007 : 0x0100000c);
    if (sizeof(void *) == 4) put32(images[PROGRAM] + 4, 12);
    struct fake_account before = fake_account;
    ck_assert_int_eq(usp_snapshot_create_process(FAKE_OTHER_PID, NULL, &s, error, sizeof error), USP_ERROR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(error, "another processor's"));
    ck_assert_uint_eq(fake_account.calls[FAKE_THREAD_SUSPEND], before.calls[FAKE_THREAD_SUSPEND]);
    check_clean(&before, "another processor's code");
}
END_TEST

TCase *case_of_images(void) {
    TCase *tests = tcase_create("images");
    tcase_add_checked_fixture(tests, start_images, stop);
    add_tests(tests, test_own_images, test_images_that_are_still_loaded, test_loaded_later, test_many_images,
              test_images_of_process, test_names_of_a_cache, test_changing_list, test_image_at, test_image_at_nothing,
              test_unloaded_meanwhile, test_corrupt_headers, test_other_processor);
    return tests;
}
