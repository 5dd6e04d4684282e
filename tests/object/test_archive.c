/* SPDX-License-Identifier: MIT */
/* Tests archives by their bytes: names and members in BSD's and System V's formats, and damaged archives. */
#include "lib/images/file.h"
#include "lib/object/archive.h"
#include "lib/object/identify.h"
#include "tests/support/archive_file.h"
#include "tests/support/built_file.h"
#include "tests/support/suite.h"

#include <check.h>

static struct uspi_archive archive;
static struct uspi_member member;

static void put_member(const char *name, const char *content) { put_member_of(&file, name, content, strlen(content)); }

static void put_bsd_member(const char *name, const char *content) {
    put_bsd_member_of(&file, name, content, strlen(content));
}

static void begin(void) {
    builder_free(&file);
    put_archive_magic(&file);
}

static void expect(const char *name, const char *content) {
    char bytes[64] = {0};
    int got = uspi_archive_next(&archive, &member, &error);
    ck_assert_msg(got == 1, "%s: %d %s", name, got, got < 0 ? error.text : "");
    ck_assert_str_eq(member.name, name);
    ck_assert_uint_eq(member.bytes.size, strlen(content));
    ck_assert_int_eq(uspi_bytes_read(member.bytes, 0, bytes, strlen(content), "content", &error), USP_OK);
    ck_assert_str_eq(bytes, content);
}

static void open_archive(void) { ck_assert_int_eq(uspi_archive_open(&archive, all(), &error), USP_OK); }

static void expect_end(void) {
    ck_assert_int_eq(uspi_archive_next(&archive, &member, &error), 0);
    ck_assert_int_eq(uspi_archive_next(&archive, &member, &error), 0);
}

START_TEST(bsd) {
    begin();
    put_bsd_member("__.SYMDEF SORTED", "table");
    put_member("short.o", "one");
    put_bsd_member("a name that is longer than sixteen bytes.o", "two!");
    put_member("._short.o", "AppleDouble");
    put_member("last.o", "3");
    ck_assert_int_eq((int)uspi_identify(all()), (int)USPI_FORMAT_ARCHIVE);
    open_archive();
    expect("short.o", "one");
    expect("a name that is longer than sixteen bytes.o", "two!");
    expect("last.o", "3");
    expect_end();
}
END_TEST

START_TEST(system_v) {
    begin();
    put_member("/", "table");
    put_member("/SYM64/", "table");
    put_member("//", "a_rather_long_member_name.o/\nanother_rather_long_name.o/\n");
    put_member("short.o/", "one");
    put_member("/0", "two");
    put_member("with blank.o/", "three");
    put_member("/29", "four");
    open_archive();
    expect("short.o", "one");
    expect("a_rather_long_member_name.o", "two");
    expect("with blank.o", "three");
    expect("another_rather_long_name.o", "four");
    expect_end();
}
END_TEST

/* A walk that begins at a member's offset: the table of names before it must have been read, or the member's name
 * cannot be. */
START_TEST(at_an_offset) {
    uint64_t offsets[3];
    begin();
    put_member("/", "table");
    put_member("//", "a_rather_long_member_name.o/\n");
    put_member("first.o/", "one");
    put_member("/0", "two");
    put_bsd_member("a name with blanks", "three");
    open_archive();
    for (unsigned i = 0; i < 3; i++) {
        ck_assert_int_eq(uspi_archive_next(&archive, &member, &error), 1);
        offsets[i] = member.offset;
    }
    static const char *const names[] = {"first.o", "a_rather_long_member_name.o", "a name with blanks"};
    for (unsigned i = 0; i < 3; i++) {
        open_archive();
        ck_assert_int_eq(uspi_archive_at(&archive, offsets[i], &member, &error), USP_OK);
        ck_assert_str_eq(member.name, names[i]);
        ck_assert_uint_eq(member.offset, offsets[i]);
    }
    const uint64_t nowhere[] = {0, 8, offsets[0] - 1, offsets[1] + 2, offsets[2] - 2, file.size, UINT64_MAX};
    for (unsigned i = 0; i < sizeof nowhere / sizeof *nowhere; i++) {
        open_archive();
        ck_assert_int_lt(uspi_archive_at(&archive, nowhere[i], &member, &error), 0);
        ck_assert_ptr_nonnull(strstr(error.text, "offset 0x"));
    }
}
END_TEST

