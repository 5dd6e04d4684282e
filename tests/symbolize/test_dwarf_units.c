/* SPDX-License-Identifier: MIT */
/* Tests debug information as a whole: which unit has an address, tables of abbreviations, units of other kinds, and
 * limits. Damaged, duplicated or endless data must not take more memory and work than its size justifies, and must not
 * produce false lines. */
#include "lib/base/checksum.h"

#include "tests/support/dwarf_index.h"

/* ---- which unit has an address ---- */

/* Units that claim addresses of others, that are not sorted, that claim nothing, or that begin at 0 without a list.
 * Each address must still get its own unit. */
START_TEST(claims_of_units_are_not_trusted) {
    begin();
    put_unit("huge.c", 0x1000, 0x3000, "in_huge", 0x3000, 0x20);
    put_unit("small.c", 0x1000, 0x20, "in_small", 0x1000, 0x20);
    begin_unknown_unit(&f, "unknown.c");
    put_function(&f, FUNCTION, "in_unknown", 0x2000, 0x20);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x2000, 2);
    put_unit("zero.c", 0, 0, "in_zero", 0x2800, 0x20);
    open_file();
    expect(0x1010, 0, "in_small", 11);
    expect(0x2010, 0, "in_unknown", 11);
    expect(0x2810, 0, "in_zero", 11);
    expect(0x3010, 0, "in_huge", 11);
    close_file();
}
END_TEST

/* Two units have a function with its thunk, for which debug information has rows and no entry. The linker kept the code
 * of the first, and the addresses of the second lead to it too, although its thunk is after the function. The thunk
 * must not get the lines of the function. */
START_TEST(a_thunk_that_two_units_claim) {
    begin();
    begin_unit(&f, "kept.c", 0x1000, 0x40);
    put_function(&f, FUNCTION, "function", 0x1020, 0x20);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 4);
    put_unit("discarded.c", 0x1000, 0x40, "function", 0x1000, 0x20);
    open_file();
    expect_in(0x1008, 0, NULL, "/src", "one.c", 10);
    expect_in(0x1028, 0, "function", "/src", "one.c", 12);
    close_file();
}
END_TEST

/* Code may be at address 0: in object files, kernels, and images that are linked near 0. Removed code must be
 * recognized by its place, not by that number. */
START_TEST(code_at_0) {
    begin();
    f.is_at_0 = true;
    put_unit("zero.c", 0, 0x20, "first", 0, 0x20);
    put_unit("one.c", 0x20, 0x20, "second", 0x20, 0x20);
    open_file();
    expect(0, 0, "first", 10);
    expect(0x1f, 0, "first", 11);
    expect(0x20, 0, "second", 10);
    expect_nothing(0x40);
    close_file();
}
END_TEST

/* Puts a set of .debug_aranges: for the unit at an offset, with pairs of an address and a length. */
static void put_claims(uint64_t unit, unsigned address_size, const uint64_t *pairs, size_t count) {
    const size_t from = begin_length(&f, &f.aranges);
    put(&f.aranges, 2, 2);
    put_offset(&f, &f.aranges, unit);
    put(&f.aranges, 1, address_size);
    put(&f.aranges, 1, 0);
    pad_to(&f.aranges, from + 16);
    for (size_t i = 0; i < count; i++) put(&f.aranges, 8, pairs[i]);
    put(&f.aranges, 8, 0);
    put(&f.aranges, 8, 0);
    end_length(&f, &f.aranges, from);
}

/* .debug_aranges lacks units, has invalid pairs, and a truncated set. Its ranges must count besides a unit's low and
 * high pc: before version 3 a unit had no more than these. */
START_TEST(claims_by_aranges) {
    static const uint64_t first[] = {UINT64_MAX - 4, 0x20, 0, 0x10, 0x2000, 0x20, 0x2800, UINT64_MAX},
                          second[] = {0x2000, 0x20};
    begin();
    put_claims(0, 8, first, ELEMENTS(first));
    put_claims(0x7777, 8, second, ELEMENTS(second));
    put_claims(0, 3, second, ELEMENTS(second));
    put(&f.aranges, 4, 0x1000);
    put(&f.aranges, 4, 0);
    begin_unit(&f, "one.c", 0x1000, 0x20);
    put_function(&f, FUNCTION, "hot", 0x1000, 0x20);
    end_entry(&f);
    put_function(&f, FUNCTION, "elsewhere", 0x2000, 0x20);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x2000, 2);
    put_unit("two.c", 0x3000, 0x20, "not_in_the_table", 0x3000, 0x20);
    open_file();
    expect(0x1010, 0, "hot", 0);
    expect(0x2010, 0, "elsewhere", 11);
    expect(0x3010, 0, "not_in_the_table", 11);
    close_file();
}
END_TEST

