/* SPDX-License-Identifier: MIT */
/* Tests the forms in which debug information has strings, addresses, ranges and files: version 5's tables and indexes,
 * LLVM's and GNU's own forms, and paths made of directories and names. */
#include "tests/support/dwarf_questions.h"
#include "tests/support/folder.h"

/* ---- strings ---- */

/* Adds a string to a section. Returns its offset. */
static size_t add_string(struct builder *b, const char *text) {
    if (b->size == 0) put_text(b, "the first string of the section");
    const size_t at = b->size;
    put_text(b, text);
    return at;
}

/* Begins a unit of version 5 whose functions have names in this form. */
static void begin_named_unit(unsigned form, uint64_t str_offsets_base) {
    begin();
    f.version = 5;
    f.has_build_id = true;
    put_abbreviation(&f, OWN, DW_TAG_compile_unit, true,
                     PAIRS(DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_str_offsets_base, DW_FORM_sec_offset,
                           DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_udata));
    put_abbreviation(
        &f, OWN + 1, DW_TAG_compile_unit, true,
        PAIRS(DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_udata));
    put_abbreviation(&f, OWN + 2, DW_TAG_subprogram, false,
                     PAIRS(DW_AT_name, (uint16_t)form, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_udata));
    begin_header(&f);
    put_leb(&f.info, str_offsets_base != 0 ? OWN : OWN + 1);
    put_offset(&f, &f.info, f.line.size);
    if (str_offsets_base != 0) put_offset(&f, &f.info, str_offsets_base);
    put(&f.info, 8, 0x1000);
    put_leb(&f.info, 0x20);
    put_leb(&f.info, OWN + 2);
}

static void end_named_unit(void) {
    put(&f.info, 8, 0x1000);
    put_leb(&f.info, 0x20);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    open_file();
}

/* Makes an index, and checks whether that reports a name that is missing. */
static void expect_report(bool is_expected) {
    struct usp_index index;
    make_folder();
    usp_index_init(&index, folder);
    ck_assert_int_eq(usp_index_write(images, usp_images_get(images, 0), &index), USP_OK);
    const bool is_reported = strstr(index.message, "a function whose name is not in its section at 0x") != NULL;
    ck_assert_msg(is_reported == is_expected, "%s", index.message);
    remove_folder();
}

/* Names by an offset in .debug_str or .debug_line_str. */
START_TEST(strings_by_offset) {
    static const unsigned forms[] = {DW_FORM_strp, DW_FORM_line_strp};
    begin_named_unit(forms[_i], 0);
    put_offset(&f, &f.info, add_string(_i == 0 ? &f.str : &f.line_str, "named"));
    end_named_unit();
    expect(0x1010, 0, "named", 11);
    expect_report(false);
    close_file();
}
END_TEST

/* Names by number in .debug_str_offsets, whose entries count from the unit's base or, if the unit gives no base, from
 * the end of the first header. */
START_TEST(strings_by_number) {
    static const struct {
        unsigned form, width;
    } forms[] = {{DW_FORM_strx, 0}, {DW_FORM_strx1, 1}, {DW_FORM_strx2, 2}, {DW_FORM_strx3, 3}, {DW_FORM_strx4, 4}};
    const unsigned width = forms[_i / 2].width;
    const bool has_base = _i % 2 != 0;
    begin_named_unit(forms[_i / 2].form, has_base ? 16 : 0);
    add_string(&f.str, "another name");
    const size_t at = add_string(&f.str, "named");
    put(&f.str_offsets, 4, 20);
    put(&f.str_offsets, 2, 5);
    put(&f.str_offsets, 2, 0);
    /* Entries 2 and 4 of the section are the unit's entry 2, with and without a base. */
    for (unsigned i = 0; i < 5; i++) put(&f.str_offsets, 4, i == (has_base ? 4 : 2) ? at : 0);
    if (width == 0) put_leb(&f.info, 2);
    if (width != 0) put(&f.info, width, 2);
    end_named_unit();
    expect(0x1010, 0, "named", 11);
    close_file();
}
END_TEST

/* Missing strings: beyond the section's end, not terminated, with a number that is too high, in a shared file that was
 * not found. The function must stay, and damage must be reported. */
