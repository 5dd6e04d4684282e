/* SPDX-License-Identifier: MIT */
/* Tests debug information as linkers, old compilers and damage leave it: functions, inlined calls, rows and compressed
 * sections. test_dwarf_units.c tests units and limits, test_dwarf_forms.c forms and files, test_dwarf_names.c names. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/support/dwarf_questions.h"
#include "tests/support/failing_alloc.h"

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

/* Linkers give removed functions the address 0, 1, −1 or −2. With its length the first of these covers 0 … n, and live
 * code there would get its name. In .debug_ranges −1 selects a base, so lld writes −2 there. */
START_TEST(removed_functions_are_nowhere) {
    static const uint64_t dead[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};
    static const uint64_t list[] = {
        UINT64_MAX - 1, UINT64_MAX - 1, 0, 0x3000, UINT64_MAX, UINT64_MAX - 1, 0, 0x3000, 0, 0};
    begin();
    for (int i = 0; i < ELEMENTS(list); i++) put(&f.ranges, 8, list[i]);
    begin_unit(&f, "one.c", 0, 0);
    for (unsigned i = 0; i < 4; i++) {
        put_function(&f, FUNCTION, "dead", dead[i], 0x3000);
        end_entry(&f);
    }
    put_leb(&f.info, FUNCTION_LIST);
    put_text(&f.info, "dead");
    put(&f.info, 4, 0);
    end_entry(&f);
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

/* The rows of removed functions are in sequences that begin at these addresses. Live code must not get their lines. */
START_TEST(rows_of_removed_functions_are_nowhere) {
    static const uint64_t dead[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x3000);
    end_unit(&f);
    begin_lines(&f);
    for (unsigned i = 0; i < 4; i++) {
        put_address(&f, dead[i]);
        put_row(&f, 0, 99);
        put_row(&f, 0x2000, 1);
        put_end(&f, 0x2000);
    }
    put_address(&f, 0x2000);
    put_row(&f, 0, 9);
    put_end(&f, 0x10);
    end_lines(&f);
    open_file();
    expect(0x2000, 0, NULL, 10);
    expect_nothing(0x1800);
    expect_nothing(0x3000);
    expect_nothing(0);
    close_file();
}
END_TEST

/* In a removed function, inlined calls with real ranges must be skipped, but functions must not. */
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

/* A list of ranges counts from the unit's low_pc until it gives another base. An inverted range is dropped, and the
 * others must stay. A function of several parts has an entry for each, and those after the first are cold. An inlined
 * call that lies in both parts must be in both, which is no damage to report. */
START_TEST(range_lists) {
    static const uint64_t list[] = {0, 0x20, UINT64_MAX, 0x2000, 0x10, 0x30, 0x50, 0x40, 0, 0};
    static const uint64_t inlined[] = {0x10, 0x20, UINT64_MAX, 0x2000, 0x20, 0x40, 0, 0};
    begin();
    put_abbreviation(&f, OWN, DW_TAG_inlined_subroutine, false,
                     PAIRS(DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_ranges, DW_FORM_sec_offset, DW_AT_call_file,
                           DW_FORM_data1, DW_AT_call_line, DW_FORM_data1));
    for (int i = 0; i < ELEMENTS(list); i++) put(&f.ranges, 8, list[i]);
    const size_t second = f.ranges.size;
    for (int i = 0; i < ELEMENTS(inlined); i++) put(&f.ranges, 8, inlined[i]);
    begin_unit(&f, "one.c", 0x1000, 0x1100);
    const uint32_t inner = put_abstract(&f, "inner", 5);
    put_leb(&f.info, FUNCTION_LIST);
    put_text(&f.info, "parted");
    put(&f.info, 4, 0);
    put_leb(&f.info, OWN);
    put(&f.info, 4, inner);
    put(&f.info, 4, second);
    put(&f.info, 2, 1 | 77 << 8);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    open_file();
    expect(0x1008, 0, "parted", 10);
    ck_assert_uint_eq(frames[0].flags & USP_SOURCE_COLD, 0);
    expect(0x1010, 0, "inner", 11);
    expect(0x1010, 1, "parted", 77);
    expect(0x2018, 0, "parted", 0);
    ck_assert_uint_eq(lines.count, 1);
    ck_assert_uint_ne(frames[0].flags & USP_SOURCE_COLD, 0);
    ask(0x2028);
    ck_assert_uint_eq(lines.count, 2);
    expect(0x2028, 1, "parted", 77);
    expect_nothing(0x2030);
    expect_nothing(0x2048);
    expect_said("offset 0x", false);
    close_file();
}
END_TEST

/* Link-time optimization leaves inlined calls that lie partly outside of their function. Only the part inside may
 * count. */
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

/* A usp_write_function: appends to a string of 4096 bytes, without blanks and line ends. */
static int append(void *context, const char *bytes, size_t n) {
    char *text = context;
    size_t length = strlen(text);
    ck_assert_uint_lt(length + n, 4096);
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != ' ' && bytes[i] != '\n') text[length++] = bytes[i];
    }
    text[length] = '\0';
    return USP_OK;
}

