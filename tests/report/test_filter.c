/* SPDX-License-Identifier: MIT */
/* Tests of filters: which images belong to the app or the system, or match a pattern, and how a stack is filtered. */
#include "tests/support/suite.h"
#include "tests/support/text_fixtures.h"

#define KB UINT64_C(0x1000)

static const struct made_image ios[] = {
    {"/private/var/containers/Bundle/Application/A1/Demo.app/Demo", 0x100000000, KB, USP_IMAGE_MAIN, NULL},
    {"/private/var/containers/Bundle/Application/A1/Demo.app/Frameworks/Kit.framework/Kit", 0x100010000, KB, 0, NULL},
    {"/private/var/containers/Bundle/Application/A1/Demo.appendix/x", 0x100020000, KB, 0, NULL},
    {"/System/Library/Frameworks/UIKit.framework/UIKit", 0x180000000, KB, 0, NULL},
    {"/usr/lib/libobjc.A.dylib", 0x180001000, KB, 0, NULL},
    {"/usr/lib/dyld", 0x190000000, KB, USP_IMAGE_LOADER, NULL},
    {NULL, 0, 0, 0, NULL},
};

static const struct made_image linux_images[] = {
    {"/opt/app/bin/app", 0x400000, KB, USP_IMAGE_MAIN, NULL},
    {"/opt/app/bin/plugins/a.so", 0x500000, KB, 0, NULL},
    {"/opt/other/b.so", 0x600000, KB, 0, NULL},
    {"/usr/lib/x86_64-linux-gnu/libc.so.6", 0x700000, KB, 0, NULL},
    {"/lib64/ld-linux-x86-64.so.2", 0x800000, KB, USP_IMAGE_LOADER, NULL},
    {"[vdso]", 0x900000, KB, USP_IMAGE_KERNEL, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* Checks which images the filter keeps. `expected` has a letter for each image: k is kept, - is not. The last letter is
 * for an address outside all images. */
static void check_kept(const struct made_image *table, const struct usp_filter_options *options, const char *expected) {
    struct usp_images *images = make_images(table, USP_ARCH_ARM64);
    struct usp_filter *filter;
    char found[16];
    size_t n = 0;
    ck_assert_int_eq(usp_filter_create(images, options, &filter), USP_OK);
    usp_images_free(images);
    for (; table->path != NULL; table++) {
        bool first = usp_filter_keeps(filter, table->load), last = usp_filter_keeps(filter, table->load + KB - 1);
        ck_assert_int_eq(first, last);
        found[n++] = first ? 'k' : '-';
    }
    found[n++] = usp_filter_keeps(filter, 0x42) ? 'k' : '-';
    ck_assert_int_eq(usp_filter_keeps(filter, UINT64_MAX), usp_filter_keeps(filter, 0x42));
    found[n] = '\0';
    ck_assert_str_eq(found, expected);
    usp_filter_free(filter);
}

static struct usp_filter_options options_of(uint32_t flags, const char *const *patterns, size_t count) {
    struct usp_filter_options options;
    usp_filter_options_init(&options);
    options.flags = flags;
    options.patterns = patterns;
    options.pattern_count = count;
    return options;
}

START_TEST(app_and_system) {
    struct usp_filter_options app = options_of(USP_FILTER_APP, NULL, 0);
    struct usp_filter_options no_system = options_of(USP_FILTER_NO_SYSTEM, NULL, 0);
    struct usp_filter_options both = options_of(USP_FILTER_NO_SYSTEM | USP_FILTER_APP, NULL, 0);
    check_kept(ios, NULL, "kkkkkkk");
    check_kept(ios, &app, "kk-----");
    check_kept(ios, &no_system, "kkk---k");
    check_kept(ios, &both, "kk-----");
    check_kept(linux_images, &app, "kk-----");
    check_kept(linux_images, &no_system, "kkk---k");
}
END_TEST

/* A program below /usr is the app; the libraries around it are not. */
START_TEST(program_below_usr) {
    static const struct made_image table[] = {
        {"/usr/lib/tool/program", 0x400000, KB, USP_IMAGE_MAIN, NULL},
        {"/usr/lib/tool/helper.so", 0x500000, KB, 0, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    struct usp_filter_options app = options_of(USP_FILTER_APP, NULL, 0);
    struct usp_filter_options no_system = options_of(USP_FILTER_NO_SYSTEM, NULL, 0);
    check_kept(table, &app, "k--");
    check_kept(table, &no_system, "k-k");
}
END_TEST

START_TEST(patterns) {
    static const char *const kit[] = {"Kit"}, *const star[] = {"*.so*"}, *const two[] = {"app", "lib?.so.6"},
                             *const path[] = {"/opt/*/b.so"}, *const stars[] = {"*a*a*p"}, *const none[] = {"nothing"};
    struct usp_filter_options options = options_of(0, kit, 1);
    check_kept(ios, &options, "-k-----");
    options = options_of(0, star, 1);
    check_kept(linux_images, &options, "-kkkk--");
    options = options_of(0, two, 2);
    check_kept(linux_images, &options, "k--k---");
    options = options_of(0, path, 1);
    check_kept(linux_images, &options, "--k----");
    options = options_of(0, stars, 1);
    check_kept(linux_images, &options, "-------");
    options = options_of(0, none, 1);
    check_kept(linux_images, &options, "-------");
    options = options_of(USP_FILTER_NO_SYSTEM, star, 1);
    check_kept(linux_images, &options, "-kk----");
}
END_TEST

START_TEST(folders) {
    static const char *const bundle[] = {"/var/containers/Bundle/Application/A1/Demo.app/"},
                             *const two[] = {"/opt/other", "/private/opt/app/bin/plugins"}, *const root[] = {"/"},
                             *const file[] = {"/opt/other/b.so"}, *const star[] = {"*.so"};
    struct usp_filter_options options = options_of(0, NULL, 0);
    options.folders = bundle;
    options.folder_count = 1;
    check_kept(ios, &options, "kk-----");
    options.folders = two;
    options.folder_count = 2;
    check_kept(linux_images, &options, "-kk----");
    options.folders = root;
    options.folder_count = 1;
    check_kept(linux_images, &options, "kkkkk--");
    options.folders = file;
    check_kept(linux_images, &options, "-------");
    options = options_of(USP_FILTER_APP, star, 1);
    options.folders = two;
    options.folder_count = 2;
    check_kept(linux_images, &options, "-k-----");
}
END_TEST

/* The loader uses different paths for the program and its frameworks, which lead to the same folder. */
START_TEST(private_folders) {
    static const struct made_image table[] = {
        {"/var/containers/Bundle/Application/A1/Demo.app/Demo", 0x100000000, KB, USP_IMAGE_MAIN, NULL},
        {"/private/var/containers/Bundle/Application/A1/Demo.app/Frameworks/K", 0x100010000, KB, 0, NULL},
        {"/private/var/containers/Bundle/Application/A2/Other.app/x", 0x100020000, KB, 0, NULL},
        {"/privatevar/containers/Bundle/Application/A1/Demo.app/x", 0x100030000, KB, 0, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    struct usp_filter_options app = options_of(USP_FILTER_APP, NULL, 0);
    check_kept(table, &app, "kk---");
}
END_TEST

/* An app in a simulator. Its bundle lies in the device's folder, the simulated system in a runtime's folder. */
START_TEST(simulator) {
    static const char device[] = "/Users/u/Library/Developer/CoreSimulator/Devices/D1/data/Containers/Bundle/"
                                 "Application/A1/Demo.app/Demo";
    static const char plug_in[] = "/Users/u/Library/Developer/CoreSimulator/Devices/D1/data/Containers/Bundle/"
                                  "Application/A1/Demo.app/PlugIns/Demo.xctest/Demo";
    static const char runtime[] =
        "/Library/Developer/CoreSimulator/Volumes/iOS_21A/Library/Developer/CoreSimulator/Profiles/Runtimes/"
        "iOS 17.0.simruntime/Contents/Resources/RuntimeRoot/System/Library/Frameworks/UIKit.framework/UIKit";
    const struct made_image table[] = {
        {device, 0x100000000, KB, USP_IMAGE_MAIN, NULL},
        {plug_in, 0x100010000, KB, 0, NULL},
        {runtime, 0x100020000, KB, 0, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    struct usp_filter_options app = options_of(USP_FILTER_APP, NULL, 0);
    check_kept(table, &app, "kk--");
}
END_TEST

/* 20 stars against a long name that almost matches take no exponential time. */
START_TEST(pattern_work_is_bounded) {
    char path[4096] = "/";
    static const char *const pattern[] = {"*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b"};
    memset(path + 1, 'a', sizeof path - 2);
    const struct made_image table[] = {{path, 0x1000, KB, 0, NULL}, {NULL, 0, 0, 0, NULL}};
    struct usp_filter_options options = options_of(0, pattern, 1);
    check_kept(table, &options, "--");
}
END_TEST

/* An image inside another one's range is decided as in usp_images_find. */
START_TEST(overlapping_images) {
    static const struct made_image table[] = {
        {"/a/outer", 0x1000, 0x5000, USP_IMAGE_MAIN, NULL},
        {"/usr/lib/inner", 0x2000, 0x1000, 0, NULL},
        {NULL, 0, 0, 0, NULL},
    };
    struct usp_images *images = make_images(table, USP_ARCH_ARM64);
    struct usp_filter_options app = options_of(USP_FILTER_APP, NULL, 0);
    struct usp_filter *filter;
    ck_assert_int_eq(usp_filter_create(images, &app, &filter), USP_OK);
    for (usp_addr address = 0; address < 0x7000; address += 0x800) {
        const struct usp_image *image = usp_images_find(images, address);
        ck_assert_int_eq(usp_filter_keeps(filter, address), image != NULL && image->load_address == 0x1000);
    }
    usp_filter_free(filter);
    usp_images_free(images);
}
END_TEST

/* Generated code in the range that the kernel leaves free between two segments of the loader does not count as the
 * system's. */
START_TEST(hole_of_an_image) {
    const struct usp_image image = {
        .path = "/usr/lib/ld.so", .load_address = 0x1000, .end = 0x9000, .hole_offset = 0x2000, .hole_size = 0x4000};
    struct usp_filter_options options = options_of(USP_FILTER_NO_SYSTEM, NULL, 0);
    struct usp_images *images;
    struct usp_filter *filter;
    ck_assert_int_eq(usp_images_create(&image, 1, &images), USP_OK);
    ck_assert_int_eq(usp_filter_create(images, &options, &filter), USP_OK);
    for (usp_addr address = 0; address < 0xa000; address += 0x800) {
        const bool is_system = address >= 0x1000 && address < 0x9000 && (address < 0x3000 || address >= 0x7000);
        ck_assert_int_eq(usp_filter_keeps(filter, address), !is_system);
    }
    usp_filter_free(filter);
    usp_images_free(images);
    /* Another image lies in the hole. Addresses above it are in no image, as for usp_images_find. */
    const struct usp_image both[] = {image, {.path = "/opt/plugin.so", .load_address = 0x4000, .end = 0x5000}};
    struct uspi_image_list list = {0};
    for (unsigned i = 0; i < 2; i++) ck_assert_int_eq(uspi_image_list_add(&list, &both[i]), USP_OK);
    ck_assert_int_eq(uspi_image_list_seal(&list, &images), USP_OK);
    options.flags = 0;
    options.patterns = (const char *const[]){"plugin.so"};
    options.pattern_count = 1;
    ck_assert_int_eq(usp_filter_create(images, &options, &filter), USP_OK);
    for (usp_addr address = 0; address < 0xa000; address += 0x800) {
        const struct usp_image *found = usp_images_find(images, address);
        ck_assert_int_eq(usp_filter_keeps(filter, address), found != NULL && found->load_address == 0x4000);
    }
    usp_filter_free(filter);
    usp_images_free(images);
}
END_TEST

START_TEST(stacks) {
    /* The return address of the second frame is the first byte of the next image; its call lies in the previous
     * image. */
    static const usp_addr pcs[] = {0x700010, 0x401000, 0x700020, 0x500010, 0x400030, 0x400040, 0x700040};
    struct usp_images *images = make_images(linux_images, USP_ARCH_ARM64);
    struct usp_filter_options app = options_of(USP_FILTER_APP, NULL, 0);
    struct usp_filter *filter;
    struct usp_frame frames[7];
    ck_assert_int_eq(usp_filter_create(images, &app, &filter), USP_OK);
    struct usp_stack stack = make_stack(frames, pcs, 7);
    stack.physical = 5;
    stack.omitted_at = 3;
    stack.omitted = 9;
    stack.async_join = 4;
    stack.extended = 2;
    stack.hash = 77;
    ck_assert_uint_eq(usp_filter_stack(filter, &stack), 3);
    ck_assert_uint_eq(stack.count, 4);
    ck_assert_uint_eq(stack.physical, 3);
    ck_assert_uint_eq(frames[0].pc, 0x401000);
    ck_assert_uint_eq(frames[1].pc, 0x500010);
    ck_assert_uint_eq(frames[2].pc, 0x400030);
    ck_assert_uint_eq(frames[3].pc, 0x400040);
    ck_assert_uint_eq(stack.omitted_at, 1);
    ck_assert_uint_eq(stack.omitted, 9);
    ck_assert_uint_eq(stack.async_join, 2);
    ck_assert_uint_eq(stack.extended, USP_NO_INDEX);
    ck_assert_uint_eq(stack.hash, 77);
    /* Filtering again changes nothing; without a filter no frame is removed. */
    ck_assert_uint_eq(usp_filter_stack(filter, &stack), 0);
    ck_assert_uint_eq(usp_filter_stack(NULL, &stack), 0);
    ck_assert_uint_eq(stack.count, 4);
    ck_assert_uint_eq(stack.async_join, 2);

    /* Only async frames are kept, and the omitted frames stay at the end. */
    static const usp_addr system_pcs[] = {0x700010, 0x700020, 0x400040};
    stack = make_stack(frames, system_pcs, 3);
    stack.physical = 2;
    stack.omitted_at = 2;
    stack.async_join = 1;
    ck_assert_uint_eq(usp_filter_stack(filter, &stack), 2);
    ck_assert_uint_eq(stack.count, 1);
    ck_assert_uint_eq(stack.physical, 0);
    ck_assert_uint_eq(stack.omitted_at, 0);
    ck_assert_uint_eq(stack.async_join, USP_NO_INDEX);

    struct usp_stack empty = make_stack(frames, pcs, 0);
    ck_assert_uint_eq(usp_filter_stack(filter, &empty), 0);
    usp_filter_free(filter);
    usp_images_free(images);
}
END_TEST

START_TEST(arguments) {
    struct usp_filter *filter;
    static const char *const holes[] = {"a", NULL};
    struct usp_filter_options options = options_of(0, holes, 2);
    ck_assert_int_eq(usp_filter_create(NULL, NULL, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_filter_create(NULL, &options, &filter), USP_ERROR_ARGUMENT);
    ck_assert_ptr_null(filter);
    options = options_of(0, NULL, 1);
    ck_assert_int_eq(usp_filter_create(NULL, &options, &filter), USP_ERROR_ARGUMENT);
    options = options_of(0, NULL, 0);
    options.folder_count = 1;
    ck_assert_int_eq(usp_filter_create(NULL, &options, &filter), USP_ERROR_ARGUMENT);
    usp_filter_options_init(&options);
    options.size = 4;
    ck_assert_int_eq(usp_filter_create(NULL, &options, &filter), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_filter_create(NULL, NULL, &filter), USP_OK);
    ck_assert(usp_filter_keeps(filter, 1));
    usp_filter_free(filter);
    usp_filter_free(NULL);
    ck_assert(usp_filter_keeps(NULL, 1));
}
END_TEST

/* A call at the end of an image has the first address past the image as its return address. */
START_TEST(frames_by_their_call_sites) {
    const struct usp_image images[] = {{.path = "/app/one", .load_address = 0x1000, .end = 0x2000}};
    const char *const names[] = {"one"};
    struct usp_images *list;
    struct usp_filter *filter;
    struct usp_filter_options options;
    struct usp_frame frame = {.pc = 0x2000, .kind = USP_FRAME_KIND_RETURN_ADDRESS};
    usp_filter_options_init(&options);
    options.patterns = names;
    options.pattern_count = 1;
    ck_assert_int_eq(usp_images_create(images, 1, &list), USP_OK);
    ck_assert_int_eq(usp_filter_create(list, &options, &filter), USP_OK);
    ck_assert(!usp_filter_keeps(filter, frame.pc));
    ck_assert(usp_filter_keeps_frame(filter, USP_ARCH_X86_64, &frame));
    frame.kind = USP_FRAME_KIND_INTERRUPTED;
    ck_assert(!usp_filter_keeps_frame(filter, USP_ARCH_X86_64, &frame));
    usp_filter_free(filter);
    usp_images_free(list);
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all");
    add_tests(all, app_and_system, program_below_usr, patterns, folders, private_folders, simulator,
              pattern_work_is_bounded, overlapping_images, hole_of_an_image, stacks, arguments,
              frames_by_their_call_sites);
    return run_suite("filter", all);
}
