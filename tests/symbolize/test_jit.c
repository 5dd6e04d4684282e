/* SPDX-License-Identifier: MIT */
/* Tests names and lines of generated code: intact, damaged and hostile perf maps, jitdumps and objects of the GDB JIT
 * interface; which of several overlapping pieces wins; which files are refused; and this process, whose files grow
 * while it runs. tests/symbolize/jit.sh tests other processes and cores. */
#include <check.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <unspool/unspool.h>

#include "lib/os/os.h"
#include "lib/symbolize/jit/gdb_jit.h"
#include "lib/symbolize/jit/jitdump.h"
#include "lib/symbolize/jit/perf_map.h"
#include "tests/support/folder.h"
#include "tests/support/jit_files.h"
#include "tests/support/suite.h"

/* ---- the code at an address ---- */

static struct uspi_jit_map map;

static void clear_map(void) { uspi_jit_map_clear(&map); }

/* The name at an address; "" if there is none. Valid until the next call. */
static const char *name_at(usp_addr address) {
    static char name[USPI_JIT_NAME_MAX + 1];
    const struct uspi_jit_code *code;
    int status = uspi_jit_map_find(&map, address, &code);
    ck_assert(status == USP_OK || status == USP_ERROR_NOT_FOUND);
    if (status == USP_OK) {
        ck_assert(code->start <= address && address - code->start < code->size);
        memcpy(name, map.text + code->name, code->name_length);
    }
    name[status == USP_OK ? code->name_length : 0] = '\0';
    return name;
}

/* The line at an address, as PATH:LINE; "" if there is none. Valid until the next call. */
static const char *line_at(usp_addr address) {
    static char line[256];
    const struct uspi_jit_code *code;
    line[0] = '\0';
    if (uspi_jit_map_find(&map, address, &code) != USP_OK) return line;
    const struct uspi_jit_row *row = uspi_jit_map_row(&map, code, address);
    if (row != NULL) snprintf(line, sizeof line, "%s:%u", row->file, row->line);
    return line;
}

static void add(usp_addr start, uint64_t size, uint64_t order, const char *name) {
    const struct uspi_jit_code code = {.start = start, .size = size, .order = order};
    ck_assert_int_eq(uspi_jit_map_add(&map, &code, name, strlen(name)), USP_OK);
}

START_TEST(the_newest_piece_wins) {
    add(0x100, 0x100, 1, "old");
    add(0x140, 0x20, 2, "inside");
    add(0x1f0, 0x20, 0, "older");
    ck_assert_str_eq(name_at(0xff), "");
    ck_assert_str_eq(name_at(0x100), "old");
    ck_assert_str_eq(name_at(0x140), "inside");
    ck_assert_str_eq(name_at(0x15f), "inside");
    ck_assert_str_eq(name_at(0x160), "old");
    ck_assert_str_eq(name_at(0x1ff), "old");
    ck_assert_str_eq(name_at(0x200), "older");
    ck_assert_str_eq(name_at(0x210), "");
    add(0x150, 0x100, 3, "");
    ck_assert_str_eq(name_at(0x14f), "inside");
    ck_assert_str_eq(name_at(0x150), "");
    ck_assert_str_eq(name_at(0x24f), "");
}
END_TEST

START_TEST(pieces_that_cannot_be_are_left_out) {
    add(0x100, 0, 1, "empty");
    add(UINT64_MAX - 1, 2, 1, "wraps");
    add(2, UINT64_MAX, 1, "wraps too");
    ck_assert_str_eq(name_at(0x100), "");
    ck_assert_str_eq(name_at(UINT64_MAX), "");
    add(UINT64_MAX - 2, 2, 1, "last");
    ck_assert_str_eq(name_at(UINT64_MAX - 1), "last");
    ck_assert_str_eq(name_at(UINT64_MAX), "");
    add(1, UINT64_MAX - 1, 0, "everything");
    ck_assert_str_eq(name_at(0), "");
    ck_assert_str_eq(name_at(1), "everything");
    ck_assert_str_eq(name_at(UINT64_MAX - 1), "last");
}
END_TEST

