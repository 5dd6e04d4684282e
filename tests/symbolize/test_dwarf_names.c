/* SPDX-License-Identifier: MIT */
/* Tests names of functions from debug information: through other entries, units and languages, with the scopes around
 * them, and beside a symbol table. test_dwarf_macho.c tests names in Mach-O files. */
#include "tests/support/dwarf_questions.h"

/* ---- through other entries ---- */

/* A function's name may be in another entry. References between entries may be circular or invalid. */
START_TEST(names_through_other_entries) {
    begin();
    put_abbreviation(&f, OWN, DW_TAG_subprogram, false, PAIRS(DW_AT_MIPS_linkage_name, DW_FORM_string));
    begin_unit(&f, "one.c", 0x1000, 0x80);
    const uint32_t linked = here(&f);
    put_leb(&f.info, LINKED);
    put_text(&f.info, "_Z6linkedv");
    /* The linkage name's attribute of compilers before version 4. */
    const uint32_t linked_before = here(&f);
    put_leb(&f.info, OWN);
    put_text(&f.info, "_Z3oldv");
    put_instance(&f, INSTANCE, linked, 0x1000, 0x10);
    put_instance(&f, NAMED_LATER, linked, 0x1010, 0x10);
    put_instance(&f, INSTANCE, here(&f), 0x1020, 0x10);
    put_instance(&f, INSTANCE, here(&f) + 21, 0x1030, 0x10);
    put_instance(&f, INSTANCE, here(&f) - 21, 0x1040, 0x10);
    put_instance(&f, INSTANCE, 0x7fffffff, 0x1050, 0x10);
    put_instance(&f, INSTANCE, linked_before, 0x1060, 0x10);
    end_unit(&f);
    put_plain_lines(0x1000, 8);
    open_file();
    expect(0x1000, 0, "_Z6linkedv", 10);
    expect(0x1010, 0, "_Z6linkedv", 11);
    for (unsigned i = 2; i < 6; i++) expect(0x1000 + 16 * i, 0, NULL, 10 + i);
    expect(0x1060, 0, "_Z3oldv", 16);
    close_file();
}
END_TEST

/* A chain of references to a name is followed through at most 16 entries. */
START_TEST(chains_of_entries) {
    const unsigned links = 14 + (unsigned)_i;
    begin();
    put_abbreviation(&f, OWN, DW_TAG_subprogram, false, PAIRS(DW_AT_abstract_origin, DW_FORM_ref4));
    begin_unit(&f, "one.c", 0x1000, 0x20);
    uint32_t last = here(&f);
    put_leb(&f.info, LINKED);
    put_text(&f.info, "_Z6linkedv");
    for (unsigned i = 1; i < links; i++) {
        const uint32_t at = here(&f);
        put_leb(&f.info, OWN);
        put(&f.info, 4, last);
        last = at;
    }
    put_instance(&f, INSTANCE, last, 0x1000, 0x20);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    open_file();
    expect(0x1010, 0, links <= 16 ? "_Z6linkedv" : NULL, 11);
    close_file();
}
END_TEST

/* A reference to another unit has the size of an address in version 2, and of an offset from version 3 on. */
START_TEST(names_in_other_units) {
    static const struct {
        unsigned version, size;
        bool is_wide;
    } cases[] = {{2, 8, false}, {3, 4, false}, {4, 8, true}, {5, 4, false}, {5, 8, true}};
    begin();
    f.version = cases[_i].version;
    f.is_wide = cases[_i].is_wide;
    put_abbreviation(
        &f, OWN, DW_TAG_subprogram, false,
        PAIRS(DW_AT_abstract_origin, DW_FORM_ref_addr, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8));
    begin_unknown_unit(&f, "other.c");
    const uint64_t named = f.unit + put_abstract(&f, "named", 5);
    end_unit(&f);
    begin_unit(&f, "one.c", 0x1000, 0x20);
    put_leb(&f.info, OWN);
    put(&f.info, cases[_i].size, named);
    put(&f.info, 8, 0x1000);
    put(&f.info, 8, 0x20);
    put_function(&f, FUNCTION, "after", 0x1010, 8);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    open_file();
    expect(0x1000, 0, "named", 10);
    expect(0x1010, 0, "after", 11);
    close_file();
}
END_TEST

/* The file number of an inlined call belongs to the line table of the unit with the call, not of the function's unit.
 * Otherwise a wrong file would be shown. */
