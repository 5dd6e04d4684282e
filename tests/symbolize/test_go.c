/* SPDX-License-Identifier: MIT */
/* Tests Go's function table in each of its layouts, with tables that the test makes: names, files, lines, inlined
 * calls; invalid trees of inlined calls; damage of every byte. go.sh compares real programs. */
#include <check.h>
#include <unspool/unspool.h>

#include "lib/symbolize/go/names.h"
#include "lib/symbolize/go/reader.h"
#include "lib/symbolize/go/source.h"
#include "lib/symbolize/lines/block.h"
#include "tests/support/go_table.h"
#include "tests/support/suite.h"

/* The expected answer at an address, innermost call first: "FUNCTION FILE:LINE" with the file's directory. */
static const struct {
    unsigned offset;
    const char *inlined, *plain; /* with inlined calls, and where they are not known; NULL: no answer */
} expected[] = {
    {0x00, "main.main /src/a.go:10", "main.main /src/a.go:10"},
    {0x0f, "main.main /src/a.go:10", "main.main /src/a.go:10"},
    {0x10, "main.leaf /src/lib/b.go:21, main.main /src/a.go:10", "main.main /src/lib/b.go:21"},
    {0x1a, "main.deep /src/lib/b.go:31, main.leaf /src/lib/b.go:21, main.main /src/a.go:10",
     "main.main /src/lib/b.go:31"},
    {0x20, "main.main /src/a.go:12", "main.main /src/a.go:12"},
    {0x2f, "main.main /src/a.go:12", "main.main /src/a.go:12"},
    {0x30, NULL, NULL},
    {0x3f, NULL, NULL},
    {0x40, "main.tail /src/a.go:40", "main.tail /src/a.go:40"},
    {0x7f, "main.tail /src/a.go:40", "main.tail /src/a.go:40"},
    {0x80, NULL, NULL},
};

static const char *path;

/* Looks up an address of the file at `path`. */
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

/* Compares all answers. `plain`: inlined calls are not known; `explained`: the explanation of the lines' source. */
static void compare(const struct builder *file, bool plain, const char *explained) {
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    char text[512];
    save(file, path);
    ck_assert_int_eq(usp_images_open(path, NULL, &images, text, sizeof text), USP_OK);
    ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
    for (unsigned i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        const char *want = plain ? expected[i].plain : expected[i].inlined;
        answer(symbolizer, GO_TEXT + expected[i].offset, text, sizeof text);
        ck_assert_str_eq(text, want != NULL ? want : "");
        int status = usp_symbolize(symbolizer, GO_TEXT + expected[i].offset, &symbol);
        ck_assert_int_eq(status == USP_OK && symbol.name != NULL, want != NULL);
        if (want == NULL) continue;
        ck_assert_str_eq(symbol.name, expected[i].offset < 0x40 ? "main.main" : "main.tail");
        ck_assert_uint_eq(symbol.start, GO_TEXT + (expected[i].offset & 0x40));
        ck_assert_uint_eq(symbol.extent, expected[i].offset < 0x40 ? 0x30 : 0x40);
        ck_assert_uint_eq(symbol.strategy, USP_STRATEGY_SYMTAB);
    }
    usp_symbolizer_explain_lines(symbolizer, GO_TEXT, text, sizeof text);
    ck_assert_msg(strstr(text, explained) != NULL, "%s", text);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}

START_TEST(files_tell_names_lines_and_inlined_calls) {
    struct go_table t;
    struct builder file;
    const enum uspi_go_version version = (enum uspi_go_version)_i;
    /* Newer linkers store the code's beginning only in the module's data. */
    build_go_table(&t, version, version == USPI_GO_1_20 ? 0 : GO_TEXT);
    build_go_program(&file, &t, true);
    compare(&file, version < USPI_GO_1_18, "Go's function table of ");
    builder_free(&file);
    builder_free(&t.bytes);
}
END_TEST

START_TEST(without_module_data_inlined_calls_are_not_guessed) {
    struct go_table t;
    struct builder file;
    build_go_table(&t, USPI_GO_1_18, GO_TEXT);
    build_go_program(&file, &t, false);
    compare(&file, true, "Go's function table of ");
    builder_free(&file);
    builder_free(&t.bytes);
}
END_TEST