/* Puts a unit whose list of ranges begins at an address by number, without DW_AT_addr_base. */
static void put_unit_without_base(const char *name, uint64_t start) {
    /* The unit's part of .debug_addr: a header and one address. */
    put(&f.addr, 8, 0);
    put(&f.addr, 8, start);
    const size_t list = f.rnglists.size;
    put(&f.rnglists, 1, DW_RLE_base_addressx);
    put_leb(&f.rnglists, 0);
    put(&f.rnglists, 1, DW_RLE_offset_pair);
    put_leb(&f.rnglists, 0);
    put_leb(&f.rnglists, 0x20);
    put(&f.rnglists, 1, DW_RLE_end_of_list);
    begin_header(&f);
    put_leb(&f.info, OWN);
    put_offset(&f, &f.info, f.line.size);
    put_offset(&f, &f.info, list);
    put_function(&f, FUNCTION, name, start, 0x20);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(start, 2);
}

/* llvm-dwarfutil writes such units from those of GCC. The first part of .debug_addr must not count as that of each
 * unit: the second unit would claim the code of the first, and nothing would lead to its own. .debug_aranges has the
 * code of both; where it is missing, units are read if no other unit knows an address. */
START_TEST(units_without_a_base_of_addresses) {
    static const uint64_t pairs[][2] = {{0x1000, 0x20}, {0x2000, 0x20}};
    const bool has_sets = _i == 1;
    begin();
    f.version = 5;
    put_abbreviation(&f, OWN, DW_TAG_compile_unit, true,
                     PAIRS(DW_AT_stmt_list, DW_FORM_sec_offset, DW_AT_ranges, DW_FORM_sec_offset));
    for (unsigned i = 0; i < 2; i++) {
        if (has_sets) put_claims(f.info.size, 8, pairs[i], 2);
        put_unit_without_base(i == 0 ? "first" : "second", pairs[i][0]);
    }
    if (has_sets) {
        struct uspi_map_range *ranges;
        size_t count;
        bool unclaimed[2];
        open_source();
        ck_assert(source->claims(source, &ranges, &count, unclaimed));
        ck_assert_uint_eq(count, 2);
        for (unsigned i = 0; i < 2; i++) {
            ck_assert(!unclaimed[i]);
            ck_assert_uint_eq(ranges[i].low, pairs[i][0]);
        }
        free(ranges);
        close_source();
        return;
    }
    open_file();
    expect(0x1010, 0, "first", 11);
    expect(0x2010, 0, "second", 11);
    close_file();
}
END_TEST

/* ---- kinds of units ---- */

/* The first 512 bytes of a unit are read alone. First entries that end before, at, or after these must be read
 * completely, and the strings in them found. */
START_TEST(first_entries_of_any_length) {
    static const size_t lengths[] = {100, 466, 467, 468, 475, 489, 490, 500, 511, 600, 100000};
    char name[100001];
    begin();
    for (unsigned i = 0; i < ELEMENTS(lengths); i++) {
        memset(name, 'x', lengths[i]);
        name[lengths[i]] = '\0';
        put_unit(name, 0x1000 + 0x20 * i, 0x20, "own", 0x1000 + 0x20 * i, 0x20);
    }
    open_file();
    for (unsigned i = 0; i < ELEMENTS(lengths); i++) {
        expect_in(0x1000 + 0x20 * i, 0, "own", "/src", "one.c", 10);
    }
    expect_said("damaged", false);
    close_file();
}
END_TEST

/* Type units have no code. They must be skipped by their header, whatever they contain. */
START_TEST(units_of_types) {
    begin();
    f.version = 5;
    for (unsigned i = 0; i < 2; i++) {
        begin_header_of(&f, i == 0 ? DW_UT_type : DW_UT_split_type);
        put(&f.info, 8, 0x1234); /* the type's signature */
        put_offset(&f, &f.info, 0x18);
        put_leb(&f.info, 99999); /* an entry that cannot be read */
        end_length(&f, &f.info, f.unit);
    }
    put_unit("one.c", 0x1000, 0x20, "own", 0x1000, 0x20);
    open_file();
    expect(0x1010, 0, "own", 11);
    expect_said("damaged", false);
    close_file();
}
END_TEST

