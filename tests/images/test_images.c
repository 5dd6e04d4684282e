/* SPDX-License-Identifier: MIT */
/* Tests lists of images that were recorded elsewhere, and lists of files. The files are made byte by byte, so that
 * every host gives the same results; tests/tool/images.sh tests linked ones. */
#define _FILE_OFFSET_BITS 64
#include <check.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "lib/images/image_list.h"
#include "tests/support/folder.h"
#include "tests/support/macho_symbol_file.h"
#include "tests/support/suite.h"

#define BASE     UINT64_C(0x100000000)
#define OTHER_ID "ANOTHER-OWN_ID-16b"
#define OWN_ID   "0123456789abcdef"

static char path[sizeof folder + 64];
static char message[600];
static struct usp_image_file_options options;

static void set_up(void) {
    make_folder();
    snprintf(path, sizeof path, "%s/library", folder);
    usp_image_file_options_init(&options);
}

/* ---- recorded images ---- */

static struct usp_image recorded(usp_addr load, uint64_t size) {
    return (struct usp_image){.path = "/a/program",
                              .load_address = load,
                              .end = load + size,
                              .slide = load,
                              .arch = USP_ARCH_ARM64,
                              .build_id_size = 2,
                              .build_id = {1, 2}};
}

static int create(const struct usp_image *entries, size_t count) {
    struct usp_images *images;
    int status = usp_images_create(entries, count, &images);
    if (status != USP_OK) ck_assert_ptr_null(images);
    usp_images_free(images);
    return status;
}

START_TEST(copied_and_sorted) {
    char name[] = "/b/library";
    struct usp_image entries[3] = {recorded(0x9000, 0x1000), recorded(0x1000, 0x1000), recorded(0x2000, 0)};
    struct usp_images *images;
    entries[0].path = name;
    entries[0].text_low = 0x9100;
    entries[0].text_high = 0xa000;
    entries[0].flags = USP_IMAGE_MAIN | USP_IMAGE_TEXT_OFFSET; /* flags of images of files */
    entries[0].text_offset = 0x100;
    entries[1].path = NULL;
    ck_assert_int_eq(usp_images_create(entries, 3, &images), USP_OK);
    memset(name, 'x', sizeof name - 1);
    ck_assert_uint_eq(usp_images_count(images), 3);
    const struct usp_image *found = usp_images_find(images, 0x9fff);
    ck_assert_ptr_eq(found, usp_images_get(images, 2));
    ck_assert_str_eq(found->path, "/b/library");
    ck_assert_uint_eq(found->text_low, 0x9100);
    ck_assert_uint_eq(found->flags, USP_IMAGE_MAIN | USP_IMAGE_TEXT_OFFSET);
    ck_assert_uint_eq(found->text_offset, 0x100);
    ck_assert_mem_eq(found->build_id, entries[0].build_id, USP_BUILD_ID_MAX);
    ck_assert_str_eq(usp_images_get(images, 0)->path, "");
    ck_assert_uint_eq(usp_images_get(images, 0)->text_high, 0x1000);
    ck_assert_ptr_null(usp_images_find(images, 0x2000));
    usp_images_free(images);
    ck_assert_int_eq(usp_images_create(NULL, 0, &images), USP_OK);
    ck_assert_uint_eq(usp_images_count(images), 0);
    usp_images_free(images);
}
END_TEST

/* An empty image at the beginning of another one hid it. Addresses must belong to the other one, in either order. */
START_TEST(an_empty_image_hides_nothing) {
    struct usp_image entries[2] = {recorded(0x1000, 0), recorded(0x1000, 0x100)};
    for (unsigned i = 0; i < 2; i++) {
        struct usp_images *images;
        ck_assert_int_eq(usp_images_create(entries, 2, &images), USP_OK);
        ck_assert_ptr_nonnull(usp_images_find(images, 0x10ff));
        usp_images_free(images);
        struct usp_image first = entries[0];
        entries[0] = entries[1];
        entries[1] = first;
    }
}
END_TEST