/* Every address is compared with a search through all pieces. */
START_TEST(any_pieces_as_one_by_one) {
    enum { PIECES = 60, SPACE = 200 };
    uint32_t random = (uint32_t)_i * 2654435761u + 1;
    unsigned start[PIECES], size[PIECES], order[PIECES];
    for (unsigned n = 0; n < PIECES; n++) {
        char name[8];
        random = random * 1664525u + 1013904223u;
        start[n] = random >> 8 & 127;
        size[n] = random >> 16 & 31;
        order[n] = random >> 24 & 15;
        snprintf(name, sizeof name, "%u", n);
        add(start[n], size[n], order[n], (random >> 29) == 0 ? "" : name);
        if ((random >> 29) == 0) start[n] |= 1u << 31;
        if (n % 20 == 5) name_at(0);
    }
    for (unsigned address = 0; address < SPACE; address++) {
        char expected[8] = "";
        unsigned best = 0;
        for (unsigned n = 0; n < PIECES; n++) {
            const unsigned from = start[n] & ~(1u << 31);
            if (address < from || address - from >= size[n] || order[n] < best) continue;
            best = order[n];
            snprintf(expected, sizeof expected, "%u", n);
            if (start[n] != from) expected[0] = '\0';
        }
        ck_assert_str_eq(name_at(address), expected);
    }
}
END_TEST

/* ---- perf maps ---- */

static int read_map(struct uspi_perf_map *state, const char *text, size_t n) {
    const struct uspi_source source = {.name = "map", .base = (const uint8_t *)text};
    return uspi_perf_map_read(state, (struct uspi_bytes){&source, 0, n}, &map);
}

START_TEST(lines_of_a_perf_map) {
    static const char text[] = "1000 10 plain\n"
                               "0x2000 0X10 with blanks, and more \n"
                               "AbC0 0f upper case\r\n"
                               "\n"
                               "3000 10\n"
                               "3000 10 \n"
                               "3000 zz no size\n"
                               "3000 -1 no size either\n"
                               "zz00 10 no address\n"
                               "0x 10 no digits\n"
                               "30000000000000000 10 too large\n"
                               "3000 11112222333344445 too large\n"
                               "ffffffffffffffff ffffffffffffffff wraps\n"
                               " 3000 10 a blank first\n"
                               "3000\t10\ttabs\n"
                               "3000  10 two blanks\n"
                               "4000 10 first\n"
                               "4008 10 second\n"
                               "5000 10 \xff\x01 bytes\n"
                               "6000 10 cut\0here\n";
    struct uspi_perf_map state = {0};
    ck_assert_int_eq(read_map(&state, text, sizeof text - 1), USP_OK);
    /* The text ends at the NUL in its last line. */
    ck_assert_uint_eq(state.offset, sizeof text - 1 - strlen("6000 10 cut") - sizeof "here\n");
    ck_assert_str_eq(name_at(0x100f), "plain");
    ck_assert_str_eq(name_at(0x1010), "");
    ck_assert_str_eq(name_at(0x2000), "with blanks, and more ");
    ck_assert_str_eq(name_at(0xabc0), "upper case");
    ck_assert_str_eq(name_at(0x3000), "");
    ck_assert_str_eq(name_at(0x4007), "first");
    ck_assert_str_eq(name_at(0x4008), "second");
    ck_assert_str_eq(name_at(0x5000), "\xff\x01 bytes");
    ck_assert_str_eq(name_at(0x6000), "cut");
    ck_assert_uint_eq(map.count, 7);
}
END_TEST

/* A file that the program is still writing must be readable after each byte. */
START_TEST(a_perf_map_that_grows) {
    static const char text[] = "1000 10 first\n1000 10 second\n2000 8 third\n";
    struct uspi_perf_map state = {0};
    for (size_t n = 0; n < sizeof text; n++) ck_assert_int_eq(read_map(&state, text, n), USP_OK);
    ck_assert_str_eq(name_at(0x1000), "second");
    ck_assert_str_eq(name_at(0x2007), "third");
    ck_assert_uint_eq(state.lines, 3);
}
END_TEST

/* A file of 1 TB that has a line and then only NUL bytes. Counts what is read of it. */
static int read_sparse(void *context, uint64_t at, void *to, size_t n) {
    static const char line[] = "1000 10 f\n2000 10 g";
    *(uint64_t *)context += n;
    memset(to, 0, n);
    for (size_t i = 0; i < sizeof line && at + i < sizeof line; i++) ((char *)to)[i] = line[at + i];
    return USP_OK;
}

START_TEST(a_perf_map_ends_at_a_nul) {
    const struct uspi_jit_code *code;
    struct uspi_perf_map state = {0};
    uint64_t count = 0;
    const struct uspi_source source = {.name = "perf map", .read = read_sparse, .context = &count};
    const struct uspi_bytes file = {&source, 0, UINT64_C(1) << 40};
    ck_assert_int_eq(uspi_perf_map_read(&state, file, &map), USP_OK);
    ck_assert_int_eq(uspi_jit_map_find(&map, 0x1008, &code), USP_OK);
    ck_assert_int_eq(uspi_jit_map_find(&map, 0x2008, &code), USP_OK);
    ck_assert_uint_eq(state.offset, 10);
    ck_assert_uint_le(count, 1 << 20);
    uspi_jit_map_clear(&map);
}
END_TEST

