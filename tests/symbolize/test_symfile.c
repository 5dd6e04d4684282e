/* SPDX-License-Identifier: MIT */
/* Tests GSYM and Breakpad's symbol files, with files that the test makes: names, lines, inlined calls; the build to
 * which they belong; damage of every byte. symfile.sh compares real programs. */
#include <check.h>
#include <unspool/unspool.h>

#include "lib/object/breakpad.h"
#include "lib/symbolize/lines/block.h"
#include "lib/symbolize/symfile/source.h"
#include "tests/support/suite.h"
#include "tests/support/symbol_files.h"

#define ELF_MODULE                                                                                                     \
    "MODULE Linux x86_64 33323130353437363839616263646566"                                                             \
    "0 a program"

/* The expected answer at an address, innermost call first: "FUNCTION FILE:LINE" with the file's directory. */
static const struct {
    unsigned offset;
    const char *answer;
} expected[] = {
    {0x00, "outer /src/a.c:10"},
    {0x0f, "outer /src/a.c:10"},
    {0x10, "inner /src/b.h:20, outer /src/a.c:10"},
    {0x18, "deep /src/b.h:30, inner /src/b.h:21, outer /src/a.c:10"},
    {0x20, "outer /src/a.c:12"},
    {0x2f, "outer /src/a.c:12"},
    {0x30, ""},
    {0x40, "tail /src/a.c:40"},
    {0x4f, "tail /src/a.c:40"},
    {0x50, ""},
    {0x60, "label ?/?:0"},
};

static const char *path;

static void answer(struct usp_symbolizer *symbolizer, usp_addr address, char *text, size_t size) {
    struct usp_source_frame frames[16];
    struct usp_lines lines;
    size_t used = 0;
    text[0] = '\0';
    usp_lines_init(&lines, frames, 16);
    if (usp_symbolize_lines(symbolizer, address, &lines) != USP_OK) return;
    for (uint32_t i = 0; i < lines.count; i++) {
        const struct usp_source_frame *f = &frames[i];
        used += (size_t)snprintf(text + used, size - used, "%s%s %s/%s:%u", i > 0 ? ", " : "", f->function,
                                 f->directory != NULL ? f->directory : "?", f->file != NULL ? f->file : "?", f->line);
        ck_assert_uint_lt(used, size);
    }
}

/* Opens the file as an image, which the caller owns. */
static struct usp_images *open_file(const struct builder *file) {
    struct usp_images *images;
    char text[512];
    save(file, path);
    int status = usp_images_open(path, NULL, &images, text, sizeof text);
    ck_assert_msg(status == USP_OK, "%s", text);
    ck_assert_uint_eq(usp_images_count(images), 1);
    return images;
}

static void compare(const struct builder *file, usp_addr base, const char *explained) {
    struct usp_images *images = open_file(file);
    const struct usp_image *image = usp_images_get(images, 0);
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    char text[512];
    ck_assert_uint_eq(image->load_address, base);
    ck_assert_uint_eq(image->end, base + SYMBOLS_CODE + 0x61);
    ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
    for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        answer(symbolizer, base + SYMBOLS_CODE + expected[i].offset, text, sizeof text);
        ck_assert_str_eq(text, expected[i].answer);
    }
    ck_assert_int_eq(usp_symbolize(symbolizer, base + SYMBOLS_CODE + 0x18, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "outer");
    ck_assert_uint_eq(symbol.start, base + SYMBOLS_CODE);
    ck_assert_uint_eq(symbol.extent, 0x30);
    usp_symbolizer_explain_lines(symbolizer, base + SYMBOLS_CODE, text, sizeof text);
    ck_assert_msg(strstr(text, explained) != NULL, "%s", text);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}

