/* SPDX-License-Identifier: MIT */
/* Tests tables of function starts by bytes: the function that holds a pc, and the results of damaged tables. */
#include <check.h>

#include "lib/unwind/tables/function_starts.h"
#include "tests/support/file_builder.h"
#include "tests/support/suite.h"

#define IMAGE UINT64_C(0x100000000)

static struct builder table;

static void free_table(void) { builder_free(&table); }

static void put_number(uint64_t n) {
    for (; n >= 0x80; n >>= 7) put(&table, 1, 0x80 | (n & 0x7f));
    put(&table, 1, n);
}

static bool find(const struct uspi_backend *backend, usp_addr pc, usp_addr *start, usp_addr *end) {
    const struct uspi_source source = {.name = "table", .base = table.bytes};
    return uspi_function_starts_find(backend, (struct uspi_bytes){&source, 0, table.size}, IMAGE, pc, start, end);
}

static void expect(const struct uspi_backend *backend, usp_addr pc, usp_addr start, usp_addr end) {
    usp_addr got_start = 1, got_end = 1;
    ck_assert_msg(find(backend, pc, &got_start, &got_end), "nothing for 0x%llx", (unsigned long long)pc);
    ck_assert_uint_eq(got_start, start);
    ck_assert_uint_eq(got_end, end);
}

static void expect_nothing(usp_addr pc) {
    usp_addr start, end;
    ck_assert(!find(&uspi_arm64, pc, &start, &end));
}

START_TEST(three_functions) {
    put_number(0x4000);
    put_number(0x10);
    put_number(0x1234);
    put(&table, 4, 0); /* padding */
    expect_nothing(IMAGE - 1);
    expect_nothing(IMAGE);
    expect_nothing(IMAGE + 0x3fff);
    expect(&uspi_arm64, IMAGE + 0x4000, IMAGE + 0x4000, IMAGE + 0x4010);
    expect(&uspi_arm64, IMAGE + 0x400f, IMAGE + 0x4000, IMAGE + 0x4010);
    expect(&uspi_arm64, IMAGE + 0x4010, IMAGE + 0x4010, IMAGE + 0x5244);
    expect(&uspi_arm64, IMAGE + 0x5244, IMAGE + 0x5244, 0);
    expect(&uspi_arm64, IMAGE + 0xffffff, IMAGE + 0x5244, 0);
}
END_TEST

/* The Thumb bit is part of the running sum, so that a delta can be odd. */
START_TEST(thumb) {
    put_number(0x4001);
    put_number(0x0f);
    put_number(0x11);
    expect(&uspi_armv7, IMAGE + 0x4000, IMAGE + 0x4000, IMAGE + 0x4010);
    expect(&uspi_armv7, IMAGE + 0x4010, IMAGE + 0x4010, IMAGE + 0x4020);
    expect(&uspi_armv7, IMAGE + 0x4020, IMAGE + 0x4020, 0);
}
END_TEST

/* A table longer than one read, with numbers of every length across the boundaries of reads. */
START_TEST(many_functions) {
    usp_addr starts[3000];
    usp_addr at = IMAGE;
    for (unsigned i = 0; i < 3000; i++) {
        uint64_t n = (uint64_t)4 << (i % 5 * 7);
        put_number(n);
        at += n;
        starts[i] = at;
    }
    for (unsigned i = 0; i + 1 < 3000; i++) {
        expect(&uspi_arm64, starts[i], starts[i], starts[i + 1]);
        expect(&uspi_arm64, starts[i + 1] - 1, starts[i], starts[i + 1]);
    }
    expect(&uspi_arm64, starts[2999] + 100, starts[2999], 0);
}
END_TEST

START_TEST(damaged) {
    expect_nothing(IMAGE + 0x4000); /* an empty table */
    put_number(0x4000);
    put(&table, 1, 0x80); /* a number that does not end */
    expect_nothing(IMAGE + 0x4000);
    free_table();
    put_number(0x4000);
    put_number(UINT64_MAX); /* wraps around the address space */
    expect_nothing(IMAGE + 0x4000);
    free_table();
    put_number(0x4000);
    for (unsigned i = 0; i < 11; i++) put(&table, 1, 0xff); /* more than 64 bits */
    expect_nothing(IMAGE + 0x4000);
    free_table();
    put(&table, 4, 0);
    expect_nothing(IMAGE + 0x4000);
}
END_TEST

/* Memory that cannot be read, and an impossible size, must give no function. */
START_TEST(unreadable) {
    put_number(0x4000);
    const struct uspi_source source = {.name = "table", .base = table.bytes};
    usp_addr start, end;
    ck_assert(!uspi_function_starts_find(&uspi_arm64, (struct uspi_bytes){&source, 0, UINT64_C(1) << 40}, IMAGE,
                                         IMAGE + 0x4000, &start, &end));
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("tables");
    tcase_add_checked_fixture(tests, NULL, free_table);
    add_tests(tests, three_functions, thumb, many_functions, damaged, unreadable);
    return run_suite("function_starts", tests);
}
