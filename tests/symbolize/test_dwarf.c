/* SPDX-License-Identifier: MIT */
/* Debug information as linkers, old compilers and damage leave it: what is said of it, and what is not. Each test names the trap
 * that it is about. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/support/dwarf_file.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/suite.h"

#include <unspool/unspool.h>

static struct dwarf_file f;
static struct usp_images *images;
static struct usp_symbolizer *symbolizer;
static struct usp_source_frame frames[64];
static struct usp_lines lines;
static char path[64];

static void begin(void) {
    f = (struct dwarf_file){0};
    put_abbreviations(&f);
}

/* Writes the file, and opens it. */
static void open_file(void) {
    char error[512];
    struct builder b = finish_dwarf_file(&f);
    strcpy(path, "/tmp/unspool-dwarf-XXXXXX");
    int descriptor = mkstemp(path);
    ck_assert_int_ge(descriptor, 0);
    ck_assert_int_eq(write(descriptor, b.bytes, b.size), (ssize_t)b.size);
    close(descriptor);
    builder_free(&b);
    ck_assert_msg(usp_images_open(path, NULL, &images, error, sizeof error) == USP_OK, "%s", error);
    ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
}

static void close_file(void) {
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
    unlink(path);
}

static uint32_t ask(usp_addr address) {
    usp_lines_init(&lines, frames, ELEMENTS(frames));
    usp_symbolize_lines(symbolizer, address, &lines);
    return lines.count;
}

/* Frame i of an address is a function, and in a line (0: none) of the line table or the inline tree. */
static void expect(usp_addr address, uint32_t i, const char *function, uint32_t line) {
    const uint32_t count = ask(address);
    ck_assert_msg(i < count, "0x%x has %u frames", (unsigned)address, count);
    if (function == NULL) {
        ck_assert_msg(frames[i].function == NULL, "0x%x: %s", (unsigned)address, frames[i].function);
    } else {
        ck_assert_msg(frames[i].function != NULL && strcmp(frames[i].function, function) == 0, "0x%x: %s, not %s",
                      (unsigned)address, frames[i].function != NULL ? frames[i].function : "nothing", function);
    }
    ck_assert_msg(frames[i].line == line, "0x%x: line %u, not %u", (unsigned)address, frames[i].line, line);
}

static void expect_nothing(usp_addr address) {
    ck_assert_msg(ask(address) == 0, "0x%x has %u frames", (unsigned)address, lines.count);
}

/* A table of one sequence: from `low` on a row every 16 bytes, in lines 10, 11, … */
static void put_plain_lines(uint64_t low, unsigned rows) {
    begin_lines(&f);
    put_address(&f, low);
    put_row(&f, 0, 9);
    for (unsigned i = 1; i < rows; i++) put_row(&f, 16, 1);
    put_end(&f, 16);
    end_lines(&f);
}

/* A unit that claims a range, with one function and two lines. */
static void put_unit(const char *file, uint64_t low, uint64_t size, const char *name, uint64_t start,
                     uint64_t function_size) {
    begin_unit(&f, file, low, size);
    put_function(&f, FUNCTION, name, start, function_size);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(start, 2);
}

START_TEST(plain_information) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x40);
    const uint32_t inner = put_abstract(&f, "inner", 5);
    put_function(&f, FUNCTION, "outer", 0x1000, 0x40);
    put_inlined(&f, inner, 0x1010, 0x10, 77);
    end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 4);
    open_file();
    expect(0x1000, 0, "outer", 10);
    expect(0x1010, 0, "inner", 11);
    expect(0x101f, 1, "outer", 77);
    ck_assert_int_eq(frames[1].line_source, USP_LINE_CALL);
    ck_assert_str_eq(frames[1].directory, "/src");
    ck_assert_str_eq(frames[1].file, "one.c");
    expect(0x1020, 0, "outer", 12);
    expect_nothing(0x1040);
    close_file();
}
END_TEST

