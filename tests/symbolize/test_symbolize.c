/* SPDX-License-Identifier: MIT */
/* Tests names from files: which symbol wins, when there is none, which file is used. The files are made byte by byte,
 * so that every host gives the same results. */
#define _FILE_OFFSET_BITS 64
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <unspool/unspool.h>

#include "lib/images/image_list.h"
#include "lib/object/bytes.h"
#include "lib/symbolize/index/index.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/folder.h"
#include "tests/support/suite.h"
#include "tests/support/symbol_file.h"
#include "tests/support/under.h"

#define EM_386     3
#define EM_ARM     40
#define EM_X86_64  62
#define EM_AARCH64 183

#define LOAD UINT64_C(0x7f0012340000)

static char path[sizeof folder + 16];
static const uint8_t build_id[20] = {0xab, 0xcd, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};

static void begin_folder(void) {
    make_folder();
    snprintf(path, sizeof path, "%s/library", folder);
}

static void write_file(const struct symbol_file *wanted, const char *to) {
    struct builder file = build_symbol_file(wanted);
    save_new(&file, to);
    builder_free(&file);
}

/* Returns the image list of a process that has loaded `path` at LOAD and knows its build id. */
static struct usp_images *loaded(uint32_t arch, const uint8_t *id, uint32_t id_size, uint32_t flags) {
    struct uspi_image_list list = {0};
    struct usp_images *images;
    usp_addr load = arch == USP_ARCH_I386 || arch == USP_ARCH_ARMV7 ? 0x56780000 : LOAD;
    struct usp_image image = {.path = path,
                              .load_address = load,
                              .text_low = load + TEXT_LOW,
                              .text_high = load + INIT_HIGH,
                              .end = load + FILE_END,
                              .slide = load,
                              .arch = arch,
                              .flags = flags,
                              .build_id_size = id_size};
    if (id_size > 0) memcpy(image.build_id, id, id_size);
    ck_assert_int_eq(uspi_image_list_add(&list, &image), USP_OK);
    ck_assert_int_eq(uspi_image_list_seal(&list, &images), USP_OK);
    return images;
}

struct fixture {
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    usp_addr load;
};

static struct fixture begin_as(struct usp_images *images, const struct usp_symbolizer_options *options) {
    struct fixture f = {.images = images, .load = usp_images_get(images, 0)->load_address};
    ck_assert_int_eq(usp_symbolizer_create(images, options, &f.symbolizer), USP_OK);
    return f;
}

static struct fixture begin_with(struct usp_images *images, const char *sysroot) {
    struct usp_symbolizer_options options;
    usp_symbolizer_options_init(&options);
    options.sysroot = sysroot;
    return begin_as(images, &options);
}

static uint32_t arch_of(uint16_t machine) {
    switch (machine) {
    case EM_386: return USP_ARCH_I386;
    case EM_ARM: return USP_ARCH_ARMV7;
    case EM_AARCH64: return USP_ARCH_ARM64;
    default: return USP_ARCH_X86_64;
    }
}

static struct fixture begin(const struct symbol_file *wanted) {
    write_file(wanted, path);
    return begin_with(loaded(arch_of(wanted->machine), wanted->build_id, wanted->build_id_size, 0), NULL);
}

static void end(struct fixture *f) {
    usp_symbolizer_free(f->symbolizer);
    usp_images_free(f->images);
}

/* Checks that the symbol at a linked address is `name` and begins at the linked address `start`; NULL: that there is
 * none. */
static void expect(struct fixture *f, usp_addr address, const char *name, usp_addr start) {
    struct usp_symbol symbol;
    memset(&symbol, 0xa5, sizeof symbol);
    int status = usp_symbolize(f->symbolizer, f->load + address, &symbol);
    ck_assert_msg(status == (name != NULL ? USP_OK : USP_ERROR_NOT_FOUND), "%#llx: %s", (unsigned long long)address,
                  usp_status_string(status));
    ck_assert_str_eq(symbol.image_path, path);
    ck_assert_uint_eq(symbol.image_load, f->load);
    if (name == NULL) {
        ck_assert_ptr_null(symbol.name);
        ck_assert_uint_eq(symbol.strategy, USP_STRATEGY_NONE);
        return;
    }
    ck_assert_str_eq(symbol.name, name);
    ck_assert_uint_eq(symbol.start, f->load + start);
    ck_assert_uint_eq(symbol.offset, address - start);
    ck_assert_uint_eq(symbol.strategy, USP_STRATEGY_SYMTAB);
}

#define FILE_OF(...)                                                                                                   \
    (struct symbol_file) {                                                                                             \
        .wide = true, .machine = EM_X86_64, .build_id = build_id, .build_id_size = sizeof build_id,                    \
        .symtab = (const struct file_symbol[]) {                                                                       \
            __VA_ARGS__, {0}                                                                                           \
        }                                                                                                              \
    }

/* ---- which symbol ---- */

START_TEST(functions_and_gaps) {
    struct symbol_file file =
        FILE_OF({"exported", 0x1100, 0x40, FUNC, GLOBAL, TEXT}, {"hidden", 0x1080, 0x20, FUNC, LOCAL, TEXT},
                {"chosen", 0x1200, 0x10, IFUNC, GLOBAL, TEXT});
    file.wide = _i == 0;
    file.machine = _i == 0 ? EM_X86_64 : EM_386;
    struct fixture f = begin(&file);
    expect(&f, 0x107f, NULL, 0);
    expect(&f, 0x1080, "hidden", 0x1080);
    expect(&f, 0x109f, "hidden", 0x1080);
    expect(&f, 0x10a0, NULL, 0);
    expect(&f, 0x10ff, NULL, 0);
    expect(&f, 0x1100, "exported", 0x1100);
    expect(&f, 0x113f, "exported", 0x1100);
    expect(&f, 0x1140, NULL, 0);
    expect(&f, 0x1208, "chosen", 0x1200);
    expect(&f, 0x10, NULL, 0);
    end(&f);
}
END_TEST

/* A symbol without a size extends to the next symbol, or to its section's end. A label inside a function with a size is
 * not a function. */
