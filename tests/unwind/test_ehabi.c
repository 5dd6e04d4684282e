/* SPDX-License-Identifier: MIT */
/* Tests ARM's exception tables by bytes: every instruction of their programs, every form of an entry, every kind of
 * malformed table. tests/unwind/ehabi.sh tests what compilers write. */
#include <check.h>

#include "lib/unwind/tables/ehabi.h"
#include "tests/support/ehabi_table.h"
#include "tests/support/rule_text.h"
#include "tests/support/suite.h"

#define CORRUPT "corrupt"
#define REFUSED "cannot unwind"
#define NOTHING "not described"

static const char *answer_text(enum uspi_described answer, const struct uspi_rule *rule, char text[RULE_TEXT]) {
    switch (answer) {
    case USPI_DESCRIBED: return rule_text(USP_ARCH_ARMV7, rule, text);
    case USPI_TABLE_CORRUPT: return CORRUPT;
    case USPI_CANNOT_UNWIND: return REFUSED;
    case USPI_NOT_DESCRIBED: return NOTHING;
    default: return "by CFI";
    }
}

/* ---- programs ---- */

#define LEAF "cfa=sp ra=lr"

static const struct {
    uint8_t size, bytes[12];
    const char *expected;
} programs[] = {
    {0, {0}, LEAF},
    {1, {0xb0}, LEAF},
    {3, {0xb0, 0xb0, 0xb0}, LEAF},
    /* Bytes after "finish" do not count. */
    {2, {0xb0, 0xff}, LEAF},
    {1, {0x00}, "cfa=sp+4 ra=lr"},
    {1, {0x3f}, "cfa=sp+256 ra=lr"},
    {1, {0x40}, "cfa=sp-4 ra=lr"},
    {1, {0x7f}, "cfa=sp-256 ra=lr"},
    {3, {0x3f, 0x3f, 0x40}, "cfa=sp+508 ra=lr"},
    {2, {0x80, 0x00}, REFUSED},
    {4, {0x00, 0x80, 0x00, 0xb0}, REFUSED},
    {1, {0x80}, CORRUPT},
    {2, {0x80, 0x01}, "cfa=sp+4 ra=lr r4=[sp+0]"},
    {2, {0x80, 0x09}, "cfa=sp+8 ra=lr r4=[sp+0] r7=[sp+4]"},
    {2,
     {0x80, 0xff},
     "cfa=sp+32 ra=lr r4=[sp+0] r5=[sp+4] r6=[sp+8] r7=[sp+12] r8=[sp+16] r9=[sp+20] r10=[sp+24] r11=[sp+28]"},
    {2, {0x84, 0x08}, "cfa=sp+8 ra=[sp+4] r7=[sp+0]"},
    {2, {0x88, 0x08}, "cfa=sp+8 ra=[sp+4] r7=[sp+0]"},
    /* If both are popped, pc is the return address, not lr. */
    {2, {0x8c, 0x00}, "cfa=sp+8 ra=[sp+4]"},
    {2, {0x81, 0x00}, "cfa=sp+4 ra=lr"},
    /* sp takes the popped value. */
    {2, {0x82, 0x01}, "cfa=[sp+4] ra=lr r4=[sp+0]"},
    {3, {0x86, 0x01, 0x01}, "cfa=[sp+4]+8 ra=[sp+8] r4=[sp+0]"},
    {4, {0x82, 0x00, 0x80, 0x01}, CORRUPT},
    {1, {0x97}, "cfa=r7 ra=lr"},
    {1, {0x90}, "cfa=r0 ra=lr"},
    {1, {0x9e}, "cfa=lr ra=lr"},
    {1, {0x9d}, CORRUPT},
    {1, {0x9f}, CORRUPT},
    {4, {0x97, 0x84, 0x08, 0x01}, "cfa=r7+16 ra=[r7+4] r7=[r7+0]"},
    {4, {0x97, 0x41, 0x84, 0x0f}, "cfa=r7+12 ra=[r7+8] r4=[r7-8] r5=[r7-4] r6=[r7+0] r7=[r7+4]"},
    /* sp takes the popped register's value from its stack slot. */
    {3, {0xa3, 0x97, 0x00}, "cfa=[sp+12]+4 ra=lr r4=[sp+0] r5=[sp+4] r6=[sp+8] r7=[sp+12]"},
    {1, {0xa0}, "cfa=sp+4 ra=lr r4=[sp+0]"},
    {1,
     {0xa7},
     "cfa=sp+32 ra=lr r4=[sp+0] r5=[sp+4] r6=[sp+8] r7=[sp+12] r8=[sp+16] r9=[sp+20] r10=[sp+24] r11=[sp+28]"},
    {1, {0xa8}, "cfa=sp+8 ra=[sp+4] r4=[sp+0]"},
    {1, {0xab}, "cfa=sp+20 ra=[sp+16] r4=[sp+0] r5=[sp+4] r6=[sp+8] r7=[sp+12]"},
    /* A register popped twice has the last value. */
    {2, {0xa8, 0xa8}, "cfa=sp+16 ra=[sp+12] r4=[sp+8]"},
    {2, {0xb1, 0x01}, "cfa=sp+4 ra=lr"},
    {2, {0xb1, 0x0f}, "cfa=sp+16 ra=lr"},
    {4, {0xb1, 0x08, 0x84, 0x00}, "cfa=sp+8 ra=[sp+4]"},
    {2, {0xb1, 0x00}, CORRUPT},
    {2, {0xb1, 0x10}, CORRUPT},
    {1, {0xb1}, CORRUPT},
    {2, {0xb2, 0x00}, "cfa=sp+516 ra=lr"},
    {2, {0xb2, 0x7f}, "cfa=sp+1024 ra=lr"},
    {3, {0xb2, 0x80, 0x01}, "cfa=sp+1028 ra=lr"},
    {6, {0xb2, 0x80, 0x80, 0x80, 0x80, 0x01}, "cfa=sp+1073742340 ra=lr"},
    {7, {0xb2, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00}, CORRUPT},
    {12, {0xb2, 0x80, 0x80, 0x80, 0x80, 0x01, 0xb2, 0x80, 0x80, 0x80, 0x80, 0x01}, CORRUPT},
    {3, {0xb2, 0x80, 0x80}, CORRUPT},
    {1, {0xb2}, CORRUPT},
    {2, {0xb3, 0x80}, "cfa=sp+12 ra=lr"},
    {2, {0xb3, 0x0f}, "cfa=sp+132 ra=lr"},
    {1, {0xb3}, CORRUPT},
    {2, {0xb4, 0xa8}, "cfa=sp+12 ra=[sp+8] r4=[sp+4]"},
    {2, {0xb5, 0xa8}, "cfa=sp+8 ra=[sp+4] r4=[sp+0]"},
    {1, {0xb6}, CORRUPT},
    {1, {0xb7}, CORRUPT},
    {1, {0xb8}, "cfa=sp+12 ra=lr"},
    {1, {0xbf}, "cfa=sp+68 ra=lr"},
    {1, {0xc0}, "cfa=sp+8 ra=lr"},
    {1, {0xc5}, "cfa=sp+48 ra=lr"},
    {2, {0xc6, 0x03}, "cfa=sp+32 ra=lr"},
    {1, {0xc6}, CORRUPT},
    {2, {0xc7, 0x0b}, "cfa=sp+12 ra=lr"},
    {2, {0xc7, 0x00}, CORRUPT},
    {2, {0xc7, 0x10}, CORRUPT},
    {2, {0xc8, 0x0f}, "cfa=sp+128 ra=lr"},
    {2, {0xc9, 0x83}, "cfa=sp+32 ra=lr"},
    {1, {0xc8}, CORRUPT},
    {1, {0xc9}, CORRUPT},
    {1, {0xca}, CORRUPT},
    {1, {0xcf}, CORRUPT},
    {1, {0xd0}, "cfa=sp+8 ra=lr"},
    {1, {0xd7}, "cfa=sp+64 ra=lr"},
    {1, {0xd8}, CORRUPT},
    {1, {0xff}, CORRUPT},
};

