/* SPDX-License-Identifier: MIT */
/* Tests the debug map of a Mach-O image, from symbol tables that the test makes: the object file that a function came
 * from, and its address there; entries that do not belong together; truncated tables. lines.sh compares the maps of
 * real linkers. */
#include <check.h>
#include <unspool/unspool.h>

#include "lib/symbolize/macho/debug_map.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/file_builder.h"
#include "tests/support/suite.h"

#define ALL (~(usp_addr)0)

enum {
    UNDEFINED = 0x00,
    EXT = 0x01,
    SECT = 0x0e,
    FUN = 0x24,
    BNSYM = 0x2e,
    AST = 0x32,
    ENSYM = 0x4e,
    SO = 0x64,
    OSO = 0x66
};

struct entry {
    const char *name;
    uint8_t type;
    uint64_t value;
};

struct table {
    struct builder entries, strings;
    struct uspi_source entry_source, string_source;
    struct uspi_macho_symbols symbols;
};

/* Makes a table that contains pointers to itself. */
static void make_table(struct table *t, const struct entry *entries, size_t count) {
    memset(t, 0, sizeof *t);
    put(&t->strings, 1, 0);
    for (size_t i = 0; i < count; i++) {
        put(&t->entries, 4, entries[i].name[0] != '\0' ? t->strings.size : 0);
        put(&t->entries, 1, entries[i].type);
        put(&t->entries, 1, 1);
        put(&t->entries, 2, 0);
        put(&t->entries, 8, entries[i].value);
        put_bytes(&t->strings, entries[i].name, strlen(entries[i].name) + 1);
    }
    t->entry_source = (struct uspi_source){.name = "entries", .base = t->entries.bytes};
    t->string_source = (struct uspi_source){.name = "strings", .base = t->strings.bytes};
    t->symbols = (struct uspi_macho_symbols){.entries = {&t->entry_source, 0, t->entries.size},
                                             .strings = {&t->string_source, 0, t->strings.size},
                                             .count = count,
                                             .wide = true};
}

static void free_table(struct table *t) {
    builder_free(&t->entries);
    builder_free(&t->strings);
}

static const struct entry linked[] = {
    {"/src/", SO, 0},
    {"one.c", SO, 0},
    {"/obj/one.o", OSO, 77},
    /* A Swift module is not an object file, whatever its time. */
    {"/obj/one.swiftmodule", AST, 78},
    {"", BNSYM, 0x3000},
    {"_late", FUN, 0x3000},
    {"", FUN, 0x10},
    {"", ENSYM, 0x10},
    {"_early", FUN, 0x1000},
    {"", FUN, 0x20},
    {"", SO, 0},
    /* Functions of no object file: after an end, and before the object file is named. */
    {"_loose", FUN, 0x5000},
    {"", FUN, 0x10},
    {"two.c", SO, 0},
    {"_soon", FUN, 0x6000},
    {"", FUN, 0x10},
    {"/obj/two.o", OSO, 0},
    {"_thumb", FUN, 0x2001},
    {"", FUN, 0x8},
    /* A function without a size, and one whose size exceeds the address space. */
    {"_endless", FUN, 0x7000},
    {"_next", FUN, UINT64_MAX - 3},
    {"", FUN, 0x10},
    {"", SO, 0},
};
#define LINKED (sizeof linked / sizeof *linked)

static void expect(const struct uspi_debug_map *map, const struct table *t, usp_addr address, const char *name,
                   uint32_t object) {
    char buffer[USPI_MACHO_NAME_BEGINNING];
    const struct uspi_mapped_function *found = uspi_debug_map_find(map, address);
    if (name == NULL) {
        ck_assert_ptr_null(found);
        return;
    }
    ck_assert_ptr_nonnull(found);
    ck_assert_str_eq(uspi_macho_name_beginning(&t->symbols, found->name, buffer), name);
    ck_assert_uint_eq(found->object, object);
}