START_TEST(unknown_sizes) {
    struct fixture f =
        begin(&FILE_OF({"_start", 0x1000, 0, NOTYPE, GLOBAL, TEXT}, {"memcpy", 0x1100, 0x80, FUNC, GLOBAL, TEXT},
                       {"copy_loop", 0x1120, 0, NOTYPE, LOCAL, TEXT}, {"last", 0x1f00, 0, FUNC, LOCAL, TEXT},
                       {"_init", 0x2000, 0, FUNC, LOCAL, INIT}));
    expect(&f, 0x1000, "_start", 0x1000);
    expect(&f, 0x10ff, "_start", 0x1000);
    expect(&f, 0x1120, "memcpy", 0x1100);
    expect(&f, 0x117f, "memcpy", 0x1100);
    expect(&f, 0x1180, NULL, 0);
    expect(&f, 0x1fff, "last", 0x1f00);
    expect(&f, 0x2000, "_init", 0x2000);
    expect(&f, 0x20ff, "_init", 0x2000);
    expect(&f, 0x2100, NULL, 0);
    end(&f);
}
END_TEST

/* Functions one after the other, by their offsets: */
static const char some_functions[] = "\x85\xff\x74\x05\x75\xfa\xc3" /* 0, loops: test; je 9; jne 0; ret */
                                     "\x90\xc3"                     /* 7, between: nop; ret */
                                     "\x90\xc3"                     /* 9, branched: nop; ret */
                                     "\xe8\xf0\xff\xff\xff\xc3"     /* b, calls: call 0; ret */
                                     "\xe8\x00\x00\x00\x00\x90"     /* 11, ends: call 16; nop; */
                                     "\xe8\x02\x00\x00\x00"         /* 17: call 1e */
                                     "\x90\xc3"                     /* 1c, after: nop; ret */
                                     "\xeb\xfe"                     /* 1e, endless: jmp 1e */
                                     "\x90\xc3";                    /* 20, last: nop; ret */

/* If a file has lost the symbols of its local functions, a symbol without a size extends as far as its instructions
 * lead. It must not extend beyond a call that may not return, or over other code. */
START_TEST(unknown_sizes_of_stripped_files) {
    static const struct file_symbol exported[] = {{"loops", 0x1000, 0, FUNC, GLOBAL, TEXT},
                                                  {"calls", 0x100b, 0, FUNC, GLOBAL, TEXT},
                                                  {"ends", 0x1011, 0, NOTYPE, GLOBAL, TEXT},
                                                  {0}};
    static const struct file_symbol all[] = {{"loops", 0x1000, 0, FUNC, GLOBAL, TEXT},
                                             {"between", 0x1007, 0, FUNC, LOCAL, TEXT},
                                             {"branched", 0x1009, 0, FUNC, LOCAL, TEXT},
                                             {"calls", 0x100b, 0, FUNC, GLOBAL, TEXT},
                                             {"ends", 0x1011, 0, NOTYPE, GLOBAL, TEXT},
                                             {"after", 0x101c, 0, FUNC, LOCAL, TEXT},
                                             {"endless", 0x101e, 0, FUNC, LOCAL, TEXT},
                                             {"last", 0x1020, 0, NOTYPE, LOCAL, TEXT},
                                             {0}};
    static const struct {
        usp_addr address, start;
        const char *name; /* in the whole file */
        bool is_exported; /* the stripped file has it too; the others have no name there */
    } rows[] = {
        {0x1000, 0x1000, "loops", true},     {0x1006, 0x1000, "loops", true}, {0x1007, 0x1007, "between", false},
        {0x1009, 0x1009, "branched", false}, {0x100b, 0x100b, "calls", true}, {0x1010, 0x100b, "calls", true},
        {0x1011, 0x1011, "ends", true},      {0x101b, 0x1011, "ends", true},  {0x101c, 0x101c, "after", false},
        {0x101e, 0x101e, "endless", false},  {0x1020, 0x1020, "last", false}, {0x1fff, 0x1020, "last", false},
    };
    struct symbol_file file = {.wide = true,
                               .machine = EM_X86_64,
                               .build_id = build_id,
                               .build_id_size = sizeof build_id,
                               .text = some_functions,
                               .text_size = sizeof some_functions - 1};
    for (unsigned is_whole = 0; is_whole < 2; is_whole++) {
        file.symtab = is_whole ? all : NULL;
        file.dynsym = is_whole ? NULL : exported;
        struct fixture f = begin(&file);
        for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            const char *name = is_whole || rows[i].is_exported ? rows[i].name : NULL;
            expect(&f, rows[i].address, name, rows[i].start);
        }
        end(&f);
    }
}
END_TEST

/* A function without a symbol after GCC's start file must not have the name of that file's last function, which has no
 * size. */
START_TEST(code_after_the_start_file) {
    static const char text[] = "\xf3\x0f\x1e\xfa\xeb\xfa"                 /* 0, frame_dummy: endbr64; jmp 0 */
                               "\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00" /* padding */
                               "\x90\x90\xc3\x90"                         /* 10, without a symbol: nop; nop; ret */
                               "\x90\xc3";                                /* 14, named: nop; ret */
    struct symbol_file file =
        FILE_OF({"frame_dummy", 0x1000, 0, FUNC, LOCAL, TEXT}, {"named", 0x1014, 0, FUNC, GLOBAL, TEXT});
    file.text = text;
    file.text_size = sizeof text - 1;
    struct fixture f = begin(&file);
    expect(&f, 0x1000, "frame_dummy", 0x1000);
    expect(&f, 0x1005, "frame_dummy", 0x1000);
    expect(&f, 0x1010, NULL, 0);
    expect(&f, 0x1012, NULL, 0);
    expect(&f, 0x1014, "named", 0x1014);
    expect(&f, 0x1017, "named", 0x1014);
    end(&f);
}
END_TEST

START_TEST(only_symbols_of_code_in_its_own_section) {
    struct fixture f =
        begin(&FILE_OF({"f", 0x1000, 0x10, FUNC, GLOBAL, TEXT}, {"object", 0x1100, 8, OBJECT, GLOBAL, TEXT},
                       {"absolute", 0x1200, 0x10, FUNC, GLOBAL, ABSOLUTE}, {"undefined", 0x1300, 0x10, FUNC, GLOBAL, 0},
                       {"outside", 0x1400, 0x10, FUNC, GLOBAL, INIT}, {"in_data", 0x3000, 0x100, FUNC, GLOBAL, DATA},
                       {"_etext", 0x2100, 0, NOTYPE, GLOBAL, INIT}, {"too_long", 0x1f00, 0x10000, FUNC, GLOBAL, TEXT},
                       {"", 0x1500, 0x10, FUNC, GLOBAL, TEXT}, {".L42", 0x1600, 0x10, NOTYPE, LOCAL, TEXT},
                       {"endless", 0x1700, UINT64_MAX, FUNC, GLOBAL, TEXT}));
    expect(&f, 0x1008, "f", 0x1000);
    expect(&f, 0x1107, "object", 0x1100);
    const usp_addr nameless[] = {0x1108, 0x1200, 0x1300, 0x1400, 0x1500, 0x1600, 0x2000, 0x2100, 0x3000};
    for (unsigned i = 0; i < sizeof nameless / sizeof nameless[0]; i++) expect(&f, nameless[i], NULL, 0);
    expect(&f, 0x1fff, "too_long", 0x1f00);
    expect(&f, 0x1effu, "endless", 0x1700);
    end(&f);
}
END_TEST