static void check_image(const struct usp_image *image, uint32_t arch, uint32_t flags, const char *build_id) {
    ck_assert_uint_eq(image->arch, arch);
    ck_assert_uint_eq(image->flags & USP_IMAGE_MACHO, flags);
    ck_assert_uint_eq(image->build_id_size, strlen(build_id));
    ck_assert_mem_eq(image->build_id, build_id, strlen(build_id));
}

START_TEST(gsym_tells_names_lines_and_inlined_calls) {
    struct builder file;
    build_gsym(&file, _i != 0);
    compare(&file, SYMBOLS_BASE, "GSYM of ");
    struct usp_images *images = open_file(&file);
    check_image(usp_images_get(images, 0), USP_ARCH_NONE, 0, symbols_uuid);
    usp_images_free(images);
    builder_free(&file);
}
END_TEST

START_TEST(breakpad_tells_names_lines_and_inlined_calls) {
    struct builder file;
    build_breakpad(&file, ELF_MODULE, _i != 0 ? "\r\n" : "\n");
    compare(&file, 0, "Breakpad's symbols of ");
    builder_free(&file);
}
END_TEST

#define ID "303132333435363738396162636465660 a"

/* A MODULE line, and the image to which it belongs. */
static const struct {
    const char *module;
    uint32_t arch, flags;
    const char *build_id;
    const char *variant;
} modules[] = {
    {ELF_MODULE, USP_ARCH_X86_64, 0, symbols_uuid, "x86_64"},
    {"MODULE mac arm64e " ID, USP_ARCH_ARM64, USP_IMAGE_MACHO, "0123456789abcdef", "arm64e"},
    {"MODULE ios arm64 " ID, USP_ARCH_ARM64, USP_IMAGE_MACHO, "0123456789abcdef", "arm64"},
    {"MODULE mac x86 " ID, USP_ARCH_I386, USP_IMAGE_MACHO, "0123456789abcdef", "i386"},
    {"MODULE Linux ppc64 " ID, USP_ARCH_NONE, 0, symbols_uuid, "unknown"},
};

START_TEST(a_module_is_of_one_build) {
    struct builder file;
    build_breakpad(&file, modules[_i].module, "\n");
    struct usp_images *images = open_file(&file);
    check_image(usp_images_get(images, 0), modules[_i].arch, modules[_i].flags, modules[_i].build_id);
    ck_assert_str_eq(usp_variant_string(modules[_i].arch, usp_images_get(images, 0)->variant), modules[_i].variant);
    usp_images_free(images);
    builder_free(&file);
}
END_TEST

START_TEST(without_a_code_id_the_guid_is_the_build_id) {
    const char *text = ELF_MODULE "\nFUNC 10 10 0 f\n";
    struct builder file = {0};
    put_bytes(&file, text, strlen(text));
    struct usp_images *images = open_file(&file);
    check_image(usp_images_get(images, 0), USP_ARCH_X86_64, 0, "0123456789abcdef");
    usp_images_free(images);
    builder_free(&file);
}
END_TEST

static const char *const refused[] = {
    "MODULE windows x86_64 333231303534373638396162636465661 a.pdb\nFUNC 10 10 0 f\n",
    "MODULE Linux x86_64 3332 short\nFUNC 10 10 0 f\n",
    "MODULE Linux x86_64 3332313035343736383961626364656x0 no-digit\nFUNC 10 10 0 f\n",
    "MODULE Linux x86_64\nFUNC 10 10 0 f\n",
    ELF_MODULE "\n",
    ELF_MODULE "\nFUNC fffffffffffffff0 11 0 overflows\nFUNC 11111111111111111 1 0 too-long\nFUNC 10\n",
};

START_TEST(what_is_of_no_image_is_refused) {
    struct builder file = {0};
    struct usp_images *images;
    char text[512];
    put_bytes(&file, refused[_i], strlen(refused[_i]));
    save(&file, path);
    ck_assert_int_ne(usp_images_open(path, NULL, &images, text, sizeof text), USP_OK);
    ck_assert_uint_gt(strlen(text), 0);
    builder_free(&file);
}
END_TEST