START_TEST(a_perf_map_of_many_pieces) {
    struct builder b = {0};
    const unsigned lines = 20000;
    for (unsigned i = 0; i < lines; i++) {
        char line[64];
        int n = snprintf(line, sizeof line, "%x %x function_%u\n", 0x10000 + i * 16, 16u, i);
        put_bytes(&b, line, (size_t)n);
        if (i % 5000 != 0) continue;
        /* The name is longer than one read: it must be cut, and its rest must not become a line of its own. */
        n = snprintf(line, sizeof line, "%x 10 long", 0x1000 + i);
        put_bytes(&b, line, (size_t)n);
        for (unsigned k = 0; k < 200000 + i; k++) put(&b, 1, 'x');
        put(&b, 1, '\n');
    }
    struct uspi_perf_map state = {0};
    ck_assert_int_eq(read_map(&state, (const char *)b.bytes, b.size), USP_OK);
    ck_assert_uint_eq(state.offset, b.size);
    ck_assert_uint_eq(map.count, lines + 4);
    ck_assert_str_eq(name_at(0x10000), "function_0");
    ck_assert_str_eq(name_at(0x10000 + 16 * 12345 + 15), "function_12345");
    ck_assert_str_eq(name_at(0x10000 + 16 * lines - 1), "function_19999");
    ck_assert_uint_eq(strlen(name_at(0x1000)), USPI_JIT_NAME_MAX);
    builder_free(&b);
}
END_TEST

/* ---- jitdumps ---- */

static int read_dump(struct uspi_jitdump *state, const struct builder *b, size_t n, int64_t pid) {
    const struct uspi_source source = {.name = "dump", .base = b->bytes};
    return uspi_jitdump_read(state, (struct uspi_bytes){&source, 0, n}, pid, &map);
}

static void check_dump(void) {
    ck_assert_str_eq(name_at(0x107f), "one");
    ck_assert_str_eq(name_at(0x1080), "newer");
    ck_assert_str_eq(name_at(0x117f), "newer");
    ck_assert_str_eq(name_at(0x1180), "");
    ck_assert_str_eq(name_at(0x3000), "");
    ck_assert_str_eq(name_at(0x300f), "");
    ck_assert_str_eq(name_at(0x500f), "moved");
    ck_assert_str_eq(name_at(0x5010), "below");
    ck_assert_str_eq(name_at(0x7000), "");
    ck_assert_str_eq(name_at(0x9000), "");
    ck_assert_str_eq(line_at(0x1000), "/src/one.c:7");
    ck_assert_str_eq(line_at(0x100f), "/src/one.c:7");
    ck_assert_str_eq(line_at(0x1010), "/src/one.c:8");
    ck_assert_str_eq(line_at(0x107f), "/src/other.c:9");
    ck_assert_str_eq(line_at(0x1080), "");
    ck_assert_str_eq(line_at(0x3000), "");
}

START_TEST(records_of_a_jitdump) {
    struct builder b = {0};
    struct uspi_jitdump state = {0};
    put_dump(&b, _i == 1);
    ck_assert_int_eq(read_dump(&state, &b, b.size, 77), USP_OK);
    ck_assert_uint_eq(state.offset, b.size);
    check_dump();
    uspi_jitdump_clear(&state);
    builder_free(&b);
}
END_TEST

/* Reads a dump of one piece with lines, at 0x1000. */
static void read_lines(const struct dump_line *lines, const char *name, uint32_t machine) {
    struct builder b = {0};
    struct uspi_jitdump state = {0};
    put_dump_header(&b, false, 77);
    b.bytes[12] = (uint8_t)machine;
    put_lines(&b, false, 0x1000, lines);
    put_load(&b, false, 10, 0x1000, 0x100, 1, name);
    ck_assert_int_eq(read_dump(&state, &b, b.size, 77), USP_OK);
    ck_assert_str_eq(name_at(0x1000), name);
    uspi_jitdump_clear(&state);
    builder_free(&b);
}

/* V8 adds the size of an ELF header to each address, of the 64-bit or of the 32-bit one. Lines would be shifted by
 * it. */
START_TEST(lines_after_an_elf_header) {
    static const struct dump_line lines[] = {{64, 1, "a.js", 0}, {80, 2, "a.js", 0}, {0, 0, NULL, 0}};
    read_lines(lines, "wide", 62);
    ck_assert_str_eq(line_at(0x1000), "a.js:1");
    ck_assert_str_eq(line_at(0x100f), "a.js:1");
    ck_assert_str_eq(line_at(0x1010), "a.js:2");
    uspi_jit_map_clear(&map);
    read_lines(lines, "narrow", 40);
    ck_assert_str_eq(line_at(0x1000), "");
    ck_assert_str_eq(line_at(0x100c), "a.js:1");
    ck_assert_str_eq(line_at(0x101c), "a.js:2");
}
END_TEST