START_TEST(aliases) {
    struct fixture f =
        begin(&FILE_OF({"weak", 0x1000, 0x10, FUNC, WEAK, TEXT}, {"local", 0x1000, 0x10, FUNC, LOCAL, TEXT},
                       {"global", 0x1000, 0x10, FUNC, GLOBAL, TEXT}, {"b_local", 0x1100, 0x10, FUNC, LOCAL, TEXT},
                       {"a_weak", 0x1100, 0x10, FUNC, WEAK, TEXT}, {"__read", 0x1200, 0x10, FUNC, GLOBAL, TEXT},
                       {"read", 0x1200, 0x10, FUNC, GLOBAL, TEXT}, {"_a_read", 0x1200, 0x10, FUNC, GLOBAL, TEXT},
                       {"zeta", 0x1300, 0x10, FUNC, GLOBAL, TEXT}, {"alpha", 0x1300, 0x10, FUNC, GLOBAL, TEXT},
                       {"a_label", 0x1400, 0, NOTYPE, GLOBAL, TEXT}, {"z_function", 0x1400, 0x10, FUNC, WEAK, TEXT},
                       {"a_unsized", 0x1500, 0, FUNC, GLOBAL, TEXT}, {"z_sized", 0x1500, 0x10, FUNC, GLOBAL, TEXT}));
    expect(&f, 0x1008, "global", 0x1000);
    expect(&f, 0x1108, "b_local", 0x1100);
    expect(&f, 0x1208, "read", 0x1200);
    expect(&f, 0x1308, "alpha", 0x1300);
    expect(&f, 0x1408, "z_function", 0x1400);
    expect(&f, 0x1508, "z_sized", 0x1500);
    expect(&f, 0x1510, NULL, 0);
    end(&f);
}
END_TEST

/* The nearest symbol that contains the address must win; after its end the one around it continues. */
START_TEST(symbols_inside_others) {
    struct fixture f =
        begin(&FILE_OF({"outer", 0x1000, 0x100, FUNC, GLOBAL, TEXT}, {"inner", 0x1020, 0x40, FUNC, LOCAL, TEXT},
                       {"innermost", 0x1030, 0x10, FUNC, LOCAL, TEXT}, {"beyond", 0x10e0, 0x40, FUNC, LOCAL, TEXT}));
    expect(&f, 0x101f, "outer", 0x1000);
    expect(&f, 0x1020, "inner", 0x1020);
    expect(&f, 0x1030, "innermost", 0x1030);
    expect(&f, 0x1040, "inner", 0x1020);
    expect(&f, 0x1060, "outer", 0x1000);
    expect(&f, 0x10e0, "beyond", 0x10e0);
    expect(&f, 0x111f, "beyond", 0x10e0);
    expect(&f, 0x1120, NULL, 0);
    end(&f);
}
END_TEST

struct listing {
    const struct fixture *fixture;
    char text[512];
    unsigned count, end_after; /* 0: lists all */
};

static int list_symbol(void *context, const struct usp_symbol *symbol) {
    struct listing *listing = context;
    struct usp_symbol again;
    size_t used = strlen(listing->text);
    snprintf(listing->text + used, sizeof listing->text - used, "%s %#x+%#x ", symbol->name,
             (unsigned)(symbol->start - listing->fixture->load), (unsigned)symbol->extent);
    ck_assert_uint_eq(symbol->offset, 0);
    ck_assert_str_eq(symbol->image_path, path);
    ck_assert_int_eq(usp_symbolize(listing->fixture->symbolizer, symbol->start, &again), USP_OK);
    ck_assert_ptr_eq(again.name, symbol->name);
    return ++listing->count == listing->end_after ? USP_ERROR_NOT_FOUND : 0;
}