/* A unit of an unknown version must be skipped by its length, and reported. */
START_TEST(units_of_unknown_versions) {
    begin();
    f.version = 6;
    begin_header(&f);
    end_unit(&f);
    f.version = 0;
    put_unit("one.c", 0x1000, 0x20, "own", 0x1000, 0x20);
    open_file();
    expect(0x1010, 0, "own", 11);
    expect_said("a unit of an unknown version", true);
    close_file();
}
END_TEST

/* Each version, with offsets of 4 and of 8 bytes. */
START_TEST(versions_and_widths) {
    begin();
    f.version = (unsigned)_i / 2 + 2;
    f.is_wide = _i % 2 != 0;
    begin_unit(&f, "one.c", 0x1000, 0x40);
    const uint32_t inner = put_abstract(&f, "inner", 5);
    put_function(&f, FUNCTION, "outer", 0x1000, 0x40);
    put_inlined(&f, inner, 0x1010, 0x10, 77);
    end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 4);
    put_unit("two.c", 0x2000, 0x20, "second", 0x2000, 0x20);
    open_file();
    expect_in(0x1010, 0, "inner", "/src", "one.c", 11);
    expect_in(0x1010, 1, "outer", "/src", "one.c", 77);
    expect_in(0x2010, 0, "second", "/src", "one.c", 11);
    expect_said("damaged", false);
    close_file();
}
END_TEST

/* Tables of names are for debuggers and may be wrong or damaged. They must not be read. */
START_TEST(tables_of_names_are_not_read) {
    static const char *const names[] = {".debug_names", ".gdb_index", ".debug_pubnames", ".debug_types"};
    for (int i = 0; i < ELEMENTS(names); i++) {
        begin();
        put_unit("one.c", 0x1000, 0x20, "own", 0x1000, 0x20);
        for (unsigned k = 0; k < 100; k++) put(&f.other, 1, 0xff);
        f.other_name = names[i];
        open_file();
        expect(0x1010, 0, "own", 11);
        expect_nothing(0x1020);
        expect_said("offset", false);
        close_file();
    }
}
END_TEST

/* ---- tables of abbreviations ---- */

/* Two units share a table; one has a table of its own, in which the same codes have another meaning. */
START_TEST(tables_of_abbreviations) {
    begin();
    put_unit("one.c", 0x1000, 0x20, "first", 0x1000, 0x20);
    begin_abbreviations(&f);
    put_abbreviation(
        &f, UNIT, DW_TAG_compile_unit, true,
        PAIRS(DW_AT_high_pc, DW_FORM_data8, DW_AT_low_pc, DW_FORM_addr, DW_AT_stmt_list, DW_FORM_sec_offset));
    put_abbreviation(&f, FUNCTION, DW_TAG_lexical_block, false, PAIRS(DW_AT_name, DW_FORM_string));
    put_abbreviation(&f, 300, DW_TAG_subprogram, false,
                     PAIRS(DW_AT_low_pc, DW_FORM_addr, DW_AT_name, DW_FORM_string, DW_AT_high_pc, DW_FORM_data1));
    begin_header(&f);
    put_leb(&f.info, UNIT);
    put(&f.info, 8, 0x20);
    put(&f.info, 8, 0x2000);
    put_offset(&f, &f.info, f.line.size);
    put_leb(&f.info, FUNCTION);
    put_text(&f.info, "no function");
    put_leb(&f.info, 300);
    put(&f.info, 8, 0x2000);
    put_text(&f.info, "second");
    put(&f.info, 1, 0x20);
    end_unit(&f);
    put_plain_lines(0x2000, 2);
    f.table = 0;
    put_unit("three.c", 0x3000, 0x20, "third", 0x3000, 0x20);
    open_file();
    expect(0x3010, 0, "third", 11);
    expect(0x2010, 0, "second", 11);
    expect(0x1010, 0, "first", 11);
    close_file();
}
END_TEST

enum { TABLE = 6000, SHARING = 1500 };

/* Makes a table of TABLE abbreviations before the units' own, and SHARING units. have_own_tables: each unit has a
 * table, which begins at the second abbreviation of the table before. */