/* If one address is smaller than that header, the dump's addresses have nothing added, and the other pieces must not be
 * shifted either. */
START_TEST(lines_of_the_code_itself) {
    static const struct dump_line far[] = {{64, 1, "far.c", 0}, {0, 0, NULL, 0}};
    static const struct dump_line near[] = {{4, 2, "near.c", 0}, {0, 0, NULL, 0}};
    struct builder b = {0};
    struct uspi_jitdump state = {0};
    put_dump_header(&b, false, 77);
    put_lines(&b, false, 0x1000, far);
    put_load(&b, false, 10, 0x1000, 0x100, 1, "far");
    const size_t before = b.size;
    put_lines(&b, false, 0x2000, near);
    put_load(&b, false, 20, 0x2000, 0x100, 2, "near");
    put_move(&b, false, 30, 0x2000, 0x3000, 0x100, 2);
    ck_assert_int_eq(read_dump(&state, &b, before, 77), USP_OK);
    ck_assert_str_eq(line_at(0x1000), "far.c:1");
    ck_assert_int_eq(read_dump(&state, &b, b.size, 77), USP_OK);
    ck_assert_str_eq(line_at(0x1000), "");
    ck_assert_str_eq(line_at(0x1040), "far.c:1");
    ck_assert_str_eq(line_at(0x2004), "");
    ck_assert_str_eq(line_at(0x3003), "");
    ck_assert_str_eq(line_at(0x3004), "near.c:2");
    uspi_jitdump_clear(&state);
    builder_free(&b);
}
END_TEST

/* Node 20 writes paths whose first 16 bytes are lost, with NULs among them. The name of the code contains the path. */
START_TEST(lines_with_damaged_paths) {
    static const char once[] = "\x57\x19\x29\x36\0\0\0\0\xb6M1L]\xd4\xd0\xdbork/program.js";
    static const char again[] = "\xa7\x62\x03\0\0\0\0\0\0\0\0\0\0\0\0\0ork/program.js";
    static const char other[] = "\xa7\x62\x03\0\0\0\0\0\xb6M1L]\xd4\xd0\xdb/library.js";
    static const struct dump_line lines[] = {
        {64, 1, once, sizeof once - 1},     {80, 2, again, sizeof again - 1}, {96, 3, other, sizeof other - 1},
        {112, 4, "/code/user/whole.js", 0}, {128, 5, once, sizeof once - 1},  {0, 0, NULL, 0},
    };
    read_lines(lines, "JS:*f /src/users/of/fork/program.js:1:15", 62);
    ck_assert_str_eq(line_at(0x1000), "");
    uspi_jit_map_clear(&map);
    read_lines(lines, "JS:*f /code/of/the/fork/program.js:1:15", 62);
    ck_assert_str_eq(line_at(0x1000), "");
    uspi_jit_map_clear(&map);
    read_lines(lines, "JS:*f /code/of/owner/fork/program.jsx", 62);
    ck_assert_str_eq(line_at(0x1000), "");
    uspi_jit_map_clear(&map);
    read_lines(lines, "JS:*f /code/of/owner/fork/program.js:1:15", 62);
    ck_assert_str_eq(line_at(0x1000), "/code/of/owner/fork/program.js:1");
    ck_assert_str_eq(line_at(0x1010), "/code/of/owner/fork/program.js:2");
    ck_assert_str_eq(line_at(0x1020), "");
    ck_assert_str_eq(line_at(0x1030), "/code/user/whole.js:4");
    ck_assert_str_eq(line_at(0x1040), "/code/of/owner/fork/program.js:5");
}
END_TEST

