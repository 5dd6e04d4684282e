/* SPDX-License-Identifier: MIT */
/* Names out of Mach-O files: which symbol wins, how far it reaches, which file and slice is believed. The files are
 * made of bytes, so that any host gives the same answers; linked ones are tests/symbolize/macho.sh's. */
#define _FILE_OFFSET_BITS 64
#include <check.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "lib/images/image_list.h"
#include "lib/object/macho_exports.h"
#include "lib/object/macho_symbols.h"
#include "lib/object/macho_unwind_info.h"
#include "lib/symbolize/index/tables.h"
#include "tests/support/excerpt_compare.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/folder.h"
#include "tests/support/macho_symbol_file.h"
#include "tests/support/placed.h"
#include "tests/support/suite.h"

static const uint32_t archs[] = {USP_ARCH_ARM64, USP_ARCH_ARM64_32, USP_ARCH_ARMV7, USP_ARCH_X86_64, USP_ARCH_I386};
#define ARCHS ELEMENTS(archs)

#define SLIDE    0x20000u
#define OTHER_ID "ANOTHER-UUID-16b"

static char path[sizeof folder + 64];
static struct macho_file wanted;

static void begin_folder(void) {
    make_folder();
    snprintf(path, sizeof path, "%s/program", folder);
    memset(&wanted, 0, sizeof wanted);
}

static void write_file(const char *to) {
    struct builder b = build_macho_symbol_file(&wanted);
    remove(to);
    save(&b, to);
    builder_free(&b);
}

/* NAME.dSYM with the file in it, under another name. */
static void write_dsym(const char *bundle) {
    char command[1024], inner[1024];
    snprintf(command, sizeof command, "mkdir -p '%s/Contents/Resources/DWARF'", bundle);
    ck_assert_int_eq(system(command), 0);
    wanted.type = 10;
    snprintf(inner, sizeof inner, "%s/Contents/Resources/DWARF/renamed", bundle);
    write_file(inner);
    /* As macOS leaves it on foreign file systems. */
    snprintf(inner, sizeof inner, "%s/Contents/Resources/DWARF/._renamed", bundle);
    struct builder apple_double = {0};
    put_be(&apple_double, 4, 0x00051607);
    save(&apple_double, inner);
    builder_free(&apple_double);
    wanted.type = 0;
}

struct fixture {
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    usp_addr base, load;
};

static struct fixture begin_image(uint32_t arch, const char *of, const char *uuid,
                                  const struct usp_symbolizer_options *options) {
    struct fixture f = {.base = macho_base(arch), .load = macho_base(arch) + SLIDE};
    struct uspi_image_list list = {0};
    struct usp_image image = {.path = of,
                              .load_address = f.load,
                              .text_low = f.load,
                              .text_high = f.load + LINKEDIT,
                              .end = f.load + 0x4000,
                              .slide = SLIDE,
                              .arch = arch,
                              .flags = USP_IMAGE_MACHO | USP_IMAGE_MAIN,
                              .build_id_size = uuid != NULL ? 16 : 0};
    if (uuid != NULL) memcpy(image.build_id, uuid, 16);
    ck_assert_int_eq(uspi_image_list_add(&list, &image), USP_OK);
    ck_assert_int_eq(uspi_image_list_seal(&list, &f.images), USP_OK);
    ck_assert_int_eq(usp_symbolizer_create(f.images, options, &f.symbolizer), USP_OK);
    return f;
}

/* Every file that is asked here is one for which excerpts must say the same. */
static void check_excerpts(void) {
    struct excerpt_tally tally = {0};
    struct uspi_file *file;
    struct uspi_tables *tables;
    const usp_addr base = macho_base(wanted.arch);
    ck_assert_int_eq(uspi_file_open(path, &file, NULL), USP_OK);
    if (uspi_macho_tables_open(uspi_file_bytes(file), NULL, &(struct uspi_wanted_slice){.arch = wanted.arch},
                               &tables) == USP_OK) {
        compare_excerpts(tables, base, base + LINKEDIT, 0x300, 4, &tally);
        tables->close(tables);
        ck_assert_uint_gt(tally.decided + tally.undecided, 0);
    }
    struct uspi_macho macho;
    if (uspi_macho_open(&macho, uspi_file_bytes(file), NULL) == USP_OK) {
        ck_assert_int_eq(uspi_macho_starts_open(&macho, &tables), USP_OK);
        compare_excerpts(tables, base, base + LINKEDIT, 0x300, 4, &tally);
        tables->close(tables);
    }
    uspi_file_close(file);
}

static struct fixture begin(uint32_t arch) {
    wanted.arch = arch;
    write_file(path);
    check_excerpts();
    return begin_image(arch, path, wanted.uuid, NULL);
}

static void end(struct fixture *f) {
    usp_symbolizer_free(f->symbolizer);
    usp_images_free(f->images);
}

static struct usp_symbol look_up(struct fixture *f, uint32_t offset) {
    struct usp_symbol symbol;
    memset(&symbol, 0xa5, sizeof symbol);
    int status = usp_symbolize(f->symbolizer, f->load + offset, &symbol);
    ck_assert_msg(status == (symbol.name != NULL ? USP_OK : USP_ERROR_NOT_FOUND), "%#x: %s", offset,
                  usp_status_string(status));
    ck_assert_uint_eq(symbol.image_load, f->load);
    return symbol;
}

/* Offsets count from the header. `name` NULL: there is none. */
static void expect(struct fixture *f, uint32_t offset, const char *name, uint32_t start) {
    struct usp_symbol symbol = look_up(f, offset);
    if (name == NULL) {
        ck_assert_msg(symbol.name == NULL, "%#x: %s", offset, symbol.name);
        return;
    }
    ck_assert_msg(symbol.name != NULL, "%#x: no name, expected is %s", offset, name);
    ck_assert_str_eq(symbol.name, name);
    ck_assert_uint_eq(symbol.start, f->load + start);
    ck_assert_uint_eq(symbol.offset, offset - start);
    ck_assert_uint_eq(symbol.strategy, USP_STRATEGY_SYMTAB);
}

#define END {NULL, 0, 0, 0, 0}

