/* SPDX-License-Identifier: MIT */
/* Tests debug information in Mach-O files: dSYMs beside their programs, sections with short names and beyond 4 GB,
 * names with and without an underscore. lines.sh compares the output of linkers and dsymutil. */
#define _FILE_OFFSET_BITS 64
#include "tests/support/dwarf_macho.h"
#include "tests/support/dwarf_questions.h"
#include "tests/support/folder.h"

#include <sys/stat.h>

#define ONE_UUID     "0123456789abcdef"
#define ANOTHER_UUID "fedcba9876543210"
#define PROGRAM_BASE UINT64_C(0x100000000)

/* Puts a function with a linkage name and an inlined call at `low`, with a row every 16 bytes. */
static void put_plain_unit(uint64_t low, const char *function, const char *inlined) {
    begin_unit(&f, "one.c", low, 0x40);
    const uint32_t inner = put_abstract(&f, inlined, 5);
    put_function(&f, FUNCTION, function, low, 0x40);
    put_inlined(&f, inner, low + 0x10, 0x10, 77);
    end_entry(&f);
    end_entry(&f);
    end_unit(&f);
    put_plain_lines(low, 4);
}

static void save_macho(const struct dwarf_macho *wanted, const char *to) {
    size_t head;
    struct builder b = finish_dwarf_macho(&f, wanted, &head);
    save_with_hole(&b, to, head, wanted->hole);
    builder_free(&b);
}

static void open_path(const char *file) {
    char error[512];
    ck_assert_msg(usp_images_open(file, NULL, &images, error, sizeof error) == USP_OK, "%s", error);
    ck_assert_int_eq(usp_symbolizer_create(images, NULL, &symbolizer), USP_OK);
}

static void close_path(void) {
    usp_symbolizer_free(symbolizer);
    usp_images_free(images);
}

/* Saves the program without debug information, and beside it a dSYM bundle with `wanted`. */
static void save_bundle(const struct dwarf_macho *wanted, const char *uuid) {
    static const char *const folders[] = {"program.dSYM", "program.dSYM/Contents", "program.dSYM/Contents/Resources",
                                          "program.dSYM/Contents/Resources/DWARF"};
    for (unsigned i = 0; i < 4; i++) mkdir(in_folder(folders[i]), 0777);
    save_macho(wanted, in_folder("program.dSYM/Contents/Resources/DWARF/program"));
    f = (struct dwarf_file){.symbols = NULL};
    save_macho(&(struct dwarf_macho){MACHO_DYLIB, PROGRAM_BASE, uuid, 0}, in_folder("program"));
}

/* A dSYM may be linked to another address than its program, like those of rewritten libraries of the shared cache.
 * Addresses must be compared relative to the first one. */
START_TEST(dsym_at_another_address) {
    static const uint64_t bases[] = {0, UINT64_C(0x180000000)};
    begin();
    put_plain_unit(bases[_i] + 0x1000, "outer", "inner");
    save_bundle(&(struct dwarf_macho){MACHO_DSYM, bases[_i], ONE_UUID, 0}, ONE_UUID);
    open_path(in_folder("program"));
    expect(PROGRAM_BASE + 0x1010, 0, "inner", 11);
    expect(PROGRAM_BASE + 0x1010, 1, "outer", 77);
    expect_nothing(PROGRAM_BASE + 0x1040);
    expect_nothing(bases[_i] + 0x1010);
    close_path();
}
END_TEST

/* A dSYM of another build has another UUID. It must not be used, and the explanation must mention it. */
START_TEST(dsym_of_another_build) {
    begin();
    put_plain_unit(PROGRAM_BASE + 0x1000, "outer", "inner");
    save_bundle(&(struct dwarf_macho){MACHO_DSYM, PROGRAM_BASE, ANOTHER_UUID, 0}, ONE_UUID);
    open_path(in_folder("program"));
    expect_nothing(PROGRAM_BASE + 0x1010);
    expect_said("program.dSYM", true);
    close_path();
}
END_TEST

/* The symbol table has an underscore before each name of C, C++, Swift and Rust; debug information has none. Both must
 * give the same name. Bitcode builds put the same placeholder in both, which must stay. */
START_TEST(names_with_underscores) {
    static const struct {
        const char *symbol, *linkage, *expected;
    } cases[] = {{"_plain", "plain", "plain"},
                 {"__underscored", "_underscored", "_underscored"},
                 {"__ZN2ns4workEv", "_ZN2ns4workEv", "_ZN2ns4workEv"},
                 {"_$s4main4workyyF", "$s4main4workyyF", "$s4main4workyyF"},
                 {"__RNvC4demo4work", "_RNvC4demo4work", "_RNvC4demo4work"},
                 {"__hidden#12_", "__hidden#12_", "__hidden#12_"}};
    const struct dwarf_symbol symbols[] = {{cases[_i].symbol, PROGRAM_BASE + 0x1000, 0}, {NULL, 0, 0}};
    begin();
    f.symbols = symbols;
    put_plain_unit(PROGRAM_BASE + 0x1000, cases[_i].linkage, cases[_i].linkage);
    save_bundle(&(struct dwarf_macho){MACHO_DSYM, PROGRAM_BASE, ONE_UUID, 0}, ONE_UUID);
    open_path(in_folder("program"));
    expect(PROGRAM_BASE + 0x1010, 0, cases[_i].expected, 11);
    expect(PROGRAM_BASE + 0x1010, 1, cases[_i].expected, 77);
    ck_assert_int_eq(frames[1].named_by, USP_STRATEGY_SYMTAB);
    close_path();
}
END_TEST

/* Names of sections have at most 16 bytes: "__debug_str_offs" is .debug_str_offsets. */
START_TEST(sections_with_short_names) {
    begin();
    f.version = 5;
    put_abbreviation(&f, OWN, DW_TAG_subprogram, false,
                     PAIRS(DW_AT_name, DW_FORM_strx1, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_udata));
    put(&f.str_offsets, 8, 0);
    put(&f.str_offsets, 4, 1);
    put(&f.str, 1, 0);
    put_text(&f.str, "named");
    begin_unit(&f, "one.c", 0x1000, 0x20);
    put_leb(&f.info, OWN);
    put(&f.info, 1, 0);
    put(&f.info, 8, 0x1000);
    put_leb(&f.info, 0x20);
    end_unit(&f);
    put_plain_lines(0x1000, 2);
    save_macho(&(struct dwarf_macho){MACHO_DSYM, 0, ONE_UUID, 0}, in_folder("short"));
    open_path(in_folder("short"));
    expect(0x1010, 0, "named", 11);
    close_path();
}
END_TEST

/* Offsets of sections have 32 bits and wrap around in a file of more than 4 GB. The segment's offset, which has 64
 * bits, must be used. */
START_TEST(sections_past_4_gb) {
    begin();
    put_plain_unit(0x1000, "outer", "inner");
    save_macho(&(struct dwarf_macho){MACHO_DSYM, 0, ONE_UUID, UINT64_C(5) << 30}, in_folder("large"));
    open_path(in_folder("large"));
    expect(0x1010, 0, "inner", 11);
    expect(0x1010, 1, "outer", 77);
    close_path();
}
END_TEST

int main(void) {
    TCase *c = tcase_create("dwarf_macho");
    tcase_add_checked_fixture(c, make_folder, remove_folder);
    add_loop_tests(c, 0, 2, dsym_at_another_address);
    add_loop_tests(c, 0, 6, names_with_underscores);
    add_tests(c, dsym_of_another_build, sections_with_short_names, sections_past_4_gb);
    return run_suite("dwarf_macho", c);
}