/* Traps 1 and 3: functions that were removed begin at 0, −1 or −2, and a length makes 0 … n of the first. */
START_TEST(removed_functions_are_nowhere) {
    static const uint64_t dead[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x40);
    for (unsigned i = 0; i < 4; i++) {
        put_function(&f, FUNCTION, "dead", dead[i], 0x3000);
        end_entry(&f);
    }
    put_function(&f, FUNCTION, "live", 0x1000, 0x40);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 4);
    open_file();
    expect(0x1000, 0, "live", 10);
    expect_nothing(0x1800);
    expect_nothing(0);
    close_file();
}
END_TEST

/* Trap 4: a removed function may hold inlined calls with real ranges, which are skipped; functions in it are not. */
START_TEST(children_of_removed_functions) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x40);
    const uint32_t inner = put_abstract(&f, "inner", 5);
    put_function(&f, FUNCTION, "live", 0x1000, 0x20);
    end_entry(&f);
    put_function(&f, FUNCTION, "dead", 0, 0x40);
    put_inlined(&f, inner, 0x1008, 8, 3);
    end_entry(&f);
    put_function(&f, FUNCTION, "nested", 0x1020, 0x20);
    end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 4);
    open_file();
    expect(0x1008, 0, "live", 10);
    ck_assert_uint_eq(lines.count, 1);
    expect(0x1020, 0, "nested", 12);
    close_file();
}
END_TEST

/* Trap 5: a unit that claims what it does not own, units that are not sorted, and one that claims nothing. */
START_TEST(claims_of_units_are_not_trusted) {
    begin();
    put_unit("huge.c", 0x1000, 0x3000, "in_huge", 0x3000, 0x20);
    put_unit("small.c", 0x1000, 0x20, "in_small", 0x1000, 0x20);
    begin_unknown_unit(&f, "unknown.c");
    put_function(&f, FUNCTION, "in_unknown", 0x2000, 0x20);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x2000, 2);
    open_file();
    expect(0x1010, 0, "in_small", 11);
    expect(0x2010, 0, "in_unknown", 11);
    expect(0x3010, 0, "in_huge", 11);
    close_file();
}
END_TEST

/* Traps 7 and 9: a base in the list, an inverted range, a function of two parts, of which one is cold. */
START_TEST(range_lists) {
    static const uint64_t list[] = {0, 0x20, UINT64_MAX, 0x2000, 0x10, 0x30, 0x50, 0x40, 0, 0};
    begin();
    for (unsigned i = 0; i < ELEMENTS(list); i++) put(&f.ranges, 8, list[i]);
    begin_unit(&f, "one.c", 0x1000, 0x1100);
    put_leb(&f.info, FUNCTION_LIST);
    put_text(&f.info, "parted");
    put(&f.info, 4, 0);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    open_file();
    expect(0x1010, 0, "parted", 11);
    ck_assert_uint_eq(frames[0].flags & USP_SOURCE_COLD, 0);
    ask(0x2018);
    ck_assert_uint_eq(lines.count, 1);
    ck_assert_uint_ne(frames[0].flags & USP_SOURCE_COLD, 0);
    expect_nothing(0x2048);
    close_file();
}
END_TEST

/* Trap 8: of an inlined call only what lies in the function around it counts. */
START_TEST(inlined_calls_outside_of_their_function) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x40);
    const uint32_t inner = put_abstract(&f, "inner", 5);
    put_function(&f, FUNCTION, "outer", 0x1000, 0x20);
    put_inlined(&f, inner, 0x1030, 8, 3);
    end_entry(&f);
    put_inlined(&f, inner, 0x1018, 0x20, 4);
    end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 4);
    open_file();
    expect(0x1018, 0, "inner", 11);
    expect(0x1018, 1, "outer", 4);
    expect(0x1034, 0, NULL, 13);
    ck_assert_uint_eq(lines.count, 1);
    close_file();
}
END_TEST

struct names {
    char all[256];
};

static int add_name(void *context, const char *name) {
    struct names *names = context;
    strcat(names->all, name);
    strcat(names->all, " ");
    return 0;
}