/* Checks that the JSON of a stack whose only frame is at 0x1010 contains these words,
 * which have no blanks. */
static void expect_json(const char *words) {
    static char text[4096];
    struct usp_frame frame = {.pc = 0x1010, .kind = USP_FRAME_KIND_INTERRUPTED};
    struct usp_format_options options;
    struct usp_stack stack;
    usp_stack_init(&stack, &frame, 1);
    stack.arch = USP_ARCH_X86_64;
    stack.count = stack.physical = 1;
    usp_format_options_init(&options);
    options.style = USP_FORMAT_JSON;
    options.symbolizer = symbolizer;
    options.flags = USP_FORMAT_LINES;
    text[0] = '\0';
    ck_assert_int_eq(usp_format_stack(&stack, NULL, &options, append, text), USP_OK);
    ck_assert_msg(strstr(text, words) != NULL, "%s", text);
}

struct names {
    char all[256];
};

static int add_name(void *context, const char *name) {
    struct names *names = context;
    strcat(names->all, name);
    strcat(names->all, " ");
    return 0;
}

/* Several functions have one range, in one unit and in two: folded code (ICF). All names must be there, and the first
 * one must have the lines. Its name must be shown with them, though the symbol table's rules prefer another one's. */
START_TEST(folded_functions) {
    static const struct dwarf_symbol symbols[] = {{"second", 0x1000, 0x20}, {NULL, 0, 0}};
    struct names names = {""};
    begin();
    f.symbols = _i == 0 ? NULL : symbols;
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
    ck_assert_uint_eq(frames[0].start, 0x1000);
    ck_assert_str_eq(usp_strategy_string(frames[0].named_by), "debug-info");
    expect_json("\"named_by\":\"debug-info\",\"aliases\":[\"second\",\"third\"]");
    close_file();
}
END_TEST

/* Two units hold a template, of which the linker has kept one. Nothing was folded, and the name is the symbol table's,
 * as for other functions. */
START_TEST(merged_functions_are_not_folded) {
    static const struct dwarf_symbol symbols[] = {{"symbol", 0x1000, 0x20}, {NULL, 0, 0}};
    struct names names = {""};
    begin();
    f.symbols = symbols;
    put_unit("one.c", 0x1000, 0x20, "merged", 0x1000, 0x20);
    put_plain_lines(0x1000, 2);
    put_unit("two.c", 0x1000, 0x20, "merged", 0x1000, 0x20);
    open_file();
    expect(0x1010, 0, "symbol", 11);
    ck_assert_uint_eq(frames[0].flags & USP_SOURCE_FOLDED, 0);
    ck_assert_uint_eq(lines.folded, 0);
    ck_assert_int_eq(usp_symbolizer_visit_names(symbolizer, 0x1010, add_name, &names), USP_OK);
    ck_assert_str_eq(names.all, "symbol merged ");
    expect_json("\"named_by\":\"symtab\",\"source_directory\"");
    close_file();
}
END_TEST

/* Folded code has several sequences of rows. A function must get the lines of its own sequence
 * (DW_AT_LLVM_stmt_sequence), not those of a function that was folded into it. A dsymutil wrote offsets within
 * sequences; these must not count. */