START_TEST(names_as_people_write_them) {
    wanted.symbols = (const struct macho_symbol[]){{"_plain", 0x1000, SECT | EXT, IN_TEXT, 0},
                                                   {"__ZN5space4nameEv", 0x1100, SECT, IN_TEXT, 0},
                                                   {"-[Class selector:]", 0x1200, SECT, IN_TEXT, 0},
                                                   {"start", 0x1300, SECT | EXT, IN_TEXT, 0},
                                                   {"_$s4main3fooyyF", 0x1400, SECT | PEXT, IN_TEXT, 0},
                                                   {"__hidden#12_", 0x1500, SECT, IN_TEXT, 0},
                                                   {"_more", 0x2310, SECT, IN_MORE, 0},
                                                   {"_outside", 0, UNDEFINED | EXT, 0, 0},
                                                   END};
    struct fixture f = begin(archs[_i]);
    expect(&f, 0xfff, NULL, 0);
    expect(&f, 0x1000, "plain", 0x1000);
    expect(&f, 0x10ff, "plain", 0x1000);
    expect(&f, 0x1100, "_ZN5space4nameEv", 0x1100);
    expect(&f, 0x1234, "-[Class selector:]", 0x1200);
    expect(&f, 0x1300, "start", 0x1300);
    expect(&f, 0x14ff, "$s4main3fooyyF", 0x1400);
    /* What bitcode builds put in the place of names is no C name: a BCSymbolMap has it with all of its underscores. */
    expect(&f, 0x1fff, "__hidden#12_", 0x1500);
    /* A name ends where its section does; the sections between have none, the beginning of the next one neither. */
    expect(&f, 0x2000, NULL, 0);
    expect(&f, 0x2150, NULL, 0);
    expect(&f, 0x2300, NULL, 0);
    expect(&f, 0x2310, "more", 0x2310);
    expect(&f, 0x23ff, "more", 0x2310);
    expect(&f, 0x2400, NULL, 0);
    expect(&f, 0, NULL, 0);
    end(&f);
}
END_TEST

/* What a fully stripped program still has, and what lies where no code is. */
START_TEST(symbols_outside_of_their_section) {
    wanted.symbols = (const struct macho_symbol[]){{"__mh_execute_header", 0, SECT | EXT, IN_TEXT, 0},
                                                   {"___dso_handle", 0, SECT, IN_TEXT, 0},
                                                   {"_end_of_text", 0x2000, SECT, IN_TEXT, 0},
                                                   {"_table", 0x2100, SECT | EXT, IN_CONST, 0},
                                                   {"_no_section", 0x1000, SECT, 0, 0},
                                                   {"_section_200", 0x1000, SECT, 200, 0},
                                                   {"_absolute", 0x1000, 0x02 | EXT, 0, 0},
                                                   END};
    struct fixture f = begin(archs[_i]);
    for (uint32_t offset = 0; offset < 0x2500; offset += 0x80) expect(&f, offset, NULL, 0);
    ck_assert_str_eq(look_up(&f, 0x1000).image_path, path);
    end(&f);
}
END_TEST

START_TEST(labels_and_functions_without_names) {
    wanted.symbols = (const struct macho_symbol[]){{"_function", 0x1000, SECT, IN_TEXT, 0},
                                                   {"L_label", 0x1010, SECT, IN_TEXT, 0},
                                                   {"l_label", 0x1020, SECT, IN_TEXT, 0},
                                                   {"ltmp0", 0x1000, SECT, IN_TEXT, 0},
                                                   {"lower", 0x1100, SECT | EXT, IN_TEXT, 0},
                                                   {"LOUD", 0x1200, SECT | PEXT, IN_TEXT, 0},
                                                   {"<redacted>", 0x1300, SECT, IN_TEXT, 0},
                                                   {"_after", 0x1400, SECT, IN_TEXT, 0},
                                                   {"", 0x1500, SECT, IN_TEXT, 0},
                                                   END};
    struct fixture f = begin(archs[_i]);
    expect(&f, 0x1000, "function", 0x1000);
    expect(&f, 0x1030, "function", 0x1000);
    expect(&f, 0x1110, "lower", 0x1100);
    expect(&f, 0x1210, "LOUD", 0x1200);
    expect(&f, 0x1300, NULL, 0);
    expect(&f, 0x13ff, NULL, 0);
    expect(&f, 0x1400, "after", 0x1400);
    expect(&f, 0x1500, NULL, 0);
    end(&f);
}
END_TEST

static void expect_aliases(struct fixture *f) {
    expect(f, 0x1010, "d_global", 0x1000);
    expect(f, 0x1110, "c_hidden_2", 0x1100);
    expect(f, 0x1210, "b_local_3", 0x1200);
    expect(f, 0x1310, "weak", 0x1300);
    expect(f, 0x1410, "_ZN1AC1Ev", 0x1400);
    expect(f, 0x1510, "written", 0x1500);
    expect(f, 0x1610, "earlier", 0x1600);
    expect(f, 0x1710, "as_long", 0x1700);
}