/* Traps 10 and 11: functions with one range, in one unit and in two. All names are there, and the first has the lines. */
START_TEST(folded_functions) {
    struct names names = {""};
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x20);
    put_function(&f, FUNCTION, "first", 0x1000, 0x20);
    end_entry(&f);
    put_function(&f, FUNCTION, "second", 0x1000, 0x20);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    put_unit("two.c", 0x1000, 0x20, "third", 0x1000, 0x20);
    open_file();
    expect(0x1010, 0, "first", 11);
    ck_assert_uint_ne(frames[0].flags & USP_SOURCE_FOLDED, 0);
    ck_assert_uint_eq(lines.folded, 2);
    ck_assert_int_eq(usp_symbolizer_visit_names(symbolizer, 0x1010, add_name, &names), USP_OK);
    ck_assert_str_eq(names.all, "first second third ");
    close_file();
}
END_TEST

/* Trap 11: rows of folded code by the sequence that the function says is its own. */
START_TEST(rows_by_sequence) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x20);
    const size_t at = f.info.size;
    put_function(&f, SEQUENCED, "own", 0x1000, 0x20);
    put(&f.info, 4, 0);
    end_unit(&f);
    begin_lines(&f);
    put_address(&f, 0x1000);
    put_row(&f, 0, 100);
    put_end(&f, 0x20);
    const size_t second = f.line.size;
    put_address(&f, 0x1000);
    put_row(&f, 0, 200);
    put_end(&f, 0x20);
    end_lines(&f);
    patch(&f.info, at + 1 + sizeof "own" + 16, 4, second);
    open_file();
    expect(0x1000, 0, "own", 201);
    close_file();
}
END_TEST

/* Traps 12, 13 and 14: sequences in any order, of one row, without an end; behind an end nothing has the last line. */
START_TEST(sequences) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x3000);
    end_unit(&f);
    begin_lines(&f);
    put_address(&f, 0x2000);
    put_row(&f, 0, 19);
    put_end(&f, 4);
    put_end(&f, 0);
    put_address(&f, 0x1000);
    put_row(&f, 0, 9);
    put_row(&f, 8, 1);
    put_end(&f, 8);
    put_address(&f, 0x3000);
    put_row(&f, 0, 29);
    put_row(&f, 16, 1);
    end_lines(&f);
    open_file();
    expect(0x2000, 0, NULL, 20);
    expect_nothing(0x2004);
    expect(0x1008, 0, NULL, 11);
    expect_nothing(0x1010);
    expect(0x3008, 0, NULL, 30);
    expect_nothing(0x3010);
    close_file();
}
END_TEST

/* Traps 13 and 20: addresses that go back begin anew, and an end below the last row. */
START_TEST(addresses_that_go_back) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x40);
    end_unit(&f);
    begin_lines(&f);
    put_address(&f, 0x1000);
    put_row(&f, 0, 9);
    put_row(&f, 16, 1);
    put_address(&f, 0x1000);
    put_row(&f, 0, 88);
    put_row(&f, 32, 1);
    put_end(&f, 16);
    end_lines(&f);
    open_file();
    expect(0x1008, 0, NULL, 10);
    expect(0x1010, 0, NULL, 99);
    expect(0x1020, 0, NULL, 100);
    expect_nothing(0x1030);
    close_file();
}
END_TEST

/* Trap 15: of several rows at one address the last one wins. Trap 16: line 0 stays, or is filled when that is wanted. */
START_TEST(rows_at_one_address_and_line_0) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x40);
    put_function(&f, FUNCTION, "own", 0x1000, 0x40);
    end_entry(&f);
    end_unit(&f);
    begin_lines(&f);
    put_address(&f, 0x1000);
    put_row(&f, 0, 4);
    put_row(&f, 0, 5);
    put_row(&f, 0, -3);
    put_row(&f, 16, -7);
    put_end(&f, 48);
    end_lines(&f);
    open_file();
    expect(0x1000, 0, "own", 7);
    expect(0x1010, 0, "own", 0);
    usp_lines_init(&lines, frames, ELEMENTS(frames));
    lines.flags = USP_LINES_FILL;
    ck_assert_int_eq(usp_symbolize_lines(symbolizer, 0x1018, &lines), USP_OK);
    ck_assert_uint_eq(frames[0].line, 7);
    ck_assert_uint_ne(frames[0].flags & USP_SOURCE_LINE_FILLED, 0);
    close_file();
}
END_TEST