START_TEST(strings_that_are_not_there) {
    static const unsigned forms[] = {DW_FORM_strp, DW_FORM_strp, DW_FORM_strx4, DW_FORM_strp_sup, DW_FORM_GNU_strp_alt};
    begin_named_unit(forms[_i], _i == 2 ? 8 : 0);
    const size_t at = add_string(&f.str, "named");
    put_bytes(&f.str, "cut", 3);
    put(&f.str_offsets, 8, 0);
    put(&f.info, 4, _i == 0 ? 0x7fffffff : _i == 1 ? at + sizeof "named" : _i == 2 ? 0x3fffffff : at);
    end_named_unit();
    expect(0x1010, 0, NULL, 11);
    expect_report(_i < 3);
    close_file();
}
END_TEST

/* ---- addresses ---- */

/* Addresses by number in .debug_addr after the unit's base; LLVM's form adds an offset. */
START_TEST(addresses_by_number) {
    static const struct {
        unsigned form, width;
    } forms[] = {{DW_FORM_addrx, 0},         {DW_FORM_addrx1, 1}, {DW_FORM_addrx2, 2},
                 {DW_FORM_addrx3, 3},        {DW_FORM_addrx4, 4}, {DW_FORM_LLVM_addrx_offset, 0},
                 {DW_FORM_GNU_addr_index, 0}};
    const unsigned form = forms[_i].form, width = forms[_i].width;
    const bool is_gnu = form == DW_FORM_GNU_addr_index;
    begin();
    f.version = is_gnu ? 4 : 5;
    put_abbreviation(&f, OWN, DW_TAG_compile_unit, true,
                     PAIRS(DW_AT_stmt_list, DW_FORM_sec_offset, is_gnu ? DW_AT_GNU_addr_base : DW_AT_addr_base,
                           DW_FORM_sec_offset, DW_AT_low_pc, (uint16_t)form, DW_AT_high_pc, DW_FORM_udata));
    put_abbreviation(&f, OWN + 1, DW_TAG_subprogram, false,
                     PAIRS(DW_AT_name, DW_FORM_string, DW_AT_low_pc, (uint16_t)form, DW_AT_high_pc, DW_FORM_udata));
    /* A header, another unit's address, and this unit's. */
    for (unsigned i = 0; i < 2; i++) put(&f.addr, 8, 0x3000);
    for (unsigned i = 0; i < 3; i++) put(&f.addr, 8, i == 2 ? 0x1000 : 0x2000);
    begin_header(&f);
    for (unsigned i = 0; i < 2; i++) {
        put_leb(&f.info, OWN + i);
        if (i == 0) put_offset(&f, &f.info, f.line.size);
        if (i == 0) put_offset(&f, &f.info, 16);
        if (i == 1) put_text(&f.info, "own");
        if (width == 0) put_leb(&f.info, 2);
        if (width != 0) put(&f.info, width, 2);
        if (form == DW_FORM_LLVM_addrx_offset) put(&f.info, 4, 0x10);
        put_leb(&f.info, 0x20);
    }
    end_unit(&f);
    put_plain_lines(0x1000, 3);
    open_file();
    const bool is_moved = form == DW_FORM_LLVM_addrx_offset;
    expect(0x1018, 0, "own", 11);
    expect(is_moved ? 0x1028 : 0x1008, 0, "own", is_moved ? 12 : 10);
    expect_nothing(is_moved ? 0x1008 : 0x1028);
    close_file();
}
END_TEST

/* ---- ranges of version 5 ---- */

static void put_range(unsigned kind, uint64_t first, uint64_t second) {
    put(&f.rnglists, 1, kind);
    switch (kind) {
    case DW_RLE_base_address: put(&f.rnglists, 8, first); break;
    case DW_RLE_base_addressx: put_leb(&f.rnglists, first); break;
    case DW_RLE_start_end:
        put(&f.rnglists, 8, first);
        put(&f.rnglists, 8, second);
        break;
    case DW_RLE_start_length:
        put(&f.rnglists, 8, first);
        put_leb(&f.rnglists, second);
        break;
    default:
        put_leb(&f.rnglists, first);
        put_leb(&f.rnglists, second);
        break;
    }
}