START_TEST(functions_and_their_objects) {
    struct uspi_debug_map map;
    struct table t;
    char buffer[USPI_MACHO_NAME_BEGINNING];
    make_table(&t, linked, LINKED);
    ck_assert_int_eq(uspi_debug_map_read(&map, &t.symbols, ALL - 1), USP_OK);
    ck_assert_uint_eq(map.object_count, 2);
    ck_assert_uint_eq(map.objects[0].modified, 77);
    ck_assert_uint_eq(map.objects[1].modified, 0);
    ck_assert_str_eq(uspi_macho_name_beginning(&t.symbols, map.objects[1].path, buffer), "/obj/two.o");
    ck_assert_uint_eq(map.function_count, 3);
    expect(&map, &t, 0xfff, NULL, 0);
    expect(&map, &t, 0x1000, "_early", 0);
    expect(&map, &t, 0x101f, "_early", 0);
    expect(&map, &t, 0x1020, NULL, 0);
    expect(&map, &t, 0x2000, "_thumb", 1);
    expect(&map, &t, 0x2008, NULL, 0);
    expect(&map, &t, 0x3000, "_late", 0);
    static const usp_addr others[] = {0x3010, 0x5000, 0x6000, 0x7000, UINT64_MAX - 3, UINT64_MAX, 0};
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) expect(&map, &t, others[i], NULL, 0);
    uspi_debug_map_clear(&map);
    ck_assert_ptr_null(uspi_debug_map_find(&map, 0x1000));
    free_table(&t);
}
END_TEST

/* A function would get the address of another symbol. The right one is the symbol that the object defines, not an
 * undefined one or a stab. */
START_TEST(places_in_an_object) {
    static const struct entry object[] = {{"_early", UNDEFINED | EXT, 0x11},
                                          {"_early", FUN, 0x22},
                                          {"_earl", SECT, 0x33},
                                          {"_early", SECT | EXT, 0x45},
                                          {"_early", SECT, 0x55}};
    struct uspi_debug_map map;
    struct table t, o;
    usp_addr place;
    make_table(&t, linked, LINKED);
    make_table(&o, object, sizeof object / sizeof *object);
    ck_assert_int_eq(uspi_debug_map_read(&map, &t.symbols, ALL), USP_OK);
    const struct uspi_mapped_function *early = uspi_debug_map_find(&map, 0x1000);
    ck_assert_int_eq(uspi_debug_map_place(&t.symbols, early, &o.symbols, ALL, &place), USP_OK);
    ck_assert_uint_eq(place, 0x45);
    ck_assert_int_eq(uspi_debug_map_place(&t.symbols, early, &o.symbols, ALL - 1, &place), USP_OK);
    ck_assert_uint_eq(place, 0x44);
    const struct uspi_mapped_function *late = uspi_debug_map_find(&map, 0x3000);
    ck_assert_int_eq(uspi_debug_map_place(&t.symbols, late, &o.symbols, ALL, &place), USP_ERROR_NOT_FOUND);
    uspi_debug_map_clear(&map);
    free_table(&t);
    free_table(&o);
}
END_TEST

/* A table is truncated anywhere, while the header still counts all symbols. */
START_TEST(tables_that_end_early) {
    struct uspi_debug_map map;
    struct table t;
    make_table(&t, linked, LINKED);
    for (size_t size = 0; size < t.entries.size; size++) {
        t.symbols.entries.size = size;
        ck_assert_int_lt(uspi_debug_map_read(&map, &t.symbols, ALL), 0);
        uspi_debug_map_clear(&map);
    }
    t.symbols.entries.size = t.entries.size;
    for (size_t size = 0; size < t.strings.size; size++) {
        t.symbols.strings.size = size;
        ck_assert_int_eq(uspi_debug_map_read(&map, &t.symbols, ALL), USP_OK);
        uspi_debug_map_clear(&map);
    }
    free_table(&t);
}
END_TEST

START_TEST(memory_that_lacks) {
    struct uspi_debug_map map;
    struct table t;
    int status = USP_ERROR_NO_MEMORY;
    make_table(&t, linked, LINKED);
    const long held = allocations_held();
    for (long n = 1; status != USP_OK; n++) {
        fail_allocation(n);
        status = uspi_debug_map_read(&map, &t.symbols, ALL);
        fail_allocation(0);
        if (n == 1) ck_assert_int_eq(status, USP_ERROR_NO_MEMORY);
        uspi_debug_map_clear(&map);
        ck_assert_int_eq(allocations_held(), held);
    }
    free_table(&t);
}
END_TEST

int main(void) {
    TCase *c = tcase_create("debug_map");
    add_tests(c, functions_and_their_objects, places_in_an_object, tables_that_end_early, memory_that_lacks);
    return run_suite("debug_map", c);
}
