/* SPDX-License-Identifier: MIT */
/* Tests the ELF reader alone, over built bytes: files, and the same image in memory. test_core_elf.c tests cores. */
#include "lib/object/elf.h"
#include "tests/support/built_file.h"
#include "tests/support/suite.h"

#include <check.h>

static const uint32_t archs[] = {USP_ARCH_X86_64, USP_ARCH_I386, USP_ARCH_ARM64, USP_ARCH_ARMV7};
#define ARCHS ELEMENTS(archs)

static struct uspi_elf elf;

static int open_file(void) { return uspi_elf_open(&elf, all(), &error); }

/* Builds the program of core_fixtures.h with four sections after it: the null section, names, .note.gnu.build-id,
 * .bss. */
static void build_with_sections(uint32_t arch) {
    bool wide = arch_is_64(arch);
    unsigned word = wide ? 8 : 4;
    build_elf_program(&file, arch, BUILD_ID);
    size_t names = file.size;
    put_bytes(&file, "\0.names\0.note.gnu.build-id\0.bss", 31);
    align_to(&file, 8);
    size_t at = file.size;
    static const struct {
        unsigned name, type;
    } sections[] = {{0, 0}, {1, 3}, {8, 7}, {27, 8}};
    for (unsigned i = 0; i < 4; i++) {
        size_t note = wide ? 64 + 3 * 56 : 52 + 3 * 32;
        put(&file, 4, sections[i].name);
        put(&file, 4, sections[i].type);
        put(&file, word, i);
        put(&file, word, 0);
        put(&file, word, i == 1 ? names : i == 2 ? note : 0);
        put(&file, word, i == 1 ? 32 : i == 2 ? 36 : 0);
        put(&file, 4, 0);
        put(&file, 4, 0);
        put(&file, word, 4);
        put(&file, word, 0);
    }
    patch(&file, wide ? 40 : 32, word, at);
    patch(&file, wide ? 60 : 48, 2, 4);
    patch(&file, wide ? 62 : 50, 2, 1);
}