/* A list by number, with all kinds of entries: its offset is in a table after the unit's base. Inverted ranges and
 * addresses that are not in the table are dropped one by one. After an entry of an unknown kind, nothing can be
 * read. */
START_TEST(range_lists_by_number) {
    begin();
    f.version = 5;
    put_abbreviation(&f, OWN, DW_TAG_compile_unit, true,
                     PAIRS(DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_low_pc, DW_FORM_addr, DW_AT_addr_base,
                           DW_FORM_sec_offset, DW_AT_rnglists_base, DW_FORM_sec_offset, DW_AT_ranges,
                           DW_FORM_rnglistx));
    put_abbreviation(&f, OWN + 1, DW_TAG_subprogram, true,
                     PAIRS(DW_AT_name, DW_FORM_string, DW_AT_ranges, DW_FORM_rnglistx));
    static const uint64_t addresses[] = {0, 0x1400, 0x1500, 0x1520, 0x1600};
    for (int i = 0; i < ELEMENTS(addresses); i++) put(&f.addr, 8, addresses[i]);
    /* The header, and a table of two offsets, the second of which is the list's. */
    put(&f.rnglists, 4, 0);
    put(&f.rnglists, 2, 5);
    put(&f.rnglists, 2, 8);
    put(&f.rnglists, 4, 2);
    put(&f.rnglists, 4, 0x7777);
    put(&f.rnglists, 4, 8);
    put_range(DW_RLE_offset_pair, 0x10, 0x20);
    put_range(DW_RLE_base_address, 0x1100, 0);
    put_range(DW_RLE_offset_pair, 0x10, 0x20);
    put_range(DW_RLE_offset_pair, 0x40, 0x30);
    put_range(DW_RLE_start_end, 0x1200, 0x1210);
    put_range(DW_RLE_start_end, 0x1290, 0x1280);
    put_range(DW_RLE_start_length, 0x1300, 0x10);
    put_range(DW_RLE_base_addressx, 1, 0);
    put_range(DW_RLE_offset_pair, 0, 0x10);
    put_range(DW_RLE_startx_endx, 2, 3);
    put_range(DW_RLE_startx_endx, 2, 0x7777);
    put_range(DW_RLE_startx_length, 4, 0x10);
    put_range(DW_RLE_base_addressx, 0x7777, 0);
    put_range(DW_RLE_offset_pair, 0x1700, 0x1710);
    put(&f.rnglists, 1, 0x77);
    put_range(DW_RLE_start_end, 0x1800, 0x1810);
    put(&f.rnglists, 1, DW_RLE_end_of_list);
    begin_header(&f);
    put_leb(&f.info, OWN);
    put_offset(&f, &f.info, f.line.size);
    put(&f.info, 8, 0x1000);
    put_offset(&f, &f.info, 0);
    put_offset(&f, &f.info, 12);
    put_leb(&f.info, 1);
    put_leb(&f.info, OWN + 1);
    put_text(&f.info, "listed");
    put_leb(&f.info, 1);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x3000, 1);
    open_file();
    static const usp_addr inside[] = {0x1010, 0x1110, 0x1200, 0x1300, 0x1400, 0x1500, 0x1518, 0x1600},
                          outside[] = {0x1000, 0x1020, 0x1134, 0x1284, 0x1310, 0x1520, 0x1610, 0x1700, 0x1800};
    for (int i = 0; i < ELEMENTS(inside); i++) expect(inside[i], 0, "listed", 0);
    for (int i = 0; i < ELEMENTS(outside); i++) expect_nothing(outside[i]);
    close_file();
}
END_TEST

/* ---- forms and values in other places ---- */

