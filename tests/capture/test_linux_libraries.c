/* SPDX-License-Identifier: MIT */
/* Tests what captures of other threads cost the requester and how they notice loaded libraries: with many libraries,
 * with a library that replaces another one at the same address, with a loader that changes its list all the time, and
 * with threads that make the list at the same time. */
#define _GNU_SOURCE 1
#include "lib/images/own_images.h"
#include "lib/os/os.h"
#include "tests/support/folder.h"
#include "tests/support/libc.h"
#include "tests/support/linux_each_call.h"
#include "tests/support/linux_threads.h"
#include "tests/support/suite.h"
#include "tests/support/under.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdio.h>

#define FRAMES    2048u
#define LIBRARIES 64u

static struct uspi_linux_calls calls;
static struct usp_frame frames[FRAMES];

static int capture(const struct usp_thread *thread, struct usp_stack *stack) {
    usp_stack_init(stack, frames, FRAMES);
    return usp_capture_thread(thread, NULL, stack);
}

static void prepare(uint64_t timeout) {
    struct usp_prepare_options options;
    usp_prepare_options_init(&options);
    options.stack_copy = 1u << 20;
    options.timeout = timeout;
    ck_assert_int_eq(usp_prepare(&options), USP_OK);
}

static void begin_each(void) {
    make_folder();
    calls = uspi_linux_real;
}

static void end_each(void) {
    uspi_linux = &uspi_linux_real;
    remove_folder();
}

/* ---- many libraries ---- */

static char contents[1u << 20];
static void *libraries[LIBRARIES];

/* Loads copies of one library. Each could be unloaded. */
static void load_libraries(unsigned count) {
    char name[32];
    FILE *in = count != 0 ? fopen("tests/unwind/.libs/linux_frame_plugin_a.so", "rb") : NULL;
    if (count == 0) return;
    ck_assert_ptr_nonnull(in);
    const size_t size = fread(contents, 1, sizeof contents, in);
    ck_assert(feof(in));
    fclose(in);
    for (unsigned i = 0; i < count; i++) {
        snprintf(name, sizeof name, "copy_%u.so", i);
        FILE *out = fopen(in_folder(name), "wb");
        ck_assert_ptr_nonnull(out);
        ck_assert_uint_eq(fwrite(contents, 1, size, out), size);
        ck_assert_int_eq(fclose(out), 0);
        libraries[i] = dlopen(in_folder(name), RTLD_NOW | RTLD_LOCAL);
        ck_assert_msg(libraries[i] != NULL, "%s", dlerror());
    }
}

static void unload_libraries(unsigned count) {
    for (unsigned i = 0; i < count; i++) dlclose(libraries[i]);
}

/* ---- what a capture costs ---- */

static _Atomic(pid_t) counted_thread;
static unsigned call_count;

static void count(void) {
    if (syscall(SYS_gettid) == atomic_load(&counted_thread)) call_count++;
}

/* If a capture made a system call for each library, programs with many libraries would wait for long. _i: number of
 * libraries that can be unloaded. */
START_TEST(a_capture_makes_six_system_calls_at_most) {
    load_libraries((unsigned)_i);
    prepare(patience());
    run_before_each_call(&calls, count);
    atomic_store(&counted_thread, (pid_t)syscall(SYS_gettid));
    uspi_linux = &calls;
    for (unsigned depth = 10; depth <= 1000; depth *= 10) {
        struct parked s = {.depth = depth};
        struct usp_stack stack;
        unsigned least = UINT32_MAX;
        stand_begin(&s);
        for (int i = 0; i < 20; i++) {
            call_count = 0;
            ck_assert_int_eq(capture(&s.thread, &stack), USP_OK);
            expect_standing(&s, &stack);
            if (call_count < least) least = call_count;
        }
        printf("%d libraries, depth %u: %u system calls of the requester\n", _i, depth, least);
        ck_assert_uint_gt(least, 0);
        ck_assert_uint_le(least, 6);
        stand_end(&s);
    }
    unload_libraries((unsigned)_i);
}
END_TEST

/* ---- one image, without the loader ---- */

static struct usp_image found_image;
static unsigned found_count;

static int note_image(void *context, const struct usp_image *image) {
    (void)context;
    found_image = *image;
    found_count++;
    return USP_OK;
}

static int find_mapped(usp_addr address) {
    static union {
        void *pointer;
        uint64_t number;
        uint8_t bytes[USPI_OS_MAPPED_ROOM];
    } room;
    struct uspi_images_found found = {.add = note_image};
    found_count = 0;
    return uspi_os_image_mapped(room.bytes, address, &found);
}

static long refuse_query(int maps, struct uspi_mapping_query *query) {
    (void)maps;
    (void)query;
    return -ENOTTY;
}