START_TEST(another_version_of_gsym_is_refused) {
    struct builder file;
    struct usp_images *images;
    char text[512];
    build_gsym(&file, false);
    patch(&file, 4, 2, 2);
    save(&file, path);
    ck_assert_int_eq(usp_images_open(path, NULL, &images, text, sizeof text), USP_ERROR_UNSUPPORTED);
    ck_assert_msg(strstr(text, "version 2") != NULL, "%s", text);
    builder_free(&file);
}
END_TEST

/* Inlined calls whose caller is missing, or does not contain them, must be left out. The rest is used, and the damage
 * reported. */
START_TEST(inlined_calls_without_a_caller_are_left_out) {
    const char *text =
        ELF_MODULE "\nFILE 1 a.c\nINLINE_ORIGIN 1 in\nFUNC 0 40 0 f\nINLINE 0 5 1 1 0 10\nINLINE 1 6 1 1 8 10\n"
                   "INLINE 3 7 1 1 20 8\nINLINE 99999 7 1 1 30 8\n0 40 9 1\n";
    struct builder file = {0};
    struct usp_symbolizer *symbolizer;
    char answered[512];
    put_bytes(&file, text, strlen(text));
    struct usp_images *images = open_file(&file);
    ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
    answer(symbolizer, 8, answered, sizeof answered);
    ck_assert_str_eq(answered, "in ?/a.c:9, f ?/a.c:5");
    for (usp_addr at = 0x10; at < 0x40; at += 0x10) {
        answer(symbolizer, at, answered, sizeof answered);
        ck_assert_str_eq(answered, "f ?/a.c:9");
    }
    usp_symbolizer_explain_lines(symbolizer, 0, answered, sizeof answered);
    ck_assert_msg(strstr(answered, "contradicts itself") != NULL, "%s", answered);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    builder_free(&file);
}
END_TEST

START_TEST(functions_that_overlap_end_where_the_next_begins) {
    const char *text =
        ELF_MODULE "\nFILE 1 a.c\nFUNC 0 40 0 f\n0 40 1 1\nFUNC 10 8 0 g\n10 8 2 1\nFUNC 10 8 0 h\n10 8 3 1\n";
    struct builder file = {0};
    struct usp_symbolizer *symbolizer;
    char answered[512];
    put_bytes(&file, text, strlen(text));
    struct usp_images *images = open_file(&file);
    ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
    answer(symbolizer, 0xf, answered, sizeof answered);
    ck_assert_str_eq(answered, "f ?/a.c:1");
    answer(symbolizer, 0x10, answered, sizeof answered);
    ck_assert_str_eq(answered, "g ?/a.c:2");
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    builder_free(&file);
}
END_TEST

/* ---- damage ---- */

/* Makes and reads all blocks of a file with `size` bytes. The bytes are copied so that the buffer ends after them,
 * where a sanitizer reports a read. */
static void use_file(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    ck_assert_ptr_nonnull(copy);
    if (size > 0) memcpy(copy, bytes, size);
    struct uspi_source source = {.name = "symbols", .base = copy};
    struct uspi_line_source *lines;
    if (uspi_symfile_source_open((struct uspi_bytes){&source, 0, size}, &lines) == USP_OK) {
        void *reader = lines->create_reader();
        for (size_t i = 0; i < lines->units && i < 4; i++) {
            const uint8_t *made;
            size_t made_size;
            struct uspi_block block;
            struct uspi_block_entry place;
            ck_assert_int_eq(lines->build(lines, reader, i, &made, &made_size, NULL), USP_OK);
            if (made_size == 0) continue;
            ck_assert_int_eq(uspi_block_open(&block, made, made_size), USP_OK);
            for (unsigned k = 0; k < 0x70; k += 4) {
                int status = uspi_block_find(&block, lines->header + SYMBOLS_CODE + k, &place);
                ck_assert(status == USP_OK || status == USP_ERROR_NOT_FOUND);
            }
        }
        lines->free_reader(reader);
        lines->close(lines);
    }
    free(copy);
}