static void put_sharing_units(bool have_own_tables) {
    size_t begins[SHARING];
    begin();
    begin_abbreviations(&f);
    for (unsigned i = 0; i < TABLE; i++) {
        if (i < SHARING) begins[i] = f.abbrev.size;
        put_abbreviation(&f, OWN + i, 0x24, false, PAIRS(DW_AT_name, DW_FORM_string));
    }
    put_abbreviations(&f);
    for (unsigned i = 0; i < SHARING; i++) {
        const uint64_t low = 0x1000 + i * 4;
        if (have_own_tables) f.table = begins[i];
        begin_unit(&f, "one.c", low, 4);
        put_function(&f, FUNCTION, "own", low, 4);
        end_entry(&f);
        end_unit(&f);
    }
    put_plain_lines(0x1000, 2);
}

/* A table that all units share must not be parsed again for each. See also the next test. */
START_TEST(units_that_share_a_large_table) {
    put_sharing_units(false);
    open_source();
    ck_assert_uint_eq(source->units, SHARING);
    close_source();
}
END_TEST

/* Tables that overlap would make the work grow with the square of the size. Units after too many of them must be left
 * out, which must be reported. */
START_TEST(tables_that_lie_in_each_other) {
    put_sharing_units(true);
    open_source();
    ck_assert_uint_gt(source->units, 10);
    ck_assert_uint_lt(source->units, SHARING / 2);
    close_source();
    put_sharing_units(true);
    open_file();
    expect(0x1002, 0, "own", 10);
    expect_said("tables of abbreviations that lie in each other", true);
    close_file();
}
END_TEST

/* ---- shared data ---- */

enum { SKELETONS = 500, RANGES = 600 };

/* Units share one list of ranges. Together they must not claim more ranges than the section has room for; the other
 * units are read if no unit has an answer. */
START_TEST(units_that_share_a_list) {
    struct uspi_map_range *ranges;
    size_t count, claiming = 0;
    bool unclaimed[SKELETONS];
    begin();
    put_abbreviation(
        &f, OWN, DW_TAG_compile_unit, false,
        PAIRS(DW_AT_GNU_dwo_name, DW_FORM_string, DW_AT_GNU_dwo_id, DW_FORM_data8, DW_AT_ranges, DW_FORM_sec_offset));
    for (unsigned i = 0; i < RANGES; i++) {
        put(&f.ranges, 8, 0x1000 + 16 * i);
        put(&f.ranges, 8, 0x1008 + 16 * i);
    }
    put(&f.ranges, 8, 0);
    put(&f.ranges, 8, 0);
    for (unsigned i = 0; i < SKELETONS; i++) {
        begin_header(&f);
        put_leb(&f.info, OWN);
        put_text(&f.info, "a");
        put(&f.info, 8, i + 1);
        put(&f.info, 4, 0);
        end_length(&f, &f.info, f.unit);
    }
    const size_t entries = f.ranges.size;
    open_source();
    ck_assert_uint_eq(source->units, SKELETONS);
    ck_assert(source->claims(source, &ranges, &count, unclaimed));
    for (unsigned i = 0; i < SKELETONS; i++) claiming += !unclaimed[i];
    ck_assert_uint_ge(count, RANGES);
    ck_assert_uint_le(count, entries);
    ck_assert_uint_eq(count, claiming * RANGES);
    free(ranges);
    close_source();
}
END_TEST

enum { ROWS = 12000, USERS = 300 };

/* Makes units that share a line table of ROWS rows. */
static void put_users_of_a_table(bool claim) {
    begin();
    for (unsigned i = 0; i < USERS; i++) {
        if (claim) begin_unit(&f, "one.c", 0x1000, 4);
        if (!claim) begin_unknown_unit(&f, "one.c");
        end_unit(&f);
    }
    begin_lines(&f);
    put_address(&f, 0x1000);
    /* Special opcodes, each for a row one byte after the last one. */
    for (unsigned i = 0; i < ROWS; i++) put(&f.line, 1, 13 + 14 + 5 + i % 2);
    put_end(&f, 4);
    end_lines(&f);
}

/* The units' blocks would be many times larger than the file. No index may be made of it, and units that claim no code
 * may be read only in proportion to the file's size. */
