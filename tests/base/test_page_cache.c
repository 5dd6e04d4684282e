/* SPDX-License-Identifier: MIT */
/* Tests the cache of pages in front of a memory reader: how often the reader is called, and that one walk sees memory
 * of one moment. test_linux_faults.c tests that a capture makes few calls. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/page_cache.h"
#include "tests/support/suite.h"

#define PAGE  USPI_LEAST_PAGE
#define BASE  UINT64_C(0x7f0000000000)
#define PAGES 8u

static struct {
    uint8_t bytes[PAGES * PAGE];
    bool gone[PAGES]; /* unloaded */
    unsigned reads, bulk_reads;
} process;
static struct uspi_page_cache *cache;

static int read_process(void *context, usp_addr from, void *to, size_t n) {
    uint64_t at = from - BASE;
    (void)context;
    process.reads++;
    if (at >= sizeof process.bytes || n > sizeof process.bytes - at) return USP_ERROR_UNREADABLE;
    for (uint64_t page = at / PAGE; page * PAGE < at + n; page++) {
        if (process.gone[page]) return USP_ERROR_UNREADABLE;
    }
    memcpy(to, process.bytes + at, n);
    return USP_OK;
}

static int read_pieces(const usp_addr *from, size_t count, void *to, size_t size) {
    process.bulk_reads++;
    for (size_t i = 0; i < count; i++) {
        int status = read_process(NULL, from[i], (uint8_t *)to + i * size, size);
        if (status != USP_OK) return status;
    }
    return USP_OK;
}

static void begin(void) {
    memset(&process, 0, sizeof process);
    for (size_t i = 0; i < sizeof process.bytes; i++) process.bytes[i] = (uint8_t)(i * 7 + i / PAGE);
    cache = uspi_page_cache_create((struct usp_memory){read_process, NULL});
    ck_assert_ptr_nonnull(cache);
}

static void end(void) { free(cache); }

static int look(uint64_t at, size_t n) {
    uint8_t bytes[3 * PAGE] = {0};
    int status = uspi_page_cache_read(cache, BASE + at, bytes, n);
    if (status == USP_OK) ck_assert_mem_eq(bytes, process.bytes + at, n);
    return status;
}

START_TEST(a_page_is_read_once) {
    for (unsigned i = 0; i < 100; i++) ck_assert_int_eq(look(i * 16, 16), USP_OK);
    ck_assert_uint_eq(process.reads, 1);
    ck_assert_int_eq(look(PAGE - 4, 2 * PAGE), USP_OK);
    ck_assert_uint_eq(process.reads, 3);
    uspi_page_cache_begin(cache);
    ck_assert_int_eq(look(PAGE, 16), USP_OK);
    ck_assert_uint_eq(process.reads, 3);
    ck_assert_int_eq(look(PAGES * PAGE - 4, 8), USP_ERROR_UNREADABLE);
}
END_TEST

/* A library is unloaded, and another one takes its place while a stack through the first is walked. The walk must not
 * use the new library's instructions: the page stays unreadable for this walk. */
START_TEST(a_header_is_read_once) {
    struct uspi_header_pages pages;
    uint8_t bytes[64];
    const struct usp_memory memory = uspi_header_pages_init(&pages, (struct usp_memory){read_process, NULL});
    for (unsigned image = 0; image < PAGES; image++) {
        const uint64_t load = (uint64_t)image * PAGE;
        for (unsigned at = 0; at < USPI_HEADER_PAGE_SIZE; at += sizeof bytes) {
            ck_assert_int_eq(memory.read(memory.context, BASE + load + at, bytes, sizeof bytes), USP_OK);
            ck_assert_mem_eq(bytes, process.bytes + load + at, sizeof bytes);
        }
        ck_assert_uint_eq(process.reads, image + 1);
    }
}
END_TEST

START_TEST(what_was_gone_stays_gone_for_a_walk) {
    process.gone[2] = true;
    uspi_page_cache_begin(cache);
    ck_assert_int_eq(look(2 * PAGE + 128, 16), USP_ERROR_UNREADABLE);
    process.gone[2] = false;
    ck_assert_int_eq(look(2 * PAGE + 128, 16), USP_ERROR_UNREADABLE);
    ck_assert_int_eq(look(2 * PAGE + 512, 1), USP_ERROR_UNREADABLE);
    ck_assert_int_eq(look(2 * PAGE - 8, 16), USP_ERROR_UNREADABLE);
    ck_assert_int_eq(uspi_page_cache_confirm(cache, read_pieces), USP_OK);
    uspi_page_cache_begin(cache);
    ck_assert_int_eq(look(2 * PAGE + 128, 16), USP_OK);
}
END_TEST

START_TEST(what_was_kept_is_confirmed) {
    uspi_page_cache_begin(cache);
    ck_assert_int_eq(look(0, 2 * PAGE), USP_OK);
    ck_assert_int_eq(uspi_page_cache_confirm(cache, read_pieces), USP_OK);
    /* The pages were read in this walk, so there was nothing to confirm. */
    ck_assert_uint_eq(process.bulk_reads, 0);
    uspi_page_cache_begin(cache);
    ck_assert_int_eq(look(16, 16), USP_OK);
    ck_assert_int_eq(uspi_page_cache_confirm(cache, read_pieces), USP_OK);
    ck_assert_uint_eq(process.bulk_reads, 1);
    /* A page in which this walk read nothing may have changed. */
    process.bytes[PAGE + 5]++;
    uspi_page_cache_begin(cache);
    ck_assert_int_eq(look(16, 16), USP_OK);
    ck_assert_int_eq(uspi_page_cache_confirm(cache, read_pieces), USP_OK);
}
END_TEST

/* A walk would use bytes of code that has changed or was unloaded since. Confirming must fail, and the next walk must
 * read the page again. */
START_TEST(what_is_no_longer_so_is_read_again) {
    for (unsigned gone = 0; gone < 2; gone++) {
        uint8_t byte;
        uspi_page_cache_begin(cache);
        ck_assert_int_eq(look(16, 16), USP_OK);
        process.bytes[100] ^= 0xff;
        process.gone[0] = gone != 0;
        uspi_page_cache_begin(cache);
        /* The old byte: the reader does not know yet that the page has changed. */
        ck_assert_int_eq(uspi_page_cache_read(cache, BASE + 100, &byte, 1), USP_OK);
        ck_assert_int_eq(uspi_page_cache_confirm(cache, read_pieces), USP_ERROR_BUSY);
        uspi_page_cache_begin(cache);
        ck_assert_int_eq(look(100, 1), gone != 0 ? USP_ERROR_UNREADABLE : USP_OK);
        ck_assert_int_eq(uspi_page_cache_confirm(cache, read_pieces), USP_OK);
    }
}
END_TEST

int main(void) {
    TCase *c = tcase_create("page_cache");
    tcase_add_checked_fixture(c, begin, end);
    add_tests(c, a_page_is_read_once, a_header_is_read_once, what_was_gone_stays_gone_for_a_walk,
              what_was_kept_is_confirmed, what_is_no_longer_so_is_read_again);
    return run_suite("page_cache", c);
}
