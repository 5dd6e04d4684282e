/* SPDX-License-Identifier: MIT */
/* Tests ELF cores built byte by byte, of all four processors, on any host: complete ones, incomplete ones and hostile
 * ones. test_core_real.c tests real kernels' cores. */
#include "tests/support/core_walk.h"
#include "tests/support/suite.h"

static const uint32_t archs[] = {USP_ARCH_X86_64, USP_ARCH_I386, USP_ARCH_ARM64, USP_ARCH_ARMV7};
#define ARCHS ELEMENTS(archs)

/* Returns a core of x86_64 with two threads whose program is PROGRAM in the folder, as the kernel's default filter
 * writes it: without text. */
static struct elf_core plain(void) {
    return (struct elf_core){.arch = USP_ARCH_X86_64, .threads = 2, .path = in_folder("program"), .build_id = BUILD_ID};
}

static void save_program(const char *path, uint32_t arch, const char *build_id) {
    struct builder program = {0};
    build_elf_program(&program, arch, build_id);
    save(&program, path);
    builder_free(&program);
}

/* ---- correct cores ---- */

START_TEST(text_in_the_core) {
    struct builder b = {0};
    struct elf_core core = {
        .arch = archs[_i], .threads = 3, .path = "/nowhere/program", .build_id = BUILD_ID, .with_text = true};
    build_elf_core(&b, &core);
    /* The segment is a page, of which the core has only the code's bytes; the other bytes must not be looked for. */
    patch(&b, elf_field(&core, ELF_TEXT, 40, 20), arch_is_64(core.arch) ? 8 : 4, 0x60);
    patch(&b, elf_field(&core, ELF_IMAGE, 40, 20), arch_is_64(core.arch) ? 8 : 4, 0x200);
    struct uspi_core *opened = open_bytes(&b, NULL);
    expect_fixture_stacks(opened, archs[_i], 3);
    ck_assert_uint_eq(opened->os, USP_OS_LINUX);
    ck_assert_int_eq(opened->pid, 1000);
    ck_assert_uint_eq(opened->signal, 11);
    ck_assert_uint_eq(opened->threads[2].id, 1002);
    ck_assert_str_eq(opened->program, "/nowhere/program");
    ck_assert_uint_eq(usp_images_count(opened->images), 1);
    const struct usp_image *image = usp_images_find(opened->images, CODE + 3);
    ck_assert_ptr_nonnull(image);
    ck_assert_uint_eq(image->load_address, IMAGE);
    ck_assert_uint_eq(image->slide, IMAGE);
    ck_assert_uint_eq(image->text_low, CODE);
    ck_assert_uint_eq(image->text_high, CODE + 0x60);
    ck_assert_uint_eq(image->flags, USP_IMAGE_MAIN);
    ck_assert_uint_eq(image->arch, archs[_i]);
    ck_assert_uint_eq(image->build_id_size, 20);
    ck_assert_mem_eq(image->build_id, BUILD_ID, 20);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

START_TEST(text_from_the_file) {
    struct builder b = {0};
    struct elf_core core = {.arch = archs[_i], .threads = 2, .path = in_folder("program"), .build_id = BUILD_ID};
    struct walked w;
    save_program(in_folder("program"), archs[_i], BUILD_ID);
    build_elf_core(&b, &core);
    struct uspi_core *opened = open_bytes(&b, NULL);
    expect_fixture_stacks(opened, archs[_i], 2);
    ck_assert_uint_eq(opened->flags, 0);
    ck_assert_uint_eq(opened->message_count, 0);
    walk_thread(opened, &opened->threads[0], &w);
    ck_assert_uint_eq(w.stack.flags & USP_STACK_NO_INSTRUCTIONS, 0);
    ck_assert_uint_eq(w.frames[1].flags & USP_FRAME_UNVERIFIED, 0);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

START_TEST(signed_return_addresses) {
    struct builder b = {0};
    struct walked w;
    struct elf_core core = {.arch = USP_ARCH_ARM64,
                            .threads = 2,
                            .path = "/x",
                            .build_id = BUILD_ID,
                            .with_text = true,
                            .pac_mask = UINT64_C(0x007f000000000000)};
    build_elf_core(&b, &core);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->pac_mask, core.pac_mask);
    expect_fixture_stacks(opened, USP_ARCH_ARM64, 2);
    walk_thread(opened, &opened->threads[1], &w);
    ck_assert_uint_eq(w.frames[1].flags & USP_FRAME_SIGNED, USP_FRAME_SIGNED);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* ---- absent bytes are neither zero nor unmapped ---- */

START_TEST(absent_bytes) {
    struct builder b = {0};
    struct elf_core core = plain();
    uint8_t raw[64];
    build_elf_core(&b, &core);
    struct uspi_core *opened = open_bytes(&b, NULL);
    usp_addr stored = STACK + core.stack_size;
    ck_assert_int_eq(read_at(opened, stored - 8, raw, 8), USP_OK);
    ck_assert_int_eq(read_at(opened, stored, raw, 1), USP_ERROR_ABSENT);
    ck_assert_int_eq(read_at(opened, stored - 8, raw, 9), USP_ERROR_ABSENT);
    ck_assert_int_eq(read_at(opened, CODE, raw, 4), USP_ERROR_ABSENT);
    ck_assert_int_eq(read_at(opened, STACK + STACK_SIZE, raw, 1), USP_ERROR_UNREADABLE);
    ck_assert_int_eq(read_at(opened, STACK - 1, raw, 1), USP_ERROR_UNREADABLE);
    ck_assert_int_eq(read_at(opened, UINT64_MAX - 3, raw, 8), USP_ERROR_UNREADABLE);
    ck_assert_int_eq(read_at(opened, UINT64_MAX, raw, 0), USP_OK);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* A writable segment's missing bytes must never be taken from the file, even if the file has some. */
START_TEST(writable_is_not_the_file) {
    struct builder b = {0};
    struct elf_core core = plain();
    uint8_t raw[4];
    save_program(in_folder("program"), core.arch, BUILD_ID);
    build_elf_core(&b, &core);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_int_eq(read_at(opened, CODE, raw, 4), USP_OK);
    uspi_core_close(opened);
    patch(&b, elf_field(&core, ELF_TEXT, 4, 24), 4, 6);
    opened = open_bytes(&b, NULL);
    ck_assert_int_eq(read_at(opened, CODE, raw, 4), USP_ERROR_ABSENT);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* Bytes that a truncated core has lost must not be taken from the file: the memory may have differed from it. */
START_TEST(cut_off_is_not_the_file) {
    struct builder b = {0};
    struct elf_core core = plain();
    uint8_t raw[4];
    core.with_text = true;
    save_program(in_folder("program"), core.arch, BUILD_ID);
    build_elf_core(&b, &core);
    patch(&b, elf_field(&core, ELF_TEXT, 8, 4), 8, b.size - 0x20);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_int_eq(read_at(opened, CODE + 0x1c, raw, 4), USP_OK);
    ck_assert_int_eq(read_at(opened, CODE + 0x20, raw, 4), USP_ERROR_ABSENT);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* One read may begin in the core and continue in the file. */
START_TEST(read_across) {
    struct builder b = {0};
    struct elf_core core = plain();
    uint8_t raw[0x220], expected[0x220];
    save_program(in_folder("program"), core.arch, BUILD_ID);
    build_elf_core(&b, &core);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_int_eq(read_at(opened, CODE - 0x10, raw, 0x20), USP_OK);
    FILE *f = fopen(in_folder("program"), "rb");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fseek(f, PAGE - 0x10, SEEK_SET), 0);
    ck_assert_uint_eq(fread(expected, 1, 0x20, f), 0x20);
    ck_assert_mem_eq(raw, expected, 0x20);
    rewind(f);
    ck_assert_uint_eq(fread(expected, 1, sizeof expected, f), sizeof expected);
    fclose(f);
    ck_assert_int_eq(read_at(opened, IMAGE, raw, sizeof raw), USP_OK);
    ck_assert_mem_eq(raw, expected, sizeof raw);
    ck_assert_int_eq(read_at(opened, CODE + 0x60, raw, 1), USP_ERROR_ABSENT);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* The core lists where the process can execute code: an address that is not listed must count as unmapped. */
START_TEST(known_to_be_no_code) {
    struct builder b = {0};
    struct elf_core core = plain();
    struct usp_target target;
    struct usp_region region;
    build_elf_core(&b, &core);
    struct uspi_core *opened = open_bytes(&b, NULL);
    uspi_core_target(opened, &target);
    ck_assert_int_eq(target.image_at(target.context, CODE + 5, &region), USP_OK);
    ck_assert_uint_eq(region.text_low, CODE);
    ck_assert_uint_eq(region.text_high, CODE + PAGE);
    ck_assert_int_eq(target.image_at(target.context, STACK, &region), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(target.image_at(target.context, IMAGE, &region), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(target.image_at(target.context, 0x999999, &region), USP_ERROR_NOT_FOUND);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* ---- files: found, refused, missing ---- */

/* Expects the stack without the program's file: it comes from the frame records, and says that nothing confirms
 * them. */
static void expect_without_text(const struct uspi_core *opened, uint32_t arch) {
    struct walked w;
    expect_fixture_stacks(opened, arch, 2);
    walk_thread(opened, &opened->threads[0], &w);
    ck_assert_uint_ne(w.stack.flags & USP_STACK_NO_INSTRUCTIONS, 0);
    ck_assert_uint_ne(w.frames[1].flags & USP_FRAME_UNVERIFIED, 0);
}

START_TEST(file_missing) {
    struct builder b = {0};
    struct elf_core core = plain();
    build_elf_core(&b, &core);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->flags, USP_SNAPSHOT_FILES_MISSING);
    EXPECT_SAYS(opened, in_folder("program"));
    EXPECT_SAYS(opened, "no such file");
    expect_without_text(opened, core.arch);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

START_TEST(file_of_another_build) {
    struct builder b = {0};
    struct elf_core core = plain();
    save_program(in_folder("program"), core.arch, "another build entirely");
    build_elf_core(&b, &core);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->flags, USP_SNAPSHOT_FILES_REFUSED);
    EXPECT_SAYS(opened, in_folder("program"));
    EXPECT_SAYS(opened, "30313233343536373839");
    EXPECT_SAYS(opened, "616e6f74686572206275696c6420656e74697265");
    expect_without_text(opened, core.arch);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

static void check_refused_file(const char *text) {
    struct builder b = {0};
    struct elf_core core = plain();
    build_elf_core(&b, &core);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->flags, USP_SNAPSHOT_FILES_REFUSED);
    EXPECT_SAYS(opened, text);
    expect_without_text(opened, core.arch);
    uspi_core_close(opened);
    builder_free(&b);
}

START_TEST(file_without_build_id) {
    save_program(in_folder("program"), USP_ARCH_X86_64, NULL);
    check_refused_file("no build-id");
}
END_TEST

START_TEST(file_of_another_processor) {
    save_program(in_folder("program"), USP_ARCH_ARM64, BUILD_ID);
    check_refused_file("not a program or library of x86_64");
}
END_TEST

START_TEST(file_of_another_kind) {
    struct builder text = {0};
    put_name(&text, "#!/bin/sh", 64);
    save(&text, in_folder("program"));
    builder_free(&text);
    check_refused_file("not an ELF file");
}
END_TEST

START_TEST(file_is_a_folder) {
    ck_assert_int_eq(mkdir(in_folder("program"), 0700), 0);
    check_refused_file("not a regular file");
}
END_TEST

/* The program's path is a pipe: opening it would block until a writer comes. */
START_TEST(file_is_a_pipe) {
    ck_assert_int_eq(mkfifo(in_folder("program"), 0600), 0);
    check_refused_file("not a regular file");
}
END_TEST

START_TEST(file_is_empty) {
    struct builder empty = {0};
    save(&empty, in_folder("program"));
    check_refused_file("ELF header");
}
END_TEST

/* An image without a build-id must be compared by its first page: a file with another one must not be used. */
START_TEST(first_page_decides) {
    struct builder b = {0}, program = {0};
    struct elf_core core = plain();
    core.build_id = NULL;
    build_elf_core(&b, &core);
    /* The kernel dumps the whole page, but the fixture's page ends at 0x200. The file may be used only if the whole
     * page agrees. */
    save_program(in_folder("program"), core.arch, NULL);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->flags, USP_SNAPSHOT_FILES_REFUSED);
    EXPECT_SAYS(opened, "neither a build-id nor a first page");
    uspi_core_close(opened);

    build_elf_program(&program, core.arch, NULL);
    size_t page_at = b.size;
    put_bytes(&b, program.bytes, PAGE);
    patch(&b, elf_field(&core, ELF_IMAGE, 8, 4), 8, page_at);
    patch(&b, elf_field(&core, ELF_IMAGE, 32, 16), 8, PAGE);
    opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->flags, 0);
    EXPECT_SAYS(opened, "used without a build-id");
    expect_fixture_stacks(opened, core.arch, 2);
    uspi_core_close(opened);

    patch(&b, page_at + 0xfff, 1, 1);
    opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->flags, USP_SNAPSHOT_FILES_REFUSED);
    EXPECT_SAYS(opened, "first page differs");
    uspi_core_close(opened);
    builder_free(&program);
    builder_free(&b);
}
END_TEST

static void expect_complete(const struct builder *b, const struct uspi_core_options *options) {
    struct uspi_core *opened = open_bytes(b, options);
    ck_assert_msg(opened->flags == 0, "%s", opened->message_count > 0 ? opened->messages[0] : "");
    expect_fixture_stacks(opened, USP_ARCH_X86_64, 2);
    uspi_core_close(opened);
}

START_TEST(file_below_the_sysroot) {
    struct builder b = {0};
    struct elf_core core = plain();
    char path[1024];
    core.path = "/bin/unspool-test-program";
    build_elf_core(&b, &core);
    ck_assert_int_eq(mkdir(in_folder("root"), 0700), 0);
    ck_assert_int_eq(mkdir(in_folder("root/bin"), 0700), 0);
    save_program(in_folder("root/bin/unspool-test-program"), core.arch, BUILD_ID);
    snprintf(path, sizeof path, "%s", in_folder("root"));
    expect_complete(&b, &(struct uspi_core_options){.sysroot = path});
    builder_free(&b);
}
END_TEST

/* The sysroot comes first, but a file of another build there must not hide the right file elsewhere. */
START_TEST(wrong_file_below_the_sysroot) {
    struct builder b = {0};
    struct elf_core core = plain();
    char inner[1024];
    build_elf_core(&b, &core);
    save_program(in_folder("program"), core.arch, BUILD_ID);
    snprintf(inner, sizeof inner, "mkdir -p '%s/root%s' && rmdir '%s/root%s'", folder, core.path, folder, core.path);
    ck_assert_int_eq(system(inner), 0);
    snprintf(inner, sizeof inner, "%s/root%s", folder, core.path);
    save_program(inner, core.arch, "another build entirely");
    expect_complete(&b, &(struct uspi_core_options){.sysroot = in_folder("root")});
    builder_free(&b);
}
END_TEST

START_TEST(file_beside_the_core) {
    struct builder b = {0};
    struct elf_core core = plain();
    core.path = "/nowhere/beside";
    build_elf_core(&b, &core);
    save_program(in_folder("beside"), core.arch, BUILD_ID);
    expect_complete(&b, NULL);
    builder_free(&b);
}
END_TEST

START_TEST(file_by_option) {
    struct builder b = {0};
    struct elf_core core = plain();
    build_elf_core(&b, &core);
    save_program(in_folder("elsewhere"), core.arch, BUILD_ID);
    expect_complete(&b, &(struct uspi_core_options){.program = in_folder("elsewhere")});
    save_program(in_folder("elsewhere"), core.arch, "another build entirely");
    struct uspi_core *opened = open_bytes(&b, &(struct uspi_core_options){.program = in_folder("elsewhere")});
    ck_assert_uint_ne(opened->flags & USP_SNAPSHOT_FILES_REFUSED, 0);
    EXPECT_SAYS(opened, in_folder("elsewhere"));
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

START_TEST(deleted_file) {
    struct builder b = {0};
    struct elf_core core = plain();
    char path[600];
    snprintf(path, sizeof path, "%s (deleted)", in_folder("program"));
    core.path = path;
    build_elf_core(&b, &core);
    struct uspi_core *opened = open_bytes(&b, NULL);
    const struct usp_image *image = usp_images_get(opened->images, 0);
    ck_assert_uint_eq(image->flags, USP_IMAGE_MAIN | USP_IMAGE_DELETED);
    ck_assert_str_eq(image->path, in_folder("program"));
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* A file mapped a second time must give a second image with its own address. */
START_TEST(file_mapped_twice) {
    struct builder b = {0};
    struct elf_core core = plain();
    const usp_addr second = IMAGE + 0x10000;
    build_elf_core(&b, &core);
    patch(&b, elf_field(&core, ELF_TEXT, 8, 4), 8, core.image_at);
    patch(&b, elf_field(&core, ELF_TEXT, 16, 8), 8, second);
    patch(&b, elf_field(&core, ELF_TEXT, 32, 16), 8, 0x200);
    size_t line = core.file_at + 20 + 16 + 24;
    patch(&b, line, 8, second);
    patch(&b, line + 8, 8, second + PAGE);
    patch(&b, line + 16, 8, 0);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(usp_images_count(opened->images), 2);
    ck_assert_uint_eq(usp_images_get(opened->images, 0)->load_address, IMAGE);
    ck_assert_uint_eq(usp_images_get(opened->images, 0)->flags, USP_IMAGE_MAIN);
    ck_assert_uint_eq(usp_images_get(opened->images, 1)->load_address, second);
    ck_assert_uint_eq(usp_images_get(opened->images, 1)->flags, 0);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* ---- cores without NT_FILE ---- */

START_TEST(program_in_the_core) {
    struct builder b = {0};
    struct elf_core core = {.arch = archs[_i], .threads = 1, .build_id = BUILD_ID, .with_text = true};
    build_elf_core(&b, &core);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->flags, 0);
    expect_fixture_stacks(opened, archs[_i], 1);
    ck_assert_uint_eq(usp_images_count(opened->images), 1);
    ck_assert_uint_eq(usp_images_get(opened->images, 0)->flags, USP_IMAGE_MAIN);
    ck_assert_str_eq(opened->program, "victim");
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

START_TEST(program_by_option) {
    struct builder b = {0};
    struct elf_core core = {.arch = archs[_i], .threads = 2, .without_image = true};
    struct walked w;
    build_elf_core(&b, &core);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->flags, USP_SNAPSHOT_PROGRAM_MISSING);
    expect_without_text(opened, archs[_i]);
    ck_assert_uint_eq(usp_images_count(opened->images), 0);
    uspi_core_close(opened);

    save_program(in_folder("program"), archs[_i], BUILD_ID);
    opened = open_bytes(&b, &(struct uspi_core_options){.program = in_folder("program")});
    ck_assert_uint_eq(opened->flags, 0);
    EXPECT_SAYS(opened, "used without a build-id");
    expect_fixture_stacks(opened, archs[_i], 2);
    walk_thread(opened, &opened->threads[0], &w);
    ck_assert_uint_eq(w.stack.flags & USP_STACK_NO_INSTRUCTIONS, 0);
    ck_assert_uint_eq(usp_images_get(opened->images, 0)->load_address, IMAGE);
    uspi_core_close(opened);

    /* A program that was loaded at another address is another program. */
    patch(&b, core.auxv_at + 20 + 5u * (arch_is_64(archs[_i]) ? 8 : 4), 4, CODE + 0x10);
    opened = open_bytes(&b, &(struct uspi_core_options){.program = in_folder("program")});
    ck_assert_uint_ne(opened->flags & USP_SNAPSHOT_FILES_REFUSED, 0);
    EXPECT_SAYS(opened, "another program");
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* Builds a core without NT_FILE whose libraries are in the loader's own list, to which the program's dynamic section
 * leads. */
static void build_with_loader(struct builder *b, uint32_t arch, usp_addr last_next) {
    struct elf_core core = {.arch = arch, .threads = 1, .build_id = BUILD_ID, .with_text = true};
    unsigned word = arch_is_64(arch) ? 8 : 4;
    build_elf_core(b, &core);
    size_t note_header = core.image_at + (arch_is_64(arch) ? 64 + 2 * 56 : 52 + 2 * 32);
    patch(b, note_header, 4, 2); /* PT_DYNAMIC */
    patch(b, note_header + (arch_is_64(arch) ? 16 : 8), word, STACK + 0x800 - IMAGE);
    patch(b, note_header + (arch_is_64(arch) ? 40 : 20), word, 0x40);
    pad_to(b, core.stack_at + 0x800);
    put(b, word, 21); /* DT_DEBUG */
    put(b, word, STACK + 0x840);
    pad_to(b, core.stack_at + 0x840);
    put(b, word, 1); /* r_version */
    put(b, word, STACK + 0x880);
    pad_to(b, core.stack_at + 0x880);
    for (unsigned i = 0; i < 2; i++) {
        put(b, word, i == 0 ? IMAGE : STACK + 0xa00); /* l_addr, l_name, l_ld, l_next, l_prev */
        put(b, word, i == 0 ? STACK + 0x9ff : STACK + 0x900);
        put(b, word, STACK + 0x800);
        put(b, word, i == 0 ? STACK + 0x8c0 : last_next);
        pad_to(b, core.stack_at + 0x8c0 + i * 0x40);
    }
    put_name(b, "/lib/libtwo.so", 0x100);
    put_elf_image(b, arch, "another build entirely");
    patch(b, elf_field(&core, ELF_STACK, 32, 16), word, b->size - core.stack_at);
}

START_TEST(libraries_from_the_loader) {
    struct builder b = {0};
    build_with_loader(&b, archs[_i], 0);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(usp_images_count(opened->images), 2);
    const struct usp_image *library = usp_images_get(opened->images, 1);
    ck_assert_str_eq(library->path, "/lib/libtwo.so");
    ck_assert_uint_eq(library->load_address, STACK + 0xa00);
    ck_assert_mem_eq(library->build_id, "another build entire", 20);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

START_TEST(list_of_libraries_in_a_circle) {
    struct builder b = {0};
    build_with_loader(&b, archs[_i], STACK + 0x880);
    struct uspi_core *opened = open_bytes(&b, NULL);
    EXPECT_SAYS(opened, "list of libraries has no end");
    ck_assert_uint_le(usp_images_count(opened->images), 5);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

START_TEST(list_of_libraries_leads_away) {
    struct builder b = {0};
    build_with_loader(&b, archs[_i], 0x10);
    struct uspi_core *opened = open_bytes(&b, NULL);
    EXPECT_SAYS(opened, "libraries after it are not known");
    ck_assert_uint_eq(usp_images_count(opened->images), 2);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* ---- refused ---- */

START_TEST(refused) {
    struct builder b = {0};
    struct elf_core core = plain();
    build_elf_core(&b, &core);
    patch(&b, 5, 1, 2);
    expect_refused(&b, USP_ERROR_UNSUPPORTED, "big-endian");
    patch(&b, 5, 1, 7);
    expect_refused(&b, USP_ERROR_FORMAT, "byte order");
    patch(&b, 5, 1, 1);
    patch(&b, 4, 1, 3);
    expect_refused(&b, USP_ERROR_FORMAT, "class");
    patch(&b, 4, 1, 2);
    patch(&b, 16, 2, 3);
    expect_refused(&b, USP_ERROR_FORMAT, "not a core");
    patch(&b, 16, 2, 4);
    patch(&b, 18, 2, 243);
    expect_refused(&b, USP_ERROR_UNSUPPORTED, "machine 243");
    patch(&b, 18, 2, 62);
    patch(&b, 54, 2, 8);
    expect_refused(&b, USP_ERROR_FORMAT, "program headers of 8 bytes");
    patch(&b, 54, 2, 56);
    patch(&b, 32, 8, UINT64_MAX - 10);
    expect_refused(&b, USP_ERROR_TRUNCATED, "program headers");
    patch(&b, 32, 8, 64);
    patch(&b, 56, 2, 0xffff); /* PN_XNUM without a section header 0 */
    expect_refused(&b, USP_ERROR_FORMAT, "number of program headers");
    patch(&b, 40, 8, 1u << 30);
    expect_refused(&b, USP_ERROR_TRUNCATED, "section header");
    patch(&b, 0, 1, 0);
    expect_refused(&b, USP_ERROR_FORMAT, "neither an ELF nor a Mach-O");
    b.size = 0;
    expect_refused(&b, USP_ERROR_FORMAT, "neither an ELF nor a Mach-O");
    builder_free(&b);
}
END_TEST

START_TEST(not_there) {
    struct uspi_core *core;
    struct uspi_error error;
    ck_assert_int_eq(uspi_core_open(in_folder("none"), NULL, &core, &error), USP_ERROR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error.text, in_folder("none")));
    ck_assert_int_eq(uspi_core_open(folder, NULL, &core, &error), USP_ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "not a regular file"));
}
END_TEST

/* ---- damaged cores: a correct part, and a message about the rest ---- */

/* Checks that the remaining threads are the first ones and complete. The last word of the stack must be right or
 * absent, never zero. */
static void check_cut(const struct uspi_core *opened, bool cut) {
    struct elf_core core = {.arch = opened->arch, .threads = 2};
    struct builder stack = {0};
    uint8_t raw[4];
    put_stack(&stack, core.arch, core.threads, 0);
    ck_assert_uint_le(opened->thread_count, 2);
    if (!cut) ck_assert_uint_eq(opened->thread_count, 2);
    for (size_t t = 0; t < opened->thread_count; t++) {
        ck_assert_uint_eq(opened->threads[t].id, 1000 + t);
        ck_assert_uint_eq(usp_registers_pc(&opened->threads[t].registers), after_call(core.arch, INNER));
    }
    ck_assert_int_eq(read_at(opened, STACK + stack.size - 4, raw, 4), cut ? USP_ERROR_ABSENT : USP_OK);
    builder_free(&stack);
}

START_TEST(every_truncation) {
    struct builder b = {0};
    struct elf_core core = {
        .arch = archs[_i], .threads = 2, .path = "/nowhere/program", .build_id = BUILD_ID, .with_text = true};
    build_elf_core(&b, &core);
    check_every_truncation(&b, core.notes_at, check_cut);
    builder_free(&b);
}
END_TEST

START_TEST(every_bit) {
    struct builder b = {0};
    struct elf_core core = {
        .arch = archs[_i], .threads = 1, .path = "/nowhere/program", .build_id = BUILD_ID, .with_text = true};
    build_elf_core(&b, &core);
    check_every_bit(&b, core.stack_at, core.stack_at);
    builder_free(&b);
}
END_TEST

START_TEST(lying_sizes) {
    struct builder b = {0};
    struct elf_core core = plain();
    core.with_text = true;
    build_elf_core(&b, &core);
    size_t text_size = elf_field(&core, ELF_TEXT, 32, 16), text_memory = elf_field(&core, ELF_TEXT, 40, 20);
    size_t text_address = elf_field(&core, ELF_TEXT, 16, 8), text_offset = elf_field(&core, ELF_TEXT, 8, 4);
    /* p_filesz beyond the file's end and beyond 64 bits; an offset outside the file. */
    expect_said(&b, elf_field(&core, ELF_STACK, 32, 16), 8, PAGE, 2, "it was cut off");
    expect_said(&b, text_size, 8, UINT64_MAX, 2, "it was cut off");
    expect_said(&b, text_size, 8, UINT64_MAX, 2, "more bytes in the file than in memory");
    expect_said(&b, text_offset, 8, UINT64_MAX, 2, "it was cut off");
    /* p_memsz < p_filesz; a segment that wraps around. */
    expect_said(&b, elf_field(&core, ELF_IMAGE, 40, 20), 8, 0x100, 2, "more bytes in the file than in memory");
    expect_said(&b, text_memory, 8, UINT64_MAX, 2, "wraps around");
    expect_said(&b, text_address, 8, UINT64_MAX - 4, 2, "wraps around");
    /* Notes: sizes that reach out of the notes, out of the file; a thread's note that is too small. */
    expect_said(&b, core.status_at, 4, 0xfffffff0, 0, "note's name needs");
    expect_said(&b, core.status_at + 4, 4, 0xfffffff0, 0, "note's descriptor");
    expect_said(&b, core.info_at + 4, 4, 0x80000000, 1, "note's descriptor");
    expect_said(&b, elf_field(&core, ELF_NOTES, 32, 16), 8, UINT64_MAX, 2, "within the notes");
    expect_said(&b, elf_field(&core, ELF_NOTES, 8, 4), 8, UINT64_MAX, 0, "within the notes");
    /* NT_FILE: more mappings than fit, or than have names; out of order; no page size; an offset that overflows. */
    size_t file = core.file_at + 20;
    expect_said(&b, file, 8, UINT64_MAX / 8, 2, "mappings of NT_FILE");
    expect_said(&b, file, 8, 3, 2, "NT_FILE");
    expect_said(&b, file, 8, 1000, 2, "mappings of NT_FILE");
    expect_said(&b, file + 8, 8, 0, 2, "for pages of 0");
    expect_said(&b, file + 16, 8, IMAGE + PAGE, 2, "not in order");
    expect_said(&b, file + 32, 8, UINT64_MAX, 2, "file offset is too large");
    builder_free(&b);
}
END_TEST

/* NT_PRSTATUS is too short for the registers: the thread must be listed and say why it has no registers. */
START_TEST(short_registers) {
    struct builder b = {0};
    struct elf_core core = plain();
    build_elf_core(&b, &core);
    size_t second = core.notes_at + core.notes_size - (20 + 336);
    patch(&b, second + 4, 4, 200);
    patch(&b, elf_field(&core, ELF_NOTES, 32, 16), 8, core.notes_size - 136);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->thread_count, 2);
    ck_assert_int_eq(opened->threads[0].status, USP_OK);
    ck_assert_int_eq(opened->threads[1].status, USP_ERROR_TRUNCATED);
    ck_assert_uint_eq(opened->threads[1].id, 1001);
    EXPECT_SAYS(opened, "is none of x86_64");
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

START_TEST(overlapping_segments) {
    struct builder b = {0};
    struct elf_core core = plain();
    uint8_t raw[4], expected[4];
    core.with_text = true;
    build_elf_core(&b, &core);
    /* The text overlaps a second segment that begins within it; the earlier segment's bytes must count. */
    patch(&b, elf_field(&core, ELF_IMAGE, 16, 8), 8, CODE + 0x20);
    patch(&b, elf_field(&core, ELF_IMAGE, 40, 20), 8, 2 * PAGE);
    struct uspi_core *opened = open_bytes(&b, NULL);
    EXPECT_SAYS(opened, "overlap");
    ck_assert_int_eq(read_at(opened, CODE + 0x20, raw, 4), USP_OK);
    ck_assert_mem_eq(raw, b.bytes + core.text_at + 0x20, 4);
    ck_assert_int_eq(read_at(opened, CODE + PAGE, raw, 4), USP_ERROR_ABSENT);
    ck_assert_int_eq(read_at(opened, CODE + 0x20 + 2 * PAGE, raw, 1), USP_ERROR_UNREADABLE);
    memcpy(expected, raw, sizeof raw);
    uspi_core_close(opened);
    builder_free(&b);
}
END_TEST

/* Thousands of unsorted segments, more than a 16-bit count holds (PN_XNUM): each address must be found in its own
 * segment. */
START_TEST(seventy_thousand_segments) {
    enum { COUNT = 70000 };
    struct builder b = {0}, notes = {0};
    struct elf_core core = {.arch = USP_ARCH_X86_64, .threads = 1};
    put_elf_notes(&notes, &core);
    put_elf_header(&b, true, 4, 62, 0xffff);
    size_t sections = b.size;
    patch(&b, 32, 8, sections + 64);
    patch(&b, 40, 8, sections);
    patch(&b, 60, 2, 1);
    pad_to(&b, sections + 64);
    patch(&b, sections + 44, 4, COUNT + 1);
    size_t data = b.size + (COUNT + 1) * 56;
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned k = (unsigned)((uint64_t)i * 7919 % COUNT);
        put_elf_segment(&b, true, 1, 4, data + k % 256, UINT64_C(0x10000000) + k * UINT64_C(0x2000), 1, PAGE, PAGE);
    }
    put_elf_segment(&b, true, 4, 0, data + 256, 0, notes.size, 0, 4);
    for (unsigned i = 0; i < 256; i++) put(&b, 1, i);
    put_bytes(&b, notes.bytes, notes.size);
    struct uspi_core *opened = open_bytes(&b, NULL);
    ck_assert_uint_eq(opened->memory.segment_count, COUNT);
    ck_assert_uint_eq(opened->thread_count, 1);
    for (unsigned k = 0; k < COUNT; k++) {
        usp_addr at = UINT64_C(0x10000000) + k * UINT64_C(0x2000);
        uint8_t byte;
        ck_assert_int_eq(read_at(opened, at, &byte, 1), USP_OK);
        ck_assert_uint_eq(byte, k % 256);
        ck_assert_int_eq(read_at(opened, at + 1, &byte, 1), USP_ERROR_ABSENT);
        ck_assert_int_eq(read_at(opened, at + PAGE, &byte, 1), USP_ERROR_UNREADABLE);
    }
    uspi_core_close(opened);
    builder_free(&notes);
    builder_free(&b);
}
END_TEST

int main(void) {
    TCase *good = tcase_create("good"), *files = tcase_create("files"), *bad = tcase_create("damaged");
    tcase_add_checked_fixture(good, make_folder, remove_folder);
    tcase_add_checked_fixture(files, make_folder, remove_folder);
    tcase_add_checked_fixture(bad, make_folder, remove_folder);
    add_loop_tests(good, 0, ARCHS, text_in_the_core, text_from_the_file);
    add_tests(good, signed_return_addresses, absent_bytes, writable_is_not_the_file, cut_off_is_not_the_file,
              read_across, known_to_be_no_code);
    add_loop_tests(good, 0, ARCHS, program_in_the_core, program_by_option, libraries_from_the_loader,
                   list_of_libraries_in_a_circle, list_of_libraries_leads_away);
    add_tests(files, file_missing, file_of_another_build, file_without_build_id, file_of_another_processor,
              file_of_another_kind, file_is_a_folder, file_is_a_pipe, file_is_empty, first_page_decides,
              file_below_the_sysroot, wrong_file_below_the_sysroot, file_beside_the_core, file_by_option, deleted_file,
              file_mapped_twice);
    add_tests(bad, refused, not_there);
    add_loop_tests(bad, 0, ARCHS, every_truncation, every_bit);
    add_tests(bad, lying_sizes, short_registers, overlapping_segments, seventy_thousand_segments);
    return run_suite("ELF cores", good, files, bad);
}
