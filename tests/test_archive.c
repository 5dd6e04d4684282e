/* SPDX-License-Identifier: MIT */
/* Archives by their bytes: the names and members that BSD's and System V's formats give, and damaged ones. */
#include "lib/object/archive.h"
#include "lib/object/file.h"
#include "tests/built_file.h"

#include <check.h>

#define HEADER 60

static struct uspi_archive archive;
static struct uspi_member member;

/* A member's header; `size` as text, so that it can be wrong. */
static void put_header(const char *name, const char *size) {
    char header[HEADER + 1];
    snprintf(header, sizeof header, "%-16.16s%-12s%-6s%-6s%-8s%-10.10s`\n", name, "0", "0", "0", "644", size);
    put_bytes(&file, header, HEADER);
}

static void put_member(const char *name, const char *content) {
    char size[32];
    snprintf(size, sizeof size, "%zu", strlen(content));
    put_header(name, size);
    put_bytes(&file, content, strlen(content));
    if (strlen(content) % 2 != 0) put_bytes(&file, "\n", 1);
}

/* BSD's way of a name that is long or has blanks. */
static void put_bsd_member(const char *name, const char *content) {
    char size[32], place[32];
    const size_t length = (strlen(name) + 3) / 4 * 4;
    snprintf(size, sizeof size, "%zu", strlen(content) + length);
    snprintf(place, sizeof place, "#1/%zu", length);
    put_header(place, size);
    put_name(&file, name, length);
    put_bytes(&file, content, strlen(content));
    if (strlen(content) % 2 != 0) put_bytes(&file, "\n", 1);
}

static void begin(void) {
    builder_free(&file);
    put_bytes(&file, "!<arch>\n", 8);
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

START_TEST(empty_archive) {
    begin();
    open_archive();
    expect_end();
}
END_TEST

START_TEST(thin) {
    builder_free(&file);
    put_bytes(&file, "!<thin>\n", 8);
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
    put_header(damaged[_i].name, damaged[_i].size);
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
    Suite *suite = suite_create("archive");
    TCase *t = tcase_create("archive");
    tcase_add_checked_fixture(t, NULL, free_file);
    tcase_add_test(t, bsd);
    tcase_add_test(t, system_v);
    tcase_add_test(t, empty_archive);
    tcase_add_test(t, thin);
    tcase_add_loop_test(t, damage, 0, (int)(sizeof damaged / sizeof *damaged));
    tcase_add_test(t, every_truncation);
    suite_add_tcase(suite, t);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