START_TEST(rows_by_sequence) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x60);
    const size_t at = f.info.size;
    put_function(&f, SEQUENCED, "own", 0x1000, 0x20);
    put(&f.info, 4, 0);
    const size_t folded_at = f.info.size;
    put_function(&f, SEQUENCED, "out", 0x1000, 0x20);
    put(&f.info, 4, 0);
    const size_t wrong_at = f.info.size;
    put_function(&f, SEQUENCED, "mid", 0x1040, 0x20);
    put(&f.info, 4, 0);
    end_unit(&f);
    begin_lines(&f);
    const size_t first = f.line.size;
    put_address(&f, 0x1000);
    put_row(&f, 0, 100);
    put_end(&f, 0x20);
    const size_t second = f.line.size;
    put_address(&f, 0x1000);
    put_row(&f, 0, 200);
    put_end(&f, 0x20);
    put_address(&f, 0x1040);
    put_row(&f, 0, 300);
    put_end(&f, 0x20);
    put_address(&f, 0x1040);
    const size_t within = f.line.size;
    put_row(&f, 0, 400);
    put_end(&f, 0x20);
    end_lines(&f);
    const size_t before = 1 + sizeof "own" + 16;
    patch(&f.info, at + before, 4, second);
    patch(&f.info, folded_at + before, 4, first);
    patch(&f.info, wrong_at + before, 4, within);
    open_file();
    expect(0x1000, 0, "own", 201);
    expect(0x1040, 0, "mid", 301);
    close_file();
}
END_TEST

/* Sequences are in any order. One has a single row, like that of a one-instruction thunk; one has two ends, one has
 * none. Addresses after an end must not get the last line. */
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

/* Addresses go back within a sequence, as in a table that is appended to itself: rows begin again. The end is below the
 * last row. */
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

/* Of several rows at one address the last one must win, whether or not a statement begins or a prologue ends there. */
START_TEST(rows_at_one_address) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x40);
    put_function(&f, FUNCTION, "own", 0x1000, 0x40);
    end_entry(&f);
    end_unit(&f);
    begin_lines(&f);
    put_address(&f, 0x1000);
    put_row(&f, 0, 4);
    put(&f.line, 1, DW_LNS_set_prologue_end);
    put_row(&f, 0, 5);
    put(&f.line, 1, DW_LNS_negate_stmt);
    put_bytes(&f.line, "\0\2\4\7", 4); /* a discriminator */
    put_row(&f, 0, -3);
    put_row(&f, 16, 1);
    put_end(&f, 48);
    end_lines(&f);
    open_file();
    expect(0x1000, 0, "own", 7);
    expect(0x1010, 0, "own", 8);
    close_file();
}
END_TEST

/* Compilers give line 0 to code without a line. Line 0 must stay; on request the last line before it replaces it, but
 * only of the same inlined call. */
START_TEST(line_0) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x40);
    const uint32_t inner = put_abstract(&f, "inner", 5);
    put_function(&f, FUNCTION, "own", 0x1000, 0x40);
    put_inlined(&f, inner, 0x1020, 0x10, 70);
    end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    begin_lines(&f);
    put_address(&f, 0x1000);
    put_row(&f, 0, 6);
    put_row(&f, 16, -7);
    put_row(&f, 32, 9);
    put_row(&f, 8, -9);
    put_end(&f, 8);
    end_lines(&f);
    open_file();
    expect(0x1000, 0, "own", 7);
    expect(0x1010, 0, "own", 0);
    expect(0x1020, 0, "inner", 0);
    for (unsigned i = 0; i < 3; i++) {
        static const usp_addr addresses[] = {0x1018, 0x1028, 0x1038};
        static const uint32_t expected[] = {7, 0, 9};
        usp_lines_init(&lines, frames, ELEMENTS(frames));
        lines.flags = USP_LINES_FILL;
        ck_assert_int_eq(usp_symbolize_lines(symbolizer, addresses[i], &lines), USP_OK);
        ck_assert_uint_eq(frames[0].line, expected[i]);
        ck_assert_uint_eq((frames[0].flags & USP_SOURCE_LINE_FILLED) != 0, expected[i] != 0);
    }
    close_file();
}
END_TEST

/* A call with line 0 was generated by the compiler. The caller must have its file and line 0, not the line of its
 * declaration. */
START_TEST(calls_of_line_0) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x20);
    const uint32_t inner = put_abstract(&f, "inner", 5), outer = put_abstract(&f, "outer", 6);
    put_abbreviation(
        &f, OWN, DW_TAG_subprogram, true,
        PAIRS(DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8));
    put_instance(&f, OWN, outer, 0x1000, 0x20);
    put_inlined(&f, inner, 0x1000, 0x20, 0);
    end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    open_file();
    expect_in(0x1010, 0, "inner", "/src", "one.c", 11);
    expect_in(0x1010, 1, "outer", "/src", "one.c", 0);
    ck_assert_int_eq(frames[1].line_source, USP_LINE_CALL);
    close_file();
}
END_TEST