START_TEST(units_that_share_a_line_table) {
    const struct uspi_index_work work = {.threads = 2};
    struct usp_symbolizer_usage usage;
    struct uspi_error error = {0};
    put_users_of_a_table(true);
    open_source();
    struct uspi_index_writer *writer = uspi_index_writer_create();
    ck_assert_ptr_nonnull(writer);
    ck_assert_int_eq(uspi_index_add_lines(writer, source, &work, &error), USP_ERROR_FORMAT);
    ck_assert_msg(strstr(error.text, "would make an index of more than") != NULL, "%s", error.text);
    uspi_index_writer_free(writer);
    const uint64_t limit = uspi_line_source_limit(source);
    close_source();
    put_users_of_a_table(false);
    open_file();
    ck_assert_uint_eq(ask(0x1801), 1);
    ck_assert_uint_ne(frames[0].line, 0);
    ck_assert_int_eq(usp_symbolizer_get_usage(symbolizer, &usage), USP_OK);
    ck_assert_uint_gt(usage.memory, ROWS);
    ck_assert_uint_lt(usage.memory, 2 * limit);
    close_file();
}
END_TEST

enum { DISCARDED = 200 };

/* A symbolizer with little memory discards blocks. Names and paths that it gave before must stay, and a block that is
 * made again must give the same pointers. */
START_TEST(strings_of_discarded_blocks) {
    struct usp_symbolizer_options options;
    struct usp_symbolizer_usage usage;
    const char *functions[DISCARDED], *directories[DISCARDED];
    char name[32];
    begin();
    for (unsigned i = 0; i < DISCARDED; i++) {
        snprintf(name, sizeof name, "function_%u", i);
        put_unit("one.c", 0x1000 + 0x20 * i, 0x20, name, 0x1000 + 0x20 * i, 0x20);
    }
    open_file();
    usp_symbolizer_free(symbolizer);
    usp_symbolizer_options_init(&options);
    options.memory_limit = 4096;
    ck_assert_int_eq(usp_symbolizer_create(images, &options, &symbolizer), USP_OK);
    for (unsigned i = 0; i < DISCARDED; i++) {
        ck_assert_uint_eq(ask(0x1000 + 0x20 * i), 1);
        functions[i] = frames[0].function;
        directories[i] = frames[0].directory;
    }
    ck_assert_int_eq(usp_symbolizer_get_usage(symbolizer, &usage), USP_OK);
    ck_assert_uint_le(usage.memory, options.memory_limit);
    for (unsigned i = 0; i < DISCARDED; i++) {
        snprintf(name, sizeof name, "function_%u", i);
        ck_assert_str_eq(functions[i], name);
        ck_assert_str_eq(directories[i], "/src");
        ck_assert_uint_eq(ask(0x1000 + 0x20 * i), 1);
        ck_assert_ptr_eq(frames[0].function, functions[i]);
        ck_assert_ptr_eq(frames[0].directory, directories[i]);
    }
    close_file();
}
END_TEST

/* ---- impossible sizes ---- */

/* A unit ends in an entry that is of no use. What is before it must count, and the damage must be reported. */
START_TEST(entries_that_are_cut_off) {
    begin();
    put_abbreviation(&f, OWN, 0x34, false, PAIRS(0x03, 0x0e, 0x3b, 0x06));
    begin_unit(&f, "one.c", 0x1000, 0x40);
    put_leb(&f.info, OWN);
    put(&f.info, 8, 0);
    put_function(&f, FUNCTION, "whole", 0x1000, 0x20);
    put_leb(&f.info, OWN);
    put(&f.info, 8, 0);
    end_entry(&f);
    put_leb(&f.info, OWN);
    put(&f.info, 7, 0);
    end_length(&f, &f.info, f.unit);
    put_plain_lines(0x1000, 4);
    put_unit("two.c", 0x2000, 0x20, "next", 0x2000, 0x20);
    open_file();
    expect(0x1010, 0, "whole", 11);
    expect_said("an entry that reaches out of its unit", true);
    expect(0x2010, 0, "next", 11);
    close_file();
}
END_TEST

/* Entries nested without end, and a unit that exceeds the section. */
START_TEST(entries_without_end) {
    begin();
    put_unit("one.c", 0x1000, 0x20, "whole", 0x1000, 0x20);
    begin_unit(&f, "deep.c", 0x2000, 0x20);
    for (unsigned i = 0; i < 20000; i++) put_block(&f);
    put_function(&f, FUNCTION, "too deep", 0x2000, 0x20);
    end_unit(&f);
    put_plain_lines(0x2000, 2);
    begin_unit(&f, "long.c", 0x3000, 0x20);
    end_unit(&f);
    patch(&f.info, f.unit, 4, 0x7fffffff);
    open_file();
    expect(0x1010, 0, "whole", 11);
    expect_nothing(0x3000);
    expect_said("the header of a unit is damaged", true);
    expect(0x2010, 0, NULL, 11);
    close_file();
}
END_TEST