START_TEST(program) {
    struct uspi_elf_segment segment;
    struct uspi_elf_extent extent;
    struct uspi_build_id id;
    struct uspi_bytes bytes;
    uint64_t word;
    build_elf_program(&file, archs[_i], BUILD_ID);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_uint_eq(elf.arch, archs[_i]);
    ck_assert_uint_eq(elf.type, USPI_ET_DYN);
    ck_assert_uint_eq(elf.entry, CODE - IMAGE);
    ck_assert_uint_eq(elf.segment_count, 3);
    ck_assert_int_eq(uspi_elf_segment(&elf, 1, &segment, &error), USP_OK);
    ck_assert_uint_eq(segment.type, USPI_PT_LOAD);
    ck_assert_uint_eq(segment.flags, USPI_PF_R | USPI_PF_X);
    ck_assert_uint_eq(segment.offset, PAGE);
    ck_assert_uint_eq(segment.file_size, 0x60);
    ck_assert_uint_eq(segment.align, PAGE);
    ck_assert_int_eq(uspi_elf_segment_bytes(&elf, &segment, &bytes, &error), USP_OK);
    ck_assert_int_eq(uspi_bytes_load(bytes, 0, 4, &word, "code", &error), USP_OK);
    ck_assert_uint_eq(word, uspi_le32(file.bytes + PAGE));
    ck_assert_int_eq(uspi_elf_segment(&elf, 3, &segment, &error), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(uspi_elf_find_segment(&elf, USPI_PT_DYNAMIC, &segment, &error), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(uspi_elf_extent(&elf, &extent, &error), USP_OK);
    ck_assert_uint_eq(extent.low, 0);
    ck_assert_uint_eq(extent.high, PAGE + 0x60);
    ck_assert_uint_eq(extent.text_low, PAGE);
    ck_assert_uint_eq(extent.text_high, PAGE + 0x60);
    ck_assert_int_eq(uspi_elf_build_id(&elf, &id, &error), USP_OK);
    ck_assert_uint_eq(id.size, 20);
    ck_assert_mem_eq(id.bytes, BUILD_ID, 20);
}
END_TEST

START_TEST(sections) {
    struct uspi_elf_section section;
    struct uspi_build_id id;
    build_with_sections(archs[_i]);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_uint_eq(elf.section_count, 4);
    ck_assert_int_eq(uspi_elf_find_section(&elf, ".bss", &section, &error), USP_OK);
    ck_assert_uint_eq(section.type, USPI_SHT_NOBITS);
    ck_assert_uint_eq(section.flags, 3);
    ck_assert_uint_eq(section.align, 4);
    ck_assert_int_eq(uspi_elf_find_section(&elf, ".bs", &section, &error), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(uspi_elf_section(&elf, 4, &section, &error), USP_ERROR_NOT_FOUND);
    /* Without program headers, which a separate debug file may lack, the note must be found by its section. */
    patch(&file, arch_is_64(archs[_i]) ? 56 : 44, 2, 0);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_elf_build_id(&elf, &id, &error), USP_OK);
    ck_assert_mem_eq(id.bytes, BUILD_ID, 20);
}
END_TEST

/* Counts that do not fit into the header are in section header 0 (gABI). */
START_TEST(extended_counts) {
    struct uspi_elf_section section;
    struct uspi_elf_segment segment;
    build_with_sections(USP_ARCH_X86_64);
    size_t at = (size_t)uspi_le64(file.bytes + 40);
    patch(&file, 56, 2, 0xffff); /* PN_XNUM */
    patch(&file, at + 44, 4, 3);
    patch(&file, 60, 2, 0);
    patch(&file, at + 32, 8, 4);
    patch(&file, 62, 2, 0xffff); /* SHN_XINDEX */
    patch(&file, at + 40, 4, 1);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_uint_eq(elf.segment_count, 3);
    ck_assert_uint_eq(elf.section_count, 4);
    ck_assert_uint_eq(elf.name_section, 1);
    ck_assert_int_eq(uspi_elf_segment(&elf, 2, &segment, &error), USP_OK);
    ck_assert_int_eq(uspi_elf_find_section(&elf, ".note.gnu.build-id", &section, &error), USP_OK);
    /* More program headers than the file has. */
    patch(&file, at + 44, 4, UINT32_MAX);
    ck_assert_int_eq(open_file(), USP_ERROR_TRUNCATED);
    patch(&file, at + 44, 4, 3);
    patch(&file, at + 32, 8, UINT64_MAX);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_elf_section(&elf, UINT64_MAX - 1, &section, &error), USP_ERROR_TRUNCATED);
    ck_assert_int_eq(uspi_elf_section(&elf, UINT64_MAX / 64 + 1, &section, &error), USP_ERROR_TRUNCATED);
    ck_assert_int_eq(uspi_elf_find_section(&elf, ".none", &section, &error), USP_ERROR_TRUNCATED);
}
END_TEST

/* A truncated file must still give what precedes the cut; a read after the cut must be refused. */
START_TEST(section_headers_cut_off) {
    struct uspi_elf_section section;
    struct uspi_build_id id;
    build_with_sections(USP_ARCH_X86_64);
    file.size -= 4 * 64;
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_elf_build_id(&elf, &id, &error), USP_OK);
    ck_assert_int_eq(uspi_elf_find_section(&elf, ".bss", &section, &error), USP_ERROR_TRUNCATED);
    ck_assert_ptr_nonnull(strstr(error.text, "section header"));
}
END_TEST

START_TEST(every_truncation) {
    struct uspi_elf_extent extent;
    struct uspi_elf_section section;
    struct uspi_build_id id;
    build_with_sections(archs[_i]);
    size_t whole = file.size, headers = arch_is_64(archs[_i]) ? 64 + 3 * 56 : 52 + 3 * 32, note = headers + 36;
    for (size_t n = 0; n <= whole; n++) {
        uint8_t *copy;
        int status = uspi_elf_open(&elf, first(n, &copy), &error);
        ck_assert_int_eq(status, n < headers ? USP_ERROR_TRUNCATED : USP_OK);
        if (status == USP_OK) {
            ck_assert_int_eq(uspi_elf_extent(&elf, &extent, &error), USP_OK);
            status = uspi_elf_build_id(&elf, &id, &error);
            ck_assert_int_eq(status, n < note ? USP_ERROR_TRUNCATED : USP_OK);
            status = uspi_elf_find_section(&elf, ".bss", &section, &error);
            ck_assert_int_eq(status, n < whole ? USP_ERROR_TRUNCATED : USP_OK);
        }
        free(copy);
    }
}
END_TEST

/* ---- in memory ---- */