START_TEST(files_of_calls_in_other_units) {
    begin();
    put_abbreviation(&f, OWN, DW_TAG_inlined_subroutine, false,
                     PAIRS(DW_AT_abstract_origin, DW_FORM_ref_addr, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
                           DW_FORM_data8, DW_AT_call_file, DW_FORM_data1, DW_AT_call_line, DW_FORM_data1));
    begin_unknown_unit(&f, "other.c");
    const uint64_t inner = f.unit + put_abstract(&f, "inner", 5);
    end_unit(&f);
    /* In this table, file 2 is another file. */
    begin_line_header(&f);
    put_bytes(&f.line, "\0a.c\0\0\0\0b.c\0\0\0\0", 16);
    put(&f.line, 1, 0);
    end_line_header(&f);
    end_lines(&f);
    begin_unit(&f, "one.c", 0x1000, 0x20);
    put_function(&f, FUNCTION, "outer", 0x1000, 0x20);
    put_leb(&f.info, OWN);
    put(&f.info, 4, inner);
    put(&f.info, 8, 0x1000);
    put(&f.info, 8, 0x20);
    put(&f.info, 2, 2 | 77 << 8);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    open_file();
    expect(0x1010, 0, "inner", 11);
    expect_in(0x1010, 1, "outer", "/src/sub", "two.c", 77);
    close_file();
}
END_TEST

/* An inlined call with a line and without a file is in the file of the function around it: of the innermost one, which
 * is itself inlined, and of the outermost one. A call without both has no place. */
START_TEST(calls_without_a_file) {
    begin();
    put_abbreviation(&f, OWN, DW_TAG_inlined_subroutine, true,
                     PAIRS(DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
                           DW_FORM_data8, DW_AT_call_line, DW_FORM_data1));
    /* 0x3a, 0x3b: DW_AT_decl_file, DW_AT_decl_line */
    put_abbreviation(&f, OWN + 1, DW_TAG_subprogram, true,
                     PAIRS(DW_AT_name, DW_FORM_string, 0x3a, DW_FORM_data1, 0x3b, DW_FORM_data1, DW_AT_low_pc,
                           DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8));
    begin_unit(&f, "one.c", 0x1000, 0x20);
    const uint32_t abstract[] = {put_abstract(&f, "middle", 5), put_abstract(&f, "inner", 6)};
    put_leb(&f.info, OWN + 1);
    put_text(&f.info, "outer");
    put(&f.info, 2, 2 | 9 << 8);
    put(&f.info, 8, 0x1000);
    put(&f.info, 8, 0x20);
    for (unsigned i = 0; i < 2; i++) {
        put_leb(&f.info, OWN);
        put(&f.info, 4, abstract[i]);
        put(&f.info, 8, 0x1000);
        put(&f.info, 8, 0x20);
        put(&f.info, 1, i == 0 ? 77 : 66);
    }
    for (unsigned i = 0; i < 3; i++) end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    open_file();
    expect(0x1010, 0, "inner", 11);
    expect_in(0x1010, 1, "middle", "/src", "one.c", 66);
    expect_in(0x1010, 2, "outer", "/src/sub", "two.c", 77);
    close_file();
}
END_TEST

/* ---- scopes ---- */

enum { OTHER = 0x7777 };

/* Begins a unit in a language (DW_LANG_…; OTHER: C++ in version 6's form). */
static void begin_unit_in(unsigned language, const char *name, uint64_t low, uint64_t size) {
    begin_header(&f);
    put_leb(&f.info, language == OTHER ? OWN + 1 : OWN);
    put(&f.info, 2, language == OTHER ? (unsigned)DW_LNAME_C_plus_plus : language);
    put_text(&f.info, name);
    put_offset(&f, &f.info, f.line.size);
    put(&f.info, 8, low);
    put(&f.info, 8, size);
}