/* Trap 18: a function that begins between two rows. Trap 19: one without rows has its declaration's line, and says so. */
START_TEST(functions_and_rows_that_do_not_meet) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x1000);
    put_function(&f, FUNCTION, "between", 0x1008, 0x10);
    end_entry(&f);
    put_leb(&f.info, DECLARED);
    put_text(&f.info, "declared");
    put(&f.info, 1, 2);
    put(&f.info, 1, 33);
    put(&f.info, 8, 0x1800);
    put(&f.info, 8, 0x10);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    open_file();
    expect(0x1008, 0, "between", 10);
    expect(0x1000, 0, NULL, 10);
    ask(0x1800);
    ck_assert_str_eq(frames[0].function, "declared");
    ck_assert_uint_eq(frames[0].line, 33);
    ck_assert_int_eq(frames[0].line_source, USP_LINE_DECLARATION);
    ck_assert_str_eq(frames[0].directory, "/src/sub");
    ck_assert_str_eq(frames[0].file, "two.c");
    close_file();
}
END_TEST

/* Traps 21 and 22: calls in calls, through blocks: the line of each is where the one below was called. */
START_TEST(chains_through_blocks) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x40);
    const uint32_t middle = put_abstract(&f, "middle", 5), inner = put_abstract(&f, "inner", 6);
    put_function(&f, FUNCTION, "outer", 0x1000, 0x40);
    put_block(&f);
    put_inlined(&f, middle, 0x1010, 0x20, 50);
    put_block(&f);
    put_inlined(&f, inner, 0x1018, 8, 60);
    end_entry(&f);
    end_entry(&f);
    end_entry(&f);
    put_function(&f, FUNCTION, "nested", 0x1038, 8);
    end_entry(&f);
    end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 4);
    open_file();
    expect(0x1018, 0, "inner", 11);
    expect(0x1018, 1, "middle", 60);
    expect(0x1018, 2, "outer", 50);
    expect(0x1020, 0, "middle", 12);
    expect(0x1038, 0, "nested", 13);
    ck_assert_uint_eq(lines.count, 1);
    close_file();
}
END_TEST

/* Trap 23: names through other entries, which may lead in circles or nowhere. */
START_TEST(names_through_other_entries) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x80);
    const uint32_t linked = here(&f);
    put_leb(&f.info, LINKED);
    put_text(&f.info, "_Z6linkedv");
    put_instance(&f, INSTANCE, linked, 0x1000, 0x10);
    put_instance(&f, NAMED_LATER, linked, 0x1010, 0x10);
    put_instance(&f, INSTANCE, here(&f), 0x1020, 0x10);
    put_instance(&f, INSTANCE, here(&f) + 21, 0x1030, 0x10);
    put_instance(&f, INSTANCE, here(&f) - 21, 0x1040, 0x10);
    put_instance(&f, INSTANCE, 0x7fffffff, 0x1050, 0x10);
    end_unit(&f);
    put_plain_lines(0x1000, 8);
    open_file();
    expect(0x1000, 0, "_Z6linkedv", 10);
    expect(0x1010, 0, "_Z6linkedv", 11);
    for (unsigned i = 2; i < 6; i++) expect(0x1000 + 16 * i, 0, NULL, 10 + i);
    close_file();
}
END_TEST

/* Trap 36: codes of abbreviations with gaps. Trap 37: a sibling that leads back, and a form that is not known. */
START_TEST(strange_entries) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x20);
    put_leb(&f.info, WITH_SIBLING);
    put(&f.info, 4, 11);
    end_entry(&f);
    put_function(&f, FAR_CODE, "far", 0x1000, 0x20);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    begin_unit(&f, "two.c", 0x2000, 0x20);
    put_function(&f, FUNCTION, "before", 0x2000, 0x10);
    end_entry(&f);
    put_leb(&f.info, STRANGE);
    put_function(&f, FUNCTION, "behind", 0x2010, 0x10);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x2000, 2);
    open_file();
    char text[512];
    expect(0x1010, 0, "far", 11);
    expect(0x2000, 0, "before", 10);
    expect(0x2010, 0, NULL, 11);
    ck_assert_int_eq(usp_symbolizer_explain_lines(symbolizer, 0x1000, text, sizeof text), USP_OK);
    ck_assert_msg(strstr(text, "offset 0x") != NULL && strstr(text, "form that is not known") != NULL, "%s", text);
    close_file();
}
END_TEST