START_TEST(image_in_memory) {
    struct uspi_build_id id;
    struct uspi_elf_section section;
    struct uspi_elf_segment segment;
    struct uspi_bytes bytes;
    build_with_sections(archs[_i]);
    ck_assert_int_eq(uspi_elf_open_image(&elf, in_memory(IMAGE), &error), USP_OK);
    ck_assert_uint_eq(elf.arch, archs[_i]);
    ck_assert_int_eq(uspi_elf_build_id(&elf, &id, &error), USP_OK);
    ck_assert_mem_eq(id.bytes, BUILD_ID, 20);
    ck_assert_int_eq(uspi_elf_segment(&elf, 1, &segment, &error), USP_OK);
    ck_assert_int_eq(uspi_elf_segment_bytes(&elf, &segment, &bytes, &error), USP_OK);
    ck_assert_uint_eq(bytes.from, CODE);
    /* Section headers are not loaded. */
    ck_assert_int_eq(uspi_elf_find_section(&elf, ".bss", &section, &error), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(uspi_elf_open_image(&elf, in_memory(IMAGE - 1), &error), USP_ERROR_UNREADABLE);
    ck_assert_ptr_nonnull(strstr(error.text, "process: address 0xfffff: "));
}
END_TEST

/* An image linked for 0x4000 and loaded at IMAGE: its contents must be found by their addresses. */
START_TEST(image_that_slid) {
    struct uspi_build_id id;
    build_elf_program(&file, USP_ARCH_X86_64, BUILD_ID);
    for (size_t i = 0; i < 3; i++) {
        size_t address = 64 + i * 56 + 16;
        patch(&file, address, 8, uspi_le64(file.bytes + address) + 0x4000);
    }
    ck_assert_int_eq(uspi_elf_open_image(&elf, in_memory(IMAGE), &error), USP_OK);
    ck_assert_uint_eq(elf.header_address, 0x4000);
    ck_assert_int_eq(uspi_elf_build_id(&elf, &id, &error), USP_OK);
    ck_assert_mem_eq(id.bytes, BUILD_ID, 20);
}
END_TEST

/* Firmware: the headers are in no segment, and would lie before address 0. */
START_TEST(code_at_address_0) {
    build_elf_program(&file, USP_ARCH_X86_64, BUILD_ID);
    for (size_t i = 0; i < 3; i++) {
        const size_t offset = 64 + i * 56 + 8;
        patch(&file, offset, 8, uspi_le64(file.bytes + offset) + 0x40);
    }
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_uint_eq(elf.header_address, 0);
}
END_TEST

START_TEST(image_with_too_many_headers) {
    build_elf_program(&file, USP_ARCH_X86_64, BUILD_ID);
    patch(&file, 56, 2, 2000);
    ck_assert_int_eq(uspi_elf_open_image(&elf, in_memory(IMAGE), &error), USP_ERROR_FORMAT);
}
END_TEST

/* ---- notes ---- */

/* Names and descriptors of odd sizes, with both alignments. */
START_TEST(notes) {
    unsigned align = _i == 0 ? 4 : 8;
    for (unsigned i = 0; i < 3; i++) {
        static const char *const owners[] = {"A", "GNU", "A long owner's name"};
        put(&file, 4, strlen(owners[i]) + 1);
        put(&file, 4, i + 1);
        put(&file, 4, 100 + i);
        put_bytes(&file, owners[i], strlen(owners[i]) + 1);
        align_to(&file, align);
        for (unsigned k = 0; k <= i; k++) put(&file, 1, 7);
        align_to(&file, align);
    }
    struct uspi_elf_note note;
    for (size_t cut = 0; cut < 12; cut++) {
        struct uspi_elf_notes iteration = uspi_elf_notes(all(), align);
        unsigned count = 0;
        int got;
        iteration.bytes.size -= cut;
        while ((got = uspi_elf_next_note(&iteration, &note, &error)) > 0) {
            ck_assert_uint_eq(note.type, 100 + count);
            ck_assert_uint_eq(note.desc.size, count + 1);
            count++;
        }
        /* The last descriptor has three bytes; its padding may be missing. */
        ck_assert_int_eq(got, count < 3 ? USP_ERROR_TRUNCATED : 0);
        ck_assert_uint_eq(count, cut <= align - 3 ? 3 : 2);
    }
    struct uspi_elf_notes iteration = uspi_elf_notes(all(), align);
    for (unsigned i = 0; i < 3; i++) ck_assert_int_eq(uspi_elf_next_note(&iteration, &note, &error), 1);
    ck_assert_str_eq(note.owner, "A long owner's ");
}
END_TEST

START_TEST(notes_with_lying_sizes) {
    struct uspi_elf_note note;
    put_note(&file, "GNU", 3, 4);
    put(&file, 4, 0x11111111);
    static const uint64_t lies[] = {UINT32_MAX, 0xfffffff4, 0x80000000, 17};
    for (unsigned field = 0; field < 2; field++) {
        for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
            patch(&file, 0, 4, field == 0 ? lies[i] : 4);
            patch(&file, 4, 4, field == 1 ? lies[i] : 4);
            struct uspi_elf_notes iteration = uspi_elf_notes(all(), 4);
            ck_assert_int_eq(uspi_elf_next_note(&iteration, &note, &error), USP_ERROR_TRUNCATED);
        }
    }
}
END_TEST