/* Line tables with meaningless numbers: opcodes that divide by zero, instructions of length 0, no opcodes, standard
 * opcodes only. */
START_TEST(line_tables_with_strange_numbers) {
    /* The number's offset after the length of the header, its value, and the expected lines of 0x1000 and 0x1010. */
    static const struct {
        unsigned at, value;
        uint32_t first, second;
    } cases[] = {{4, 0, 10, 0}, {0, 0, 0, 0}, {5, 0, 0, 0}, {5, 255, 10, 11}, {1, 0, 0, 0}};
    const unsigned at = cases[_i].at;
    begin();
    begin_unit(&f, "one.c", 0x1000, 0x20);
    put_function(&f, FUNCTION, "own", 0x1000, 0x20);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    patch(&f.line, f.header + 4 + at, 1, cases[_i].value);
    if (at == 4)
        f.line.bytes[f.line.size - 3 - 2] = 20; /* a special opcode, which divides, in the place of an advance */
    open_file();
    expect(0x1000, 0, "own", cases[_i].first);
    expect(0x1010, 0, "own", cases[_i].second);
    close_file();
}
END_TEST

/* A function with more ranges than its unit has bytes for. */
START_TEST(functions_of_too_many_ranges) {
    begin();
    for (unsigned i = 0; i < 3000; i++) {
        put(&f.ranges, 8, 4 * i);
        put(&f.ranges, 8, 4 * i + 2);
    }
    put(&f.ranges, 8, 0);
    put(&f.ranges, 8, 0);
    begin_unit(&f, "one.c", 0x1000, 0x3000);
    put_leb(&f.info, FUNCTION_LIST);
    put_text(&f.info, "listed");
    put(&f.info, 4, 0);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 1);
    open_file();
    expect(0x1000, 0, "listed", 10);
    expect(0x1010, 0, "listed", 0);
    expect_nothing(0x1000 + 4 * 2999);
    expect_said("a unit with more ranges than it can have", true);
    close_file();
}
END_TEST

/* ---- truncated ---- */

/* Sections are truncated anywhere: the answers must be right, or none. */
START_TEST(sections_that_end_early) {
    static const usp_addr addresses[] = {0x1000, 0x1010, 0x1020, 0x1030};
    static const uint32_t expected[] = {10, 11, 12, 0};
    size_t answered = 0;
    for (unsigned part = 0; part < 4; part++) {
        for (size_t size = 0;; size++) {
            struct builder *const parts[] = {&f.abbrev, &f.info, &f.line, &f.ranges};
            begin();
            for (unsigned i = 0; i < 2; i++) put(&f.ranges, 8, 0x30 * i);
            for (unsigned i = 0; i < 2; i++) put(&f.ranges, 8, 0);
            begin_unit(&f, "one.c", 0x1000, 0x40);
            const uint32_t inner = put_abstract(&f, "inner", 5);
            put_leb(&f.info, FUNCTION_LIST);
            put_text(&f.info, "outer");
            put(&f.info, 4, 0);
            put_inlined(&f, inner, 0x1010, 0x10, 77);
            end_entry(&f);
            end_entry(&f);
            end_unit(&f);
            put_plain_lines(0x1000, 3);
            if (size >= parts[part]->size) break;
            parts[part]->size = size;
            open_file();
            for (int i = 0; i < ELEMENTS(addresses); i++) {
                if (ask(addresses[i]) == 0) continue;
                const char *innermost = lines.count == 2 ? "inner" : "outer";
                answered++;
                ck_assert_uint_le(lines.count, i == 1 ? 2 : 1);
                ck_assert(frames[0].line == 0 || frames[0].line == expected[i]);
                ck_assert(frames[0].function == NULL || strcmp(frames[0].function, innermost) == 0);
                if (lines.count == 2) ck_assert(frames[1].line == 77 || frames[1].line == 0);
            }
            close_file();
        }
        for (unsigned i = 0; i < 4; i++) builder_free((struct builder *[]){&f.abbrev, &f.info, &f.line, &f.ranges}[i]);
    }
    ck_assert_uint_gt(answered, 100);
}
END_TEST

