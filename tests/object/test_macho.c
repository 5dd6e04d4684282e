/* SPDX-License-Identifier: MIT */
/* Tests the Mach-O and fat readers alone, over built bytes: files, and the same image in memory. test_core_macho.c
 * tests cores. */
#include "lib/object/fat.h"
#include "tests/support/built_file.h"
#include "tests/support/suite.h"

#include <check.h>

static const uint32_t archs[] = {USP_ARCH_ARM64, USP_ARCH_ARM64_32, USP_ARCH_ARMV7, USP_ARCH_X86_64, USP_ARCH_I386};
#define ARCHS ELEMENTS(archs)

static struct uspi_macho macho;

static int open_file(void) { return uspi_macho_open(&macho, all(), &error); }

/* Builds a file that has only these load commands. */
static void build(bool wide, struct commands *c) {
    builder_free(&file);
    put_macho(&file, wide, wide ? 0x0100000c : 12, 6, c);
}

static void check_program(void) {
    struct uspi_macho_cursor cursor = {0};
    struct uspi_macho_segment segment;
    struct uspi_macho_section section;
    struct uspi_macho_extent extent;
    struct uspi_macho_version version;
    uint8_t uuid[16];
    ck_assert_uint_eq(macho.type, USPI_MH_EXECUTE);
    ck_assert_int_eq(uspi_macho_next_segment(&macho, &cursor, &segment, &error), 1);
    ck_assert_str_eq(segment.name, "__PAGEZERO");
    ck_assert_uint_eq(segment.memory_size, LINKED);
    ck_assert_int_eq(uspi_macho_next_segment(&macho, &cursor, &segment, &error), 1);
    ck_assert_str_eq(segment.name, "__TEXT");
    ck_assert_uint_eq(segment.address, LINKED);
    ck_assert_uint_eq(segment.file_size, 2 * PAGE);
    ck_assert_uint_eq(segment.protection, USPI_PROT_READ | USPI_PROT_EXECUTE);
    ck_assert_int_eq(uspi_macho_section(&macho, &segment, 0, &section, &error), USP_OK);
    ck_assert_str_eq(section.name, "__text");
    ck_assert_str_eq(section.segment, "__TEXT");
    ck_assert_uint_eq(section.address, LINKED + PAGE);
    ck_assert_uint_eq(section.size, 0x60);
    ck_assert_int_eq(uspi_macho_section(&macho, &segment, 1, &section, &error), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(uspi_macho_next_segment(&macho, &cursor, &segment, &error), 0);
    ck_assert_int_eq(uspi_macho_extent(&macho, &extent, &error), USP_OK);
    ck_assert_uint_eq(extent.header, LINKED);
    ck_assert_uint_eq(extent.high, LINKED + 2 * PAGE);
    ck_assert_uint_eq(extent.text_low, LINKED);
    ck_assert_int_eq(uspi_macho_uuid(&macho, uuid, &error), USP_OK);
    ck_assert_mem_eq(uuid, UUID, 16);
    ck_assert_int_eq(uspi_macho_version(&macho, &version, &error), USP_OK);
    ck_assert_uint_eq(version.platform, USPI_PLATFORM_WATCHOS);
    ck_assert_uint_eq(version.minimum, 0x0d0000);
    ck_assert_uint_eq(version.sdk, 0x0e0000);
}

START_TEST(program) {
    build_macho_program(&file, archs[_i], UUID, 4);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_uint_eq(macho.arch, archs[_i]);
    ck_assert(macho.wide == arch_is_64(archs[_i]));
    check_program();
}
END_TEST

START_TEST(image_in_memory) {
    build_macho_program(&file, archs[_i], UUID, 4);
    ck_assert_int_eq(uspi_macho_open(&macho, in_memory(IMAGE), &error), USP_OK);
    check_program();
    ck_assert_int_eq(uspi_macho_open(&macho, in_memory(IMAGE - 4), &error), USP_ERROR_UNREADABLE);
    ck_assert_ptr_nonnull(strstr(error.text, "process: address 0xffffc: "));
}
END_TEST

START_TEST(every_truncation) {
    build_macho_program(&file, archs[_i], UUID, 4);
    ck_assert_int_eq(open_file(), USP_OK);
    size_t header = macho.wide ? 32 : 28, commands = header + (size_t)macho.commands.size;
    for (size_t n = 0; n <= commands; n++) {
        uint8_t *copy;
        int status = uspi_macho_open(&macho, first(n, &copy), &error);
        ck_assert_int_eq(status, n < commands ? USP_ERROR_TRUNCATED : USP_OK);
        free(copy);
    }
}
END_TEST

START_TEST(refused) {
    static const struct {
        uint32_t magic;
        int status;
    } cases[] = {{0xcefaedfe, USP_ERROR_UNSUPPORTED},
                 {0xcffaedfe, USP_ERROR_UNSUPPORTED},
                 {0xcafebabe, USP_ERROR_FORMAT},
                 {0, USP_ERROR_FORMAT}};
    build_macho_program(&file, USP_ARCH_ARM64, UUID, 4);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        patch(&file, 0, 4, cases[i].magic);
        ck_assert_int_eq(open_file(), cases[i].status);
    }
}
END_TEST