/* The form of a value is in the entry, or the value is in the abbreviation. A form that refers to itself is damage. */
START_TEST(indirect_forms_and_implicit_values) {
    begin();
    put_abbreviation(&f, OWN, DW_TAG_subprogram, false,
                     PAIRS(DW_AT_name, DW_FORM_indirect, DW_AT_decl_file, DW_FORM_implicit_const, 2, DW_AT_decl_line,
                           DW_FORM_implicit_const, 33, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_indirect));
    begin_unit(&f, "one.c", 0x1000, 0x60);
    for (unsigned i = 0; i < 2; i++) {
        static const char *const names[] = {"first", "second"};
        put_leb(&f.info, OWN);
        put_leb(&f.info, i == 0 ? DW_FORM_string : DW_FORM_strp);
        if (i == 0) put_text(&f.info, names[i]);
        if (i == 1) put(&f.info, 4, add_string(&f.str, names[i]));
        put(&f.info, 8, 0x1000 + 0x20 * i);
        put_leb(&f.info, i == 0 ? DW_FORM_data1 : DW_FORM_data8);
        put(&f.info, i == 0 ? 1 : 8, 0x20);
    }
    put_leb(&f.info, OWN);
    put_leb(&f.info, DW_FORM_indirect);
    put_leb(&f.info, DW_FORM_string);
    end_unit(&f);
    put_plain_lines(0x3000, 1);
    open_file();
    expect_in(0x1000, 0, "first", "/src/sub", "two.c", 33);
    ck_assert_int_eq(frames[0].line_source, USP_LINE_DECLARATION);
    expect_in(0x1020, 0, "second", "/src/sub", "two.c", 33);
    expect_nothing(0x1040);
    expect_said("form that is not known", true);
    close_file();
}
END_TEST

/* Entries whose attributes all have a fixed size, in forms of each width and in a constant. Bytes follow the entry in
 * one unit, and none in the other, which ends with it. */
START_TEST(fixed_forms) {
    begin();
    put_abbreviation(&f, OWN, DW_TAG_subprogram, false,
                     PAIRS(DW_AT_decl_line, DW_FORM_data16, DW_AT_name, DW_FORM_strp, DW_AT_external,
                           DW_FORM_flag_present, DW_AT_low_pc, DW_FORM_addr, DW_AT_decl_file, DW_FORM_implicit_const, 2,
                           DW_AT_declaration, DW_FORM_flag, 0x203b, DW_FORM_data2, DW_AT_high_pc, DW_FORM_data4));
    for (unsigned i = 0; i < 2; i++) {
        begin_unit(&f, "one.c", 0x1000 + 0x100 * i, 0x20);
        put_leb(&f.info, OWN);
        put(&f.info, 8, UINT64_MAX);
        put(&f.info, 8, UINT64_MAX);
        put(&f.info, 4, add_string(&f.str, "fixed"));
        put(&f.info, 8, 0x1000 + 0x100 * i);
        put(&f.info, 1, 0xff);
        put(&f.info, 2, 0xffff);
        put(&f.info, 4, 0x20);
        for (unsigned k = 0; i == 0 && k < 16; k++) end_entry(&f);
        end_length(&f, &f.info, f.unit);
        put_plain_lines(0x1000 + 0x100 * i, 2);
    }
    open_file();
    for (unsigned i = 0; i < 2; i++) {
        expect(0x1010 + 0x100 * i, 0, "fixed", 11);
        expect_nothing(0x1020 + 0x100 * i);
    }
    expect_said("damaged", false);
    close_file();
}
END_TEST

/* ---- files ---- */

/* Puts one row at 0x1000, of file 1. */
static void put_one_row(void) {
    put_address(&f, 0x1000);
    put_row(&f, 0, 9);
    put_end(&f, 0x20);
    end_lines(&f);
}

/* Entries of version 5's files have an MD5 and the source text, which must be skipped by their forms. */
START_TEST(files_with_md5_and_source) {
    begin();
    f.version = 5;
    begin_unit(&f, "one.c", 0x1000, 0x20);
    end_unit(&f);
    begin_line_header(&f);
    put_bytes(&f.line, "\1\1\37\2", 4); /* directories: a path, DW_FORM_line_strp; two of them */
    put(&f.line, 4, add_string(&f.line_str, "/src"));
    put(&f.line, 4, add_string(&f.line_str, "headers"));
    static const uint16_t format[] = {0x2001,
                                      DW_FORM_line_strp,
                                      DW_LNCT_directory_index,
                                      DW_FORM_data2,
                                      5,
                                      DW_FORM_data16,
                                      DW_LNCT_path,
                                      DW_FORM_strp,
                                      0x2001,
                                      DW_FORM_string,
                                      4,
                                      DW_FORM_block};
    put(&f.line, 1, ELEMENTS(format) / 2);
    for (int i = 0; i < ELEMENTS(format); i++) put_leb(&f.line, format[i]);
    put_leb(&f.line, 2);
    for (unsigned i = 0; i < 2; i++) {
        put(&f.line, 4, add_string(&f.line_str, "int main(void) { return 0; }"));
        put(&f.line, 2, i);
        for (unsigned k = 0; k < 16; k++) put(&f.line, 1, 0xd4 + k);
        put(&f.line, 4, add_string(&f.str, i == 0 ? "one.c" : "one.h"));
        put_text(&f.line, "the source again");
        put_bytes(&f.line, "\3abc", 4);
    }
    end_line_header(&f);
    put_one_row();
    open_file();
    expect_in(0x1010, 0, NULL, "/src/headers", "one.h", 10);
    close_file();
}
END_TEST