/* Generated code may lie between an image's segments. If it counted as the image's, its callers would be lost: it has
 * no image, and may be code. */
START_TEST(a_hole_is_not_of_the_image) {
    struct usp_image entry = recorded(0x10000, 0x40000);
    struct usp_images *images;
    struct usp_region region;
    entry.text_low = 0x10000;
    entry.text_high = 0x20000;
    entry.hole_offset = 0x18000;
    entry.hole_size = 0x10000;
    ck_assert_int_eq(usp_images_create(&entry, 1, &images), USP_OK);
    const struct usp_image *image = usp_images_get(images, 0);
    ck_assert_ptr_eq(usp_images_find(images, 0x27fff), image);
    ck_assert_ptr_null(usp_images_find(images, 0x28000));
    ck_assert_ptr_null(usp_images_find(images, 0x37fff));
    ck_assert_ptr_eq(usp_images_find(images, 0x38000), image);
    ck_assert_int_eq(uspi_images_region_at(images, 0x1ffff, &region), USP_OK);
    ck_assert_int_eq(uspi_images_region_at(images, 0x27fff, &region), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(uspi_images_region_at(images, 0x28000, &region), USP_ERROR_ABSENT);
    ck_assert_int_eq(uspi_images_region_at(images, 0x38000, &region), USP_ERROR_NOT_FOUND);
    usp_images_free(images);
    entry.hole_size = 0x40000 - entry.hole_offset;
    ck_assert_int_eq(create(&entry, 1), USP_OK);
    entry.hole_size++;
    ck_assert_int_eq(create(&entry, 1), USP_ERROR_ARGUMENT);
}
END_TEST

START_TEST(nonsense_is_refused) {
    struct usp_image entry = recorded(0x1000, 0x1000), two[2] = {entry, recorded(0x1fff, 0x1000)};
    ck_assert_int_eq(create(&entry, 1), USP_OK);
    ck_assert_int_eq(create(NULL, 1), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_images_create(&entry, 1, NULL), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(create(two, 2), USP_ERROR_ARGUMENT);
    two[1].load_address = 0x2000;
    ck_assert_int_eq(create(two, 2), USP_OK);
    entry.end = 0xfff;
    ck_assert_int_eq(create(&entry, 1), USP_ERROR_ARGUMENT);
    entry = recorded(0x1000, 0x1000);
    entry.build_id_size = USP_BUILD_ID_MAX + 1;
    ck_assert_int_eq(create(&entry, 1), USP_ERROR_ARGUMENT);
    entry.build_id_size = 0;
    entry.arch = USP_ARCH_I386 + 1;
    ck_assert_int_eq(create(&entry, 1), USP_ERROR_ARGUMENT);
    entry.arch = USP_ARCH_NONE;
    entry.flags = 1u << 30;
    ck_assert_int_eq(create(&entry, 1), USP_ERROR_ARGUMENT);
    entry.flags = 0;
    const usp_addr texts[][2] = {{0xfff, 0x1800}, {0x1000, 0x2001}, {0x1800, 0x17ff}, {0, 0x1800}};
    for (unsigned i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        entry.text_low = texts[i][0];
        entry.text_high = texts[i][1];
        ck_assert_int_eq(create(&entry, 1), USP_ERROR_ARGUMENT);
    }
}
END_TEST

/* ---- files ---- */

static const struct macho_symbol symbols[] = {{"_first", TEXT_LOW, SECT | EXT, IN_TEXT, 0},
                                              {"_second", TEXT_LOW + 0x100, SECT | EXT, IN_TEXT, 0},
                                              {"_local", TEXT_LOW + 0x800, SECT, IN_TEXT, 0},
                                              {NULL, 0, 0, 0, 0}};

static struct builder slice(uint32_t arch, const char *uuid) {
    const struct macho_file wanted = {.arch = arch, .uuid = uuid, .symbols = symbols};
    return build_macho_symbol_file(&wanted);
}

static void save_thin(uint32_t arch, const char *uuid) {
    struct builder b = slice(arch, uuid);
    save(&b, path);
    builder_free(&b);
}

static void put_big_endian(struct builder *b, unsigned width, uint64_t value) {
    while (width-- > 0) put(b, 1, value >> 8 * width & 0xff);
}

/* Saves thin files as one fat file, and frees them. */
static void join_slices(struct builder *slices, unsigned count) {
    struct builder fat = {0};
    size_t at = 0x1000;
    put_big_endian(&fat, 4, 0xcafebabe);
    put_big_endian(&fat, 4, count);
    for (unsigned i = 0; i < count; i++) {
        /* The processor from the thin file, in big-endian order. */
        for (unsigned k = 0; k < 8; k++) put(&fat, 1, slices[i].bytes[4 + (k & 4) + (3 - k % 4)]);
        put_big_endian(&fat, 4, at);
        put_big_endian(&fat, 4, slices[i].size);
        put_big_endian(&fat, 4, 12);
        at += (slices[i].size + 0xfff) / 0x1000 * 0x1000;
    }
    for (unsigned i = 0; i < count; i++) {
        pad_to(&fat, (fat.size + 0xfff) / 0x1000 * 0x1000);
        put_bytes(&fat, slices[i].bytes, slices[i].size);
        builder_free(&slices[i]);
    }
    save(&fat, path);
    builder_free(&fat);
}

/* Saves a fat file with three slices: arm64 with OWN_ID, x86_64 with OTHER_ID, armv7 without an id. `damaged`: the
 * first slice loses its magic. */
static void save_fat(bool damaged) {
    struct builder slices[] = {slice(USP_ARCH_ARM64, OWN_ID), slice(USP_ARCH_X86_64, OTHER_ID),
                               slice(USP_ARCH_ARMV7, NULL)};
    if (damaged) slices[0].bytes[0] = 0;
    join_slices(slices, 3);
}

static int open_file(struct usp_images **images) {
    int status = usp_images_open(path, &options, images, message, sizeof message);
    if (status == USP_OK) ck_assert_str_eq(message, "");
    if (status != USP_OK) {
        ck_assert_ptr_null(*images);
        ck_assert_msg(strstr(message, path) != NULL || status == USP_ERROR_ARGUMENT, "%s", message);
    }
    return status;
}

static struct usp_images *opened(void) {
    struct usp_images *images;
    int status = open_file(&images);
    ck_assert_msg(status == USP_OK, "%s", message);
    return images;
}

static void refused(int status, const char *what) {
    struct usp_images *images;
    ck_assert_int_eq(open_file(&images), status);
    ck_assert_msg(strstr(message, what) != NULL, "\"%s\" lacks \"%s\"", message, what);
}

static void names(const struct usp_images *images, usp_addr address, const char *name) {
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
    ck_assert_int_eq(usp_symbolize(symbolizer, address, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, name);
    usp_symbolizer_free(symbolizer);
}

START_TEST(where_it_was_linked_for) {
    save_thin(USP_ARCH_ARM64, OWN_ID);
    struct usp_images *images = opened();
    const struct usp_image *image = usp_images_get(images, 0);
    ck_assert_uint_eq(usp_images_count(images), 1);
    ck_assert_str_eq(image->path, path);
    ck_assert_uint_eq(image->load_address, BASE);
    ck_assert_uint_eq(image->end, BASE + LINKEDIT + 0x1000);
    ck_assert_uint_eq(image->text_low, BASE);
    ck_assert_uint_eq(image->text_high, BASE + LINKEDIT);
    ck_assert_uint_eq(image->slide, 0);
    ck_assert_uint_eq(image->arch, USP_ARCH_ARM64);
    ck_assert_uint_eq(image->flags, USP_IMAGE_MACHO);
    ck_assert_uint_eq(image->build_id_size, 16);
    ck_assert_mem_eq(image->build_id, OWN_ID, 16);
    names(images, BASE + TEXT_LOW + 0x104, "second");
    usp_images_free(images);
}
END_TEST

START_TEST(where_it_is_said_to_be) {
    const usp_addr places[] = {0, 0x5000, UINT64_MAX - LINKEDIT - 0x1000};
    save_thin(USP_ARCH_ARM64, OWN_ID);
    options.flags = USP_IMAGE_FILE_LOADED;
    for (unsigned i = 0; i < 3; i++) {
        options.load_address = places[i];
        struct usp_images *images = opened();
        const struct usp_image *image = usp_images_get(images, 0);
        ck_assert_uint_eq(image->load_address, places[i]);
        ck_assert_uint_eq(image->slide, places[i] - BASE);
        ck_assert_uint_eq(image->text_high, places[i] + LINKEDIT);
        names(images, places[i] + TEXT_LOW + 1, "first");
        usp_images_free(images);
    }
    options.load_address = UINT64_MAX - LINKEDIT;
    refused(USP_ERROR_ARGUMENT, "load address");
}
END_TEST

START_TEST(one_for_each_slice) {
    save_fat(false);
    struct usp_images *images = opened();
    ck_assert_uint_eq(usp_images_count(images), 3);
    ck_assert_uint_eq(usp_images_get(images, 0)->arch, USP_ARCH_ARMV7);
    ck_assert_uint_eq(usp_images_get(images, 1)->arch, USP_ARCH_ARM64);
    ck_assert_uint_eq(usp_images_get(images, 2)->arch, USP_ARCH_X86_64);
    usp_images_free(images);
}
END_TEST

START_TEST(the_wanted_slice) {
    save_fat(_i != 0);
    options.arch = USP_ARCH_ARMV7;
    struct usp_images *images = opened();
    ck_assert_uint_eq(usp_images_count(images), 1);
    names(images, macho_base(USP_ARCH_ARMV7) + TEXT_LOW, "first");
    usp_images_free(images);
    /* The build id decides, whatever processor is given. */
    options.build_id_size = 16;
    memcpy(options.build_id, OTHER_ID, 16);
    images = opened();
    ck_assert_uint_eq(usp_images_count(images), 1);
    ck_assert_uint_eq(usp_images_get(images, 0)->arch, USP_ARCH_X86_64);
    usp_images_free(images);
}
END_TEST

/* A file has a slice for arm64 and one for arm64e, which only symbols and cpusubtypes tell apart. */
START_TEST(variants_of_a_processor) {
    static const struct macho_symbol of_arm64e[] = {{"_signed", TEXT_LOW, SECT | EXT, IN_TEXT, 0}, {NULL, 0, 0, 0, 0}};
    static const struct {
        uint32_t variant;
        const char *name;
    } cases[] = {{USP_VARIANT_PLAIN, "first"}, {USP_VARIANT_ARM64E, "signed"}};
    const struct macho_file wanted = {.arch = USP_ARCH_ARM64, .symbols = of_arm64e};
    struct builder slices[] = {build_macho_symbol_file(&wanted), slice(USP_ARCH_ARM64, NULL)};
    patch(&slices[0], 8, 4, 0x80000002);
    join_slices(slices, 2);
    struct usp_images *images = opened();
    ck_assert_uint_eq(usp_images_count(images), 2);
    for (size_t i = 0; i < 2; i++) {
        /* Opened by the image's own list, whose path the symbolizer opens again, and by the options. */
        const struct usp_image *image = usp_images_get(images, i);
        struct usp_images *one;
        ck_assert_uint_eq(image->arch, USP_ARCH_ARM64);
        ck_assert_uint_eq(image->variant, cases[i].variant);
        ck_assert_int_eq(usp_images_create(image, 1, &one), USP_OK);
        names(one, BASE + TEXT_LOW, cases[i].name);
        usp_images_free(one);
        options.arch = USP_ARCH_ARM64;
        options.variant = cases[i].variant;
        one = opened();
        ck_assert_uint_eq(usp_images_count(one), 1);
        ck_assert_uint_eq(usp_images_get(one, 0)->variant, cases[i].variant);
        names(one, BASE + TEXT_LOW, cases[i].name);
        usp_images_free(one);
    }
    options.variant = USP_VARIANT_NONE;
    struct usp_images *both = opened();
    ck_assert_uint_eq(usp_images_count(both), 2);
    usp_images_free(both);
    usp_images_free(images);
    options.variant = USP_VARIANT_X86_64H;
    refused(USP_ERROR_MISMATCH, "for arm64e, arm64, not for arm64");
    options.variant = USP_VARIANT_X86_64H + 1;
    refused(USP_ERROR_ARGUMENT, "options");
    save_thin(USP_ARCH_ARM64, OWN_ID);
    options.variant = USP_VARIANT_ARM64E;
    refused(USP_ERROR_MISMATCH, "for arm64, not for arm64e");
    struct usp_image unknown = recorded(0x1000, 0x1000);
    unknown.variant = USP_VARIANT_X86_64H + 1;
    ck_assert_int_eq(create(&unknown, 1), USP_ERROR_ARGUMENT);
    unknown.variant = USP_VARIANT_ARM64E;
    ck_assert_int_eq(create(&unknown, 1), USP_OK);
}
END_TEST

/* A slice lies beyond the first 4 GB, so its offset needs more than 32 bits. */
START_TEST(past_4_gb) {
    const uint64_t hole = UINT64_C(5) << 30;
    struct builder thin = slice(USP_ARCH_ARM64, OWN_ID), fat = {0};
    put_big_endian(&fat, 4, 0xcafebabf);
    put_big_endian(&fat, 4, 1);
    put_big_endian(&fat, 4, macho_cpu(USP_ARCH_ARM64));
    put_big_endian(&fat, 4, 0);
    put_big_endian(&fat, 8, hole + 0x1000);
    put_big_endian(&fat, 8, thin.size);
    put_big_endian(&fat, 8, UINT64_C(12) << 32);
    pad_to(&fat, 0x1000);
    put_bytes(&fat, thin.bytes, thin.size);
    save_with_hole(&fat, path, 0x1000, hole);
    options.flags = USP_IMAGE_FILE_NAMED;
    struct usp_images *images = opened();
    names(images, BASE + TEXT_LOW + 0x104, "second");
    usp_images_free(images);
    /* The message about an error in it must have the whole offset. */
    thin.bytes[0] = 0;
    patch(&fat, 0x1000, 1, 0);
    save_with_hole(&fat, path, 0x1000, hole);
    refused(USP_ERROR_FORMAT, "library: offset 0x140001000");
    builder_free(&thin);
    builder_free(&fat);
}
END_TEST

START_TEST(what_is_not_there_is_told_with_what_is) {
    save_fat(false);
    options.arch = USP_ARCH_I386;
    refused(USP_ERROR_MISMATCH, "for arm64, x86_64, armv7, not for i386");
    options.build_id_size = 16;
    memcpy(options.build_id, "\0\1\2\3\4\5\6\7\x8\x9\xa\xb\xc\xd\xe\xf", 16);
    refused(USP_ERROR_MISMATCH, "arm64 30313233-3435-3637-3839-616263646566, x86_64 ");
    refused(USP_ERROR_MISMATCH, "armv7 no build-id, not 00010203-0405-0607-0809-0A0B0C0D0E0F");
}
END_TEST

START_TEST(damage_is_told_with_its_place) {
    save_fat(true);
    options.arch = USP_ARCH_ARM64;
    refused(USP_ERROR_FORMAT, "offset 0x1000");
    ck_assert_int_eq(truncate(path, 0x1010), 0);
    refused(USP_ERROR_TRUNCATED, "offset 0x1000");
    ck_assert_int_eq(truncate(path, 10), 0);
    refused(USP_ERROR_TRUNCATED, "table of slices");
    ck_assert_int_eq(truncate(path, 0), 0);
    refused(USP_ERROR_FORMAT, "neither ELF nor Mach-O");
    ck_assert_int_eq(unlink(path), 0);
    refused(USP_ERROR_NOT_FOUND, "no such file");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    refused(USP_ERROR_FORMAT, "not a regular file");
}
END_TEST

/* The file may end anywhere in its tables of names, and a table may have any offset. Only a look-up in that table
 * reports the damage. */
START_TEST(damaged_names_are_told_with_their_place) {
    static const uint32_t starts[] = {TEXT_LOW, TEXT_LOW + 0x100, 0};
    static const struct macho_export exports[] = {{"_first", 0, TEXT_LOW}, {NULL, 0, 0}};
    const struct macho_file wanted = {
        .arch = USP_ARCH_ARM64, .uuid = OWN_ID, .symbols = symbols, .starts = starts, .exports = exports};
    struct builder b = build_macho_symbol_file(&wanted);
    const size_t whole = b.size;
    for (b.size = whole; b.size >= LINKEDIT; b.size--) {
        unlink(path); /* some file systems wait for the disk if a file is truncated and written again */
        save(&b, path);
        options.flags = 0;
        usp_images_free(opened());
        options.flags = USP_IMAGE_FILE_NAMED;
        if (b.size == whole) usp_images_free(opened());
        if (b.size < whole) refused(USP_ERROR_TRUNCATED, "library: offset 0x30");
    }
    /* Names of another processor's image are not read. */
    options.arch = USP_ARCH_X86_64;
    refused(USP_ERROR_MISMATCH, "for arm64, not for x86_64");
    builder_free(&b);
}
END_TEST

START_TEST(what_has_no_addresses_is_refused) {
    struct builder b = slice(USP_ARCH_ARM64, OWN_ID);
    patch(&b, 12, 4, 4); /* MH_CORE */
    save(&b, path);
    refused(USP_ERROR_UNSUPPORTED, "a core");
    builder_free(&b);
    uint8_t elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 4, [18] = 62, [20] = 1, [52] = 64}; /* ET_CORE */
    struct builder e = {0};
    put_bytes(&e, elf, sizeof elf);
    save(&e, path);
    refused(USP_ERROR_UNSUPPORTED, "a core");
    builder_free(&e);
}
END_TEST

START_TEST(options_are_checked) {
    struct usp_images *images;
    save_thin(USP_ARCH_ARM64, OWN_ID);
    ck_assert_int_eq(usp_images_open(path, NULL, &images, NULL, 0), USP_OK);
    usp_images_free(images);
    ck_assert_int_eq(usp_images_open(NULL, NULL, &images, NULL, 0), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_images_open(path, NULL, NULL, NULL, 0), USP_ERROR_ARGUMENT);
    options.size = 4;
    ck_assert_int_eq(open_file(&images), USP_ERROR_ARGUMENT);
    usp_image_file_options_init(&options);
    options.arch = 99;
    ck_assert_int_eq(open_file(&images), USP_ERROR_ARGUMENT);
    usp_image_file_options_init(&options);
    options.build_id_size = 33;
    ck_assert_int_eq(open_file(&images), USP_ERROR_ARGUMENT);
    usp_image_file_options_init(&options);
    options.flags = 8;
    ck_assert_int_eq(open_file(&images), USP_ERROR_ARGUMENT);
}
END_TEST

int main(void) {
    TCase *lists = tcase_create("recorded"), *files = tcase_create("files");
    add_tests(lists, copied_and_sorted, an_empty_image_hides_nothing, a_hole_is_not_of_the_image, nonsense_is_refused);
    tcase_add_checked_fixture(files, set_up, remove_folder);
    add_tests(files, where_it_was_linked_for, where_it_is_said_to_be, one_for_each_slice);
    tcase_add_loop_test(files, the_wanted_slice, 0, 2);
    tcase_add_test(files, variants_of_a_processor);
    add_tests(files, past_4_gb, what_is_not_there_is_told_with_what_is, damage_is_told_with_its_place);
    add_tests(files, damaged_names_are_told_with_their_place, what_has_no_addresses_is_refused, options_are_checked);
    return run_suite("images", lists, files);
}