/* The list must have what look-ups would answer, in order. A function without a size ends at the next one. */
START_TEST(a_list_of_all_functions) {
    struct fixture f =
        begin(&FILE_OF({"outer", 0x1000, 0x100, FUNC, GLOBAL, TEXT}, {"inner", 0x1020, 0x40, FUNC, LOCAL, TEXT},
                       {"weak", 0x1000, 0x100, FUNC, WEAK, TEXT}, {"unsized", 0x1200, 0, FUNC, LOCAL, TEXT},
                       {"data", 0x3000, 8, OBJECT, LOCAL, DATA}, {"sized", 0x1400, 0x20, FUNC, LOCAL, TEXT},
                       {"last", 0x1f00, 0, FUNC, LOCAL, TEXT}));
    struct listing all = {.fixture = &f}, two = {.fixture = &f, .end_after = 2};
    ck_assert_int_eq(usp_symbolizer_visit(f.symbolizer, f.load, list_symbol, &all), USP_OK);
    ck_assert_str_eq(all.text,
                     "outer 0x1000+0x100 inner 0x1020+0x40 unsized 0x1200+0x200 sized 0x1400+0x20 last 0x1f00+0x100 ");
    ck_assert_int_eq(usp_symbolizer_visit(f.symbolizer, f.load, list_symbol, &two), USP_ERROR_NOT_FOUND);
    ck_assert_uint_eq(two.count, 2);
    ck_assert_int_eq(usp_symbolizer_visit(f.symbolizer, f.load - 1, list_symbol, &two), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(usp_symbolizer_visit(f.symbolizer, f.load, NULL, &two), USP_ERROR_ARGUMENT);
    ck_assert_uint_eq(two.count, 2);
    remove(path);
    usp_symbolizer_trim(f.symbolizer);
    ck_assert_int_eq(usp_symbolizer_visit(f.symbolizer, f.load, list_symbol, &two), USP_ERROR_NOT_FOUND);
    end(&f);
}
END_TEST

START_TEST(thumb_and_mapping_symbols) {
    struct symbol_file file =
        FILE_OF({"thumb", 0x1001, 0x20, FUNC, GLOBAL, TEXT}, {"$t", 0x1000, 0, NOTYPE, LOCAL, TEXT},
                {"arm", 0x1020, 0, FUNC, GLOBAL, TEXT}, {"$d.1", 0x1030, 0, NOTYPE, LOCAL, TEXT},
                {"$a", 0x1040, 0, NOTYPE, LOCAL, TEXT}, {"$dollar", 0x1050, 0, NOTYPE, LOCAL, TEXT},
                {"local", 0x1100, 0x20, FUNC, LOCAL, TEXT});
    file.wide = false;
    file.machine = EM_ARM;
    struct fixture f = begin(&file);
    expect(&f, 0x1000, "thumb", 0x1000);
    expect(&f, 0x101e, "thumb", 0x1000);
    expect(&f, 0x1048, "arm", 0x1020);
    expect(&f, 0x1058, "$dollar", 0x1050);
    end(&f);
}
END_TEST

START_TEST(versions_are_dropped) {
    struct fixture f = begin(&FILE_OF(
        {"read@@GLIBC_2.2.5", 0x1000, 0x10, FUNC, GLOBAL, TEXT}, {"old@VERS_1", 0x1010, 0x10, FUNC, GLOBAL, TEXT},
        {"@at", 0x1020, 0x10, FUNC, GLOBAL, TEXT}, {"*Dog@Animal", 0x1030, 0x10, FUNC, GLOBAL, TEXT},
        {"*Dog@Animal@V1", 0x1040, 0x10, FUNC, GLOBAL, TEXT}, {"@V1", 0x1050, 0x10, FUNC, GLOBAL, TEXT},
        {"f@V2", 0x1060, 0x10, FUNC, GLOBAL, TEXT}));
    expect(&f, 0x1000, "read", 0x1000);
    expect(&f, 0x1010, "old", 0x1010);
    expect(&f, 0x1020, "@at", 0x1020);
    /* Without the name of a version after it, an @ is part of the name. */
    expect(&f, 0x1030, "*Dog@Animal", 0x1030);
    expect(&f, 0x1040, "*Dog@Animal", 0x1040);
    expect(&f, 0x1050, "@V1", 0x1050);
    expect(&f, 0x1060, "f@V2", 0x1060);
    end(&f);
}
END_TEST

/* ---- which table, which file ---- */

static const struct file_symbol exported[] = {{"exported", 0x1100, 0x40, FUNC, GLOBAL, TEXT}, {0}};
static const struct file_symbol everything[] = {
    {"hidden", 0x1080, 0x20, FUNC, LOCAL, TEXT}, {"exported", 0x1100, 0x40, FUNC, GLOBAL, TEXT}, {0}};
static const struct symbol_file stripped = {
    .wide = true, .machine = EM_X86_64, .dynsym = exported, .build_id = build_id, .build_id_size = sizeof build_id};
static const struct symbol_file whole = {
    .wide = true, .machine = EM_X86_64, .symtab = everything, .build_id = build_id, .build_id_size = sizeof build_id};

START_TEST(stripped_files_name_what_they_export) {
    struct fixture f = begin(&stripped);
    expect(&f, 0x1090, NULL, 0);
    expect(&f, 0x1110, "exported", 0x1100);
    expect(&f, 0x1150, NULL, 0);
    end(&f);
}
END_TEST

START_TEST(both_tables_count) {
    struct symbol_file file = whole;
    file.symtab = (const struct file_symbol[]){{"hidden", 0x1080, 0x20, FUNC, LOCAL, TEXT}, {0}};
    file.dynsym = exported;
    struct fixture f = begin(&file);
    expect(&f, 0x1090, "hidden", 0x1080);
    expect(&f, 0x1110, "exported", 0x1100);
    end(&f);
}
END_TEST

START_TEST(split_debug_files) {
    char command[sizeof folder + 64];
    snprintf(command, sizeof command, "mkdir -p %s/usr/lib/debug/.build-id/ab", folder);
    ck_assert_int_eq(system(command), 0);
    const char *debug = in_folder("usr/lib/debug/.build-id/ab/cd0102030405060708090a0b0c0d0e0f101112.debug");
    write_file(&whole, debug);
    write_file(&stripped, path);
    struct fixture f = begin_with(loaded(USP_ARCH_X86_64, build_id, sizeof build_id, 0), folder);
    expect(&f, 0x1090, "hidden", 0x1080);
    expect(&f, 0x1110, "exported", 0x1100);
    end(&f);

    /* In the right place, but of another build. */
    const uint8_t other[20] = {0xab, 0xcd};
    struct symbol_file wrong = whole;
    wrong.build_id = other;
    write_file(&wrong, debug);
    f = begin_with(loaded(USP_ARCH_X86_64, build_id, sizeof build_id, 0), folder);
    expect(&f, 0x1090, NULL, 0);
    expect(&f, 0x1110, "exported", 0x1100);
    end(&f);
}
END_TEST

static void expect_believed(const uint8_t *id, uint32_t id_size, uint32_t flags, bool believed) {
    struct fixture f = begin_with(loaded(USP_ARCH_X86_64, id, id_size, flags), NULL);
    expect(&f, 0x1090, believed ? "hidden" : NULL, 0x1080);
    end(&f);
}

START_TEST(other_builds_are_refused) {
    uint8_t other[20];
    memcpy(other, build_id, sizeof other);
    other[19]++;
    write_file(&whole, path);
    expect_believed(build_id, sizeof build_id, 0, true);
    expect_believed(build_id, sizeof build_id, USP_IMAGE_DELETED, true);
    expect_believed(other, sizeof other, 0, false);
    expect_believed(build_id, 16, 0, false);
    expect_believed(NULL, 0, 0, false);
    struct symbol_file anonymous = whole;
    anonymous.build_id = NULL;
    anonymous.build_id_size = 0;
    write_file(&anonymous, path);
    expect_believed(build_id, sizeof build_id, 0, false);
    expect_believed(NULL, 0, 0, true);
    expect_believed(NULL, 0, USP_IMAGE_DELETED, false);
}
END_TEST

START_TEST(the_sysroot_comes_first) {
    const char *root = in_folder("root");
    char below[2 * sizeof folder + 32], command[sizeof below + 16];
    snprintf(below, sizeof below, "%s%s", root, path);
    snprintf(command, sizeof command, "mkdir -p %s%s", root, folder);
    ck_assert_int_eq(system(command), 0);
    write_file(&stripped, path);
    write_file(&whole, below);
    struct fixture f = begin_with(loaded(USP_ARCH_X86_64, build_id, sizeof build_id, 0), root);
    expect(&f, 0x1090, "hidden", 0x1080);
    end(&f);
    /* The file there belongs to another build, so the path itself is tried next. */
    const uint8_t other[20] = {1};
    struct symbol_file wrong = whole;
    wrong.build_id = other;
    write_file(&wrong, below);
    f = begin_with(loaded(USP_ARCH_X86_64, build_id, sizeof build_id, 0), root);
    expect(&f, 0x1090, NULL, 0);
    expect(&f, 0x1110, "exported", 0x1100);
    end(&f);
}
END_TEST

/* The program's file is used for the program only; a folder of files is tried last. */
START_TEST(program_and_folder) {
    const char *other = in_folder("other");
    char command[4 * sizeof folder];
    struct usp_symbolizer_options options;
    usp_symbolizer_options_init(&options);
    options.program = other;
    write_file(&whole, other);
    struct fixture f = begin_as(loaded(USP_ARCH_X86_64, build_id, sizeof build_id, USP_IMAGE_MAIN), &options);
    expect(&f, 0x1090, "hidden", 0x1080);
    end(&f);
    f = begin_as(loaded(USP_ARCH_X86_64, build_id, sizeof build_id, 0), &options);
    expect(&f, 0x1090, NULL, 0);
    end(&f);

    snprintf(command, sizeof command, "mkdir %s/cache && mv %s %s/cache/library", folder, other, folder);
    ck_assert_int_eq(system(command), 0);
    usp_symbolizer_options_init(&options);
    options.folder = in_folder("cache");
    f = begin_as(loaded(USP_ARCH_X86_64, build_id, sizeof build_id, 0), &options);
    expect(&f, 0x1090, "hidden", 0x1080);
    end(&f);
}
END_TEST

START_TEST(no_file_no_image) {
    struct fixture f = begin_with(loaded(USP_ARCH_X86_64, build_id, sizeof build_id, 0), NULL);
    struct usp_symbol symbol;
    expect(&f, 0x1090, NULL, 0);
    ck_assert_int_eq(usp_symbolize(f.symbolizer, f.load - 1, &symbol), USP_ERROR_NOT_FOUND);
    ck_assert_ptr_null(symbol.image_path);
    ck_assert_int_eq(usp_symbolize(f.symbolizer, f.load + FILE_END, &symbol), USP_ERROR_NOT_FOUND);
    ck_assert_ptr_null(symbol.image_path);
    ck_assert_int_eq(usp_symbolize(f.symbolizer, 0, NULL), USP_ERROR_ARGUMENT);
    end(&f);
}
END_TEST

/* ---- wrong and damaged files ---- */

static void ask_everywhere(void) {
    struct fixture f = begin_with(loaded(USP_ARCH_X86_64, build_id, sizeof build_id, 0), NULL);
    for (usp_addr address = 0; address < FILE_END; address += 0x90) {
        struct usp_symbol symbol;
        int status = usp_symbolize(f.symbolizer, f.load + address, &symbol);
        ck_assert(status == USP_OK || status == USP_ERROR_NOT_FOUND);
        ck_assert((status == USP_OK) == (symbol.name != NULL));
        if (symbol.name != NULL) ck_assert_uint_lt(strlen(symbol.name), FILE_END);
        if (symbol.name != NULL) ck_assert_uint_eq(symbol.start + symbol.offset, f.load + address);
    }
    end(&f);
}

START_TEST(every_truncation) {
    struct symbol_file both = whole;
    both.dynsym = exported;
    struct builder file = build_symbol_file(&both);
    const size_t size = file.size;
    for (file.size = 0; file.size < size; file.size++) {
        save_new(&file, path);
        ask_everywhere();
    }
    builder_free(&file);
}
END_TEST

/* The tables of names lie where 32 bits do not reach. */
START_TEST(past_4_gb) {
    const uint64_t hole = UINT64_C(5) << 30;
    struct builder file = build_symbol_file(&whole);
    const size_t headers = file.size - (size_t)FILE_SECTIONS * 64;
    size_t head = headers;
    for (size_t at = headers; at < file.size; at += 64) {
        const uint64_t type = uspi_le(file.bytes + at + 4, 4), offset = uspi_le(file.bytes + at + 24, 8);
        if ((type != 2 && type != 3 && type != 0x6ffffffd) || offset == 0) continue;
        patch(&file, at + 24, 8, offset + hole);
        if (offset < head) head = (size_t)offset;
    }
    patch(&file, 40, 8, headers + hole);
    save_with_hole(&file, path, head, hole);
    struct fixture f = begin_with(loaded(USP_ARCH_X86_64, build_id, sizeof build_id, 0), NULL);
    expect(&f, 0x1090, "hidden", 0x1080);
    expect(&f, 0x1110, "exported", 0x1100);
    end(&f);
    builder_free(&file);
}
END_TEST

/* Checks that the file is refused, with `what` in the message, if names are required, and accepted otherwise. */
static void expect_damage(struct builder *file, int wanted, const char *what) {
    struct usp_image_file_options options;
    struct usp_images *images;
    char message[512];
    save_new(file, path);
    usp_image_file_options_init(&options);
    ck_assert_int_eq(usp_images_open(path, &options, &images, message, sizeof message), USP_OK);
    usp_images_free(images);
    options.flags = USP_IMAGE_FILE_NAMED;
    ck_assert_int_eq(usp_images_open(path, &options, &images, message, sizeof message), wanted);
    if (wanted == USP_OK) usp_images_free(images);
    if (wanted != USP_OK) ck_assert_msg(strstr(message, what) != NULL, "\"%s\" lacks \"%s\"", message, what);
}

/* The section headers are the file's end. Each field that leads to the names is damaged in turn. */
START_TEST(damaged_names_are_told) {
    struct symbol_file both = whole;
    both.dynsym = exported;
    struct builder file = build_symbol_file(&both);
    const size_t size = file.size, header = 64;
    expect_damage(&file, USP_OK, "");
    for (file.size--; file.size >= size - FILE_SECTIONS * header; file.size--) {
        expect_damage(&file, USP_ERROR_TRUNCATED, "library: offset 0x");
    }
    file.size = size;
    unsigned tables = 0;
    for (size_t at = size - FILE_SECTIONS * header; at < size; at += header) {
        const uint64_t type = uspi_le(file.bytes + at + 4, 4);
        if (type != 2 && type != 11) continue;
        tables++;
        const struct {
            size_t at;
            unsigned width;
            uint64_t value;
            int status;
            const char *what;
        } spoilt[] = {{24, 8, size + 1, USP_ERROR_TRUNCATED, "symbol table"},
                      {32, 8, size, USP_ERROR_TRUNCATED, "symbol table"},
                      {32, 8, UINT64_MAX, USP_ERROR_TRUNCATED, "symbol table"},
                      {40, 4, 11, USP_ERROR_FORMAT, "names are in section 11, of 11"},
                      {56, 8, 23, USP_ERROR_FORMAT, "symbols of 23 bytes instead of 24"}};
        for (unsigned i = 0; i < sizeof spoilt / sizeof spoilt[0]; i++) {
            const uint64_t kept = uspi_le(file.bytes + at + spoilt[i].at, spoilt[i].width);
            patch(&file, at + spoilt[i].at, spoilt[i].width, spoilt[i].value);
            expect_damage(&file, spoilt[i].status, spoilt[i].what);
            patch(&file, at + spoilt[i].at, spoilt[i].width, kept);
        }
        /* The section of the table's names. */
        const size_t names = size - FILE_SECTIONS * header + (size_t)uspi_le(file.bytes + at + 40, 4) * header + 24;
        const uint64_t kept = uspi_le(file.bytes + names, 8);
        patch(&file, names, 8, size);
        expect_damage(&file, USP_ERROR_TRUNCATED, "names of symbols");
        patch(&file, names, 8, kept);
    }
    ck_assert_uint_eq(tables, 2);
    builder_free(&file);
}
END_TEST

START_TEST(every_byte_spoilt) {
    struct symbol_file both = whole;
    both.dynsym = exported;
    struct builder file = build_symbol_file(&both);
    for (size_t i = 0; i < file.size; i++) {
        const uint8_t kept = file.bytes[i];
        const uint8_t spoilt[] = {0, 0xff, (uint8_t)(kept ^ 0x80), (uint8_t)(kept + 1)};
        for (unsigned k = 0; k < sizeof spoilt; k++) {
            if (spoilt[k] == kept) continue;
            file.bytes[i] = spoilt[k];
            save_new(&file, path);
            ask_everywhere();
        }
        file.bytes[i] = kept;
    }
    builder_free(&file);
}
END_TEST

/* ---- no memory ---- */

/* Uses no function of the test library, because it allocates too. Returns whether the result is the name, or an error
 * and the name at the next call, when memory is available again. */
static bool symbolize_without(const struct usp_images *images, long n, bool *failed) {
    struct usp_symbolizer_options options;
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    usp_symbolizer_options_init(&options);
    options.sysroot = "/nowhere";
    fail_allocation(n);
    int status = usp_symbolizer_create(images, &options, &symbolizer);
    if (status != USP_OK) {
        *failed = !allocation_still_to_fail();
        fail_allocation(0);
        return *failed && status == USP_ERROR_NO_MEMORY && symbolizer == NULL;
    }
    status = usp_symbolize(symbolizer, LOAD + 0x1008, &symbol);
    *failed = !allocation_still_to_fail();
    fail_allocation(0);
    bool is_right = status == USP_OK || (*failed && status == USP_ERROR_NO_MEMORY);
    if (status != USP_OK) status = usp_symbolize(symbolizer, LOAD + 0x1008, &symbol);
    is_right = is_right && status == USP_OK && strcmp(symbol.name, "read") == 0;
    usp_symbolizer_free(symbolizer);
    return is_right;
}

/* The name has a version, so it is stored in memory rather than read from the file. (tests/support/symbol_file.h has
 * the versions.) */
START_TEST(each_allocation_fails) {
    write_file(&FILE_OF({"read@@V1", 0x1000, 0x10, FUNC, GLOBAL, TEXT}), path);
    struct usp_images *images = loaded(USP_ARCH_X86_64, build_id, sizeof build_id, 0);
    long n = 0;
    for (bool failed = true; failed;) {
        const long before = allocations_held();
        bool is_right = symbolize_without(images, ++n, &failed);
        const long after = allocations_held();
        ck_assert_msg(is_right, "allocation %ld", n);
        ck_assert_int_eq(after, before);
    }
    ck_assert_int_gt(n, 15);
    usp_images_free(images);
}
END_TEST

/* ---- many threads ---- */

static void *ask_often(void *argument) {
    struct fixture *f = argument;
    static const char *volatile first;
    for (unsigned i = 0; i < 2000; i++) {
        struct usp_symbol symbol;
        ck_assert_int_eq(usp_symbolize(f->symbolizer, f->load + 0x1000 + i % 0x10, &symbol), USP_OK);
        if (first == NULL) first = symbol.name;
        if (symbol.name != first) return NULL;
    }
    return f;
}

/* The name has a version, so it is not taken directly from the file. */
START_TEST(threads_get_the_same_names) {
    struct fixture f = begin(&FILE_OF({"read@@V1", 0x1000, 0x10, FUNC, GLOBAL, TEXT}));
    pthread_t threads[8];
    for (unsigned i = 0; i < 8; i++) ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_often, &f), 0);
    for (unsigned i = 0; i < 8; i++) {
        void *result;
        ck_assert_int_eq(pthread_join(threads[i], &result), 0);
        ck_assert_ptr_eq(result, &f);
    }
    end(&f);
}
END_TEST