/* Invalid lines must be skipped as a whole: the code has its name, and no line. */
START_TEST(lines_that_make_no_sense) {
    static const struct dump_line descending[] = {{16, 1, "a.c", 0}, {8, 2, "a.c", 0}, {0, 0, NULL, 0}};
    static const struct dump_line far[] = {{0, 1, "a.c", 0}, {UINT64_C(1) << 32, 2, "a.c", 0}, {0, 0, NULL, 0}};
    static const struct dump_line before[] = {{UINT64_MAX, 1, "a.c", 0}, {0, 0, NULL, 0}};
    static const struct dump_line nowhere[] = {{0, 0, "a.c", 0}, {8, 3, "", 0}, {16, 4, "\xff", 0}, {0, 0, NULL, 0}};
    const struct dump_line *const all[] = {descending, far, before, nowhere};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        read_lines(all[i], "f", 62);
        for (usp_addr address = 0x1000; address < 0x1020; address++) ck_assert_str_eq(line_at(address), "");
        uspi_jit_map_clear(&map);
    }
    /* Lines of other code; and a count that exceeds the entries. */
    static const struct dump_line lines[] = {{0, 1, "a.c", 0}, {4, 2, "a.c", 0}, {0, 0, NULL, 0}};
    for (unsigned i = 0; i < 3; i++) {
        struct builder b = {0};
        struct uspi_jitdump state = {0};
        put_dump_header(&b, false, 77);
        const size_t record = b.size;
        put_lines(&b, false, i == 0 ? 0x1001 : 0x1000, lines);
        if (i == 1) b.bytes[record + 24] = 3;
        put_load(&b, false, 10, 0x1000, 0x100, 1, "f");
        ck_assert_int_eq(read_dump(&state, &b, b.size, 77), USP_OK);
        ck_assert_str_eq(line_at(0x1004), i == 2 ? "a.c:2" : "");
        ck_assert_str_eq(name_at(0x1004), "f");
        uspi_jitdump_clear(&state);
        uspi_jit_map_clear(&map);
        builder_free(&b);
    }
    /* A path that is longer than the stored part of a name. */
    struct builder path = {0};
    for (unsigned i = 0; i < 2 * USPI_JIT_NAME_MAX; i++) put(&path, 1, 'x');
    const struct dump_line longer[] = {{0, 1, (const char *)path.bytes, path.size}, {4, 2, "a.c", 0}, {0, 0, NULL, 0}};
    read_lines(longer, "f", 62);
    ck_assert_str_eq(line_at(0x1004), "");
    builder_free(&path);
}
END_TEST

START_TEST(a_jitdump_that_grows) {
    struct builder b = {0};
    struct uspi_jitdump state = {0};
    put_dump(&b, false);
    for (size_t n = 0; n <= b.size; n++) {
        ck_assert_int_eq(read_dump(&state, &b, n, 77), n < 40 ? USP_ERROR_TRUNCATED : USP_OK);
    }
    check_dump();
    uspi_jitdump_clear(&state);
    builder_free(&b);
}
END_TEST

START_TEST(jitdumps_that_are_none) {
    struct builder b = {0};
    struct uspi_jitdump state = {0};
    put_dump(&b, false);
    ck_assert_int_eq(read_dump(&state, &b, b.size, 78), USP_ERROR_MISMATCH);
    static const unsigned places[] = {0, 4, 8};
    for (unsigned i = 0; i < 3; i++) {
        const uint8_t was = b.bytes[places[i]];
        b.bytes[places[i]] = 9;
        ck_assert_int_eq(read_dump(&state, &b, b.size, 77), USP_ERROR_FORMAT);
        b.bytes[places[i]] = was;
    }
    /* A record that is smaller than its header: nothing after it can be found, but earlier ones must stay. */
    const size_t whole = b.size;
    put_record(&b, false, 0, 15, 100);
    put_load(&b, false, 110, 0xa000, 0x10, 7, "unreachable");
    for (unsigned i = 0; i < 2; i++) ck_assert_int_eq(read_dump(&state, &b, b.size, 77), USP_OK);
    ck_assert_uint_eq(state.offset, whole);
    check_dump();
    ck_assert_str_eq(name_at(0xa000), "");
    uspi_jitdump_clear(&state);
    builder_free(&b);
}
END_TEST

START_TEST(a_jitdump_of_many_records) {
    struct builder b = {0};
    struct uspi_jitdump state = {0};
    put_dump_header(&b, false, 77);
    for (unsigned i = 0; i < 5000; i++) put_load(&b, false, i, 0x10000 + 16 * i, 16, UINT64_C(1) << 40 | i * 64, "f");
    for (unsigned i = 0; i < 5000; i++) {
        put_move(&b, false, 5000 + i, 0x10000 + 16 * i, 0x900000 + 16 * i, 16, UINT64_C(1) << 40 | i * 64);
    }
    ck_assert_int_eq(read_dump(&state, &b, b.size, 0), USP_OK);
    for (unsigned i = 0; i < 5000; i++) {
        ck_assert_str_eq(name_at(0x10000 + 16 * i), "");
        ck_assert_str_eq(name_at(0x900000 + 16 * i), "f");
    }
    uspi_jitdump_clear(&state);
    builder_free(&b);
}
END_TEST

/* ---- the GDB JIT interface ---- */

#define MEMORY   UINT64_C(0x10000)
#define VARIABLE (MEMORY + 0x40)