START_TEST(instructions) {
    /* Memory of exactly that size lets a sanitizer see a read past its end. */
    uint8_t *bytes = malloc(programs[_i].size + 1u);
    memcpy(bytes, programs[_i].bytes, programs[_i].size);
    bytes = realloc(bytes, programs[_i].size != 0 ? programs[_i].size : 1);
    const struct uspi_source source = {.name = "program", .base = bytes};
    struct uspi_rule rule;
    struct uspi_error error = {0};
    char text[RULE_TEXT];
    memset(&rule, 0xa5, sizeof rule);
    enum uspi_described answer = uspi_ehabi_run((struct uspi_bytes){&source, 0, programs[_i].size}, &rule, &error);
    const char *got = answer_text(answer, &rule, text);
    ck_assert_msg(strcmp(got, programs[_i].expected) == 0, "%02x %02x %02x: %s, expected is %s", programs[_i].bytes[0],
                  programs[_i].bytes[1], programs[_i].bytes[2], got, programs[_i].expected);
    ck_assert_int_eq(answer == USPI_TABLE_CORRUPT, error.status != 0);
    free(bytes);
}
END_TEST

/* ---- tables ---- */

static const char *const expected[FUNCTIONS] = {"cfa=sp+8 ra=[sp+4] r4=[sp+0]",
                                                REFUSED,
                                                "cfa=sp+12 ra=[sp+8] r7=[sp+4]",
                                                "cfa=r7+32 ra=[r7+4] r7=[r7+0]",
                                                "cfa=sp+1036 ra=[sp+1032] r4=[sp+1024] r5=[sp+1028]",
                                                "cfa=sp+44 ra=[sp+8] r4=[sp+0] r5=[sp+4]",
                                                LEAF};