/* Each image is found by an address of its code, with as many system calls however many libraries there are. */
START_TEST(an_image_by_its_mapping) {
    struct usp_images *images;
    char here;
    load_libraries((unsigned)_i);
    ck_assert_int_eq(usp_images_create_self(&images), USP_OK);
    run_before_each_call(&calls, count);
    atomic_store(&counted_thread, (pid_t)syscall(SYS_gettid));
    uspi_linux = &calls;
    /* Kernels before 6.11 cannot tell. */
    const bool is_told = find_mapped((usp_addr)(uintptr_t)&here) != USP_ERROR_UNSUPPORTED;
    for (size_t i = 0; i < usp_images_count(images) && is_told; i++) {
        const struct usp_image *image = usp_images_get(images, i);
        call_count = 0;
        ck_assert_int_eq(find_mapped(image->text_high - 1), USP_OK);
        ck_assert_uint_eq(found_count, 1);
        ck_assert_uint_eq(found_image.load_address, image->load_address);
        ck_assert_uint_eq(found_image.end, image->end);
        ck_assert_uint_eq(found_image.text_low, image->text_low);
        ck_assert_uint_eq(found_image.build_id_size, image->build_id_size);
        ck_assert_mem_eq(found_image.build_id, image->build_id, sizeof image->build_id);
        ck_assert_uint_le(call_count, 30);
    }
    if (is_told) {
        ck_assert_int_eq(find_mapped((usp_addr)(uintptr_t)&here), USP_ERROR_NOT_FOUND);
        ck_assert_int_eq(find_mapped((usp_addr)(uintptr_t)contents), USP_OK); /* a program's own variables */
        ck_assert_int_eq(find_mapped(1), USP_ERROR_NOT_FOUND);
        ck_assert_int_eq(find_mapped(UINT64_MAX - 1), USP_ERROR_NOT_FOUND);
    }
    calls = uspi_linux_real;
    calls.query_mapping = refuse_query;
    ck_assert_int_eq(find_mapped(usp_images_get(images, 0)->text_low), USP_ERROR_UNSUPPORTED);
    usp_images_free(images);
    unload_libraries((unsigned)_i);
}
END_TEST

/* ---- a library that another one has replaced ---- */

/* Flips bits of the byte at the address `changed` when it is read. */
static uintptr_t changed;
static unsigned changes;
static uint8_t difference;

static long change_what_is_read(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t n) {
    const long got = uspi_linux_real.read_process(pid, local, remote, n);
    size_t at = 0;
    for (size_t i = 0; i < n && got > 0; at += remote[i++].iov_len) {
        const uintptr_t low = (uintptr_t)remote[i].iov_base;
        if (changed - low >= remote[i].iov_len || at + (changed - low) >= (size_t)got) continue;
        ((uint8_t *)local->iov_base)[at + (changed - low)] ^= difference;
        changes++;
    }
    return got;
}

/* Frames in a replaced library would be symbolicated by the old one's data. Only the bytes of the new library differ:
 * the loader's list looks as before. One look must be enough where few libraries can be unloaded and for the latest
 * ones; the others are checked in turn. _i: which library is replaced. */
START_TEST(a_library_that_was_replaced_where_it_lay) {
    struct usp_image image;
    const struct usp_image *listed;
    char path[4096];
    uint32_t ticket;
    load_libraries(LIBRARIES);
    void *function = dlsym(libraries[_i], "plugin_call");
    ck_assert_ptr_nonnull(function);
    ck_assert_int_eq(usp_images_refresh(), USP_OK);
    ck_assert_int_eq(usp_image_at((uintptr_t)function, &image, path, sizeof path), USP_OK);
    const uint64_t before = usp_images_generation();
    /* Changes a byte of the build id in the library's first page. */
    const struct usp_images *images = usp_images_acquire(&ticket);
    listed = usp_images_find(images, (uintptr_t)function);
    ck_assert_uint_eq(listed->build_id_size, 20);
    const uint8_t *page = (const uint8_t *)(uintptr_t)listed->load_address, *id = page;
    while (memcmp(id, listed->build_id, listed->build_id_size) != 0) ck_assert_int_lt(++id - page, 4096);
    usp_images_release(ticket);
    changed = (uintptr_t)id + 4;
    difference = 1;
    calls.read_process = change_what_is_read;
    uspi_linux = &calls;
    unsigned looks = 1;
    for (; usp_images_generation() == before; looks++) ck_assert_uint_lt(looks, LIBRARIES / 16);
    if (_i == (int)LIBRARIES - 1) ck_assert_uint_eq(looks, 1);
    uspi_linux = &uspi_linux_real;
    unload_libraries(LIBRARIES);
}
END_TEST

/* ---- a loader that changes its list all the time ---- */

static uint64_t pause_of_change;

/* Changes a node of the loader's list at each read, and lets some time pass. */
static long change_each_time(pid_t pid, const struct iovec *local, const struct iovec *remote, size_t n) {
    const unsigned before = changes;
    difference++;
    const long got = change_what_is_read(pid, local, remote, n);
    if (changes != before) usleep((useconds_t)(pause_of_change / 1000));
    return got;
}