START_TEST(lying_commands) {
    struct uspi_macho_command command;
    struct uspi_macho_segment segment;
    static const struct {
        uint64_t size;
        int status;
    } sizes[] = {
        {0, USP_ERROR_FORMAT}, {7, USP_ERROR_FORMAT}, {UINT32_MAX, USP_ERROR_TRUNCATED}, {8, USP_ERROR_TRUNCATED}};
    build_macho_program(&file, USP_ARCH_ARM64, UUID, 4);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct uspi_macho_cursor cursor = {0};
        patch(&file, 32 + 4, 4, sizes[i].size);
        ck_assert_int_eq(open_file(), USP_OK);
        ck_assert_int_eq(uspi_macho_next_segment(&macho, &cursor, &segment, &error), sizes[i].status);
    }
    patch(&file, 32 + 4, 4, 72);
    /* More sections than the command holds, a count that overflows, more commands than the file has. */
    patch(&file, 32 + 64, 4, 1);
    ck_assert_int_eq(uspi_macho_find(&macho, USPI_LC_SEGMENT_64, &command, &error), USP_OK);
    ck_assert_int_eq(uspi_macho_segment(&command, &segment, &error), USP_ERROR_TRUNCATED);
    patch(&file, 32 + 64, 4, UINT32_MAX);
    ck_assert_int_eq(uspi_macho_segment(&command, &segment, &error), USP_ERROR_TRUNCATED);
    patch(&file, 32 + 64, 4, 0);
    patch(&file, 16, 4, UINT32_MAX);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_macho_find(&macho, 0x7777, &command, &error), USP_ERROR_TRUNCATED);
}
END_TEST

START_TEST(install_names) {
    struct commands c = {{0}, 0};
    char name[64];
    put_install_name(&c, _i == 0 ? 0xd : 0xf, "/usr/lib/libx.dylib");
    build(true, &c);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_macho_install_name(&macho, name, sizeof name, &error), USP_OK);
    ck_assert_str_eq(name, "/usr/lib/libx.dylib");
    ck_assert_int_eq(uspi_macho_install_name(&macho, name, 19, &error), USP_ERROR_FULL);
    ck_assert_int_eq(uspi_macho_install_name(&macho, name, 20, &error), USP_OK);
    /* An offset outside the command, and a name without its terminating zero. */
    patch(&file, 32 + 8, 4, UINT32_MAX);
    ck_assert_int_eq(uspi_macho_install_name(&macho, name, sizeof name, &error), USP_ERROR_TRUNCATED);
    patch(&file, 32 + 8, 4, _i == 0 ? 24 : 12);
    for (size_t at = 32 + 12; at < file.size; at++) patch(&file, at, 1, 'x');
    ck_assert_int_eq(uspi_macho_install_name(&macho, name, sizeof name, &error), USP_ERROR_TRUNCATED);
}
END_TEST