/* ---- the dynamic section, and hostile headers ---- */

START_TEST(dynamic_entries) {
    uint64_t value = 0;
    unsigned word = _i == 0 ? 4 : 8;
    put(&file, word, 5);
    put(&file, word, 0x1234);
    put(&file, word, USPI_DT_DEBUG);
    put(&file, word, 0x5678);
    put(&file, word, USPI_DT_NULL);
    put(&file, word, 0);
    put(&file, word, 6);
    put(&file, word, 0x9abc);
    ck_assert_int_eq(uspi_elf_dynamic(all(), word == 8, USPI_DT_DEBUG, &value, &error), USP_OK);
    ck_assert_uint_eq(value, 0x5678);
    ck_assert_int_eq(uspi_elf_dynamic(all(), word == 8, 6, &value, &error), USP_ERROR_NOT_FOUND);
    file.size = 3 * word;
    ck_assert_int_eq(uspi_elf_dynamic(all(), word == 8, USPI_DT_DEBUG, &value, &error), USP_ERROR_NOT_FOUND);
}
END_TEST

/* Segments linked for pages of 64 KB: once the kernel has loaded them, other memory lies between them. It must not
 * count as the image's. */
START_TEST(a_hole_between_segments) {
    struct uspi_elf_extent extent;
    build_elf_program(&file, USP_ARCH_ARM64, BUILD_ID);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_elf_extent(&elf, &extent, &error), USP_OK);
    ck_assert_uint_eq(extent.hole_size, 0);
    patch(&file, 64 + 56 + 16, 8, 0x15678);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_elf_extent(&elf, &extent, &error), USP_OK);
    ck_assert_uint_eq(extent.hole_offset, PAGE);
    ck_assert_uint_eq(extent.hole_size, 0x15000 - PAGE);
    /* A hole of 4 GB or more is not reported. */
    patch(&file, 64 + 56 + 16, 8, UINT64_C(0x200000000));
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_elf_extent(&elf, &extent, &error), USP_OK);
    ck_assert_uint_eq(extent.hole_size, 0);
}
END_TEST

START_TEST(segments_that_wrap) {
    struct uspi_elf_extent extent;
    struct uspi_elf_segment segment;
    struct uspi_bytes bytes;
    build_elf_program(&file, USP_ARCH_X86_64, BUILD_ID);
    patch(&file, 64 + 56 + 40, 8, UINT64_MAX);
    patch(&file, 64 + 56 + 32, 8, UINT64_MAX);
    ck_assert_int_eq(open_file(), USP_OK);
    ck_assert_int_eq(uspi_elf_extent(&elf, &extent, &error), USP_ERROR_FORMAT);
    ck_assert_int_eq(uspi_elf_segment(&elf, 1, &segment, &error), USP_OK);
    ck_assert_int_eq(uspi_elf_segment_bytes(&elf, &segment, &bytes, &error), USP_ERROR_TRUNCATED);
}
END_TEST

/* x32 and AArch64's ILP32 have the machine numbers of supported processors, but are not supported. */
START_TEST(processors) {
    static const struct {
        unsigned machine;
        bool wide;
        uint32_t arch;
    } cases[] = {{62, true, USP_ARCH_X86_64}, {62, false, USP_ARCH_NONE},  {3, false, USP_ARCH_I386},
                 {3, true, USP_ARCH_NONE},    {183, true, USP_ARCH_ARM64}, {183, false, USP_ARCH_NONE},
                 {40, false, USP_ARCH_ARMV7}, {40, true, USP_ARCH_NONE},   {243, true, USP_ARCH_NONE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        builder_free(&file);
        put_elf_header(&file, cases[i].wide, 2, cases[i].machine, 0);
        ck_assert_int_eq(open_file(), USP_OK);
        ck_assert_uint_eq(elf.arch, cases[i].arch);
    }
}
END_TEST

int main(void) {
    TCase *reader = tcase_create("reader");
    tcase_add_checked_fixture(reader, NULL, free_file);
    add_loop_tests(reader, 0, ARCHS, program, sections);
    add_tests(reader, extended_counts, section_headers_cut_off);
    add_loop_tests(reader, 0, ARCHS, every_truncation, image_in_memory);
    add_tests(reader, image_that_slid, code_at_address_0, image_with_too_many_headers);
    tcase_add_loop_test(reader, notes, 0, 2);
    tcase_add_test(reader, notes_with_lying_sizes);
    tcase_add_loop_test(reader, dynamic_entries, 0, 2);
    add_tests(reader, a_hole_between_segments, segments_that_wrap, processors);
    return run_suite("ELF", reader);
}