/* ---- the index alone, compared with a search through all candidates ---- */

/* Marks the number of a name. */
#define NAME (UINT32_C(1) << 31)

static int no_preference(const void *context, uint32_t a, uint32_t b) {
    (void)context;
    return (a & ~NAME) < (b & ~NAME) ? -1 : 1;
}

static uint32_t search_all(const struct uspi_gathered_symbol *all, size_t count, usp_addr address) {
    const struct uspi_gathered_symbol *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct uspi_gathered_symbol *c = &all[i];
        if (address < c->start || address >= c->end) continue;
        if (best == NULL || c->start > best->start || (c->start == best->start && c->rank < best->rank) ||
            (c->start == best->start && c->rank == best->rank && c->symbol < best->symbol)) {
            best = c;
        }
    }
    return best != NULL ? best->symbol : USPI_NO_SYMBOL;
}

/* For every third symbol, the entry must be read to get the name. */
static uint32_t name_of(size_t i) { return i % 3 == 0 ? 0 : NAME | (uint32_t)i; }

/* The index's symbol at an address. Its start and size, if given, must be right. */
static uint32_t find_symbol(const struct uspi_index *index, const struct uspi_gathered_symbol *all, usp_addr address,
                            usp_addr *start) {
    uint64_t size;
    uint32_t found = uspi_index_find(index, address, start, &size);
    if (found == USPI_NO_SYMBOL) return found;
    const struct uspi_gathered_symbol *c = &all[found & ~NAME];
    ck_assert_uint_le(*start, address);
    ck_assert_uint_ge(*start, c->start);
    if ((found & NAME) != 0) {
        ck_assert_uint_ne(c->name, 0);
        ck_assert_uint_eq(*start, c->start);
        ck_assert_uint_eq(size, c->end - c->start);
    } else {
        ck_assert_uint_eq(size, 0);
    }
    return found & ~NAME;
}