START_TEST(old_versions) {
    static const struct {
        unsigned command, platform;
    } cases[] = {{0x24, USPI_PLATFORM_MACOS},
                 {0x25, USPI_PLATFORM_IOS},
                 {0x2f, USPI_PLATFORM_TVOS},
                 {0x30, USPI_PLATFORM_WATCHOS}};
    struct commands c = {{0}, 1};
    struct uspi_macho_version version;
    put(&c.bytes, 4, cases[_i].command);
    put(&c.bytes, 4, 16);
    put(&c.bytes, 4, 0x090000);
    put(&c.bytes, 4, 0x0a0102);
    build(false, &c);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_macho_version(&macho, &version, &error), USP_OK);
    ck_assert_uint_eq(version.platform, cases[_i].platform);
    ck_assert_uint_eq(version.minimum, 0x090000);
    ck_assert_uint_eq(version.sdk, 0x0a0102);
}
END_TEST

START_TEST(nothing_to_find) {
    struct commands c = {{0}, 0};
    struct uspi_macho_version version;
    struct uspi_macho_extent extent;
    struct uspi_macho_command command;
    uint8_t uuid[16];
    char name[8];
    build(true, &c);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_macho_uuid(&macho, uuid, &error), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(uspi_macho_version(&macho, &version, &error), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(uspi_macho_extent(&macho, &extent, &error), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(uspi_macho_install_name(&macho, name, sizeof name, &error), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(uspi_macho_find(&macho, 2, &command, &error), USP_ERROR_NOT_FOUND);
}
END_TEST

/* An image of the shared cache: its __LINKEDIT is far away, and the memory between belongs to other images. */
START_TEST(image_of_the_shared_cache) {
    struct commands c = {{0}, 0};
    struct uspi_macho_extent extent;
    put_macho_segment(&c, true, "__TEXT", 0x180000000, PAGE, 0, PAGE, 5, 0);
    put_macho_segment(&c, true, "__LINKEDIT", 0x1f0000000, PAGE, PAGE, PAGE, 1, 0);
    build(true, &c);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_macho_extent(&macho, &extent, &error), USP_OK);
    ck_assert_uint_eq(extent.high, UINT64_C(0x1f0000000) + PAGE);
    patch(&file, 24, 4, USPI_MH_DYLIB_IN_CACHE);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_macho_extent(&macho, &extent, &error), USP_OK);
    ck_assert_uint_eq(extent.high, UINT64_C(0x180000000) + PAGE);
    patch(&file, 32 + 32, 8, UINT64_MAX);
    ck_assert_int_eq(uspi_macho_extent(&macho, &extent, &error), USP_ERROR_FORMAT);
}
END_TEST

START_TEST(thread_states) {
    struct commands c = {{0}, 0};
    struct macho_core core = {.arch = archs[_i], .threads = 1};
    struct uspi_macho_command command;
    struct uspi_macho_state state;
    uint64_t offset = 0;
    put_macho_thread(&c, &core, 0);
    build(true, &c);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_macho_find(&macho, USPI_LC_THREAD, &command, &error), USP_OK);
    ck_assert_int_eq(uspi_macho_next_state(&command, &offset, &state, &error), 1);
    ck_assert_uint_eq(state.flavor, 77);
    ck_assert_uint_eq(state.bytes.size, 12);
    ck_assert_int_eq(uspi_macho_next_state(&command, &offset, &state, &error), 1);
    ck_assert_uint_eq(state.bytes.size, state.count * 4);
    ck_assert_int_eq(uspi_macho_next_state(&command, &offset, &state, &error), 0);
    /* Counts that overflow 32 and 64 bits, and one word too many. */
    size_t count = 32 + 8 + 8 + 12 + 4;
    static const uint64_t lies[] = {UINT32_MAX, 0x40000000, 0x80000000};
    for (size_t i = 0; i < 4; i++) {
        patch(&file, count, 4, i < 3 ? lies[i] : state.count + 1);
        offset = 0;
        ck_assert_int_eq(uspi_macho_next_state(&command, &offset, &state, &error), 1);
        ck_assert_int_eq(uspi_macho_next_state(&command, &offset, &state, &error), USP_ERROR_TRUNCATED);
    }
}
END_TEST