START_TEST(aliases) {
    wanted.symbols = (const struct macho_symbol[]){{"_a_weak", 0x1000, SECT | EXT, IN_TEXT, WEAK_DEF},
                                                   {"_b_local", 0x1000, SECT, IN_TEXT, 0},
                                                   {"_c_hidden", 0x1000, SECT | PEXT, IN_TEXT, 0},
                                                   {"_d_global", 0x1000, SECT | EXT, IN_TEXT, 0},
                                                   {"_a_weak_2", 0x1100, SECT | EXT, IN_TEXT, WEAK_DEF},
                                                   {"_b_local_2", 0x1100, SECT, IN_TEXT, 0},
                                                   {"_c_hidden_2", 0x1100, SECT | PEXT, IN_TEXT, 0},
                                                   {"_a_weak_3", 0x1200, SECT | EXT, IN_TEXT, WEAK_DEF},
                                                   {"_b_local_3", 0x1200, SECT, IN_TEXT, 0},
                                                   {"_alternative", 0x1300, SECT | EXT, IN_TEXT, ALT_ENTRY},
                                                   {"_weak", 0x1300, SECT | EXT, IN_TEXT, WEAK_DEF},
                                                   {"__ZN1AC2Ev", 0x1400, SECT | EXT, IN_TEXT, 0},
                                                   {"__ZN1AC1Ev", 0x1400, SECT | EXT, IN_TEXT, 0},
                                                   {"___inner", 0x1500, SECT | EXT, IN_TEXT, 0},
                                                   {"_written", 0x1500, SECT | EXT, IN_TEXT, 0},
                                                   {"_earlier", 0x1600, SECT | EXT, IN_TEXT, 0},
                                                   {"_later", 0x1600, SECT | EXT, IN_TEXT, 0},
                                                   {"_as_long_as_that", 0x1700, SECT | EXT, IN_TEXT, 0},
                                                   {"_as_long", 0x1700, SECT | EXT, IN_TEXT, 0},
                                                   END};
    struct usp_symbolizer_options options;
    struct fixture f = begin(archs[_i]);
    expect_aliases(&f);
    end(&f);
    /* Where names are copied before they are compared, too. */
    struct builder b = build_macho_symbol_file(&wanted);
    struct placed placed = {&b, f.load};
    struct usp_memory memory = {read_placed, &placed};
    usp_symbolizer_options_init(&options);
    options.memory = &memory;
    f = begin_image(archs[_i], "/nowhere/program", wanted.uuid, &options);
    expect_aliases(&f);
    end(&f);
    builder_free(&b);
}
END_TEST

START_TEST(alternative_entries) {
    wanted.symbols = (const struct macho_symbol[]){
        {"_memmove", 0x1000, SECT | EXT, IN_TEXT, 0}, {"_memcpy", 0x1010, SECT | EXT, IN_TEXT, ALT_ENTRY}, END};
    wanted.starts = (const uint32_t[]){0x1000, 0x1040, 0};
    struct fixture f = begin(archs[_i]);
    expect(&f, 0x100f, "memmove", 0x1000);
    expect(&f, 0x1010, "memcpy", 0x1010);
    expect(&f, 0x103f, "memcpy", 0x1010);
    expect(&f, 0x1040, NULL, 0);
    end(&f);
}
END_TEST

START_TEST(thumb) {
    wanted.symbols = (const struct macho_symbol[]){{"_thumb", 0x1000, SECT | EXT, IN_TEXT, THUMB}, END};
    wanted.starts = (const uint32_t[]){0x1001, 0x1101, 0x1201, 0};
    wanted.exports = (const struct macho_export[]){{"_thumb", 0, 0x1001}, {"_export", 0, 0x1101}, {NULL, 0, 0}};
    struct fixture f = begin(USP_ARCH_ARMV7);
    expect(&f, 0xfff, NULL, 0);
    expect(&f, 0x1000, "thumb", 0x1000);
    expect(&f, 0x1001, "thumb", 0x1000);
    expect(&f, 0x10ff, "thumb", 0x1000);
    expect(&f, 0x1100, "export", 0x1100);
    expect(&f, 0x1200, NULL, 0);
    end(&f);
}
END_TEST

static const struct macho_symbol two_functions[] = {
    {"_first", 0x1000, SECT | EXT, IN_TEXT, 0}, {"_second", 0x1200, SECT | EXT, IN_TEXT, 0}, END};

START_TEST(function_starts_bound_names) {
    wanted.symbols = two_functions;
    wanted.starts = (const uint32_t[]){0x1000, 0x1100, 0x1200, 0x1300, 0x1380, 0};
    /* Not asked, where function starts are. */
    wanted.unwind = (const uint32_t[]){0x1000, 0x1280, 0};
    struct fixture f = begin(archs[_i]);
    expect(&f, 0x10ff, "first", 0x1000);
    expect(&f, 0x1100, NULL, 0);
    expect(&f, 0x11ff, NULL, 0);
    expect(&f, 0x12ff, "second", 0x1200);
    expect(&f, 0x1300, NULL, 0);
    expect(&f, 0x1390, NULL, 0);
    end(&f);
}
END_TEST

static int no_preference(const void *context, uint32_t a, uint32_t b) {
    (void)context, (void)a, (void)b;
    return -1;
}

static int index_starts(const struct uspi_macho *macho, struct uspi_index *index) {
    struct uspi_gathering gathering = {0};
    struct uspi_tables *tables;
    int status = uspi_macho_starts_open(macho, &tables);
    if (status != USP_OK) return status;
    status = tables->gather(tables, &gathering);
    if (status == USP_OK) status = uspi_index_build(index, &gathering, no_preference, NULL);
    uspi_gathering_clear(&gathering);
    tables->close(tables);
    return status;
}

/* Each function by itself, named or not, and nothing after the section; also when each allocation fails in turn. */
START_TEST(functions_without_names_have_their_starts) {
    static const uint32_t starts[] = {0x1000, 0x1100, 0x1180, 0x1200, 0};
    const usp_addr base = macho_base(archs[_i]);
    const long held = allocations_held();
    struct uspi_macho macho;
    int status = USP_ERROR_NO_MEMORY;
    unsigned failures = 0;
    wanted.arch = archs[_i];
    wanted.symbols = two_functions;
    wanted.starts = starts;
    struct builder b = build_macho_symbol_file(&wanted);
    struct placed placed = {&b, base + SLIDE};
    struct usp_memory memory = {read_placed, &placed};
    struct uspi_source source = uspi_source_of_memory(&memory, "process");
    ck_assert_int_eq(uspi_macho_open(&macho, uspi_bytes_at(&source, placed.at), NULL), USP_OK);
    for (long n = 1; status != USP_OK; n++) {
        struct uspi_index index = {0};
        const long before = allocations_held();
        fail_allocation(n);
        status = index_starts(&macho, &index);
        fail_allocation(0);
        if (status == USP_OK) {
            usp_addr start;
            uint64_t size;
            for (unsigned i = 0; starts[i] != 0; i++) {
                ck_assert_uint_ne(uspi_index_find(&index, base + starts[i] + 0x7f, &start, &size), USPI_NO_SYMBOL);
                ck_assert_uint_eq(start, base + starts[i]);
            }
            ck_assert_uint_eq(uspi_index_find(&index, base + 0xfff, &start, &size), USPI_NO_SYMBOL);
            ck_assert_uint_eq(uspi_index_find(&index, base + LINKEDIT, &start, &size), USPI_NO_SYMBOL);
        } else {
            ck_assert_int_eq(status, USP_ERROR_NO_MEMORY);
            failures++;
        }
        uspi_index_clear(&index);
        ck_assert_int_eq(allocations_held(), before);
    }
    ck_assert_uint_ge(failures, 3);
    builder_free(&b);
    ck_assert_int_eq(allocations_held(), held);
}
END_TEST