/* Trap 47: lengths that reach out, depth without end, more ranges than there can be, opcodes that divide by zero. */
START_TEST(sizes_that_cannot_be) {
    begin();
    put_unit("one.c", 0x1000, 0x20, "whole", 0x1000, 0x20);
    begin_unit(&f, "deep.c", 0x2000, 0x20);
    for (unsigned i = 0; i < 20000; i++) put_block(&f);
    end_unit(&f);
    put_plain_lines(0x2000, 2);
    f.line.bytes[f.program + 14] = 0; /* range of lines */
    begin_unit(&f, "long.c", 0x3000, 0x20);
    end_unit(&f);
    patch(&f.info, f.unit, 4, 0x7fffffff);
    open_file();
    expect(0x1010, 0, "whole", 11);
    ask(0x2000);
    expect_nothing(0x3000);
    close_file();
}
END_TEST

#ifdef HAVE_ZLIB
enum { ZLIB = 1, UNKNOWN_WAY = 77 };

/* Two units; the second one's lines begin far behind the first one's. The first function has a list of ranges if wanted. */
static void put_two_units(bool has_list) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x20);
    if (has_list) {
        put_leb(&f.info, FUNCTION_LIST);
        put_text(&f.info, "listed");
        put(&f.info, 4, f.ranges.size);
        end_entry(&f);
    }
    put_function(&f, FUNCTION, "first", 0x1000, 0x20);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    for (unsigned i = 0; i < 300000; i++) put(&f.line, 1, 0);
    put_unit("two.c", 0x2000, 0x20, "second", 0x2000, 0x20);
    for (unsigned i = 0; i < 4; i++) put(&f.ranges, 8, 0);
}

/* What there is to say of the lines has some words in it, or has not. */
static void expect_said(const char *words, bool is_said) {
    char text[512];
    ck_assert_int_eq(usp_symbolizer_explain_lines(symbolizer, 0x1000, text, sizeof text), USP_OK);
    ck_assert_msg((strstr(text, words) != NULL) == is_said, "%s", text);
}

static void expect_both(void) {
    expect(0x2010, 0, "second", 11);
    expect(0x1010, 0, "first", 11);
    expect_said("compressed", false);
}

/* A compressed section is unpacked when it is asked for: what is wrong with one that is not asked for is nobody's matter. */
START_TEST(compressed_sections) {
    put_two_units(false);
    f.packing.way = ZLIB;
    open_file();
    expect_both();
    close_file();
    put_two_units(false);
    f.packing = (struct packing){ZLIB, &f.ranges, 0};
    open_file();
    expect_both();
    close_file();
    put_two_units(true);
    f.packing = (struct packing){ZLIB, &f.ranges, 0};
    open_file();
    expect(0x1010, 0, "first", 11);
    expect_said("compressed .debug_ranges", true);
    close_file();
}
END_TEST

/* Nor is more of a line table's section unpacked than the table takes. */
START_TEST(compressed_sections_in_part) {
    put_two_units(false);
    f.packing = (struct packing){ZLIB, &f.line, 3};
    open_file();
    expect(0x1010, 0, "first", 11);
    expect_said("compressed", false);
    expect(0x2010, 0, "second", 0);
    expect_said("compressed .debug_line", true);
    expect(0x1010, 0, "first", 11); /* what was made is kept */
    close_file();
}
END_TEST

/* Whichever allocation fails: the answer is that memory lacks, or the right one; and it is right when there is memory again. */
START_TEST(compressed_sections_without_memory) {
    unsigned lacking = 0;
    put_two_units(true);
    f.packing.way = ZLIB;
    open_file();
    for (long n = 1;; n++) {
        usp_symbolizer_free(symbolizer);
        ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
        usp_lines_init(&lines, frames, ELEMENTS(frames));
        fail_allocation(n);
        const int status = usp_symbolize_lines(symbolizer, 0x1010, &lines);
        const bool is_last = allocation_still_to_fail();
        fail_allocation(0);
        ck_assert_msg(status == USP_ERROR_NO_MEMORY || (status == USP_OK && frames[0].line == 11),
                      "allocation %ld: %d, line %u", n, status, frames[0].line);
        lacking += status == USP_ERROR_NO_MEMORY;
        expect(0x1010, 0, "first", 11);
        expect(0x2010, 0, "second", 11);
        if (is_last) break;
    }
    ck_assert_uint_gt(lacking, 10);
    close_file();
}
END_TEST