static struct uspi_ehabi_table table_over(const struct uspi_source *source, uint64_t size) {
    return (struct uspi_ehabi_table){
        .image = {source, 0, size}, .base = BASE, .index = BASE, .index_size = FUNCTIONS * 8};
}

START_TEST(entries) {
    struct builder b = build_ehabi_table();
    ck_assert_uint_eq(b.size, TABLE_END);
    const struct uspi_source source = {.name = "table", .base = b.bytes};
    const struct uspi_ehabi_table table = table_over(&source, b.size);
    for (uint32_t offset = 0; offset < 0x10; offset++) {
        struct uspi_table_entry entry;
        struct uspi_error error;
        char text[RULE_TEXT];
        memset(&entry, 0xa5, sizeof entry);
        enum uspi_described answer = uspi_ehabi_find(&table, CODE + 0x10 * (uint32_t)_i + offset, &entry, &error);
        ck_assert_str_eq(answer_text(answer, &entry.rule, text), expected[_i]);
        ck_assert_uint_eq(entry.start, CODE + 0x10 * (uint32_t)_i);
        ck_assert_uint_eq(entry.end, _i + 1 < FUNCTIONS ? CODE + 0x10 * (uint32_t)(_i + 1) : 0);
    }
    builder_free(&b);
}
END_TEST

START_TEST(outside) {
    struct builder b = build_ehabi_table();
    const struct uspi_source source = {.name = "table", .base = b.bytes};
    struct uspi_ehabi_table table = table_over(&source, b.size);
    struct uspi_table_entry entry;
    ck_assert_int_eq(uspi_ehabi_find(&table, CODE - 1, &entry, NULL), USPI_NOT_DESCRIBED);
    ck_assert_int_eq(uspi_ehabi_find(&table, 0, &entry, NULL), USPI_NOT_DESCRIBED);
    ck_assert_int_eq(uspi_ehabi_find(&table, UINT64_MAX, &entry, NULL), USPI_DESCRIBED);
    table.index_size = 0;
    ck_assert_int_eq(uspi_ehabi_find(&table, CODE, &entry, NULL), USPI_NOT_DESCRIBED);
    table.index_size = 12;
    ck_assert_int_eq(uspi_ehabi_find(&table, CODE, &entry, NULL), USPI_TABLE_CORRUPT);
    table.index_size = UINT64_C(1) << 32;
    ck_assert_int_eq(uspi_ehabi_find(&table, CODE, &entry, NULL), USPI_TABLE_CORRUPT);
    table.index_size = 8 * (UINT64_C(1) << 28);
    ck_assert_int_eq(uspi_ehabi_find(&table, CODE, &entry, NULL), USPI_TABLE_CORRUPT);
    table.index_size = 8;
    table.index = BASE - 8;
    ck_assert_int_eq(uspi_ehabi_find(&table, CODE, &entry, NULL), USPI_TABLE_CORRUPT);
    table.index = BASE + UINT64_C(0x100000000);
    ck_assert_int_eq(uspi_ehabi_find(&table, CODE, &entry, NULL), USPI_TABLE_CORRUPT);
    builder_free(&b);
}
END_TEST

/* Tables at both ends of a 32-bit address space: a relative address may wrap around. */
START_TEST(wraps_around) {
    struct builder b = {0};
    const uint32_t base = 0xfffff000;
    put(&b, 4, prel31(base, 0x00001000));
    put(&b, 4, 0x80b0b0b0);
    const struct uspi_source source = {.name = "table", .base = b.bytes};
    const struct uspi_ehabi_table table = {.image = {&source, 0, b.size}, .base = base, .index = base, .index_size = 8};
    struct uspi_table_entry entry;
    ck_assert_int_eq(uspi_ehabi_find(&table, 0x1000, &entry, NULL), USPI_DESCRIBED);
    ck_assert_uint_eq(entry.start, 0x1000);
    builder_free(&b);
}
END_TEST