/* Without the starts of functions, where all functions have names. */
START_TEST(unwind_info_bounds_names) {
    wanted.symbols = (const struct macho_symbol[]){{"_first", 0x1000, SECT | EXT, IN_TEXT, 0},
                                                   {"_second", 0x1200, SECT | EXT, IN_TEXT, 0},
                                                   {"_local", 0x1800, SECT, IN_TEXT, 0},
                                                   END};
    wanted.unwind = (const uint32_t[]){0x1000, 0x1100, 0x1200, 0x1300, 0};
    for (unsigned regular = 0; regular < 2; regular++) {
        wanted.unwind_regular = regular != 0;
        struct fixture f = begin(archs[_i]);
        expect(&f, 0x10ff, "first", 0x1000);
        expect(&f, 0x1100, NULL, 0);
        expect(&f, 0x12ff, "second", 0x1200);
        expect(&f, 0x1300, NULL, 0);
        end(&f);
    }
}
END_TEST

/* The bytes of a return, and how many there are. */
static unsigned take_two_returns(uint32_t arch) {
    const bool is_x86 = arch == USP_ARCH_X86_64 || arch == USP_ARCH_I386;
    const unsigned length = is_x86 ? 1 : 4;
    wanted.text = "\xc0\x03\x5f\xd6\xc0\x03\x5f\xd6";
    if (arch == USP_ARCH_ARMV7) wanted.text = "\x1e\xff\x2f\xe1\x1e\xff\x2f\xe1";
    if (is_x86) wanted.text = "\xc3\xc3";
    wanted.text_size = 2 * length;
    return length;
}

/* Neighbours that are unwound alike have one entry: where functions may have lost their names, it bounds nothing. The
 * second return is another function's. */
START_TEST(unwind_info_does_not_bound_stripped_names) {
    const unsigned length = take_two_returns(archs[_i]);
    wanted.symbols = two_functions;
    wanted.unwind = (const uint32_t[]){0x1000, 0x1200, 0};
    struct fixture f = begin(archs[_i]);
    expect(&f, 0x1000, "first", 0x1000);
    expect(&f, 0x1000 + length - 1, "first", 0x1000);
    expect(&f, 0x1000 + length, NULL, 0);
    expect(&f, 0x11ff, NULL, 0);
    expect(&f, 0x1200, "second", 0x1200);
    end(&f);
}
END_TEST

/* Nor does it say of each function where it begins. */
START_TEST(unwind_info_does_not_tell_all_starts) {
    const unsigned length = take_two_returns(archs[_i]);
    const usp_addr base = macho_base(archs[_i]);
    struct uspi_index index = {0};
    struct uspi_macho macho;
    usp_addr start;
    uint64_t size;
    wanted.arch = archs[_i];
    wanted.unwind = (const uint32_t[]){0x1000, 0x1200, 0};
    struct builder b = build_macho_symbol_file(&wanted);
    const struct uspi_source source = {.name = "file", .base = b.bytes};
    ck_assert_int_eq(uspi_macho_open(&macho, (struct uspi_bytes){&source, 0, b.size}, NULL), USP_OK);
    ck_assert_int_eq(index_starts(&macho, &index), USP_OK);
    ck_assert_uint_ne(uspi_index_find(&index, base + 0x1000 + length - 1, &start, &size), USPI_NO_SYMBOL);
    ck_assert_uint_eq(start, base + 0x1000);
    ck_assert_uint_eq(uspi_index_find(&index, base + 0x1000 + length, &start, &size), USPI_NO_SYMBOL);
    ck_assert_uint_ne(uspi_index_find(&index, base + 0x1200, &start, &size), USPI_NO_SYMBOL);
    uspi_index_clear(&index);
    builder_free(&b);
}
END_TEST

START_TEST(debug_map) {
    wanted.symbols = (const struct macho_symbol[]){{"", 0, SO, 0, 0},
                                                   {"/folder/", 0, SO, 0, 0},
                                                   {"first.c", 0, SO, 0, 0},
                                                   {"_sized", 0x1000, FUN, IN_TEXT, 0},
                                                   {"/usr/include/header.h", 0, SOL, 0, 0},
                                                   {"/usr/include/other.h", 0, SOL, 0, 0},
                                                   {"", 0x40, FUN, 0, 0},
                                                   {"_alias", 0x1000, FUN, IN_TEXT, 0},
                                                   {"", 0x40, FUN, 0, 0},
                                                   {"_only_here", 0x1080, FUN, IN_TEXT, 0},
                                                   {"", 0x10, FUN, 0, 0},
                                                   {"", 0, SO, 0, 0},
                                                   {"/absolute/second.c", 0, SO, 0, 0},
                                                   {"_second", 0x1100, FUN, IN_TEXT, 0},
                                                   {"", 0x100, FUN, 0, 0},
                                                   {"", 0, SO, 0, 0},
                                                   {"_homeless", 0x1200, FUN, IN_TEXT, 0},
                                                   {"", 0x20, FUN, 0, 0},
                                                   {"_alias", 0x1000, SECT, IN_TEXT, 0},
                                                   {"_sized", 0x1000, SECT | EXT, IN_TEXT, 0},
                                                   {"_second", 0x1100, SECT, IN_TEXT, 0},
                                                   {"_homeless", 0x1200, SECT, IN_TEXT, 0},
                                                   {"_unsized", 0x1300, SECT, IN_TEXT, 0},
                                                   END};
    struct fixture f = begin(archs[_i]);
    expect(&f, 0x103f, "sized", 0x1000);
    ck_assert_uint_eq(look_up(&f, 0x1000).extent, 0x40);
    ck_assert_str_eq(look_up(&f, 0x1000).source_file, "/folder/first.c");
    expect(&f, 0x1040, NULL, 0);
    ck_assert_ptr_null(look_up(&f, 0x1040).source_file);
    expect(&f, 0x1080, "only_here", 0x1080);
    expect(&f, 0x1090, NULL, 0);
    expect(&f, 0x11ff, "second", 0x1100);
    ck_assert_str_eq(look_up(&f, 0x1100).source_file, "/absolute/second.c");
    expect(&f, 0x1200, "homeless", 0x1200);
    ck_assert_ptr_null(look_up(&f, 0x1200).source_file);
    expect(&f, 0x1220, NULL, 0);
    expect(&f, 0x1fff, "unsized", 0x1300);
    ck_assert_uint_eq(look_up(&f, 0x1300).extent, 0);
    end(&f);
}
END_TEST