enum { PATHS = 22 };

/* A path consists of the compiler's directory, a directory of the table, and a name; an absolute part replaces those
 * before it. Names that do not belong to a file are not joined. Windows paths have drive letters and other
 * separators. */
START_TEST(paths_are_joined) {
    static const struct {
        const char *called, *folder, *name, *expected_folder, *expected_name;
    } cases[] = {
        {"/src", "sub", "one.c", "/src/sub", "one.c"},
        {"/src", "/usr/include", "one.h", "/usr/include", "one.h"},
        {"/src", "sub", "/tmp/one.c", "/tmp", "one.c"},
        {"/src", "sub", "deep/one.c", "/src/sub/deep", "one.c"},
        {"/src", NULL, "one.c", "/src", "one.c"},
        {"/src", NULL, "../one.c", "/src/..", "one.c"},
        {"/", "sub", "one.c", "/sub", "one.c"},
        {"/src", "sub", "/one.c", "/", "one.c"},
        /* -fdebug-prefix-map and -ffile-prefix-map leave such directories. */
        {".", "sub", "one.c", "./sub", "one.c"},
        {"/proc/self/cwd", "sub", "one.c", "/proc/self/cwd/sub", "one.c"},
        {"", "sub", "one.c", "sub", "one.c"},
        {"/src", "sub", "<compiler-generated>", NULL, "<compiler-generated>"},
        {"/src", "sub", "<stdin>", NULL, "<stdin>"},
        {"/src", "sub", "<swift-imported-modules>", NULL, "<swift-imported-modules>"},
        /* Bitcode builds put placeholders in place of all parts of paths (see names_with_underscores). */
        {"__hidden#3_", NULL, "__hidden#2_", "__hidden#3_", "__hidden#2_"},
        {"__hidden#3_", "__hidden#4_", "__hidden#2_", "__hidden#3_/__hidden#4_", "__hidden#2_"},
        {"C:\\src", "sub", "one.c", "C:\\src/sub", "one.c"},
        {"/src", "C:\\other", "one.c", "C:\\other", "one.c"},
        {"/src", "sub", "C:\\tmp\\one.c", "C:\\tmp", "one.c"},
        {"/src", "sub", "D:/tmp/one.c", "D:/tmp", "one.c"},
        {"/src", "sub", "\\\\server\\share\\one.c", "\\\\server\\share", "one.c"},
        /* In names of other systems a backslash is an ordinary character. */
        {"/src", "sub", "one\\two.c", "/src/sub", "one\\two.c"},
    };
    const unsigned version = _i % 2 == 0 ? 4 : 5;
    const int i = _i / 2;
    ck_assert_int_eq(ELEMENTS(cases), PATHS);
    begin();
    f.version = version;
    begin_header(&f);
    put_leb(&f.info, UNIT);
    put_text(&f.info, "unit");
    put_text(&f.info, cases[i].called);
    put_offset(&f, &f.info, f.line.size);
    put(&f.info, 8, 0x1000);
    put(&f.info, 8, 0x20);
    end_unit(&f);
    begin_line_header(&f);
    const bool has_folder = cases[i].folder != NULL;
    if (version >= 5) {
        put_bytes(&f.line, "\1\1\10", 3);
        put_leb(&f.line, 1 + has_folder);
        put_text(&f.line, cases[i].called);
    }
    if (has_folder) put_text(&f.line, cases[i].folder);
    if (version >= 5) {
        put_bytes(&f.line, "\2\1\10\2\17\2", 6);
        put_text(&f.line, "zero");
        put_leb(&f.line, 0);
    } else {
        put(&f.line, 1, 0);
    }
    put_text(&f.line, cases[i].name);
    put_leb(&f.line, has_folder);
    if (version < 5) put(&f.line, 3, 0);
    end_line_header(&f);
    put_one_row();
    open_file();
    expect_in(0x1010, 0, NULL, cases[i].expected_folder, cases[i].expected_name, 10);
    close_file();
}
END_TEST