/* A row's file may differ from its function's: a header, a macro, #line. */
START_TEST(rows_of_other_files) {
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x20);
    const uint32_t inner = put_abstract(&f, "inner", 5); /* declared in one.c */
    put_function(&f, FUNCTION, "own", 0x1000, 0x20);
    put_inlined(&f, inner, 0x1010, 0x10, 70);
    end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    begin_lines(&f);
    put_address(&f, 0x1000);
    put_row(&f, 0, 9);
    put(&f.line, 2, DW_LNS_set_file | 2 << 8);
    put_row(&f, 16, 1);
    put_end(&f, 16);
    end_lines(&f);
    open_file();
    expect_in(0x1000, 0, "own", "/src", "one.c", 10);
    expect_in(0x1010, 0, "inner", "/src/sub", "two.c", 11);
    expect_in(0x1010, 1, "own", "/src", "one.c", 70);
    close_file();
}
END_TEST

/* A function begins between two rows. A function without rows gets its declaration's line, marked as such. */
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

/* Inlined calls in inlined calls, with blocks between them, and a function in a block of another one. Each caller must
 * have the line of the call below it. */
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

/* Entries that readers could stumble over: gaps in the codes of abbreviations, a sibling that points back, an unknown
 * form. */
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
    put_function(&f, FUNCTION, "after", 0x2010, 0x10);
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

/* What is below a declaration or an enumeration is skipped, unless its sibling is invalid. */
START_TEST(skipped_entries) {
    begin();
    put_abbreviation(
        &f, OWN, DW_TAG_subprogram, true,
        PAIRS(DW_AT_linkage_name, DW_FORM_strp, DW_AT_declaration, DW_FORM_flag_present, DW_AT_sibling, DW_FORM_ref4));
    begin_unit(&f, "one.c", 0x1000, 0x20);
    put_leb(&f.info, OWN);
    put(&f.info, 4, 0);
    put(&f.info, 4, here(&f) + 5);
    put_leb(&f.info, STRANGE);
    put_leb(&f.info, WITH_SIBLING);
    put(&f.info, 4, UINT32_MAX);
    end_entry(&f);
    put_function(&f, FAR_CODE, "after", 0x1000, 0x20);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    open_file();
    expect(0x1010, 0, "after", 11);
    close_file();
}
END_TEST

#ifdef HAVE_ZLIB
enum { ZLIB = 1, UNKNOWN_WAY = 77 };

/* Makes two units, whose line tables lie far apart. has_list: a function in the first unit has a list of ranges. */
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

static void expect_both(void) {
    expect(0x2010, 0, "second", 11);
    expect(0x1010, 0, "first", 11);
    expect_said("compressed", false);
}

/* A compressed section is unpacked only when it is needed. Damage in a section that is not needed must not be
 * reported. */
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

/* A line table must not unpack more of its section than it takes. */
START_TEST(compressed_sections_in_part) {
    put_two_units(false);
    f.packing = (struct packing){ZLIB, &f.line, 3};
    open_file();
    expect(0x1010, 0, "first", 11);
    expect_said("compressed", false);
    expect(0x2010, 0, "second", 0);
    expect_said("compressed .debug_line", true);
    expect(0x1010, 0, "first", 11); /* blocks that were made stay */
    close_file();
}
END_TEST

/* Whichever allocation fails, the result must be USP_ERROR_NO_MEMORY or right, and right when there is memory again. */
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

/* If the units are damaged there are no lines, whatever else is intact. */
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

/* A prefix of a path is replaced only if it ends where a component ends. */
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

/* If there are more inlined calls than the caller wants, it gets the innermost ones, and the function around all. */
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
    add_tests(traps, plain_information, removed_functions_are_nowhere, rows_of_removed_functions_are_nowhere,
              children_of_removed_functions, range_lists, inlined_calls_outside_of_their_function,
              merged_functions_are_not_folded, rows_by_sequence, sequences, addresses_that_go_back, rows_at_one_address,
              line_0, calls_of_line_0, rows_of_other_files, functions_and_rows_that_do_not_meet, chains_through_blocks,
              strange_entries, skipped_entries);
#ifdef HAVE_ZLIB
    add_tests(traps, compressed_sections, compressed_sections_in_part, compressed_sections_without_memory,
              compressed_units_that_are_damaged);
#endif
    add_loop_tests(traps, 0, 2, folded_functions);
    add_tests(options, paths_are_mapped, inlined_calls_are_limited);
    return run_suite("dwarf", traps, options);
}