/* As Dart's compiler writes them: no source files, and names without an underscore, which look like an assembler's
 * labels. */
START_TEST(functions_of_the_debug_map_are_no_labels) {
    wanted.symbols = (const struct macho_symbol[]){{"_before", 0x1000, SECT, IN_TEXT, 0},
                                                   {"List.add", 0x1034, SECT, IN_TEXT, 0},
                                                   {"Llabel", 0x1040, SECT, IN_TEXT, 0},
                                                   {"_before", 0x1000, FUN, IN_TEXT, 0},
                                                   {"", 0x34, FUN, 0, 0},
                                                   {"List.add", 0x1034, FUN, IN_TEXT, 0},
                                                   {"", 0x20, FUN, 0, 0},
                                                   {"lookup", 0x1060, FUN, IN_TEXT, 0},
                                                   {"", 0x20, FUN, 0, 0},
                                                   END};
    struct fixture f = begin(archs[_i]);
    expect(&f, 0x1033, "before", 0x1000);
    expect(&f, 0x1034, "List.add", 0x1034);
    expect(&f, 0x1053, "List.add", 0x1034);
    expect(&f, 0x1054, NULL, 0);
    expect(&f, 0x1060, "lookup", 0x1060);
    expect(&f, 0x1080, NULL, 0);
    end(&f);
}
END_TEST

START_TEST(exports_alone) {
    wanted.exports = (const struct macho_export[]){{"_exported", 0, 0x1000},
                                                   {"__ZN5space4nameEv", 0x4, 0x1100},
                                                   {"_elsewhere", 0x8, 1},
                                                   {"_absolute", 0x2, 0x1080},
                                                   {"_thread_local", 0x1, 0x1090},
                                                   {"_data", 0, 0x2110},
                                                   {"__underscored", 0, 0x1200},
                                                   {"_alias", 0, 0x1200},
                                                   {NULL, 0, 0}};
    for (unsigned info = 0; info < 2; info++) {
        wanted.in_dyld_info = info != 0;
        wanted.starts = (const uint32_t[]){0x1000, 0x1180, 0x1200, 0};
        struct fixture f = begin(archs[_i]);
        expect(&f, 0x10ff, "exported", 0x1000);
        expect(&f, 0x1100, "_ZN5space4nameEv", 0x1100);
        expect(&f, 0x1180, NULL, 0);
        expect(&f, 0x1200, "alias", 0x1200);
        expect(&f, 0x2110, NULL, 0);
        end(&f);
    }
}
END_TEST

START_TEST(exports_beside_symbols) {
    wanted.exports = (const struct macho_export[]){{"_first", 0, 0x1000}, {"_third", 0, 0x1300}, {NULL, 0, 0}};
    wanted.symbols = two_functions;
    struct fixture f = begin(archs[_i]);
    expect(&f, 0x1000, "first", 0x1000);
    expect(&f, 0x1200, "second", 0x1200);
    expect(&f, 0x1300, "third", 0x1300);
    end(&f);
}
END_TEST

static void set_indirect(uint32_t a, uint32_t b, uint32_t c) {
    wanted.with_stubs = true;
    wanted.indirect[0] = a;
    wanted.indirect[1] = b;
    wanted.indirect[2] = c;
}

START_TEST(stubs) {
    wanted.symbols = (const struct macho_symbol[]){{"_printf", 0, UNDEFINED | EXT, 0, 0},
                                                   {"_function", 0x1000, SECT | EXT, IN_TEXT, 0},
                                                   {"__ZdlPv", 0, UNDEFINED | EXT, 0, 0},
                                                   {"_local", 0x1000, SECT, IN_TEXT, 0},
                                                   {"stab.c", 0, SO, 0, 0},
                                                   END};
    set_indirect(2, 0x80000000, 0);
    struct fixture f = begin(archs[_i]);
    expect(&f, 0x1fff, "function", 0x1000);
    expect(&f, STUBS_LOW, "DYLD-STUB$$_ZdlPv", STUBS_LOW);
    ck_assert_uint_eq(look_up(&f, STUBS_LOW + 3).extent, STUB_SIZE);
    expect(&f, STUBS_LOW + STUB_SIZE, NULL, 0);
    expect(&f, STUBS_LOW + 2 * STUB_SIZE, "DYLD-STUB$$printf", STUBS_LOW + 2 * STUB_SIZE);
    expect(&f, STUBS_HIGH, NULL, 0);
    end(&f);
    /* What no other file sees, a stab, nothing at all. */
    set_indirect(3, 4, 77);
    f = begin(archs[_i]);
    for (uint32_t i = 0; i < 3; i++) expect(&f, STUBS_LOW + i * STUB_SIZE, NULL, 0);
    end(&f);
}
END_TEST

/* ---- which file, which slice ---- */

static const struct macho_symbol one_function[] = {{"_one", 0x1000, SECT | EXT, IN_TEXT, 0}, END};
static const struct macho_symbol other_function[] = {{"_other", 0x1000, SECT | EXT, IN_TEXT, 0}, END};