/* Two units divide the path of one file in two ways. The answers must be the same. */
START_TEST(one_file_in_two_ways) {
    begin();
    for (unsigned i = 0; i < 2; i++) {
        begin_header(&f);
        put_leb(&f.info, UNIT);
        put_text(&f.info, "unit");
        put_text(&f.info, i == 0 ? "/src" : "/src/sub");
        put_offset(&f, &f.info, f.line.size);
        put(&f.info, 8, 0x1000 + 0x1000 * i);
        put(&f.info, 8, 0x20);
        end_unit(&f);
        begin_line_header(&f);
        if (i == 0) put_text(&f.line, "sub/deep");
        put(&f.line, 1, 0);
        put_text(&f.line, i == 0 ? "one.c" : "deep/one.c");
        put_leb(&f.line, i == 0 ? 1 : 0);
        put(&f.line, 3, 0);
        end_line_header(&f);
        put_address(&f, 0x1000 + 0x1000 * i);
        put_row(&f, 0, 9);
        put_end(&f, 0x20);
        end_lines(&f);
    }
    open_file();
    expect_in(0x1010, 0, NULL, "/src/sub/deep", "one.c", 10);
    expect_in(0x2010, 0, NULL, "/src/sub/deep", "one.c", 10);
    close_file();
}
END_TEST

/* Columns of rows and calls must stay as they are: Swift's count bytes of UTF-8. */
START_TEST(columns) {
    begin();
    put_abbreviation(&f, OWN, DW_TAG_inlined_subroutine, false,
                     PAIRS(DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
                           DW_FORM_data8, DW_AT_call_file, DW_FORM_data1, DW_AT_call_line, DW_FORM_data1,
                           DW_AT_call_column, DW_FORM_data2));
    begin_unit(&f, "one.c", 0x1000, 0x40);
    const uint32_t inner = put_abstract(&f, "inner", 5);
    put_function(&f, FUNCTION, "outer", 0x1000, 0x40);
    put_leb(&f.info, OWN);
    put(&f.info, 4, inner);
    put(&f.info, 8, 0x1010);
    put(&f.info, 8, 0x10);
    put(&f.info, 2, 1 | 77 << 8);
    put(&f.info, 2, 300);
    end_entry(&f);
    end_unit(&f);
    begin_lines(&f);
    put_address(&f, 0x1000);
    put(&f.line, 1, DW_LNS_set_column);
    put_leb(&f.line, 70000);
    put_row(&f, 0, 9);
    put(&f.line, 2, DW_LNS_set_column | 3 << 8);
    put_row(&f, 16, 1);
    put_end(&f, 16);
    end_lines(&f);
    open_file();
    expect(0x1000, 0, "outer", 10);
    ck_assert_uint_eq(frames[0].column, 70000);
    expect(0x1010, 1, "outer", 77);
    ck_assert_uint_eq(frames[0].column, 3);
    ck_assert_uint_eq(frames[1].column, 300);
    close_file();
}
END_TEST

int main(void) {
    TCase *forms = tcase_create("forms"), *files = tcase_create("files");
    add_loop_tests(forms, 0, 2, strings_by_offset);
    add_loop_tests(forms, 0, 10, strings_by_number);
    add_loop_tests(forms, 0, 5, strings_that_are_not_there);
    add_loop_tests(forms, 0, 7, addresses_by_number);
    add_tests(forms, range_lists_by_number, indirect_forms_and_implicit_values, fixed_forms);
    add_tests(files, files_with_md5_and_source, one_file_in_two_ways, columns);
    add_loop_tests(files, 0, 2 * PATHS, paths_are_joined);
    return run_suite("dwarf forms", forms, files);
}