/* ---- fat files ---- */

static int pick(uint32_t arch, uint32_t variant) {
    const struct uspi_wanted_slice wanted = {.arch = arch, .variant = variant};
    return uspi_fat_pick(all(), &wanted, &macho, &error);
}

static int pick_by_uuid(const char *uuid) {
    /* The UUID must decide, whatever the wanted processor. */
    const struct uspi_wanted_slice wanted = {
        .uuid = (const uint8_t *)uuid, .arch = USP_ARCH_ARMV7, .variant = USP_VARIANT_ARMV7K};
    return uspi_fat_pick(all(), &wanted, &macho, &error);
}

/* Builds a file of two slices, armv7 and arm64, with 32- or 64-bit offsets. */
static void build_fat(bool wide, uint64_t offset, uint64_t size) {
    struct builder slices[2] = {{0}, {0}};
    unsigned word = wide ? 8 : 4;
    build_macho_program(&slices[0], USP_ARCH_ARMV7, "FIRST-UUID-16byt", 2);
    build_macho_program(&slices[1], USP_ARCH_ARM64, UUID, 2);
    builder_free(&file);
    put_be(&file, 4, wide ? 0xcafebabf : 0xcafebabe);
    put_be(&file, 4, 2);
    for (unsigned i = 0; i < 2; i++) {
        put_be(&file, 4, i == 0 ? 12 : 0x0100000c);
        put_be(&file, 4, 9);
        put_be(&file, word, i == 1 && offset != 0 ? offset : (i + 1) * 2 * PAGE);
        put_be(&file, word, i == 1 && size != 0 ? size : 2 * PAGE);
        put_be(&file, 4, 12);
        if (wide) put_be(&file, 4, 0);
    }
    for (unsigned i = 0; i < 2; i++) {
        pad_to(&file, (i + 1) * 2 * PAGE);
        put_bytes(&file, slices[i].bytes, slices[i].size);
        builder_free(&slices[i]);
    }
}