/* Two slices of one processor after a table of the 32- or 64-bit kind, at these offsets of the file. */
static void write_fat(const char *to, bool wide, uint32_t arch, const uint64_t offsets[2]) {
    struct builder table = {0}, slices[2];
    put_be(&table, 4, wide ? 0xcafebabf : 0xcafebabe);
    put_be(&table, 4, 2);
    for (unsigned i = 0; i < 2; i++) {
        wanted = (struct macho_file){
            .arch = arch, .uuid = i == 0 ? UUID : OTHER_ID, .symbols = i == 0 ? one_function : other_function};
        slices[i] = build_macho_symbol_file(&wanted);
        put_be(&table, 4, macho_cpu(arch));
        put_be(&table, 4, i);
        put_be(&table, wide ? 8 : 4, offsets[i]);
        put_be(&table, wide ? 8 : 4, slices[i].size);
        put_be(&table, 4, 12);
        if (wide) put_be(&table, 4, 0);
    }
    int fd = open(to, O_CREAT | O_TRUNC | O_WRONLY, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, table.bytes, table.size), (ssize_t)table.size);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_int_eq(pwrite(fd, slices[i].bytes, slices[i].size, (off_t)offsets[i]), (ssize_t)slices[i].size);
        builder_free(&slices[i]);
    }
    ck_assert_int_eq(close(fd), 0);
    builder_free(&table);
}

START_TEST(slices_by_uuid) {
    const uint64_t near[2] = {0x1000, 0x8000}, far[2] = {0x1000, (UINT64_C(5) << 30) + 0x4000};
    static const char strange[] = "NO-SLICE-HAS-IT!";
    for (unsigned kind = 0; kind < 3; kind++) {
        write_fat(path, kind > 0, archs[_i], kind == 2 ? far : near);
        struct fixture f = begin_image(archs[_i], path, OTHER_ID, NULL);
        expect(&f, 0x1000, "other", 0x1000);
        end(&f);
        f = begin_image(archs[_i], path, UUID, NULL);
        expect(&f, 0x1000, "one", 0x1000);
        end(&f);
        f = begin_image(archs[_i], path, strange, NULL);
        expect(&f, 0x1000, NULL, 0);
        end(&f);
        /* Without a UUID in the image the processor decides. */
        f = begin_image(archs[_i], path, NULL, NULL);
        expect(&f, 0x1000, "one", 0x1000);
        end(&f);
        f = begin_image(archs[(_i + 1) % ARCHS], path, NULL, NULL);
        expect(&f, 0x1000, NULL, 0);
        end(&f);
    }
}
END_TEST

START_TEST(dsym_beside_the_program) {
    static const char *const bundles[] = {"program.dSYM", "App.app.dSYM", "App.app/program.dSYM", "dSYMs/App.app.dSYM"};
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(mkdir(in_folder("App.app"), 0777), 0);
        snprintf(path, sizeof path, "%s/%s", folder, i == 0 ? "program" : "App.app/program");
        wanted = (struct macho_file){.arch = USP_ARCH_ARM64, .uuid = UUID, .symbols = one_function};
        wanted.starts = (const uint32_t[]){0x1000, 0x1100, 0x1200, 0};
        write_file(path);
        wanted.symbols = (const struct macho_symbol[]){
            {"_one", 0x1000, SECT | EXT, IN_TEXT, 0}, {"_hidden", 0x1100, SECT, IN_TEXT, 0}, END};
        wanted.starts = NULL;
        write_dsym(in_folder(bundles[i]));
        struct fixture f = begin_image(USP_ARCH_ARM64, path, UUID, NULL);
        expect(&f, 0x10ff, "one", 0x1000);
        expect(&f, 0x1100, "hidden", 0x1100);
        expect(&f, 0x1200, NULL, 0);
        end(&f);
        /* Of another build. */
        wanted.uuid = OTHER_ID;
        write_dsym(in_folder(bundles[i]));
        f = begin_image(USP_ARCH_ARM64, path, UUID, NULL);
        expect(&f, 0x1000, "one", 0x1000);
        expect(&f, 0x1100, NULL, 0);
        end(&f);
        remove_folder();
        begin_folder();
    }
}
END_TEST

START_TEST(dsym_without_the_program) {
    struct usp_symbolizer_options options;
    wanted = (struct macho_file){.arch = USP_ARCH_ARM64, .uuid = UUID, .symbols = two_functions};
    write_dsym(in_folder("program.dSYM"));
    struct fixture f = begin_image(USP_ARCH_ARM64, path, UUID, NULL);
    expect(&f, 0x1000, "first", 0x1000);
    end(&f);
    /* In a folder of symbols, below its name there. */
    usp_symbolizer_options_init(&options);
    options.folder = folder;
    f = begin_image(USP_ARCH_ARM64, "/private/var/program", UUID, &options);
    expect(&f, 0x1200, "second", 0x1200);
    end(&f);
    /* Given by name, whatever that is. */
    usp_symbolizer_options_init(&options);
    write_dsym(in_folder("strange.dSYM"));
    options.program = in_folder("strange.dSYM");
    f = begin_image(USP_ARCH_ARM64, "/private/var/elsewhere", UUID, &options);
    expect(&f, 0x1200, "second", 0x1200);
    end(&f);
    /* Nothing says that it is this image's. */
    f = begin_image(USP_ARCH_ARM64, path, NULL, NULL);
    expect(&f, 0x1000, NULL, 0);
    end(&f);
}
END_TEST

/* ---- damage ---- */

/* The last string has no terminator: names cannot be used in place. */
START_TEST(names_that_are_copied) {
    wanted = (struct macho_file){.arch = archs[_i], .symbols = two_functions};
    struct builder b = build_macho_symbol_file(&wanted);
    b.bytes[b.size - 1] = 'x';
    save(&b, path);
    builder_free(&b);
    struct fixture f = begin_image(archs[_i], path, NULL, NULL);
    expect(&f, 0x1000, "first", 0x1000);
    ck_assert_ptr_eq(look_up(&f, 0x1000).name, look_up(&f, 0x1001).name);
    expect(&f, 0x1200, NULL, 0);
    end(&f);
}
END_TEST