/* ---- indexes ---- */

/* Every host must make the same index file (doc/index-format.md): the checksum is a constant. It changes if the format
 * or the answer for an address changes. */
START_TEST(index_of_the_same_bytes) {
    static const uint64_t list[] = {0, 0x20, UINT64_MAX, 0x2000, 0x10, 0x30, 0, 0};
    begin();
    for (int i = 0; i < ELEMENTS(list); i++) put(&f.ranges, 8, list[i]);
    begin_unit(&f, "one.c", 0x1000, 0x1100);
    const uint32_t inner = put_abstract(&f, "inner", 5), innermost = put_abstract(&f, "innermost", 6);
    put_leb(&f.info, FUNCTION_LIST);
    put_text(&f.info, "outer");
    put(&f.info, 4, 0);
    put_inlined(&f, inner, 0x1008, 0x18, 77);
    put_inlined(&f, innermost, 0x1010, 8, 78);
    end_entry(&f);
    end_entry(&f);
    end_entry(&f);
    put_function(&f, FUNCTION, "folded", 0x2010, 0x20);
    end_entry(&f);
    put_function(&f, FUNCTION, "folded too", 0x2010, 0x20);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    f.version = 5;
    f.is_wide = true;
    put_unit("two.c", 0x3000, 0x20, "third", 0x3000, 0x20);
    f.version = 3;
    begin_unit(&f, "three.c", 0x3800, 0x200);
    put_function(&f, FUNCTION, "fourth", 0x3800, 0x200);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(0x3800, 32);
    open_source();
    for (unsigned threads = 1; threads <= 2; threads++) {
        struct builder b = make_index(threads);
        ck_assert_uint_eq(b.size, 965);
        ck_assert_uint_eq(uspi_checksum(b.bytes, b.size), UINT32_C(3232486643));
        builder_free(&b);
    }
    close_source();
}
END_TEST

/* Ranges that several units share have a set of units. Equal sets must be in the map once, and the answers must be the
 * units of each range. */
START_TEST(equal_sets_of_units) {
    enum { COUNT = 1000, SETS = 3 };
    struct uspi_map_range ranges[3 * COUNT];
    struct uspi_map map;
    uint8_t *bytes;
    size_t size, count = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        const uint64_t low = 0x1000 + 0x20 * (uint64_t)i;
        for (uint32_t k = 0; k < 2 + (i % SETS == 0); k++) {
            ranges[count++] = (struct uspi_map_range){low, low + 0x10, i % SETS + 10 * k};
        }
    }
    ck_assert_int_eq(uspi_map_write(ranges, count, &bytes, &size), USP_OK);
    ck_assert_int_eq(uspi_map_open(&map, bytes, size, NULL), USP_OK);
    ck_assert_uint_eq(map.sets, 4 + 3 + 3);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t blocks[USPI_MAP_BLOCKS];
        const int found = uspi_map_find(&map, 0x1000 + 0x20 * (uint64_t)i, blocks);
        ck_assert_int_eq(found, 2 + (i % SETS == 0));
        for (int k = 0; k < found; k++) ck_assert_uint_eq(blocks[k], i % SETS + 10 * (uint32_t)k);
        ck_assert_int_eq(uspi_map_find(&map, 0x1010 + 0x20 * (uint64_t)i, blocks), 0);
    }
    free(bytes);
}
END_TEST

int main(void) {
    TCase *units = tcase_create("units"), *limits = tcase_create("limits");
    add_tests(units, claims_of_units_are_not_trusted, a_thunk_that_two_units_claim, code_at_0, claims_by_aranges,
              first_entries_of_any_length, units_of_types, units_of_unknown_versions, tables_of_names_are_not_read,
              tables_of_abbreviations);
    add_tests(units, index_of_the_same_bytes, equal_sets_of_units);
    add_loop_tests(units, 0, 2, units_without_a_base_of_addresses);
    add_loop_tests(units, 0, 8, versions_and_widths);
    add_tests(limits, units_that_share_a_large_table, tables_that_lie_in_each_other, units_that_share_a_list,
              units_that_share_a_line_table, strings_of_discarded_blocks, entries_that_are_cut_off, entries_without_end,
              functions_of_too_many_ranges, sections_that_end_early);
    add_loop_tests(limits, 0, 5, line_tables_with_strange_numbers);
    return run_suite("dwarf units", units, limits);
}