static void begin_languages(void) {
    static const uint16_t languages[] = {DW_AT_language, DW_AT_language_name};
    begin();
    for (unsigned i = 0; i < 2; i++) {
        put_abbreviation(&f, OWN + i, DW_TAG_compile_unit, true,
                         PAIRS(languages[i], DW_FORM_data2, DW_AT_name, DW_FORM_string, DW_AT_stmt_list,
                               DW_FORM_sec_offset, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8));
    }
    put_abbreviation(&f, OWN + 2, DW_TAG_class_type, true, PAIRS(DW_AT_name, DW_FORM_string));
    put_abbreviation(&f, OWN + 3, DW_TAG_namespace, true, PAIRS(DW_AT_declaration, DW_FORM_flag_present));
    put_abbreviation(
        &f, OWN + 4, DW_TAG_subprogram, false,
        PAIRS(DW_AT_abstract_origin, DW_FORM_ref_addr, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data8));
    put_abbreviation(&f, OWN + 5, DW_TAG_inlined_subroutine, false,
                     PAIRS(DW_AT_abstract_origin, DW_FORM_ref_addr, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
                           DW_FORM_data8, DW_AT_call_file, DW_FORM_data1, DW_AT_call_line, DW_FORM_data1));
    put_abbreviation(&f, OWN + 6, DW_TAG_subprogram, true, PAIRS(DW_AT_name, DW_FORM_string));
}

static void begin_scope(unsigned kind, const char *name) {
    put_leb(&f.info, kind);
    if (name != NULL) put_text(&f.info, name);
}

/* Puts a function of another unit, as an inlined call or out of line. */
static void put_foreign(unsigned kind, uint64_t origin, uint64_t low, uint64_t size) {
    put_leb(&f.info, kind);
    put(&f.info, 4, origin);
    put(&f.info, 8, low);
    put(&f.info, 8, size);
    if (kind == OWN + 5) put(&f.info, 2, 1 | 77 << 8);
}

/* A C++ function without a linkage name gets its name from the namespaces, classes and functions around it, also those
 * without code; blocks add nothing. In other languages it has its own name only. Lambdas and local parts of functions
 * (".part.0") have a complete name in DW_AT_name. */
START_TEST(names_with_scopes) {
    static const struct {
        unsigned language;
        bool has_scopes;
    } languages[] = {{DW_LANG_C_plus_plus, true},
                     {DW_LANG_C_plus_plus_14, true},
                     {DW_LANG_ObjC_plus_plus, true},
                     {OTHER, true},
                     {0x0c, false},
                     {0x1c, false}}; /* C99, Rust */
    const bool has_scopes = languages[_i].has_scopes;
    begin_languages();
    begin_unit_in(languages[_i].language, "one.cc", 0x1000, 0x100);
    begin_scope(SPACE, "ns");
    begin_scope(OWN + 3, NULL);
    begin_scope(OWN + 2, "Class");
    put_function(&f, FUNCTION, "method", 0x1000, 0x10);
    put_block(&f);
    begin_scope(OWN + 2, "<lambda()>");
    put_function(&f, FUNCTION, "operator()", 0x1010, 0x10);
    for (unsigned i = 0; i < 4; i++) end_entry(&f);
    begin_scope(OWN + 6, "declared");
    begin_scope(OWN + 2, "Local");
    put_function(&f, FUNCTION, "work", 0x1040, 0x10);
    for (unsigned i = 0; i < 3; i++) end_entry(&f);
    end_entry(&f);
    end_entry(&f);
    put_function(&f, FUNCTION, "work.part.0", 0x1020, 0x10);
    end_entry(&f);
    end_entry(&f);
    put_function(&f, FUNCTION, "plain", 0x1030, 0x10);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 5);
    open_file();
    expect(0x1000, 0, has_scopes ? "ns::(anonymous namespace)::Class::method" : "method", 10);
    expect(0x1010, 0, has_scopes ? "ns::(anonymous namespace)::Class::method::<lambda()>::operator()" : "operator()",
           11);
    expect(0x1020, 0, has_scopes ? "ns::work.part.0" : "work.part.0", 12);
    expect(0x1030, 0, "plain", 13);
    expect(0x1040, 0, has_scopes ? "ns::(anonymous namespace)::Class::declared::Local::work" : "work", 14);
    close_file();
}
END_TEST

/* The scopes of an inlined call are those of its function, not of the place where it was inlined. */
START_TEST(scopes_of_inlined_calls) {
    begin_languages();
    begin_unit_in(DW_LANG_C_plus_plus, "one.cc", 0x1000, 0x20);
    const uint32_t helper = put_abstract(&f, "helper", 5);
    begin_scope(SPACE, "ns");
    put_function(&f, FUNCTION, "outer", 0x1000, 0x20);
    put_inlined(&f, helper, 0x1010, 0x10, 77);
    end_entry(&f);
    end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    open_file();
    expect(0x1010, 0, "helper", 11);
    expect(0x1010, 1, "ns::outer", 77);
    close_file();
}
END_TEST