static const struct macho_symbol some_symbols[] = {{"_outside", 0, UNDEFINED | EXT, 0, 0},
                                                   {"/f/", 0, SO, 0, 0},
                                                   {"f.c", 0, SO, 0, 0},
                                                   {"_one", 0x1000, FUN, IN_TEXT, 0},
                                                   {"", 0x80, FUN, 0, 0},
                                                   {"_one", 0x1000, SECT | EXT, IN_TEXT, 0},
                                                   {"_alias", 0x1000, SECT | EXT, IN_TEXT, 0},
                                                   {"_two", 0x1100, SECT, IN_TEXT, 0},
                                                   END};
static const uint32_t some_starts[] = {0x1000, 0x1100, 0x1200, 0};
static const struct macho_export some_exports[] = {{"_one", 0, 0x1000}, {"_three", 0, 0x1200}, {NULL, 0, 0}};

static void fill_everything(uint32_t arch) {
    wanted = (struct macho_file){.arch = arch,
                                 .uuid = UUID,
                                 .symbols = some_symbols,
                                 .starts = some_starts,
                                 .unwind = some_starts,
                                 .exports = some_exports,
                                 .with_stubs = true};
}

/* Whatever is cut off, the answer is the right name or none. */
START_TEST(every_truncation) {
    static const char *const right[] = {"alias", "one", "two", "three", "DYLD-STUB$$outside"};
    fill_everything(archs[_i]);
    struct builder b = build_macho_symbol_file(&wanted);
    const size_t whole = b.size;
    unsigned named = 0;
    for (size_t size = 0; size <= whole; size += size < 0x500 || size >= LINKEDIT ? 1 : 0x40) {
        b.size = size;
        remove(path);
        save(&b, path);
        struct fixture f = begin_image(archs[_i], path, UUID, NULL);
        for (uint32_t offset = 0x1000; offset < 0x2100; offset += 0x100) {
            struct usp_symbol symbol = look_up(&f, offset);
            if (symbol.name == NULL) continue;
            bool is_right = false;
            for (unsigned i = 0; i < 5; i++) is_right = is_right || strcmp(symbol.name, right[i]) == 0;
            ck_assert_msg(is_right, "%zu bytes: %s", size, symbol.name);
            named++;
        }
        end(&f);
    }
    ck_assert_uint_gt(named, 0);
    builder_free(&b);
}
END_TEST

static const struct {
    const char *what;
    uint8_t bytes[16];
    uint8_t size;
    uint32_t nodes; /* that are read; 0: refused */
} tries[] = {
    {"a circle", {0, 1, 'a', 0, 0}, 5, 2},
    {"a circle of two", {0, 1, 'a', 0, 5, 0, 1, 'b', 0, 0}, 10, 3},
    {"a node with two parents", {0, 2, 'a', 0, 8, 'b', 0, 8, 2, 0, 5, 0}, 12, 3},
    {"a child outside", {0, 1, 'a', 0, 100}, 5, 0},
    {"a piece without an end", {0, 1, 'a', 'a'}, 4, 0},
    {"an export that is too long", {100, 0, 0}, 3, 0},
    {"a place of more than 64 bits", {0, 1, 'a', 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f}, 14, 0},
    {"nothing", {0}, 0, 0},
};

START_TEST(hostile_tries) {
    uint8_t *copy = malloc(tries[_i].size + 1u);
    memcpy(copy, tries[_i].bytes, tries[_i].size);
    struct uspi_source source = {.name = "trie", .base = copy};
    struct uspi_bytes trie = {&source, 0, tries[_i].size};
    struct uspi_macho_exports exports;
    struct uspi_error error;
    int status = uspi_macho_exports_read(&exports, trie, &error);
    ck_assert_msg((status == USP_OK) == (tries[_i].nodes > 0), "%s: %s", tries[_i].what, usp_status_string(status));
    if (tries[_i].nodes > 0) ck_assert_uint_eq(exports.count, tries[_i].nodes);
    for (uint32_t i = 0; i < exports.count; i++) {
        size_t length;
        uspi_macho_export_name(&exports, i, NULL, &length, &error);
    }
    uspi_macho_exports_close(&exports);
    free(copy);
}
END_TEST

/* Every page of the index is the same one, with as many entries as it can say. */
START_TEST(hostile_unwind_info) {
    struct uspi_source source;
    struct uspi_macho macho;
    struct uspi_unwind_starts starts;
    struct uspi_error error;
    usp_addr start;
    unsigned count = 0;
    wanted = (struct macho_file){.arch = archs[_i], .unwind = (const uint32_t[]){0x1000, 0x1100, 0}};
    struct builder b = build_macho_symbol_file(&wanted);
    patch(&b, UNWIND_LOW + 24, 4, 15);
    for (uint32_t i = 0; i < 15; i++) patch(&b, UNWIND_LOW + 32 + 12 * i, 4, 4);
    /* The page: its kind, where its entries are, how many. */
    patch(&b, UNWIND_LOW + 4, 4, 3);
    patch(&b, UNWIND_LOW + 8, 2, 0);
    patch(&b, UNWIND_LOW + 10, 2, 60);
    source = (struct uspi_source){.name = "file", .base = b.bytes};
    ck_assert_int_eq(uspi_macho_open(&macho, (struct uspi_bytes){&source, 0, b.size}, &error), USP_OK);
    ck_assert_int_eq(uspi_unwind_starts(&macho, &starts, &error), USP_OK);
    int got;
    while ((got = uspi_unwind_next_start(&starts, &start, &error)) > 0) count++;
    ck_assert_int_eq(got, USP_ERROR_FORMAT);
    ck_assert_uint_eq(count, 60);
    builder_free(&b);
}
END_TEST

/* More symbols than any program has: they are not read, even if a sparse file has room for them. */
START_TEST(too_many_symbols) {
    struct uspi_macho macho;
    struct uspi_macho_symbols symbols;
    struct uspi_macho_command command;
    struct uspi_error error;
    fill_everything(archs[_i]);
    struct builder b = build_macho_symbol_file(&wanted);
    struct placed placed = {&b, macho_base(archs[_i]) + SLIDE};
    struct usp_memory memory = {read_placed, &placed};
    struct uspi_source source = uspi_source_of_memory(&memory, "process");
    ck_assert_int_eq(uspi_macho_open(&macho, uspi_bytes_at(&source, placed.at), &error), USP_OK);
    ck_assert_int_eq(uspi_macho_find(&macho, USPI_LC_SYMTAB, &command, &error), USP_OK);
    patch(&b, (size_t)(command.bytes.from - placed.at) + 12, 4, USPI_SYMBOLS_MAX + 1);
    ck_assert_int_eq(uspi_macho_symbols(&macho, &symbols, &error), USP_ERROR_FORMAT);
    ck_assert_ptr_nonnull(strstr(error.text, "67108865 symbols are too many"));
    builder_free(&b);
}
END_TEST