START_TEST(slices) {
    build_fat(_i == 1, 0, 0);
    ck_assert_int_eq(pick(USP_ARCH_ARM64, USP_VARIANT_NONE), USP_OK);
    ck_assert_uint_eq(macho.arch, USP_ARCH_ARM64);
    ck_assert_uint_eq(macho.bytes.from, 4 * PAGE);
    ck_assert_int_eq(pick(USP_ARCH_ARMV7, USP_VARIANT_NONE), USP_OK);
    ck_assert_uint_eq(macho.bytes.from, 2 * PAGE);
    ck_assert_int_eq(pick(USP_ARCH_NONE, USP_VARIANT_NONE), USP_OK);
    ck_assert_uint_eq(macho.arch, USP_ARCH_ARMV7);
    ck_assert_int_eq(pick(USP_ARCH_I386, USP_VARIANT_NONE), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(pick_by_uuid(UUID), USP_OK);
    ck_assert_uint_eq(macho.arch, USP_ARCH_ARM64);
    ck_assert_int_eq(pick_by_uuid("ANOTHER-UUID-16b"), USP_ERROR_MISMATCH);
}
END_TEST

START_TEST(variants) {
    static const struct {
        uint32_t arch, cpu_subtype, variant;
        const char *name;
    } cases[] = {
        {USP_ARCH_ARM64, 0, USP_VARIANT_PLAIN, "arm64"},
        {USP_ARCH_ARM64, 1, USP_VARIANT_PLAIN, "arm64"},
        {USP_ARCH_ARM64, 2, USP_VARIANT_ARM64E, "arm64e"},
        /* With the ABI version in the capability bits. */
        {USP_ARCH_ARM64, 0x80000002, USP_VARIANT_ARM64E, "arm64e"},
        {USP_ARCH_ARM64_32, 2, USP_VARIANT_PLAIN, "arm64_32"},
        {USP_ARCH_ARMV7, 9, USP_VARIANT_PLAIN, "armv7"},
        {USP_ARCH_ARMV7, 11, USP_VARIANT_ARMV7S, "armv7s"},
        {USP_ARCH_ARMV7, 12, USP_VARIANT_ARMV7K, "armv7k"},
        {USP_ARCH_X86_64, 3, USP_VARIANT_PLAIN, "x86_64"},
        {USP_ARCH_X86_64, 8, USP_VARIANT_X86_64H, "x86_64h"},
        {USP_ARCH_I386, 3, USP_VARIANT_PLAIN, "i386"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        build_macho_program(&file, cases[i].arch, UUID, 2);
        patch(&file, 8, 4, cases[i].cpu_subtype);
        for (uint32_t variant = USP_VARIANT_NONE; variant <= USP_VARIANT_X86_64H; variant++) {
            const bool is_wanted = variant == USP_VARIANT_NONE || variant == cases[i].variant;
            ck_assert_int_eq(pick(cases[i].arch, variant), is_wanted ? USP_OK : USP_ERROR_NOT_FOUND);
            ck_assert_uint_eq(macho.variant, cases[i].variant);
        }
        ck_assert_str_eq(usp_variant_string(macho.arch, macho.variant), cases[i].name);
        ck_assert_uint_eq(usp_arch_from_string(cases[i].name), cases[i].arch);
        ck_assert_uint_eq(usp_variant_from_string(cases[i].name), cases[i].variant);
        builder_free(&file);
    }
    static const char *const any[] = {"aarch64", "arm", "amd64", "i686", "sparc", "", NULL};
    for (size_t i = 0; i < sizeof any / sizeof *any; i++) {
        ck_assert_uint_eq(usp_variant_from_string(any[i]), USP_VARIANT_NONE);
    }
    /* Not a variant of this processor. */
    ck_assert_str_eq(usp_variant_string(USP_ARCH_ARM64, USP_VARIANT_ARMV7K), "arm64");
    ck_assert_str_eq(usp_variant_string(USP_ARCH_NONE, USP_VARIANT_ARM64E), "unknown");
    build_macho_program(&file, USP_ARCH_ARM64, UUID, 2);
    patch(&file, 8, 4, 2);
    ck_assert_int_eq(pick(USP_ARCH_ARM64, USP_VARIANT_PLAIN), USP_ERROR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, "made for arm64e, not for arm64"));
}
END_TEST

START_TEST(slices_outside_of_the_file) {
    static const struct {
        uint64_t offset, size;
    } cases[] = {{0x7000000, 0}, {0, 0x7000000}, {UINT32_MAX, UINT32_MAX}, {UINT64_MAX, 2}, {2, UINT64_MAX}};
    bool wide = cases[_i].offset > UINT32_MAX || cases[_i].size > UINT32_MAX;
    build_fat(wide, cases[_i].offset, cases[_i].size);
    ck_assert_int_eq(pick(USP_ARCH_ARM64, USP_VARIANT_NONE), USP_ERROR_TRUNCATED);
    ck_assert_ptr_nonnull(strstr(error.text, "slice"));
    /* The other slice must not be affected. */
    ck_assert_int_eq(pick(USP_ARCH_ARMV7, USP_VARIANT_NONE), USP_OK);
}
END_TEST

START_TEST(lying_number_of_slices) {
    struct uspi_fat fat;
    struct uspi_bytes slice;
    build_fat(_i == 1, 0, 0);
    for (unsigned i = 4; i < 8; i++) patch(&file, i, 1, 0xff);
    ck_assert_int_eq(uspi_fat_open(&fat, all(), &error), USP_ERROR_TRUNCATED);
    ck_assert_ptr_nonnull(strstr(error.text, "table of slices"));
    patch(&file, 4, 4, 0);
    ck_assert_int_eq(uspi_fat_open(&fat, all(), &error), USP_OK);
    ck_assert_int_eq(uspi_fat_slice(&fat, 0, &slice, &error), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(pick(USP_ARCH_NONE, USP_VARIANT_NONE), USP_ERROR_NOT_FOUND);
    file.size = 7;
    ck_assert_int_eq(uspi_fat_open(&fat, all(), &error), USP_ERROR_TRUNCATED);
}
END_TEST

/* Appends slices of `size` bytes, the first one at `first`, each `step` bytes after the one before it. */
static void build_slices(bool wide, uint32_t count, uint64_t first, uint64_t step, uint64_t size) {
    builder_free(&file);
    put_be(&file, 4, wide ? 0xcafebabf : 0xcafebabe);
    put_be(&file, 4, count);
    for (uint32_t i = 0; i < count; i++) {
        put_be(&file, 4, 0x0100000c);
        put_be(&file, 4, 0);
        put_be(&file, wide ? 8 : 4, first + i * step);
        put_be(&file, wide ? 8 : 4, size);
        put_be(&file, 4, 0);
        if (wide) put_be(&file, 4, 0);
    }
    pad_to(&file, 4 * PAGE);
}

START_TEST(number_of_slices) {
    struct uspi_fat fat;
    build_slices(_i == 1, 64, PAGE, 8, 8);
    ck_assert_int_eq(uspi_fat_open(&fat, all(), &error), USP_OK);
    build_slices(_i == 1, 65, PAGE, 8, 8);
    ck_assert_int_eq(uspi_fat_open(&fat, all(), &error), USP_ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "more than 64 slices"));
}
END_TEST

START_TEST(overlapping_slices) {
    struct uspi_fat fat;
    build_slices(_i == 1, 3, PAGE, 16, 17);
    ck_assert_int_eq(uspi_fat_open(&fat, all(), &error), USP_ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "slices that overlap"));
    build_slices(_i == 1, 2, PAGE, 0, 16);
    ck_assert_int_eq(uspi_fat_open(&fat, all(), &error), USP_ERROR_FORMAT);
    build_slices(_i == 1, 3, PAGE, 16, 16);
    ck_assert_int_eq(uspi_fat_open(&fat, all(), &error), USP_OK);
    /* Empty slices share no byte. */
    build_slices(_i == 1, 3, PAGE, 0, 0);
    ck_assert_int_eq(uspi_fat_open(&fat, all(), &error), USP_OK);
}
END_TEST