/* Each member of an archive is found by its offset. Reading all tables before it each time would take n * n steps. */
START_TEST(many_tables) {
    for (unsigned tables = 3; tables <= 4; tables++) {
        begin();
        for (unsigned i = 0; i < tables; i++) put_member("/", "table");
        put_member("//", "a_rather_long_member_name.o/\n");
        put_member("/0", "one");
        put_member("last.o/", "two");
        open_archive();
        expect("a_rather_long_member_name.o", "one");
        const uint64_t long_named = member.offset;
        expect("last.o", "two");
        const uint64_t last = member.offset;
        open_archive();
        ck_assert_int_eq(uspi_archive_at(&archive, last, &member, &error), USP_OK);
        open_archive();
        ck_assert_int_eq(uspi_archive_at(&archive, long_named, &member, &error),
                         tables == 3 ? USP_OK : USP_ERROR_TRUNCATED);
    }
}
END_TEST

START_TEST(empty_archive) {
    begin();
    open_archive();
    expect_end();
}
END_TEST

START_TEST(thin) {
    builder_free(&file);
    put_bytes(&file, "!<thin>\n", 8);
    ck_assert_int_eq((int)uspi_identify(all()), (int)USPI_FORMAT_ARCHIVE);
    ck_assert_int_eq(uspi_archive_open(&archive, all(), &error), USP_ERROR_UNSUPPORTED);
    file.bytes[2] = 'x';
    ck_assert_int_eq(uspi_archive_open(&archive, all(), &error), USP_ERROR_FORMAT);
}
END_TEST

static const struct {
    const char *name, *size, *content;
    int status;
    const char *says;
} damaged[] = {
    {"short.o", "100", "x", USP_ERROR_TRUNCATED, "member needs 100 bytes, 1 are left"},
    {"short.o", "9999999999", "x", USP_ERROR_TRUNCATED, "member needs"},
    {"short.o", "1x", "x", USP_ERROR_FORMAT, "not a member's header"},
    {"short.o", "-1", "x", USP_ERROR_FORMAT, "not a member's header"},
    {"short.o", "", "x", USP_ERROR_FORMAT, "not a member's header"},
    {"#1/5", "4", "name", USP_ERROR_TRUNCATED, "name of a member needs 5 bytes, 4 are left"},
    {"#1/", "4", "name", USP_ERROR_FORMAT, "a member without a name"},
    {"/7", "4", "name", USP_ERROR_TRUNCATED, "name of a member"},
};

START_TEST(damage) {
    begin();
    put_member_header(&file, damaged[_i].name, damaged[_i].size);
    put_bytes(&file, damaged[_i].content, strlen(damaged[_i].content));
    open_archive();
    ck_assert_int_eq(uspi_archive_next(&archive, &member, &error), damaged[_i].status);
    ck_assert_msg(strstr(error.text, damaged[_i].says) != NULL, "%s", error.text);
}
END_TEST

START_TEST(every_truncation) {
    begin();
    put_member("//", "a_rather_long_member_name.o/\n");
    put_member("/0", "one");
    put_bsd_member("another long member name.o", "two");
    const size_t whole = file.size;
    for (size_t n = 8; n < whole; n++) {
        uint8_t *copy;
        int got;
        ck_assert_int_eq(uspi_archive_open(&archive, first(n, &copy), &error), USP_OK);
        unsigned members = 0;
        while ((got = uspi_archive_next(&archive, &member, &error)) > 0) members++;
        ck_assert_uint_le(members, n == whole - 1 ? 2 : 1);
        free(copy);
    }
}
END_TEST

int main(void) {
    TCase *t = tcase_create("archive");
    tcase_add_checked_fixture(t, NULL, free_file);
    add_tests(t, bsd, system_v, at_an_offset, many_tables, empty_archive, thin);
    tcase_add_loop_test(t, damage, 0, ELEMENTS(damaged));
    tcase_add_test(t, every_truncation);
    return run_suite("archive", t);
}