START_TEST(functions_of_an_object) {
    struct builder b = {0};
    put_jit_object(&b, _i == 1, "");
    const struct uspi_source source = {.name = "object", .base = b.bytes};
    ck_assert_int_eq(uspi_gdb_jit_read_object((struct uspi_bytes){&source, 0, b.size}, 1, 0, &map), USP_OK);
    ck_assert_str_eq(name_at(CODE - 1), "");
    ck_assert_str_eq(name_at(CODE), "first");
    ck_assert_str_eq(name_at(CODE + 15), "first");
    ck_assert_str_eq(name_at(CODE + 16), "second");
    ck_assert_str_eq(name_at(CODE + 99), "second");
    ck_assert_str_eq(name_at(CODE + 100), "");
    ck_assert_str_eq(name_at(CODE + 0x1000), "");
    /* Truncated anywhere: the rest must give right answers, or none. */
    for (size_t n = 0; n < b.size; n++) {
        uint8_t *copy = malloc(n + 1);
        memcpy(copy, b.bytes, n);
        const struct uspi_source cut = {.name = "object", .base = copy};
        clear_map();
        uspi_gdb_jit_read_object((struct uspi_bytes){&cut, 0, n}, 1, 0, &map);
        ck_assert(name_at(CODE)[0] == '\0' || strcmp(name_at(CODE), "first") == 0);
        free(copy);
    }
    builder_free(&b);
}
END_TEST

/* A usp_memory.read function; context is a builder whose bytes are at MEMORY. */
static int read_memory(void *context, usp_addr from, void *to, size_t n) {
    const struct builder *b = context;
    if (from < MEMORY || from - MEMORY > b->size || n > b->size - (size_t)(from - MEMORY)) return USP_ERROR_UNREADABLE;
    memcpy(to, b->bytes + (size_t)(from - MEMORY), n);
    return USP_OK;
}

static void set_word(struct builder *b, size_t at, uint64_t value) {
    for (unsigned i = 0; i < 8; i++) b->bytes[at + i] = (uint8_t)(value >> 8 * i);
}

/* Sets the entry at 0x100 × its number. Its object lies after all entries. */
static void set_entry(struct builder *b, unsigned number, unsigned next, usp_addr object, uint64_t size) {
    set_word(b, 0x100 * (size_t)number, next != 0 ? MEMORY + 0x100 * (usp_addr)next : 0);
    set_word(b, 0x100 * (size_t)number + 16, object);
    set_word(b, 0x100 * (size_t)number + 24, size);
}

START_TEST(lists_of_objects) {
    struct builder b = {0};
    pad_to(&b, 0x800);
    const usp_addr old = MEMORY + b.size;
    put_jit_object(&b, false, "old_");
    const usp_addr fresh = MEMORY + b.size;
    const uint64_t size = fresh - old;
    put_jit_object(&b, false, "new_");
    const struct usp_memory memory = {read_memory, &b};
    struct uspi_gdb_jit jit = {.count = 1, .descriptors = {{.address = VARIABLE, .arch = USP_ARCH_X86_64}}};
    set_word(&b, 0x40, 1);

    /* An empty list, then one entry, then one before it. */
    ck_assert_int_eq(uspi_gdb_jit_read(&jit, &memory, &map), USP_OK);
    ck_assert_str_eq(name_at(CODE), "");
    set_entry(&b, 1, 0, old, size);
    set_word(&b, 0x40 + 16, MEMORY + 0x100);
    ck_assert_int_eq(uspi_gdb_jit_read(&jit, &memory, &map), USP_OK);
    ck_assert_str_eq(name_at(CODE), "old_first");
    set_entry(&b, 2, 1, fresh, size);
    set_word(&b, 0x40 + 16, MEMORY + 0x200);
    ck_assert_int_eq(uspi_gdb_jit_read(&jit, &memory, &map), USP_OK);
    ck_assert_str_eq(name_at(CODE), "new_first");
    /* The entry is removed. */
    set_word(&b, 0x40 + 16, MEMORY + 0x100);
    ck_assert_int_eq(uspi_gdb_jit_read(&jit, &memory, &map), USP_OK);
    ck_assert_str_eq(name_at(CODE), "old_first");
    set_word(&b, 0x40 + 16, 0);
    ck_assert_int_eq(uspi_gdb_jit_read(&jit, &memory, &map), USP_OK);
    ck_assert_str_eq(name_at(CODE), "");

    /* Impossible sizes, missing objects, a list that ends in unmapped memory: the other entries must count. */
    set_entry(&b, 1, 2, old, UINT64_MAX);
    set_entry(&b, 2, 3, 0, size);
    set_entry(&b, 3, 4, MEMORY + 0x40, 64);
    set_entry(&b, 4, 5, old, size);
    set_entry(&b, 5, 0, fresh, size);
    set_word(&b, 0x500, 0x123);
    set_word(&b, 0x40 + 16, MEMORY + 0x100);
    ck_assert_int_eq(uspi_gdb_jit_read(&jit, &memory, &map), USP_OK);
    ck_assert_str_eq(name_at(CODE), "old_first");

    /* A circular list. */
    set_entry(&b, 1, 1, old, size);
    ck_assert_int_eq(uspi_gdb_jit_read(&jit, &memory, &map), USP_OK);
    ck_assert_str_eq(name_at(CODE), "old_first");
    builder_free(&b);
}
END_TEST