/* The same tables where a process has them: by addresses, not by offsets of the file. */
START_TEST(tables_in_memory) {
    struct uspi_macho macho;
    struct uspi_macho_symbols symbols;
    struct uspi_macho_symbol symbol;
    struct uspi_macho_starts starts;
    struct uspi_macho_exports exports;
    struct uspi_error error;
    usp_addr start;
    fill_everything(archs[_i]);
    struct builder b = build_macho_symbol_file(&wanted);
    struct placed placed = {&b, macho_base(archs[_i]) + SLIDE};
    struct usp_memory memory = {read_placed, &placed};
    struct uspi_source source = uspi_source_of_memory(&memory, "process");
    ck_assert_int_eq(uspi_macho_open(&macho, uspi_bytes_at(&source, placed.at), &error), USP_OK);
    ck_assert_int_eq(uspi_macho_symbols(&macho, &symbols, &error), USP_OK);
    ck_assert_uint_eq(symbols.count, 8);
    ck_assert_int_eq(uspi_macho_symbol(&symbols, 7, &symbol, &error), USP_OK);
    ck_assert_uint_eq(symbol.value, macho_base(archs[_i]) + 0x1100);
    ck_assert_int_eq(uspi_macho_symbol(&symbols, 8, &symbol, &error), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(uspi_macho_starts(&macho, &starts, &error), USP_OK);
    ck_assert_int_eq(uspi_macho_next_start(&starts, &start, &error), 1);
    ck_assert_uint_eq(start, macho_base(archs[_i]) + 0x1000);
    ck_assert_int_eq(uspi_macho_exports_open(&exports, &macho, &error), USP_OK);
    ck_assert_uint_eq(exports.count, 3);
    uspi_macho_exports_close(&exports);
    builder_free(&b);
}
END_TEST

/* An image that has no file, as those of the shared cache: what the process has loaded of it is read. */
START_TEST(symbols_from_memory) {
    struct usp_symbolizer_options options;
    fill_everything(archs[_i]);
    struct builder b = build_macho_symbol_file(&wanted);
    struct placed placed = {&b, macho_base(archs[_i]) + SLIDE};
    struct usp_memory memory = {read_placed, &placed};
    usp_symbolizer_options_init(&options);
    options.memory = &memory;
    struct fixture f = begin_image(archs[_i], "/nowhere/program", UUID, &options);
    expect(&f, 0x1000, "alias", 0x1000);
    expect(&f, 0x1100, "two", 0x1100);
    expect(&f, 0x1200, "three", 0x1200);
    expect(&f, STUBS_LOW, "DYLD-STUB$$outside", STUBS_LOW);
    end(&f);
    /* Another image lies there now. */
    f = begin_image(archs[_i], "/nowhere/program", OTHER_ID, &options);
    expect(&f, 0x1000, NULL, 0);
    end(&f);
    builder_free(&b);
}
END_TEST

/* Each allocation fails once: the answer is then that memory lacks, or the right one where the allocation was only to
 * save some; the next time it is the right one. */
START_TEST(lack_of_memory) {
    fill_everything(USP_ARCH_ARM64);
    write_file(path);
    wanted.symbols = (const struct macho_symbol[]){{"_hidden", 0x1180, SECT, IN_TEXT, 0}, END};
    write_dsym(in_folder("program.dSYM"));
    bool more = true;
    unsigned lacked = 0;
    for (long n = 1; more; n++) {
        struct usp_symbol symbol;
        const long before = allocations_held();
        struct fixture f = begin_image(USP_ARCH_ARM64, path, UUID, NULL);
        fail_allocation(n);
        int status = usp_symbolize(f.symbolizer, f.load + 0x1000, &symbol);
        more = !allocation_still_to_fail();
        fail_allocation(0);
        ck_assert(status == USP_OK || (more && status == USP_ERROR_NO_MEMORY));
        lacked += status != USP_OK;
        expect(&f, 0x1000, "alias", 0x1000);
        expect(&f, 0x1180, "hidden", 0x1180);
        expect(&f, 0x1200, "three", 0x1200);
        end(&f);
        ck_assert_int_eq(allocations_held(), before);
        ck_assert_int_lt(n, 1000);
    }
    ck_assert_uint_gt(lacked, 5);
}
END_TEST

int main(void) {
    TCase *names = tcase_create("names");
    tcase_add_checked_fixture(names, begin_folder, remove_folder);
    add_loop_tests(names, 0, ARCHS, names_as_people_write_them, symbols_outside_of_their_section,
                   labels_and_functions_without_names, aliases, alternative_entries);
    tcase_add_test(names, thumb);
    add_loop_tests(names, 0, ARCHS, function_starts_bound_names, functions_without_names_have_their_starts,
                   unwind_info_bounds_names, unwind_info_does_not_bound_stripped_names,
                   unwind_info_does_not_tell_all_starts, debug_map, functions_of_the_debug_map_are_no_labels,
                   exports_alone, exports_beside_symbols, stubs);

    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, begin_folder, remove_folder);
    tcase_add_loop_test(files, slices_by_uuid, 0, ARCHS);
    add_tests(files, dsym_beside_the_program, dsym_without_the_program);

    TCase *damage = tcase_create("damage");
    tcase_add_checked_fixture(damage, begin_folder, remove_folder);
    add_loop_tests(damage, 0, ARCHS, names_that_are_copied, every_truncation);
    tcase_add_loop_test(damage, hostile_tries, 0, ELEMENTS(tries));
    add_loop_tests(damage, 0, ARCHS, hostile_unwind_info, too_many_symbols, tables_in_memory, symbols_from_memory);
    tcase_add_test(damage, lack_of_memory);
    return run_suite("macho_symbols", names, files, damage);
}