/* Finds a symbol as the index does, and checks its size, which the index leaves to its callers. */
static uint32_t search_index(const struct uspi_index *index, const struct uspi_gathered_symbol *all, usp_addr address) {
    usp_addr start;
    uint32_t found = find_symbol(index, all, address, &start);
    return found != USPI_NO_SYMBOL && address < all[found].end ? found : USPI_NO_SYMBOL;
}

/* Few and many intervals, near each other and with gaps of many megabytes, spread and in clusters. */
START_TEST(intervals_far_apart) {
    enum { COUNT = 3000, PLACES = 4000 };
    static const uint32_t spans[] = {1u << 12, 1u << 16, 1u << 20, 1u << 26, 0xc0000000u};
    static struct uspi_gathered_symbol all[COUNT];
    const uint32_t span = spans[(unsigned)_i % 5], heap = (unsigned)_i % 3 == 0 ? span : span / 256 + 1;
    const size_t count = (unsigned)_i % 4 == 0 ? 3 : 100 + (size_t)rand() % (COUNT - 100);
    struct uspi_gathering gathering = {0};
    struct uspi_index index;
    srand((unsigned)_i + 1);
    for (size_t i = 0; i < count; i++) {
        usp_addr base = LOAD + (i % 4 == 0 ? 0 : span / 4 * (i % 4)), start = base + (uint32_t)rand() % (heap / 4 + 1);
        all[i] = (struct uspi_gathered_symbol){
            start, start + 1 + start * 7919 % (span / 64 + 1), (uint32_t)i, 0, name_of(i), false, 0};
        ck_assert_int_eq(uspi_gather(&gathering, &all[i]), USP_OK);
    }
    ck_assert_int_eq(uspi_index_build(&index, &gathering, no_preference, NULL), USP_OK);
    for (size_t i = 0; i < count; i += sampled_stride()) {
        const usp_addr near[] = {all[i].start - 1, all[i].start, all[i].start + 1, all[i].end - 1, all[i].end};
        for (unsigned k = 0; k < 5; k++) {
            ck_assert_uint_eq(search_index(&index, all, near[k]), search_all(all, count, near[k]));
        }
    }
    for (unsigned k = 0; k < PLACES; k += sampled_stride()) {
        usp_addr at = LOAD + (uint32_t)((uint64_t)(uint32_t)rand() * span >> 31);
        ck_assert_uint_eq(search_index(&index, all, at), search_all(all, count, at));
    }
    /* The index must list every start, in order. */
    usp_addr at = 0, next, start;
    size_t starts = 0;
    for (; uspi_index_next(&index, at, &next); at = next + 1, starts++) {
        ck_assert_uint_ge(next, at);
        (void)find_symbol(&index, all, next, &start);
        ck_assert_uint_eq(start, next);
        (void)find_symbol(&index, all, next + 1, &start);
        ck_assert(start == next || start == next + 1);
    }
    ck_assert_uint_eq(starts, index.count);
    ck_assert_uint_le(uspi_index_memory(&index), 8 * index.count + 5 * 65536);
    uspi_index_clear(&index);
    uspi_gathering_clear(&gathering);
}
END_TEST