/* Pointers of 4 bytes; i386 aligns the size to 4 bytes, ARM to 8. */
START_TEST(lists_of_narrow_processors) {
    struct builder b = {0};
    const bool is_arm = _i == 1;
    pad_to(&b, 0x100);
    put(&b, 4, 0);
    put(&b, 4, 0);
    put(&b, 4, MEMORY + 0x200);
    if (is_arm) put(&b, 4, 0xffffffff);
    const size_t size_at = b.size;
    put(&b, 8, 0);
    pad_to(&b, 0x200);
    put_jit_object(&b, false, "");
    set_word(&b, size_at, b.size - 0x200);
    set_word(&b, 0x40, 1);
    set_word(&b, 0x48, (MEMORY + 0x100) << 32);
    const struct usp_memory memory = {read_memory, &b};
    struct uspi_gdb_jit jit = {.count = 1,
                               .descriptors = {{.address = VARIABLE, .arch = is_arm ? USP_ARCH_ARMV7 : USP_ARCH_I386}}};
    ck_assert_int_eq(uspi_gdb_jit_read(&jit, &memory, &map), USP_OK);
    ck_assert_str_eq(name_at(CODE), "first");
    builder_free(&b);
}
END_TEST

/* ---- files ---- */

static void write_file(const char *path, const char *text, const char *mode) {
    FILE *file = fopen(path, mode);
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

START_TEST(files_that_are_refused) {
    struct uspi_os_file file;
    write_file(in_folder("good"), "1000 10 f\n", "w");
    ck_assert_int_eq(uspi_os_trusted_file(folder, "good", &file), USP_OK);
    ck_assert_uint_eq(file.size, 10);
    uspi_os_file_close(&file);
    ck_assert_int_eq(uspi_os_trusted_file(folder, "none", &file), USP_ERROR_NOT_FOUND);
    ck_assert_int_eq(symlink("good", in_folder("link")), 0);
    ck_assert_int_eq(uspi_os_trusted_file(folder, "link", &file), USP_ERROR_PERMISSION);
    ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
    ck_assert_int_eq(uspi_os_trusted_file(folder, "pipe", &file), USP_ERROR_FORMAT);
    ck_assert_int_eq(mkdir(in_folder("folder"), 0700), 0);
    ck_assert_int_eq(uspi_os_trusted_file(folder, "folder", &file), USP_ERROR_FORMAT);
    /* Another user's file is refused. Only root can change a file's owner. */
    if (geteuid() == 0 && chown(in_folder("good"), 12345, (gid_t)-1) == 0) {
        ck_assert_int_eq(uspi_os_trusted_file(folder, "good", &file), USP_ERROR_PERMISSION);
    }
}
END_TEST

/* ---- this process ---- */

static const char *perf_map_path(void) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/perf-%ld.map", (long)getpid());
    return path;
}