START_TEST(damage_of_every_byte_is_survived) {
    struct builder file;
    if (_i < 2) {
        build_gsym(&file, _i == 1);
    } else {
        build_breakpad(&file, ELF_MODULE, "\n");
    }
    for (size_t size = 0; size < file.size; size++) use_file(file.bytes, size);
    for (size_t at = 0; at < file.size; at++) {
        static const uint8_t with[] = {0x01, 0x10, 0x7f, 0x80, 0xff};
        for (unsigned i = 0; i < sizeof with; i++) {
            file.bytes[at] ^= with[i];
            use_file(file.bytes, file.size);
            file.bytes[at] ^= with[i];
        }
    }
    builder_free(&file);
}
END_TEST

/* As many functions as the file has bytes for share the longest line table. No more may be read than the budget
 * allows. */
START_TEST(functions_that_share_a_line_table_use_up_the_budget) {
    enum { FUNCTIONS = 2048, ROWS = 65536 };
    struct builder b = {0};
    struct uspi_line_source *lines;
    struct uspi_error error = {0};
    const uint8_t *made;
    size_t size;
    put(&b, 4, 0x4753594d);
    put(&b, 4, 0x00040001);
    put(&b, 8, 0);
    put(&b, 4, FUNCTIONS);
    pad_to(&b, 48);
    for (unsigned i = 0; i < FUNCTIONS; i++) put(&b, 4, i * 4);
    for (unsigned i = 0; i < FUNCTIONS; i++) put(&b, 4, 48 + 8 * FUNCTIONS + 4);
    put(&b, 4, 0);
    put(&b, 4, 4);
    put(&b, 4, 0);
    put(&b, 4, 1);
    put(&b, 4, ROWS);
    put(&b, 3, 0);
    for (unsigned i = 3; i < ROWS - 1; i++) put(&b, 1, 4);
    put(&b, 1, 0);
    put(&b, 8, 0);
    struct uspi_source source = {.name = "symbols", .base = b.bytes};
    ck_assert_int_eq(uspi_symfile_source_open((struct uspi_bytes){&source, 0, b.size}, &lines), USP_OK);
    void *reader = lines->create_reader();
    ck_assert_int_eq(lines->build(lines, reader, 0, &made, &size, &error), USP_OK);
    ck_assert_int_eq(error.status, USP_ERROR_FORMAT);
    lines->free_reader(reader);
    lines->close(lines);
    builder_free(&b);
}
END_TEST

int main(void) {
    static char folder[] = "/tmp/unspool-symfile-XXXXXX";
    static char file[sizeof folder + 8];
    if (mkdtemp(folder) == NULL) return 1;
    snprintf(file, sizeof file, "%s/file", folder);
    path = file;
    TCase *answers = tcase_create("answers"), *images = tcase_create("images"), *damage = tcase_create("damage");
    add_loop_tests(answers, 0, 2, gsym_tells_names_lines_and_inlined_calls,
                   breakpad_tells_names_lines_and_inlined_calls);
    add_tests(answers, inlined_calls_without_a_caller_are_left_out, functions_that_overlap_end_where_the_next_begins);
    add_loop_tests(images, 0, ELEMENTS(modules), a_module_is_of_one_build);
    add_loop_tests(images, 0, ELEMENTS(refused), what_is_of_no_image_is_refused);
    add_tests(images, without_a_code_id_the_guid_is_the_build_id, another_version_of_gsym_is_refused);
    add_loop_tests(damage, 0, 3, damage_of_every_byte_is_survived);
    add_tests(damage, functions_that_share_a_line_table_use_up_the_budget);
    int result = run_suite("symfile", answers, images, damage);
    unlink(file);
    rmdir(folder);
    return result;
}