START_TEST(random_intervals) {
    enum { COUNT = 60, SPAN = 400 };
    srand((unsigned)_i + 1);
    for (unsigned round = 0; round < 200; round += sampled_stride()) {
        struct uspi_gathered_symbol all[COUNT];
        struct uspi_gathering gathering = {0};
        struct uspi_index index;
        size_t count = 1 + (size_t)rand() % COUNT;
        for (size_t i = 0; i < count; i++) {
            usp_addr start = LOAD + (usp_addr)(rand() % SPAN);
            /* One size for each start, as aliases have it. */
            all[i] = (struct uspi_gathered_symbol){
                start, start + 1 + start * 7919 % 97, (uint32_t)i, (uint32_t)(rand() % 3), name_of(i), false, 0};
            ck_assert_int_eq(uspi_gather(&gathering, &all[i]), USP_OK);
        }
        ck_assert_int_eq(uspi_index_build(&index, &gathering, no_preference, NULL), USP_OK);
        for (usp_addr at = LOAD - 2; at < LOAD + SPAN + 100; at++) {
            usp_addr start;
            uint32_t found = find_symbol(&index, all, at, &start);
            /* The caller checks the size. */
            if (found != USPI_NO_SYMBOL && at >= all[found].end) found = USPI_NO_SYMBOL;
            ck_assert_uint_eq(found, search_all(all, count, at));
        }
        /* From start to start: the answer changes at each one, and nowhere else. */
        usp_addr at = 0, next, start;
        uint32_t before = USPI_NO_SYMBOL;
        while (uspi_index_next(&index, at, &next)) {
            ck_assert_uint_ge(next, at);
            for (; at < next; at++) {
                if (at + 1 < LOAD) at = LOAD - 1;
                uint32_t found = find_symbol(&index, all, at, &start);
                if (found != USPI_NO_SYMBOL && at < all[found].end) ck_assert_uint_eq(found, before);
            }
            before = find_symbol(&index, all, next, &start);
            ck_assert_uint_eq(start, next);
            at = next + 1;
        }
        ck_assert(!uspi_index_next(&index, LOAD + UINT32_MAX, &next));
        uspi_index_clear(&index);
        uspi_gathering_clear(&gathering);
    }
}
END_TEST

/* The best candidate that begins at an address; NULL: none begins there. */
static const struct uspi_gathered_symbol *winner_at(const struct uspi_gathered_symbol *all, size_t count,
                                                    usp_addr start) {
    const struct uspi_gathered_symbol *best = NULL;
    for (size_t i = 0; i < count; i++) {
        const struct uspi_gathered_symbol *c = &all[i];
        if (c->start != start) continue;
        if (best == NULL || c->rank < best->rank || (c->rank == best->rank && c->symbol < best->symbol)) best = c;
    }
    return best;
}

/* The symbol at an address: the nearest one with a size, or else the last one that begins below, as far as it
 * extends. */