START_TEST(code_of_this_process) {
    struct usp_symbolizer *symbolizer;
    struct usp_symbol symbol;
    char line[128];
    /* Without a backend for the host, nothing is known of this process. */
    if (uspi_os_kind() != USP_OS_LINUX || usp_arch_host() == USP_ARCH_NONE) return;
    void *code = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(code, MAP_FAILED);
    const usp_addr address = (usp_addr)(uintptr_t)code;
    snprintf(line, sizeof line, "%llx 100 before\n", (unsigned long long)address);
    unlink(perf_map_path());
    write_file(perf_map_path(), line, "wx");
    ck_assert_int_eq(usp_symbolizer_create(NULL, NULL, &symbolizer), USP_OK);
    ck_assert_int_eq(usp_symbolize(symbolizer, address + 16, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "before");
    ck_assert_uint_eq(symbol.start, address);
    ck_assert_uint_eq(symbol.extent, 0x100);
    ck_assert_uint_eq(symbol.offset, 16);
    ck_assert_uint_eq(symbol.strategy, USP_STRATEGY_PERF_MAP);
    ck_assert_str_eq(usp_strategy_string(symbol.strategy), "perf-map");
    ck_assert_ptr_null(symbol.image_path);
    ck_assert_int_eq(usp_symbolize(symbolizer, address + 0x100, &symbol), USP_ERROR_NOT_FOUND);
    ck_assert_ptr_null(symbol.name);

    /* A source frame without a line. */
    struct usp_source_frame frames[2];
    struct usp_lines lines;
    usp_lines_init(&lines, frames, 2);
    ck_assert_int_eq(usp_symbolize_lines(symbolizer, address + 16, &lines), USP_OK);
    ck_assert_uint_eq(lines.count, 1);
    ck_assert_str_eq(frames[0].function, "before");
    ck_assert_uint_eq(frames[0].named_by, USP_STRATEGY_PERF_MAP);
    ck_assert_uint_eq(frames[0].start, address);
    ck_assert_uint_eq(frames[0].line, 0);

    /* More lines are appended, for the same address; then the file is written anew. A function of an image must never
     * get its name from it. */
    const usp_addr own = (usp_addr)(uintptr_t)usp_symbolize;
    snprintf(line, sizeof line, "%llx 10 after\n%llx 1000 wrong\n", (unsigned long long)address + 8,
             (unsigned long long)own - 16);
    write_file(perf_map_path(), line, "a");
    ck_assert_int_eq(usp_symbolize(symbolizer, address + 16, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "after");
    ck_assert_int_eq(usp_symbolize(symbolizer, own + 4, &symbol), USP_OK);
    ck_assert_str_ne(symbol.name, "wrong");
    write_file(perf_map_path(), "1 1 x\n", "w");
    ck_assert_int_eq(usp_symbolize(symbolizer, address + 16, &symbol), USP_ERROR_NOT_FOUND);
    snprintf(line, sizeof line, "%llx 100 again\n", (unsigned long long)address);
    write_file(perf_map_path(), line, "a");
    usp_symbolizer_trim(symbolizer);
    ck_assert_int_eq(usp_symbolize(symbolizer, address + 16, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "again");
    usp_symbolizer_free(symbolizer);
    unlink(perf_map_path());
}
END_TEST

/* A process that has ended: files beside its core, and below the system root. */
START_TEST(files_of_a_process_that_has_ended) {
    struct usp_images *images;
    struct usp_symbolizer *symbolizer;
    struct usp_symbolizer_options options;
    struct usp_symbol symbol;
    write_file(in_folder("perf-4242.map"), "1000 10 beside\n", "w");
    ck_assert_int_eq(mkdir(in_folder("tmp"), 0700), 0);
    write_file(in_folder("tmp/perf-4243.map"), "1000 10 below\n", "w");
    ck_assert_int_eq(usp_images_create(NULL, 0, &images), USP_OK);
    for (int64_t id = 4241; id <= 4244; id++) {
        usp_symbolizer_options_init(&options);
        options.recorded_process = id;
        options.folder = options.sysroot = folder;
        ck_assert_int_eq(usp_symbolizer_create(images, &options, &symbolizer), USP_OK);
        const bool is_there = id == 4242 || id == 4243;
        ck_assert_int_eq(usp_symbolize(symbolizer, 0x1008, &symbol), is_there ? USP_OK : USP_ERROR_NOT_FOUND);
        if (is_there) ck_assert_str_eq(symbol.name, id == 4242 ? "beside" : "below");
        usp_symbolizer_free(symbolizer);
    }
    usp_images_free(images);
}
END_TEST

int main(void) {
    TCase *pieces = tcase_create("pieces"), *files = tcase_create("files");
    tcase_add_checked_fixture(pieces, NULL, clear_map);
    add_tests(pieces, the_newest_piece_wins, pieces_that_cannot_be_are_left_out);
    add_loop_tests(pieces, 0, 100, any_pieces_as_one_by_one);
    add_tests(pieces, lines_of_a_perf_map, a_perf_map_that_grows, a_perf_map_ends_at_a_nul, a_perf_map_of_many_pieces);
    add_loop_tests(pieces, 0, 2, records_of_a_jitdump);
    add_tests(pieces, a_jitdump_that_grows, jitdumps_that_are_none, a_jitdump_of_many_records);
    add_tests(pieces, lines_after_an_elf_header, lines_of_the_code_itself, lines_with_damaged_paths,
              lines_that_make_no_sense);
    add_loop_tests(pieces, 0, 2, functions_of_an_object);
    add_tests(pieces, lists_of_objects);
    add_loop_tests(pieces, 0, 2, lists_of_narrow_processors);
    tcase_add_checked_fixture(files, make_folder, remove_folder);
    add_tests(files, files_that_are_refused, code_of_this_process, files_of_a_process_that_has_ended);
    return run_suite("jit", pieces, files);
}
