/* SPDX-License-Identifier: MIT */
/* Tests damaged index files: each byte changed, each length cut off, and bytes of a file of several pages, whose
 * checksums are compared only when a page is read. The answers must be right or missing, and the file and the offset of
 * the damage must be reported. tests/symbolize/index.sh damages the index of a linked file, tests/fuzz/fuzz_index.c
 * also corrects the checksums. */
#include "tests/support/dwarf_index.h"
#include "tests/support/folder.h"

#include <sys/stat.h>

enum { ADDRESSES = 16, UNITS = 400, STEP = 0x10 };

/* Answers of the intact index. */
static struct answer {
    struct usp_lines lines;
    struct usp_source_frame frames[8];
} intact[ADDRESSES];
static usp_addr addresses[ADDRESSES];
static struct usp_symbolizer *intact_symbolizer;
static struct builder whole; /* bytes of the intact index */
static const char *path;     /* of the index */

static struct usp_symbolizer *create_symbolizer(void) {
    struct usp_symbolizer_options options;
    struct usp_symbolizer *made;
    usp_symbolizer_options_init(&options);
    options.index_store = folder;
    ck_assert_int_eq(usp_symbolizer_create(images, &options, &made), USP_OK);
    return made;
}

static void ask_for(struct usp_symbolizer *of, usp_addr address, struct answer *answer) {
    usp_lines_init(&answer->lines, answer->frames, 8);
    usp_symbolize_lines(of, address, &answer->lines);
}

/* Stores the index, and gets the intact answers for the addresses. The index alone describes the image. */
static void begin_damage(void) {
    static const uint8_t id[4] = {1, 2, 3, 4};
    struct usp_image image;
    open_source();
    whole = make_index(1);
    close_source();
    path = in_folder("01/020304/index");
    mkdir(in_folder("01"), 0777);
    mkdir(in_folder("01/020304"), 0777);
    save(&whole, path);
    ck_assert_int_eq(usp_index_image(folder, id, sizeof id, &image), USP_OK);
    ck_assert_int_eq(usp_images_create(&image, 1, &images), USP_OK);
    intact_symbolizer = create_symbolizer();
    for (unsigned i = 0; i < ADDRESSES; i++) {
        ask_for(intact_symbolizer, addresses[i], &intact[i]);
        ck_assert_uint_gt(intact[i].lines.count, 0);
        ck_assert_uint_ne(intact[i].frames[0].line, 0);
    }
}

static void end_damage(void) {
    usp_symbolizer_free(intact_symbolizer);
    usp_images_free(images);
    builder_free(&whole);
}

static bool is_same_or_missing(const char *given, const char *right) {
    return given == NULL || (right != NULL && strcmp(given, right) == 0);
}

/* Saves other bytes, and checks the answers and the reports. Returns the number of complete answers. */
static unsigned check_damage(const struct builder *changed, size_t at) {
    struct usp_index_info info;
    char text[1024];
    unsigned right = 0;
    save(changed, path);
    symbolizer = create_symbolizer();
    for (unsigned i = 0; i < ADDRESSES; i++) {
        struct answer got;
        ask_for(symbolizer, addresses[i], &got);
        const bool is_complete = got.lines.count == intact[i].lines.count;
        ck_assert_msg(is_complete || got.lines.count <= 1, "byte %zu: %u frames", at, got.lines.count);
        for (uint32_t k = 0; k < got.lines.count; k++) {
            const struct usp_source_frame *frame = &got.frames[k], *other = &intact[i].frames[k];
            ck_assert_msg(is_same_or_missing(frame->function, other->function), "byte %zu: %s", at, frame->function);
            ck_assert_msg(is_same_or_missing(frame->file, other->file), "byte %zu: %s", at, frame->file);
            ck_assert_msg(frame->line == 0 || frame->line == other->line, "byte %zu: line %u", at, frame->line);
        }
        right += is_complete && got.frames[0].line != 0;
    }
    if (right == 0) {
        ck_assert_int_ne(usp_symbolizer_explain_lines(symbolizer, addresses[0], text, sizeof text), USP_OK);
        ck_assert_msg(strstr(text, path) != NULL && strstr(text, "offset 0x") != NULL, "byte %zu: %s", at, text);
    }
    usp_symbolizer_free(symbolizer);
    usp_index_info_init(&info);
    const int status = usp_index_examine(path, USP_INDEX_CHECK, &info, text, sizeof text);
    ck_assert_msg(status == (at >= 8 && at < 12 ? USP_ERROR_UNSUPPORTED : USP_ERROR_FORMAT), "byte %zu: status %d", at,
                  status);
    ck_assert_msg(strstr(text, path) != NULL && strstr(text, "offset 0x") != NULL, "byte %zu: %s", at, text);
    return right;
}

/* An index of less than a page. */
static void begin_small(void) {
    make_folder();
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x80);
    const uint32_t inner = put_abstract(&f, "inner", 5);
    put_function(&f, FUNCTION, "outer", 0x1000, 0x80);
    put_inlined(&f, inner, 0x1010, 0x10, 77);
    end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 8);
    for (unsigned i = 0; i < ADDRESSES; i++) addresses[i] = 0x1000 + 8 * i;
    begin_damage();
}

/* Each byte gets another bit, all bits, and none. No answer may be given then. */
START_TEST(each_byte) {
    begin_small();
    for (size_t at = 0; at < whole.size; at++) {
        const uint8_t right = whole.bytes[at];
        const uint8_t wrong[] = {(uint8_t)(right ^ 1 << at % 8), 0, 0xff};
        for (unsigned k = 0; k < sizeof wrong; k++) {
            if (wrong[k] == right) continue;
            whole.bytes[at] = wrong[k];
            ck_assert_uint_eq(check_damage(&whole, at), 0);
        }
        whole.bytes[at] = right;
    }
    end_damage();
    remove_folder();
}
END_TEST

/* The file ends anywhere, as after a full disk, or has bytes after its end. */
START_TEST(each_length) {
    begin_small();
    for (struct builder cut = {.bytes = whole.bytes}; cut.size < whole.size; cut.size++) {
        ck_assert_uint_eq(check_damage(&cut, SIZE_MAX), 0);
    }
    put(&whole, 1, 0);
    ck_assert_uint_eq(check_damage(&whole, SIZE_MAX), 0);
    end_damage();
    remove_folder();
}
END_TEST

/* Damage in a page that an answer does not need must not change the answer. */
START_TEST(pages_that_are_not_needed) {
    unsigned right = 0, asked = 0;
    make_folder();
    begin();
    for (unsigned i = 0; i < UNITS; i++) {
        char name[32];
        snprintf(name, sizeof name, "function_%u_of_%u", i, i * 7919 % UNITS);
        put_unit("one.c", 0x2000 + STEP * i, STEP, name, 0x2000 + STEP * i, STEP);
    }
    for (unsigned i = 0; i < ADDRESSES; i++) addresses[i] = 0x2000 + STEP * (UNITS / ADDRESSES) * i;
    begin_damage();
    ck_assert_uint_gt(whole.size, 4 * 8192);
    for (size_t at = 5; at < whole.size; at += 97) {
        whole.bytes[at] ^= 0x20;
        right += check_damage(&whole, at);
        asked += ADDRESSES;
        whole.bytes[at] ^= 0x20;
    }
    ck_assert_uint_gt(right, asked / 4);
    ck_assert_uint_lt(right, asked);
    end_damage();
    remove_folder();
}
END_TEST

int main(void) {
    TCase *damage = tcase_create("damage");
    add_tests(damage, each_byte, each_length, pages_that_are_not_needed);
    return run_suite("index damage", damage);
}