START_TEST(offsets_from_an_unknown_place_are_not_used) {
    struct go_table t;
    struct builder file;
    char text[256];
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    build_go_table(&t, USPI_GO_1_20, 0);
    build_go_program(&file, &t, false);
    save(&file, path);
    ck_assert_int_eq(usp_images_open(path, NULL, &images, text, sizeof text), USP_OK);
    ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
    answer(symbolizer, GO_TEXT, text, sizeof text);
    ck_assert_str_eq(text, "");
    ck_assert_int_ne(usp_symbolizer_explain_lines(symbolizer, GO_TEXT, text, sizeof text), USP_OK);
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    builder_free(&file);
    builder_free(&t.bytes);
}
END_TEST

/* Offsets from the trees' beginning, and what is written there: a name in the middle of another one, a caller after the
 * function, invalid padding. */
static const struct {
    unsigned offset;
    uint32_t value;
} wrong_trees[] = {{0x10 + 4, GO_NAME_LEAF + 3}, {0x10 + 8, 0x40}, {0x20, 0x01000000}, {0x20 + 4, 0x10000}};

START_TEST(trees_that_are_none_give_no_inlined_calls) {
    struct go_table t;
    struct builder file;
    build_go_table(&t, USPI_GO_1_20, GO_TEXT);
    build_go_program(&file, &t, true);
    patch(&file, GO_TREES - GO_BASE + wrong_trees[_i].offset, 4, wrong_trees[_i].value);
    compare(&file, true, "Go's function table of ");
    builder_free(&file);
    builder_free(&t.bytes);
}
END_TEST

START_TEST(calls_that_go_in_circles_are_reported) {
    struct go_table t;
    struct builder file;
    build_go_table(&t, USPI_GO_1_20, GO_TEXT);
    build_go_program(&file, &t, true);
    /* main.leaf is called from main.deep, which is called from main.leaf. */
    patch(&file, GO_TREES - GO_BASE + 0x10 + 8, 4, 0x1a);
    compare(&file, true, "contradicts itself");
    builder_free(&file);
    builder_free(&t.bytes);
}
END_TEST

/* ---- damage ---- */

/* Makes and reads all blocks of a table with `size` bytes. The bytes are copied so that the buffer ends after them,
 * where a sanitizer reports a read. */
static void use_table(const uint8_t *bytes, size_t size) {
    uint8_t *copy = malloc(size > 0 ? size : 1);
    ck_assert_ptr_nonnull(copy);
    if (size > 0) memcpy(copy, bytes, size);
    struct uspi_source source = {.name = "table", .base = copy};
    struct uspi_go_table table;
    struct uspi_line_source *lines;
    if (uspi_go_table_open(&table, (struct uspi_bytes){&source, 0, size}) == USP_OK &&
        uspi_go_source_create(&table, 0, &lines) == USP_OK) {
        void *reader = lines->create_reader();
        for (size_t i = 0; i < lines->units; i++) {
            const uint8_t *made;
            size_t made_size;
            struct uspi_block block;
            struct uspi_block_entry place;
            ck_assert_int_eq(lines->build(lines, reader, i, &made, &made_size, NULL), USP_OK);
            if (made_size == 0) continue;
            ck_assert_int_eq(uspi_block_open(&block, made, made_size), USP_OK);
            for (unsigned k = 0; k < 0x90; k += 4) {
                int status = uspi_block_find(&block, GO_TEXT + k, &place);
                ck_assert(status == USP_OK || status == USP_ERROR_NOT_FOUND);
            }
        }
        lines->free_reader(reader);
        lines->close(lines);
        for (uint32_t i = 0; i < table.count && i < 4; i++) (void)strlen(uspi_go_name(&table, i));
    }
    free(copy);
}

START_TEST(damage_of_every_byte_is_survived) {
    struct go_table t;
    build_go_table(&t, (enum uspi_go_version)_i, GO_TEXT);
    for (size_t size = 0; size < t.bytes.size; size++) use_table(t.bytes.bytes, size);
    for (size_t at = 0; at < t.bytes.size; at++) {
        static const uint8_t with[] = {0x01, 0x7f, 0x80, 0xff};
        for (unsigned i = 0; i < sizeof with; i++) {
            t.bytes.bytes[at] ^= with[i];
            use_table(t.bytes.bytes, t.bytes.size);
            t.bytes.bytes[at] ^= with[i];
        }
    }
    builder_free(&t.bytes);
}
END_TEST