/* Link-time optimization makes units in a language that differs from their functions'. The language of the unit that
 * has the function's name must count. */
START_TEST(languages_of_other_units) {
    begin_languages();
    begin_unit_in(DW_LANG_C_plus_plus, "origin.cc", 0, 0);
    begin_scope(SPACE, "ns");
    const uint64_t origin = f.unit + put_abstract(&f, "in_space", 5);
    end_entry(&f);
    end_unit(&f);
    begin_unit_in(0x0c, "origin.c", 0, 0);
    begin_scope(SPACE, "not C");
    const uint64_t plain = f.unit + put_abstract(&f, "plain", 5);
    end_entry(&f);
    end_unit(&f);
    begin_unit_in(_i == 0 ? 0x0c : DW_LANG_C_plus_plus, "<artificial>", 0x1000, 0x20);
    put_foreign(OWN + 4, origin, 0x1000, 0x10);
    put_foreign(OWN + 4, plain, 0x1010, 0x10);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    open_file();
    expect(0x1000, 0, "ns::in_space", 10);
    expect(0x1010, 0, "plain", 11);
    close_file();
}
END_TEST

/* Units refer to functions of the same two units, in turn. Each name must get its own scopes. */
START_TEST(scopes_of_several_units) {
    static const char *const spaces[] = {"a", "b"};
    uint64_t origins[2];
    begin_languages();
    for (unsigned i = 0; i < 2; i++) {
        begin_unit_in(DW_LANG_C_plus_plus, "origin.cc", 0, 0);
        begin_scope(SPACE, spaces[i]);
        origins[i] = f.unit + put_abstract(&f, "helper", 5);
        end_entry(&f);
        end_unit(&f);
    }
    for (unsigned i = 0; i < 4; i++) {
        const uint64_t low = 0x1000 + i * 0x20;
        begin_unit_in(DW_LANG_C_plus_plus, "one.cc", low, 0x20);
        for (unsigned k = 0; k < 2; k++) {
            if (k == 0 || i % 2 == 0) put_foreign(OWN + 4, origins[(i / 2 + k) % 2], low + k * 0x10, 0x10);
        }
        end_unit(&f);
        put_plain_lines(low, 2);
    }
    open_file();
    for (unsigned i = 0; i < 4; i++) {
        expect(0x1000 + i * 0x20, 0, i / 2 == 0 ? "a::helper" : "b::helper", 10);
        if (i % 2 == 0) expect(0x1010 + i * 0x20, 0, i / 2 == 0 ? "b::helper" : "a::helper", 11);
    }
    close_file();
}
END_TEST

/* Functions with one name in anonymous namespaces, in one unit and in two, would be taken for one function. */
START_TEST(functions_of_one_name) {
    begin_languages();
    begin_unit_in(DW_LANG_C_plus_plus, "other.cc", 0, 0);
    begin_scope(OWN + 3, NULL);
    const uint64_t foreign = f.unit + put_abstract(&f, "helper", 7);
    end_entry(&f);
    end_unit(&f);
    begin_unit_in(DW_LANG_C_plus_plus, "one.cc", 0x1000, 0x40);
    begin_scope(SPACE, "a");
    begin_scope(OWN + 3, NULL);
    const uint32_t first = put_abstract(&f, "helper", 5);
    end_entry(&f);
    end_entry(&f);
    begin_scope(OWN + 3, NULL);
    const uint32_t second = put_abstract(&f, "helper", 6);
    end_entry(&f);
    put_function(&f, FUNCTION, "outer", 0x1000, 0x40);
    put_inlined(&f, first, 0x1000, 0x10, 71);
    put_inlined(&f, second, 0x1000, 8, 72);
    end_entry(&f);
    end_entry(&f);
    put_inlined(&f, second, 0x1010, 0x10, 71);
    end_entry(&f);
    put_foreign(OWN + 5, foreign, 0x1020, 0x10);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 4);
    open_file();
    expect(0x1000, 0, "(anonymous namespace)::helper", 10);
    expect(0x1000, 1, "a::(anonymous namespace)::helper", 72);
    expect(0x1000, 2, "outer", 71);
    expect(0x1008, 0, "a::(anonymous namespace)::helper", 10);
    expect(0x1010, 0, "(anonymous namespace)::helper", 11);
    expect(0x1010, 1, "outer", 71);
    expect(0x1020, 0, "(anonymous namespace)::helper", 12);
    expect(0x1020, 1, "outer", 77);
    ck_assert_uint_eq(lines.count, 2);
    close_file();
}
END_TEST

