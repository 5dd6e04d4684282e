/* SPDX-License-Identifier: MIT */
/* Tests a compressed section that is decompressed in parts or at once (lib/images/packed_section.h): when memory runs
 * out, also in the middle of the section, and when the compressed bytes are damaged. */
#define _GNU_SOURCE 1
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/images/packed_section.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/file_builder.h"
#include "tests/support/suite.h"

#ifdef HAVE_ZLIB
#define SIZE ((size_t)1 << 20)

static struct builder packed;
static struct uspi_source source;
static struct uspi_packed_section *section;

static uint8_t byte_at(size_t i) { return (uint8_t)(i * 7 + i / 1000); }

/* Makes a zlib stream of SIZE bytes, with stored blocks. */
static void build_stream(void) {
    uint32_t a = 1, b = 0;
    put(&packed, 2, 0x0178);
    for (size_t at = 0; at < SIZE;) {
        const size_t left = SIZE - at, n = left < 0xffff ? left : 0xffff;
        put(&packed, 1, n == left);
        put(&packed, 2, n);
        put(&packed, 2, ~n);
        for (const size_t end = at + n; at < end; at++) {
            put(&packed, 1, byte_at(at));
            a = (a + byte_at(at)) % 65521;
            b = (b + a) % 65521;
        }
    }
    put_be(&packed, 4, b << 16 | a);
}

static void set_up(void) {
    build_stream();
    source = (struct uspi_source){.base = packed.bytes, .name = "stream"};
    const struct uspi_packing_header header = {USPI_PACKED_ZLIB, {&source, 0, packed.size}, SIZE};
    ck_assert_int_eq(uspi_packed_section_open(&header, &section), USP_OK);
}

static void tear_down(void) {
    uspi_packed_section_free(section);
    builder_free(&packed);
}

static bool is_right(size_t end) {
    for (size_t i = 0; i < end; i++) {
        if (section->bytes[i] != byte_at(i)) return false;
    }
    return true;
}

/* Asks for the first `end` bytes while allocations fail in turn, until none fails. Returns how many did; -1 when an
 * answer was wrong, or `done` bytes were. */
static int need_without_memory(size_t end, size_t done) {
    const long held = allocations_held();
    for (long n = 1; n < 100; n++) {
        fail_allocation(n);
        const int status = uspi_packed_section_need(section, end);
        const bool had_all = allocation_still_to_fail();
        fail_allocation(0);
        if (had_all) return status == USP_OK && is_right(end) ? (int)n - 1 : -1;
        if (status != USP_ERROR_NO_MEMORY || !is_right(done) || allocations_held() != held) return -1;
        if (atomic_load(&section->shortages) != (uint32_t)n || atomic_load(&section->status) != USP_OK) return -1;
    }
    return -1;
}

/* The steps, zlib's state and its window are allocated. */
#define ALLOCATIONS 3

START_TEST(memory_runs_out_at_the_start) {
    const long held = allocations_held();
    ck_assert_int_ge(need_without_memory(1000, 0), ALLOCATIONS);
    ck_assert_int_eq(uspi_packed_section_need(section, SIZE), USP_OK);
    ck_assert(is_right(SIZE));
    ck_assert_int_eq(allocations_held(), held);
}
END_TEST

/* Makes the pages of the first `done` bytes that hold nothing else read-only. */
static void protect(size_t done) {
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), bytes = (uintptr_t)section->bytes;
    const uintptr_t low = (bytes + page - 1) & ~(page - 1), high = (bytes + done) & ~(page - 1);
    ck_assert_uint_gt(high, low);
    ck_assert_int_eq(mprotect((void *)low, high - low, PROT_READ), 0);
}

/* In the child of a fork, decompressing begins again in the middle of a section, because the thread that was
 * decompressing does not exist there. What was decompressed before may be in use: it is not written again. */
START_TEST(memory_runs_out_in_the_middle) {
    const size_t part = SIZE / 8;
    ck_assert_int_eq(uspi_packed_section_need(section, part), USP_OK);
    uspi_lock_take(section->lock);
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        protect(part);
        _exit(need_without_memory(SIZE - SIZE / 4, part) >= ALLOCATIONS &&
                      uspi_packed_section_need(section, SIZE) == USP_OK && is_right(SIZE)
                  ? 0
                  : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child's status is 0x%x", (unsigned)status);
    uspi_lock_give(section->lock);
    ck_assert_int_eq(uspi_packed_section_need(section, SIZE), USP_OK);
    ck_assert(is_right(SIZE));
}
END_TEST

/* Expecting all bytes decompresses them at once where libdeflate is there, and otherwise nothing. */
START_TEST(all_is_expected) {
    const long held = allocations_held();
    uspi_packed_section_expect_all(section);
    const size_t done = atomic_load(&section->done);
    ck_assert_msg(done == 0 || done == SIZE, "%zu of %zu bytes are decompressed", done, SIZE);
#ifdef HAVE_DEFLATE
    ck_assert_msg(done == SIZE, "the build has libdeflate, and nothing was decompressed");
#endif
    ck_assert_int_eq(uspi_packed_section_need(section, SIZE), USP_OK);
    ck_assert(is_right(SIZE));
    ck_assert_int_eq(allocations_held(), held);
}
END_TEST

/* With a wrong checksum the whole is refused; the bytes before it still can be read, whether or not all were expected. */
START_TEST(damage_leaves_the_part_before_it) {
    packed.bytes[packed.size - 1] ^= 1;
    if (_i == 1) uspi_packed_section_expect_all(section);
    ck_assert_int_eq(uspi_packed_section_need(section, SIZE / 2), USP_OK);
    ck_assert(is_right(SIZE / 2));
    ck_assert_int_eq(uspi_packed_section_need(section, SIZE), USP_ERROR_FORMAT);
    ck_assert(is_right(SIZE / 2));
}
END_TEST

int main(void) {
    TCase *memory = tcase_create("memory");
    tcase_add_checked_fixture(memory, set_up, tear_down);
    add_tests(memory, memory_runs_out_at_the_start, memory_runs_out_in_the_middle);
    tcase_add_test(memory, all_is_expected);
    tcase_add_loop_test(memory, damage_leaves_the_part_before_it, 0, 2);
    return run_suite("packed section", memory);
}
#else
int main(void) { return 77; }
#endif
