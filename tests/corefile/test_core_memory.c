/* SPDX-License-Identifier: MIT */
/* Tests a core's memory alone: segments and backing files in any order, with every kind of overlap. */
#include <check.h>
#include <string.h>

#include "lib/corefile/memory.h"
#include "tests/support/suite.h"

static struct uspi_core_memory memory;
static struct uspi_source core_source, file_source;
static uint8_t core_bytes[4096], file_bytes[4096];

static void begin(void) {
    memset(&memory, 0, sizeof memory);
    for (size_t i = 0; i < sizeof core_bytes; i++) core_bytes[i] = (uint8_t)(i % 251);
    memset(file_bytes, 0xfe, sizeof file_bytes);
    core_source = (struct uspi_source){.name = "core", .base = core_bytes};
    file_source = (struct uspi_source){.name = "file", .base = file_bytes};
    memory.core = (struct uspi_bytes){&core_source, 0, sizeof core_bytes};
}

static void end(void) { uspi_core_memory_clear(&memory); }

/* Adds a segment for the addresses low … high − 1; the core has all its bytes, from `offset` on. */
static void add(usp_addr low, usp_addr high, uint64_t offset) {
    struct uspi_core_segment segment = {.low = low,
                                        .size = high - low,
                                        .stored = high - low,
                                        .promised = high - low,
                                        .offset = offset,
                                        .access = USPI_CORE_READ,
                                        .order = memory.segment_count};
    ck_assert_int_eq(uspi_core_memory_add(&memory, &segment), USP_OK);
}

static int byte_at(usp_addr address) {
    uint8_t byte;
    int status = uspi_core_memory_read(&memory, address, &byte, 1);
    return status == USP_OK ? byte : status;
}

START_TEST(overlaps) {
    add(150, 400, 1000); /* is cut to 300 … 399 */
    add(100, 300, 0);
    add(120, 180, 2000); /* lies within the segment before */
    add(350, 360, 3000); /* begins below the end of the segment that was cut */
    add(390, 450, 3100);
    ck_assert_uint_eq(uspi_core_memory_seal(&memory), 4);
    ck_assert_uint_eq(memory.segment_count, 3);
    for (usp_addr at = 90; at < 460; at++) {
        int expected = at < 100 || at >= 450 ? USP_ERROR_UNREADABLE
                       : at < 300            ? (int)((at - 100) % 251)
                       : at < 400            ? (int)((1000 + at - 150) % 251)
                                             : (int)((3100 + at - 390) % 251);
        ck_assert_int_eq(byte_at(at), expected);
    }
}
END_TEST

/* Of two segments with the same start, the earlier one in the core counts. */
START_TEST(equal_beginnings) {
    add(100, 200, 500);
    add(100, 300, 900);
    ck_assert_uint_eq(uspi_core_memory_seal(&memory), 1);
    ck_assert_int_eq(byte_at(150), 550 % 251);
    ck_assert_int_eq(byte_at(250), 1050 % 251);
}
END_TEST

START_TEST(end_of_the_address_space) {
    add(UINT64_MAX - 9, UINT64_MAX, 0);
    memory.segments[0].size = memory.segments[0].stored = memory.segments[0].promised = 10;
    add(UINT64_MAX - 4, UINT64_MAX, 100);
    ck_assert_uint_eq(uspi_core_memory_seal(&memory), 1);
    ck_assert_int_eq(byte_at(UINT64_MAX), 9);
    uint8_t raw[2];
    ck_assert_int_eq(uspi_core_memory_read(&memory, UINT64_MAX, raw, 2), USP_ERROR_UNREADABLE);
}
END_TEST

/* A file may supply bytes only if the core lists none, the range is not writable, and the file has them. */
START_TEST(backing) {
    static const struct {
        uint64_t stored, promised;
        uint32_t access;
        int there, after;
    } cases[] = {{50, 50, USPI_CORE_READ, 0xfe, 0xfe},
                 {50, 60, USPI_CORE_READ, USP_ERROR_ABSENT, 0xfe},
                 {50, 50, USPI_CORE_READ | USPI_CORE_WRITE, USP_ERROR_ABSENT, USP_ERROR_ABSENT}};
    struct uspi_core_segment segment = {.low = 100, .size = 100, .offset = 7};
    segment.stored = cases[_i].stored;
    segment.promised = cases[_i].promised;
    segment.access = cases[_i].access;
    ck_assert_int_eq(uspi_core_memory_add(&memory, &segment), USP_OK);
    /* The segment needed first is listed last; one that another covers must not be used. */
    struct uspi_core_backing backings[] = {
        {210, 30, {&file_source, 0, 5}}, {100, 90, {&file_source, 0, 90}}, {110, 5, {&core_source, 0, 5}}};
    for (size_t i = 0; i < 3; i++) ck_assert_int_eq(uspi_core_memory_back(&memory, &backings[i]), USP_OK);
    uspi_core_memory_seal(&memory);
    ck_assert_int_eq(byte_at(149), 56);
    ck_assert_int_eq(byte_at(150), cases[_i].there);
    ck_assert_int_eq(byte_at(165), cases[_i].after);
    ck_assert_int_eq(byte_at(195), USP_ERROR_ABSENT);
    ck_assert_int_eq(byte_at(205), USP_ERROR_UNREADABLE);
    ck_assert_int_eq(byte_at(214), 0xfe);
    ck_assert_int_eq(byte_at(215), USP_ERROR_ABSENT);
    ck_assert_int_eq(byte_at(240), USP_ERROR_UNREADABLE);
}
END_TEST

START_TEST(what_is_lacking) {
    add(100, 200, 0);
    add(200, 300, 100);
    struct uspi_core_segment writable = {.low = 300, .size = 100, .access = USPI_CORE_WRITE};
    struct uspi_core_segment text = {.low = 400, .size = 100, .stored = 50, .promised = 50, .access = USPI_CORE_READ};
    ck_assert_int_eq(uspi_core_memory_add(&memory, &writable), USP_OK);
    ck_assert_int_eq(uspi_core_memory_add(&memory, &text), USP_OK);
    uspi_core_memory_seal(&memory);
    ck_assert(!uspi_core_memory_lacks(&memory, 100, 350));
    ck_assert(uspi_core_memory_lacks(&memory, 100, 351));
    ck_assert(uspi_core_memory_lacks(&memory, 460, 1));
    ck_assert(uspi_core_memory_lacks(&memory, 99, 1));
    ck_assert(uspi_core_memory_lacks(&memory, 1000, UINT64_MAX));
    ck_assert(!uspi_core_memory_lacks(&memory, 1000, 0));
}
END_TEST

int main(void) {
    TCase *cases = tcase_create("memory");
    tcase_add_checked_fixture(cases, begin, end);
    add_tests(cases, overlaps, equal_beginnings, end_of_the_address_space);
    tcase_add_loop_test(cases, backing, 0, 3);
    tcase_add_test(cases, what_is_lacking);
    return run_suite("memory of cores", cases);
}