/* The bytes end at each possible place: the answer must be right, or say that the table is corrupt. */
START_TEST(truncated) {
    struct builder b = build_ehabi_table();
    const struct uspi_source source = {.name = "table", .base = b.bytes};
    unsigned right = 0;
    for (size_t size = 0; size <= b.size; size++) {
        const struct uspi_ehabi_table table = table_over(&source, size);
        struct uspi_table_entry entry;
        char text[RULE_TEXT];
        enum uspi_described answer = uspi_ehabi_find(&table, CODE + 0x10 * (uint32_t)_i, &entry, NULL);
        const char *got = answer_text(answer, &entry.rule, text);
        const bool is_right = strcmp(got, expected[_i]) == 0;
        ck_assert_msg(is_right || strcmp(got, CORRUPT) == 0, "%zu bytes: %s", size, got);
        right += is_right;
    }
    ck_assert_uint_gt(right, 0);
    ck_assert_uint_le(right, b.size + 1 - 8 * FUNCTIONS / 2);
    builder_free(&b);
}
END_TEST

static const struct {
    const char *what;
    uint32_t at, value;
    int function;
    const char *expected;
} patches[] = {
    {"model 1 in the index", 4, 0x8100b0b0, INLINE, CORRUPT},
    {"a reserved model in the index", 4, 0x83b0b0b0, INLINE, CORRUPT},
    {"reserved bits in the index", 4, 0x90b0b0b0, INLINE, CORRUPT},
    {"a spare instruction in the index", 4, 0x80ffb0b0, INLINE, CORRUPT},
    {"refuses to unwind", 4, 0x808000b0, INLINE, REFUSED},
    {"an entry before the image", 8 * MODEL_0 + 4, 0x7fff0000, MODEL_0, CORRUPT},
    {"an entry after the image", 8 * MODEL_0 + 4, 0x00001000, MODEL_0, CORRUPT},
    {"a reserved model", AT_0, 0x83008408, MODEL_0, CORRUPT},
    {"reserved bits", AT_0, 0xc0008408, MODEL_0, CORRUPT},
    {"more words than there are", AT_1, 0x81ff9784, MODEL_1, CORRUPT},
    {"a reserved instruction", AT_1 + 4, 0x089d0101, MODEL_1, CORRUPT},
    {"an instruction that is cut off", AT_2, 0x8200b280, MODEL_2, CORRUPT},
    {"more words than there are, generic", AT_GENERIC + 4, 0xffa90101, GENERIC, CORRUPT},
};

START_TEST(malformed) {
    struct builder b = build_ehabi_table();
    const struct uspi_source source = {.name = "table", .base = b.bytes};
    const struct uspi_ehabi_table table = table_over(&source, b.size);
    struct uspi_table_entry entry;
    struct uspi_error error = {0};
    char text[RULE_TEXT];
    patch(&b, patches[_i].at, 4, patches[_i].value);
    const usp_addr pc = CODE + 0x10 * (uint32_t)patches[_i].function;
    enum uspi_described answer = uspi_ehabi_find(&table, pc, &entry, &error);
    const char *got = answer_text(answer, &entry.rule, text);
    ck_assert_msg(strcmp(got, patches[_i].expected) == 0, "%s: %s", patches[_i].what, got);
    ck_assert_int_eq(answer == USPI_TABLE_CORRUPT, error.status != 0);
    ck_assert_int_eq(uspi_ehabi_find(&table, pc, &entry, NULL), answer);
    /* Other entries are not affected. */
    ck_assert_int_eq(uspi_ehabi_find(&table, CODE + 0x10 * THUMB, &entry, NULL), USPI_DESCRIBED);
    builder_free(&b);
}
END_TEST

/* An entry with the largest number of words. */
START_TEST(longest_program) {
    struct builder b = {0};
    put_function_in_extab(&b, CODE, 8);
    put(&b, 4, 0);
    put(&b, 4, 0xff000000);
    for (unsigned i = 0; i < 255; i++) put(&b, 4, 0);
    const struct uspi_source source = {.name = "table", .base = b.bytes};
    struct uspi_ehabi_table table = table_over(&source, b.size);
    table.index_size = 8;
    struct uspi_table_entry entry;
    ck_assert_int_eq(uspi_ehabi_find(&table, CODE, &entry, NULL), USPI_DESCRIBED);
    ck_assert_int_eq(entry.rule.cfa.offset, 4 * (3 + 255 * 4));
    table.image.size--;
    ck_assert_int_eq(uspi_ehabi_find(&table, CODE, &entry, NULL), USPI_TABLE_CORRUPT);
    builder_free(&b);
}
END_TEST

int main(void) {
    TCase *t = tcase_create("ehabi");
    tcase_add_loop_test(t, instructions, 0, ELEMENTS(programs));
    tcase_add_loop_test(t, entries, 0, FUNCTIONS);
    add_tests(t, outside, wraps_around);
    tcase_add_loop_test(t, truncated, 0, FUNCTIONS);
    tcase_add_loop_test(t, malformed, 0, ELEMENTS(patches));
    tcase_add_test(t, longest_program);
    return run_suite("ehabi", t);
}