/* ---- Swift ---- */

/* A trap of Swift's run-time is an inlined call that has only a name: its row has no file and line 0. The caller must
 * have the line. */
START_TEST(swift_runtime_failures) {
    begin_languages();
    put_abbreviation(&f, OWN + 6, DW_TAG_subprogram, false,
                     PAIRS(DW_AT_name, DW_FORM_string, 0x34, DW_FORM_flag_present)); /* artificial */
    begin_unit_in(0x1e, "one.c", 0x1000, 0x20);
    const uint32_t failure = here(&f);
    put_leb(&f.info, OWN + 6);
    put_text(&f.info, "Swift runtime failure: arithmetic overflow");
    put_function(&f, FUNCTION, "$s4main5countyS2iF", 0x1000, 0x20);
    put_inlined(&f, failure, 0x1010, 0x10, 26);
    end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    begin_line_header(&f);
    put(&f.line, 1, 0);
    for (unsigned i = 0; i < 2; i++) {
        put_text(&f.line, i == 0 ? "main.swift" : "<compiler-generated>");
        put(&f.line, 3, 0);
    }
    put(&f.line, 1, 0);
    end_line_header(&f);
    put_address(&f, 0x1000);
    put_row(&f, 0, 34);
    put(&f.line, 2, DW_LNS_set_file | 2 << 8);
    put_row(&f, 16, -35);
    put_end(&f, 16);
    end_lines(&f);
    open_file();
    expect_in(0x1000, 0, "$s4main5countyS2iF", NULL, "main.swift", 35);
    expect_in(0x1010, 0, "Swift runtime failure: arithmetic overflow", NULL, "<compiler-generated>", 0);
    expect_in(0x1010, 1, "$s4main5countyS2iF", NULL, "main.swift", 26);
    ck_assert_uint_eq(lines.count, 2);
    close_file();
}
END_TEST

/* ---- the symbol table ---- */

/* The symbol table's name is used for a function, because it is the mangled one. A function that only one of the two
 * has gets the name there. A function ends where the debug information says, a symbol at its size: code after it must
 * not get its name or line. */
START_TEST(symbols_and_debug_information) {
    static const struct dwarf_symbol symbols[] = {
        {"_ZN2ns4workEv", 0x1000, 0x10}, {"helper.isra.0", 0x1010, 0x10}, {"assembly", 0x1040, 0x10}, {NULL, 0, 0}};
    begin();
    f.symbols = symbols;
    begin_unit(&f, "one.c", 0x1000, 0x80);
    put_function(&f, FUNCTION, "work", 0x1000, 0x10);
    end_entry(&f);
    put_function(&f, FUNCTION, "helper", 0x1010, 0x10);
    end_entry(&f);
    put_function(&f, FUNCTION, "only_here", 0x1020, 0x10);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 3);
    open_file();
    expect(0x1008, 0, "_ZN2ns4workEv", 10);
    ck_assert_int_eq(frames[0].named_by, USP_STRATEGY_SYMTAB);
    expect(0x1018, 0, "helper.isra.0", 11);
    expect(0x1028, 0, "only_here", 12);
    ck_assert_int_eq(frames[0].named_by, USP_STRATEGY_DEBUG_INFO);
    expect_nothing(0x1030);
    expect(0x1048, 0, "assembly", 0);
    ck_assert_ptr_null(frames[0].file);
    expect_nothing(0x1050);
    close_file();
}
END_TEST

int main(void) {
    TCase *names = tcase_create("names");
    add_tests(names, names_through_other_entries, files_of_calls_in_other_units, calls_without_a_file,
              scopes_of_inlined_calls, scopes_of_several_units, functions_of_one_name, swift_runtime_failures,
              symbols_and_debug_information);
    add_loop_tests(names, 0, 4, chains_of_entries);
    add_loop_tests(names, 0, 5, names_in_other_units);
    add_loop_tests(names, 0, 6, names_with_scopes);
    add_loop_tests(names, 0, 2, languages_of_other_units);
    return run_suite("dwarf names", names);
}