START_TEST(thin_is_picked_too) {
    build_macho_program(&file, archs[_i], UUID, 2);
    ck_assert_int_eq(pick(archs[_i], USP_VARIANT_NONE), USP_OK);
    ck_assert_int_eq(pick_by_uuid(UUID), USP_OK);
    ck_assert_int_eq(pick_by_uuid("ANOTHER-UUID-16b"), USP_ERROR_MISMATCH);
    uint32_t other = archs[_i] == USP_ARCH_I386 ? USP_ARCH_ARM64 : USP_ARCH_I386;
    ck_assert_int_eq(pick(other, USP_VARIANT_NONE), USP_ERROR_NOT_FOUND);
}
END_TEST

int main(void) {
    TCase *thin = tcase_create("thin"), *fat = tcase_create("fat");
    tcase_add_checked_fixture(thin, NULL, free_file);
    tcase_add_checked_fixture(fat, NULL, free_file);
    add_loop_tests(thin, 0, ARCHS, program, image_in_memory, every_truncation);
    add_tests(thin, refused, lying_commands);
    tcase_add_loop_test(thin, install_names, 0, 2);
    tcase_add_loop_test(thin, old_versions, 0, 4);
    add_tests(thin, nothing_to_find, image_of_the_shared_cache);
    tcase_add_loop_test(thin, thread_states, 0, ARCHS);
    tcase_add_loop_test(fat, slices, 0, 2);
    tcase_add_test(fat, variants);
    tcase_add_loop_test(fat, slices_outside_of_the_file, 0, 5);
    tcase_add_loop_test(fat, lying_number_of_slices, 0, 2);
    tcase_add_loop_test(fat, number_of_slices, 0, 2);
    tcase_add_loop_test(fat, overlapping_slices, 0, 2);
    tcase_add_loop_test(fat, thin_is_picked_too, 0, ARCHS);
    return run_suite("Mach-O", thin, fat);
}