/* Without units there are no lines, whatever else there is. */
START_TEST(compressed_units_that_are_damaged) {
    char text[512];
    put_two_units(false);
    f.packing = (struct packing){ZLIB, &f.info, 0};
    open_file();
    expect_nothing(0x1010);
    ck_assert_int_ne(usp_symbolizer_explain_lines(symbolizer, 0x1000, text, sizeof text), USP_OK);
    close_file();
    put_two_units(false);
    f.packing.way = UNKNOWN_WAY;
    open_file();
    expect_nothing(0x1010);
    ck_assert_int_ne(usp_symbolizer_explain_lines(symbolizer, 0x1000, text, sizeof text), USP_OK);
    close_file();
}
END_TEST
#endif

/* A prefix of a directory is replaced where a part of the path ends. */
START_TEST(paths_are_mapped) {
    static const struct {
        struct usp_path_map maps[2];
        const char *directory;
    } cases[] = {
        {{{"/sr", "/wrong"}, {"/src", "/here"}}, "/here"},
        {{{"", "/wrong"}, {"/src/", "/here"}}, "/here"},
        {{{"/src/one.c", "/wrong"}, {"/src//", "/here/"}}, "/here"},
        {{{"/", "/here/"}, {"/src", "/wrong"}}, "/here/src"},
        {{{"/src", ""}, {"/src", "/wrong"}}, ""},
    };
    struct usp_symbolizer_options options;
    begin();
    put_unit("one.c", 0x1000, 0x20, "own", 0x1000, 0x20);
    open_file();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        usp_symbolizer_free(symbolizer);
        usp_symbolizer_options_init(&options);
        options.path_maps = cases[i].maps;
        options.path_map_count = 2;
        ck_assert_int_eq(usp_symbolizer_create(images, &options, &symbolizer), USP_OK);
        ask(0x1000);
        ck_assert_str_eq(frames[0].directory, cases[i].directory);
    }
    close_file();
}
END_TEST

/* Of more inlined calls than are wanted the innermost are given, and the function around them all. */
START_TEST(inlined_calls_are_limited) {
    struct usp_symbolizer_options options;
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x20);
    const uint32_t inner = put_abstract(&f, "inner", 5);
    put_function(&f, FUNCTION, "outer", 0x1000, 0x20);
    for (unsigned i = 0; i < 3; i++) put_inlined(&f, inner, 0x1000, 0x20, 20 + i);
    for (unsigned i = 0; i < 4; i++) end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    open_file();
    ck_assert_uint_eq(ask(0x1000), 4);
    usp_symbolizer_free(symbolizer);
    usp_symbolizer_options_init(&options);
    options.inlined_limit = 1;
    ck_assert_int_eq(usp_symbolizer_create(images, &options, &symbolizer), USP_OK);
    ck_assert_uint_eq(ask(0x1000), 2);
    ck_assert_str_eq(frames[1].function, "outer");
    ck_assert_uint_eq(frames[1].line, 20);
    close_file();
}
END_TEST

int main(void) {
    TCase *traps = tcase_create("traps"), *options = tcase_create("options");
    add_tests(traps, plain_information, removed_functions_are_nowhere, children_of_removed_functions,
              claims_of_units_are_not_trusted, range_lists, inlined_calls_outside_of_their_function, folded_functions,
              rows_by_sequence, sequences, addresses_that_go_back, rows_at_one_address_and_line_0,
              functions_and_rows_that_do_not_meet, chains_through_blocks, names_through_other_entries, strange_entries,
              sizes_that_cannot_be);
#ifdef HAVE_ZLIB
    add_tests(traps, compressed_sections, compressed_sections_in_part, compressed_sections_without_memory,
              compressed_units_that_are_damaged);
#endif
    add_tests(options, paths_are_mapped, inlined_calls_are_limited);
    return run_suite("dwarf", traps, options);
}