static uint32_t search_unsized(const struct uspi_gathered_symbol *all, size_t count, usp_addr address) {
    for (usp_addr start = address; start >= LOAD; start--) {
        const struct uspi_gathered_symbol *c = winner_at(all, count, start);
        if (c != NULL && !c->is_unsized && address < c->end) return c->symbol;
    }
    for (usp_addr start = address; start >= LOAD; start--) {
        const struct uspi_gathered_symbol *c = winner_at(all, count, start);
        if (c == NULL) continue;
        bool is_label = false;
        for (usp_addr around = start - 1; c->is_unsized && around >= LOAD; around--) {
            const struct uspi_gathered_symbol *outer = winner_at(all, count, around);
            is_label = is_label || (outer != NULL && !outer->is_unsized && start < outer->end);
        }
        if (!is_label) return c->is_unsized && address < c->end ? c->symbol : USPI_NO_SYMBOL;
    }
    return USPI_NO_SYMBOL;
}

/* A symbol without a size ends where another one begins, or where its end is known; inside another one it is a
 * label. */
START_TEST(symbols_without_sizes) {
    enum { COUNT = 30, SPAN = 300 };
    srand((unsigned)_i + 1);
    for (unsigned round = 0; round < 100; round++) {
        struct uspi_gathered_symbol all[COUNT];
        struct uspi_gathering gathering = {0};
        struct uspi_index index;
        size_t count = 1 + (size_t)rand() % COUNT;
        for (size_t i = 0; i < count; i++) {
            usp_addr start = LOAD + (usp_addr)(rand() % SPAN);
            all[i] = (struct uspi_gathered_symbol){
                start, start + 1 + start * 7919 % 97, (uint32_t)i, (uint32_t)(rand() % 3), name_of(i), start % 3 != 0,
                0};
            ck_assert_int_eq(uspi_gather(&gathering, &all[i]), USP_OK);
        }
        ck_assert_int_eq(uspi_index_build(&index, &gathering, no_preference, NULL), USP_OK);
        for (usp_addr at = LOAD - 2; at < LOAD + SPAN + 100; at++) {
            usp_addr start;
            uint64_t size;
            uint32_t found = uspi_index_find(&index, at, &start, &size);
            if (found != USPI_NO_SYMBOL) found &= ~NAME;
            if (found != USPI_NO_SYMBOL && !all[found].is_unsized && at >= all[found].end) found = USPI_NO_SYMBOL;
            ck_assert_uint_eq(found, search_unsized(all, count, at));
        }
        uspi_index_clear(&index);
        uspi_gathering_clear(&gathering);
    }
}
END_TEST

/* The index gives sizes as long as gaps fit into a byte; it never gives the last symbol's size. */
START_TEST(gaps_of_every_width) {
    enum { COUNT = 300, SIZE = 24 };
    struct uspi_gathered_symbol all[COUNT];
    struct uspi_gathering gathering = {0};
    struct uspi_index index;
    usp_addr start = LOAD, found;
    for (uint32_t i = 0; i < COUNT; i++) {
        all[i] = (struct uspi_gathered_symbol){start, start + SIZE, i, 0, NAME | i, false, 0};
        ck_assert_int_eq(uspi_gather(&gathering, &all[i]), USP_OK);
        start += SIZE + i;
    }
    ck_assert_int_eq(uspi_index_build(&index, &gathering, no_preference, NULL), USP_OK);
    for (uint32_t i = 0; i < COUNT; i++) {
        uint64_t size;
        ck_assert_uint_eq(uspi_index_find(&index, all[i].start + SIZE - 1, &found, &size), i < 254 ? NAME | i : i);
        ck_assert_uint_eq(size, i < 254 ? SIZE : 0);
        ck_assert_uint_eq(found, all[i].start);
    }
    uspi_index_clear(&index);
    uspi_gathering_clear(&gathering);
}
END_TEST

/* The index must not need more than eight bytes for each symbol in addition to the file. */
START_TEST(the_index_is_small) {
    enum { COUNT = 150000 };
    struct uspi_gathering gathering = {0};
    struct uspi_index index;
    for (uint32_t i = 0; i < COUNT; i++) {
        struct uspi_gathered_symbol c = {
            LOAD + (usp_addr)i * 7919 % COUNT * 32, LOAD + (usp_addr)i * 7919 % COUNT * 32 + 24, i, 0, 0, false, 0};
        ck_assert_int_eq(uspi_gather(&gathering, &c), USP_OK);
    }
    ck_assert_int_eq(uspi_gather_boundary(&gathering, LOAD + COUNT * 32), USP_OK);
    ck_assert_int_eq(uspi_index_build(&index, &gathering, no_preference, NULL), USP_OK);
    ck_assert_uint_le(uspi_index_memory(&index), 7 * COUNT + COUNT / 2);
    ck_assert_uint_eq(index.named, COUNT);
    usp_addr found;
    uint64_t size;
    for (uint32_t i = 0; i < COUNT; i += 997) {
        usp_addr start = LOAD + (usp_addr)i * 7919 % COUNT * 32;
        ck_assert_uint_eq(uspi_index_find(&index, start, &found, &size), i);
        ck_assert_uint_eq(uspi_index_find(&index, start + 23, &found, &size), i);
        ck_assert_uint_eq(found, start);
    }
    ck_assert_uint_eq(uspi_index_find(&index, LOAD + COUNT * 32, &found, &size), USPI_NO_SYMBOL);
    uspi_index_clear(&index);
    uspi_gathering_clear(&gathering);
}
END_TEST

int main(void) {
    note_sample();
    TCase *files = tcase_create("files");
    tcase_add_checked_fixture(files, begin_folder, remove_folder);
    tcase_add_loop_test(files, functions_and_gaps, 0, 2);
    add_tests(files, unknown_sizes, unknown_sizes_of_stripped_files, code_after_the_start_file,
              only_symbols_of_code_in_its_own_section, aliases, symbols_inside_others, a_list_of_all_functions,
              thumb_and_mapping_symbols, versions_are_dropped, stripped_files_name_what_they_export, both_tables_count,
              split_debug_files, other_builds_are_refused, the_sysroot_comes_first, program_and_folder,
              no_file_no_image, each_allocation_fails, threads_get_the_same_names);
    add_tests(files, past_4_gb, damaged_names_are_told, every_truncation, every_byte_spoilt);

    TCase *index = tcase_create("index");
    tcase_add_loop_test(index, random_intervals, 0, 5);
    tcase_add_loop_test(index, symbols_without_sizes, 0, 5);
    tcase_add_loop_test(index, intervals_far_apart, 0, 60);
    tcase_add_test(index, gaps_of_every_width);
    tcase_add_test(index, the_index_is_small);
    return run_suite("symbolize", files, index);
}