/* A capture must not spend its timeout on a list that never settles: it uses the last list that it has read. */
START_TEST(a_loader_that_never_rests) {
    const uint64_t timeout = scaled_timeout(2000 * MS);
    struct parked s = {.depth = 3, .wait = wait_asleep};
    struct link_map *node;
    struct usp_stack stack;
    struct usp_snapshot *snapshot;
    struct usp_snapshot_options options;
    load_libraries(1);
    ck_assert_int_eq(dlinfo(libraries[0], RTLD_DI_LINKMAP, &node), 0);
    prepare(timeout);
    stand_begin(&s);
    changed = (uintptr_t)&node->l_ld;
    pause_of_change = timeout / 40;
    calls.read_process = change_each_time;
    uspi_linux = &calls;
    ck_assert_int_eq(capture(&s.thread, &stack), USP_OK);
    expect_standing(&s, &stack);
    /* The list may be read for half of the timeout, and once more. */
    printf("a capture has read the list %u times\n", changes);
    ck_assert_uint_gt(changes, 2);
    ck_assert_uint_le(changes, 20 + 4);
    changes = 0;
    usp_snapshot_options_init(&options);
    options.timeout = timeout;
    options.only_thread = s.thread.id;
    ck_assert_int_eq(usp_snapshot_create_self(&options, &snapshot), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->missed, 0);
    usp_snapshot_free(snapshot);
    printf("a snapshot has read the list %u times\n", changes);
    ck_assert_uint_le(changes, 40 + 4);
    uspi_linux = &uspi_linux_real;
    stand_end(&s);
    unload_libraries(1);
}
END_TEST

/* ---- two threads that list ---- */

static _Thread_local bool lists_slowly;
static _Atomic(bool) has_listed, may_publish;

/* Waits in a thread that lists slowly: its list is made but not yet published. */
static int wait_when_slow(const struct usp_images *images, void **extra) {
    (void)images;
    *extra = NULL;
    atomic_store(&has_listed, lists_slowly);
    while (lists_slowly && !atomic_load(&may_publish)) sched_yield();
    return USP_OK;
}

static void free_nothing(void *extra) { (void)extra; }

static const struct uspi_images_extra slowly = {wait_when_slow, free_nothing};

/* Makes the list with no time left from the beginning, so that it is published though the loader has changed since. */
static void *list_slowly(void *context) {
    lists_slowly = true;
    ck_assert_int_eq(uspi_own_images_refresh(0), USP_OK);
    return context;
}

static bool is_listed(const void *library) {
    struct link_map *map = (struct link_map *)library;
    uint32_t ticket;
    const struct usp_images *images = usp_images_acquire(&ticket);
    ck_assert_ptr_nonnull(images);
    bool is_found = usp_images_find(images, (usp_addr)(uintptr_t)map->l_ld) != NULL;
    usp_images_release(ticket);
    return is_found;
}

/* A capture saw a library that its own thread had loaded, and then lost it again. A slower thread, which had begun its
 * list earlier, published that list over the newer one. The walk ended at the library. */
START_TEST(an_older_list_does_not_replace_a_newer_one) {
    pthread_t slow;
    load_libraries(3);
    unload_libraries(3);
    ck_assert_int_eq(uspi_own_images_extend(&slowly), USP_OK);
    libraries[0] = dlopen(in_folder("copy_0.so"), RTLD_NOW | RTLD_LOCAL);
    ck_assert_int_eq(pthread_create(&slow, NULL, list_slowly, NULL), 0);
    while (!atomic_load(&has_listed)) sched_yield();
    libraries[1] = dlopen(in_folder("copy_1.so"), RTLD_NOW | RTLD_LOCAL);
    ck_assert_int_eq(uspi_own_images_refresh(UINT64_MAX), USP_OK);
    ck_assert(is_listed(libraries[1]));
    /* Another library is loaded, so that the published list is outdated too. */
    libraries[2] = dlopen(in_folder("copy_2.so"), RTLD_NOW | RTLD_LOCAL);
    atomic_store(&may_publish, true);
    pthread_join(slow, NULL);
    ck_assert(is_listed(libraries[1]));
    ck_assert(!is_listed(libraries[2]));
    uspi_own_images_withdraw();
    unload_libraries(3);
}
END_TEST

int main(void) {
    TCase *c = tcase_create("libraries");
    tcase_add_checked_fixture(c, begin_each, end_each);
    /* User-mode emulators have no process_vm_readv. musl unloads nothing. */
    if (!is_user_emulated()) {
        tcase_add_test(c, a_capture_makes_six_system_calls_at_most);
        tcase_add_loop_test(c, a_capture_makes_six_system_calls_at_most, LIBRARIES, LIBRARIES + 1);
        tcase_add_test(c, an_image_by_its_mapping);
        tcase_add_loop_test(c, an_image_by_its_mapping, LIBRARIES, LIBRARIES + 1);
        if (LIBC_UNLOADS) {
            tcase_add_loop_test(c, a_library_that_was_replaced_where_it_lay, 0, 1);
            tcase_add_loop_test(c, a_library_that_was_replaced_where_it_lay, LIBRARIES - 1, LIBRARIES);
            tcase_add_test(c, a_loader_that_never_rests);
            tcase_add_test(c, an_older_list_does_not_replace_a_newer_one);
        }
    }
    return run_suite("linux_libraries", c);
}