/* Damage of the module's data, the trees and the table in a file must not cause a crash. */
START_TEST(damage_of_a_file_is_survived) {
    struct go_table t;
    struct builder file;
    static const unsigned places[] = {GO_TABLE, GO_TREES, GO_MODULE};
    build_go_table(&t, (enum uspi_go_version)_i, GO_TEXT);
    build_go_program(&file, &t, true);
    for (unsigned i = 0; i < sizeof places / sizeof places[0]; i++) {
        for (size_t at = places[i] - GO_BASE; at < places[i] - GO_BASE + 0x180 && at < file.size; at += 3) {
            const uint8_t before = file.bytes[at];
            struct usp_images *images;
            struct usp_symbolizer *symbolizer;
            char text[2048];
            file.bytes[at] ^= 0xff;
            save(&file, path);
            ck_assert_int_eq(usp_images_open(path, NULL, &images, text, sizeof text), USP_OK);
            ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
            for (unsigned k = 0; k < 0x90; k += 8) answer(symbolizer, GO_TEXT + k, text, sizeof text);
            usp_symbolizer_free(symbolizer);
            usp_images_free(images);
            file.bytes[at] = before;
        }
    }
    builder_free(&file);
    builder_free(&t.bytes);
}
END_TEST

START_TEST(lists_that_all_functions_share_use_up_the_budget) {
    enum { RUNS = 4096, FUNCTIONS = 256 };
    struct builder b = {0};
    struct uspi_go_table table;
    struct uspi_go_reader *reader = uspi_go_reader_create();
    struct uspi_texts texts = {0};
    const uint8_t *made;
    size_t size;
    put_hex(&b, "f1ffffff 0000 01 08");
    put(&b, 8, FUNCTIONS);
    put(&b, 8, 1);
    put(&b, 8, GO_TEXT);
    const size_t header = b.size;
    for (unsigned i = 0; i < 5; i++) put(&b, 8, 0);
    patch(&b, header, 8, b.size);
    put_bytes(&b, "f", 2);
    align_to(&b, 8);
    for (unsigned i = 1; i < 4; i++) patch(&b, header + 8 * i, 8, b.size);
    put(&b, 1, 0);
    for (unsigned i = 0; i < RUNS; i++) put_run(&b, 1, 1);
    put(&b, 1, 0);
    align_to(&b, 8);
    const size_t list = b.size;
    patch(&b, header + 32, 8, list);
    for (unsigned i = 0; i <= FUNCTIONS; i++) put(&b, 8, i * RUNS);
    for (unsigned i = 0; i < FUNCTIONS; i++) {
        patch(&b, list + 8 * i + 4, 4, b.size - list);
        put(&b, 4, i * RUNS);
        for (unsigned k = 1; k <= 9; k++) put(&b, 4, k == 5 || k == 6 ? 1 : 0);
        put(&b, 4, 0);
    }
    struct uspi_source source = {.name = "table", .base = b.bytes};
    ck_assert_int_eq(uspi_go_table_open(&table, (struct uspi_bytes){&source, 0, b.size}), USP_OK);
    const struct uspi_go_unit all = {&table, &texts, 0, FUNCTIONS, (uint64_t)2 * RUNS * FUNCTIONS};
    ck_assert_int_eq(uspi_go_read_unit(reader, &all, &made, &size), USP_OK);
    ck_assert_uint_gt(size, 0);
    const struct uspi_go_unit less = {&table, &texts, 0, FUNCTIONS, (uint64_t)2 * RUNS * FUNCTIONS - 1};
    ck_assert_int_eq(uspi_go_read_unit(reader, &less, &made, &size), USP_ERROR_FORMAT);
    uspi_go_reader_free(reader);
    builder_free(&b);
}
END_TEST

int main(void) {
    static char folder[] = "/tmp/unspool-go-XXXXXX";
    static char file[sizeof folder + 8];
    if (mkdtemp(folder) == NULL) return 1;
    snprintf(file, sizeof file, "%s/file", folder);
    path = file;
    TCase *answers = tcase_create("answers"), *versions = tcase_create("versions"), *trees = tcase_create("trees");
    add_loop_tests(versions, USPI_GO_1_2, USPI_GO_1_20 + 1, files_tell_names_lines_and_inlined_calls,
                   damage_of_every_byte_is_survived, damage_of_a_file_is_survived);
    add_tests(answers, without_module_data_inlined_calls_are_not_guessed, offsets_from_an_unknown_place_are_not_used,
              calls_that_go_in_circles_are_reported, lists_that_all_functions_share_use_up_the_budget);
    add_loop_tests(trees, 0, ELEMENTS(wrong_trees), trees_that_are_none_give_no_inlined_calls);
    int result = run_suite("go", versions, answers, trees);
    unlink(file);
    rmdir(folder);
    return result;
}
