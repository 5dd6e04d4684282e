/* SPDX-License-Identifier: MIT */
/* Tests compact unwind by bytes: every mode of every processor, both kinds of pages, every kind of malformed section.
 * tests/unwind/compact.sh tests what compilers and linkers write. */
#include <check.h>

#include "lib/object/macho_unwind_info.h"
#include "lib/unwind/tables/compact.h"
#include "tests/support/rule_text.h"
#include "tests/support/suite.h"
#include "tests/support/unwind_info.h"

#define IMAGE UINT64_C(0x10000000)

/* A function at IMAGE + FUNCTION. At 3, 4 and 8 bytes after its start lie the numbers 0x1238, 0x12 and -8. */
#define FUNCTION 0x10
static const uint8_t text_bytes[0x20] = {[0x13] = 0x38, [0x14] = 0x12, [0x18] = 0xf8, 0xff, 0xff, 0xff};

static const struct uspi_source text_source = {.name = "text", .base = text_bytes};

static struct uspi_compact_table table_over(uint32_t arch, const struct uspi_source *source, uint64_t size) {
    return (struct uspi_compact_table){.backend = uspi_backend_find(arch),
                                       .image = IMAGE,
                                       .text = {&text_source, 0, sizeof text_bytes},
                                       .section = {source, 0, size}};
}

#define CORRUPT "corrupt"
#define NOTHING "not described"

static const struct {
    uint32_t arch, encoding;
    const char *expected;
} rules[] = {
    {USP_ARCH_ARM64, 0, NOTHING},
    {USP_ARCH_ARM64, 0xf0000000, NOTHING},
    {USP_ARCH_ARM64, 0x04000000, "cfa=x29+16 ra=[x29+8] x29=[x29+0]"},
    {USP_ARCH_ARM64, 0x54000000, "cfa=x29+16 ra=[x29+8] x29=[x29+0]"},
    {USP_ARCH_ARM64, 0x04000001, "cfa=x29+16 ra=[x29+8] x19=[x29-8] x20=[x29-16] x29=[x29+0]"},
    {USP_ARCH_ARM64, 0x04000112,
     "cfa=x29+16 ra=[x29+8] x21=[x29-8] x22=[x29-16] x27=[x29-24] x28=[x29-32] x29=[x29+0]"},
    {USP_ARCH_ARM64, 0x04000f1f,
     "cfa=x29+16 ra=[x29+8] x19=[x29-8] x20=[x29-16] x21=[x29-24] x22=[x29-32] x23=[x29-40] x24=[x29-48] x25=[x29-56] "
     "x26=[x29-64] x27=[x29-72] x28=[x29-80] x29=[x29+0]"},
    {USP_ARCH_ARM64, 0x02000000, "cfa=sp ra=x30"},
    {USP_ARCH_ARM64, 0x02002003, "cfa=sp+32 ra=x30 x19=[sp+24] x20=[sp+16] x21=[sp+8] x22=[sp+0]"},
    {USP_ARCH_ARM64, 0x02fff000, "cfa=sp+65520 ra=x30"},
    {USP_ARCH_ARM64, 0x02001003, CORRUPT},
    {USP_ARCH_ARM64, 0x02001801, CORRUPT},
    {USP_ARCH_ARM64, 0x03012345, "cfi 0x12345"},
    {USP_ARCH_ARM64, 0x03000000, "cfi 0"},
    {USP_ARCH_ARM64, 0x01000000, CORRUPT},
    {USP_ARCH_ARM64, 0x05000000, CORRUPT},
    {USP_ARCH_ARM64, 0x00000001, CORRUPT},
    {USP_ARCH_ARM64_32, 0x04000001, "cfa=x29+16 ra=[x29+8] x19=[x29-8] x20=[x29-16] x29=[x29+0]"},
    {USP_ARCH_ARM64_32, 0x02001000, "cfa=sp+16 ra=x30"},

    {USP_ARCH_ARMV7, 0, NOTHING},
    {USP_ARCH_ARMV7, 0x01000000, "cfa=r7+8 ra=[r7+4] r7=[r7+0]"},
    {USP_ARCH_ARMV7, 0x01c00000, "cfa=r7+20 ra=[r7+4] r7=[r7+0]"},
    {USP_ARCH_ARMV7, 0x01000007, "cfa=r7+8 ra=[r7+4] r4=[r7-12] r5=[r7-8] r6=[r7-4] r7=[r7+0]"},
    {USP_ARCH_ARMV7, 0x014000fa,
     "cfa=r7+12 ra=[r7+4] r5=[r7-4] r7=[r7+0] r8=[r7-24] r9=[r7-20] r10=[r7-16] r11=[r7-12] r12=[r7-8]"},
    {USP_ARCH_ARMV7, 0x02000301, "cfa=r7+8 ra=[r7+4] r4=[r7-4] r7=[r7+0]"},
    {USP_ARCH_ARMV7, 0x04000020, "cfi 0x20"},
    {USP_ARCH_ARMV7, 0x03000000, CORRUPT},
    {USP_ARCH_ARMV7, 0x000000ff, CORRUPT},

    {USP_ARCH_X86_64, 0, NOTHING},
    {USP_ARCH_X86_64, 0x01000000, "cfa=rbp+16 ra=[rbp+8] rbp=[rbp+0]"},
    {USP_ARCH_X86_64, 0x01010001, "cfa=rbp+16 ra=[rbp+8] rbx=[rbp-8] rbp=[rbp+0]"},
    {USP_ARCH_X86_64, 0x010558d1,
     "cfa=rbp+16 ra=[rbp+8] rbx=[rbp-40] rbp=[rbp+0] r12=[rbp-32] r13=[rbp-24] r14=[rbp-16] r15=[rbp-8]"},
    {USP_ARCH_X86_64, 0x01030081, "cfa=rbp+16 ra=[rbp+8] rbx=[rbp-24] rbp=[rbp+0] r12=[rbp-8]"},
    {USP_ARCH_X86_64, 0x01ff0001, "cfa=rbp+16 ra=[rbp+8] rbx=[rbp-2040] rbp=[rbp+0]"},
    {USP_ARCH_X86_64, 0x01010006, CORRUPT},
    {USP_ARCH_X86_64, 0x01010007, CORRUPT},
    {USP_ARCH_X86_64, 0x01000001, CORRUPT},
    {USP_ARCH_X86_64, 0x01010008, CORRUPT},
    {USP_ARCH_X86_64, 0x02010000, "cfa=rsp+8 ra=[rsp+0]"},
    {USP_ARCH_X86_64, 0x02ff0000, "cfa=rsp+2040 ra=[rsp+2032]"},
    {USP_ARCH_X86_64, 0x0204080f, "cfa=rsp+32 ra=[rsp+24] rbx=[rsp+16] r14=[rsp+8]"},
    {USP_ARCH_X86_64, 0x02071acf,
     "cfa=rsp+56 ra=[rsp+48] rbx=[rsp+40] rbp=[rsp+0] r12=[rsp+32] r13=[rsp+24] r14=[rsp+16] r15=[rsp+8]"},
    {USP_ARCH_X86_64, 0x02071ad0, CORRUPT},
    {USP_ARCH_X86_64, 0x02081c00, CORRUPT},
    {USP_ARCH_X86_64, 0x02061acf, CORRUPT},
    {USP_ARCH_X86_64, 0x02010001, CORRUPT},
    {USP_ARCH_X86_64, 0x02000000, CORRUPT},
    {USP_ARCH_X86_64, 0x03030000, "cfa=rsp+4664 ra=[rsp+4656]"},
    {USP_ARCH_X86_64, 0x03032000, "cfa=rsp+4672 ra=[rsp+4664]"},
    {USP_ARCH_X86_64, 0x03032405, "cfa=rsp+4672 ra=[rsp+4664] rbp=[rsp+4656]"},
    {USP_ARCH_X86_64, 0x030d2000, CORRUPT},
    {USP_ARCH_X86_64, 0x03040000, CORRUPT},
    {USP_ARCH_X86_64, 0x03080000, CORRUPT},
    {USP_ARCH_X86_64, 0x04ffffff, "cfi 0xffffff"},
    {USP_ARCH_X86_64, 0x05000000, CORRUPT},
    {USP_ARCH_X86_64, 0x00010000, CORRUPT},

    {USP_ARCH_I386, 0x01000000, "cfa=ebp+8 ra=[ebp+4] ebp=[ebp+0]"},
    {USP_ARCH_I386, 0x01020029, "cfa=ebp+8 ra=[ebp+4] ebx=[ebp-8] ebp=[ebp+0] esi=[ebp-4]"},
    {USP_ARCH_I386, 0x010300a3, "cfa=ebp+8 ra=[ebp+4] ecx=[ebp-4] edx=[ebp-12] ebp=[ebp+0] edi=[ebp-8]"},
    {USP_ARCH_I386, 0x02010000, "cfa=esp+4 ra=[esp+0]"},
    {USP_ARCH_I386, 0x02030405, "cfa=esp+12 ra=[esp+8] ebp=[esp+4]"},
    {USP_ARCH_I386, 0x03032000, "cfa=esp+4668 ra=[esp+4664]"},
    {USP_ARCH_I386, 0x04000010, "cfi 0x10"},
    {USP_ARCH_I386, 0x0f000000, CORRUPT},
};

/* Formats an answer as the tests write it. */
static const char *answer_text(uint32_t arch, enum uspi_described answer, const struct uspi_table_entry *entry,
                               char text[RULE_TEXT]) {
    switch (answer) {
    case USPI_DESCRIBED: return rule_text(arch, &entry->rule, text);
    case USPI_DESCRIBED_BY_CFI: snprintf(text, RULE_TEXT, "cfi %#x", entry->cfi_offset); return text;
    case USPI_TABLE_CORRUPT: return CORRUPT;
    case USPI_NOT_DESCRIBED: return NOTHING;
    default: return "cannot unwind";
    }
}

START_TEST(encodings) {
    const struct uspi_source nowhere = {.name = "section", .base = text_bytes};
    const struct uspi_compact_table table = table_over(rules[_i].arch, &nowhere, 0);
    struct uspi_error error = {0};
    char text[RULE_TEXT];
    struct uspi_table_entry entry;
    memset(&entry, 0xa5, sizeof entry);
    entry.start = IMAGE + FUNCTION;
    enum uspi_described answer = uspi_compact_decode(&table, rules[_i].encoding, &entry, &error);
    ck_assert_msg(strcmp(answer_text(rules[_i].arch, answer, &entry, text), rules[_i].expected) == 0,
                  "%s %#x: %s, expected is %s", usp_arch_string(rules[_i].arch), rules[_i].encoding, text,
                  rules[_i].expected);
    ck_assert_int_eq(answer == USPI_TABLE_CORRUPT, error.status != 0);
    ck_assert_int_eq(uspi_compact_decode(&table, rules[_i].encoding, &entry, NULL), answer);
}
END_TEST

/* Each order of n of the six registers has one number, 6! / (6 - n)! in all; every other number must be corrupt. */
START_TEST(permutations) {
    static const unsigned orders[] = {1, 6, 30, 120, 360, 720, 720};
    static const uint32_t archs[] = {USP_ARCH_X86_64, USP_ARCH_I386};
    const struct uspi_source nowhere = {.name = "section", .base = text_bytes};
    const unsigned count = (unsigned)_i % 7;
    const uint32_t arch = archs[_i / 7];
    const struct uspi_compact_table table = table_over(arch, &nowhere, 0);
    const int32_t word = table.backend->word;
    static char seen[1024][RULE_TEXT];
    unsigned found = 0;
    for (uint32_t number = 0; number < 1024; number++) {
        const uint32_t encoding = 0x02000000 | (count + 1) << 16 | count << 10 | number;
        struct uspi_table_entry entry;
        uint64_t places = 0;
        if (uspi_compact_decode(&table, encoding, &entry, NULL) != USPI_DESCRIBED) continue;
        rule_text(arch, &entry.rule, seen[found]);
        bool is_new = true;
        for (unsigned i = 0; i < found; i++) is_new = is_new && strcmp(seen[i], seen[found]) != 0;
        ck_assert_msg(is_new, "twice: %s", seen[found]);
        found++;
        /* The saved registers fill the frame from sp to the return address. */
        ck_assert_uint_eq(entry.rule.saved_count, count);
        ck_assert_int_eq(entry.rule.return_address.offset, (int32_t)count * word);
        for (unsigned i = 0; i < count; i++) places |= UINT64_C(1) << (entry.rule.saved[i].at.offset / word);
        ck_assert_uint_eq(places, (UINT64_C(1) << count) - 1);
    }
    ck_assert_uint_eq(found, orders[count]);
}
END_TEST

/* ---- the section ---- */

#define FRAME  "cfa=x29+16 ra=[x29+8] x29=[x29+0]"
#define LEAF   "cfa=sp+16 ra=x30"
#define BY_CFI "cfi 0x40"

static const uint32_t of_arm64[3] = {0x04000000, 0x02001000, 0x03000040};

/* Offsets from the image's header, and the expected function of each. */
static const struct {
    uint32_t offset;
    const char *expected;
    uint32_t start, end;
} places[] = {
    {0, NOTHING, 0, 0},
    {0xfff, NOTHING, 0, 0},
    {0x1000, FRAME, 0x1000, 0x1010},
    {0x100f, FRAME, 0x1000, 0x1010},
    {0x1010, LEAF, 0x1010, 0x1100},
    {0x10ff, LEAF, 0x1010, 0x1100},
    {0x1100, NOTHING, 0, 0},
    {0x11ff, NOTHING, 0, 0},
    {0x1200, BY_CFI, 0x1200, 0x2000},
    {0x1fff, BY_CFI, 0x1200, 0x2000},
    {0x2000, NOTHING, 0, 0},
    {0x2fff, NOTHING, 0, 0},
    {0x3000, LEAF, 0x3000, 0x3004},
    {0x3003, LEAF, 0x3000, 0x3004},
    {0x3004, BY_CFI, 0x3004, 0x3100},
    {0x30ff, BY_CFI, 0x3004, 0x3100},
    {0x3100, FRAME, 0x3100, 0x4000},
    {0x3fff, FRAME, 0x3100, 0x4000},
    {0x4000, NOTHING, 0, 0},
    {UINT32_MAX, NOTHING, 0, 0},
};
#define PLACES ELEMENTS(places)

static const char *at_place(const struct uspi_compact_table *table, int place, struct uspi_table_entry *entry,
                            char text[RULE_TEXT]) {
    struct uspi_error error;
    memset(entry, 0xa5, sizeof *entry);
    return answer_text(USP_ARCH_ARM64, uspi_compact_find(table, table->image + places[place].offset, entry, &error),
                       entry, text);
}

START_TEST(functions) {
    struct builder b = build_unwind_info(of_arm64);
    ck_assert_uint_eq(b.size, UI_SIZE);
    const struct uspi_source source = {.name = "section", .base = b.bytes};
    const struct uspi_compact_table table = table_over(USP_ARCH_ARM64, &source, b.size);
    struct uspi_table_entry entry;
    char text[RULE_TEXT];
    const char *got = at_place(&table, _i, &entry, text);
    ck_assert_msg(strcmp(got, places[_i].expected) == 0, "%#x: %s", places[_i].offset, got);
    if (places[_i].end != 0) {
        ck_assert_uint_eq(entry.start, IMAGE + places[_i].start);
        ck_assert_uint_eq(entry.end, IMAGE + places[_i].end);
    }
    ck_assert_int_eq(uspi_compact_find(&table, IMAGE - 1, &entry, NULL), USPI_NOT_DESCRIBED);
    builder_free(&b);
}
END_TEST

/* The section ends at each possible byte: the answer must be right, or say that the section is corrupt. */
START_TEST(truncated) {
    struct builder b = build_unwind_info(of_arm64);
    const struct uspi_source source = {.name = "section", .base = b.bytes};
    unsigned corrupt = 0;
    for (size_t size = 0; size < b.size; size++) {
        const struct uspi_compact_table table = table_over(USP_ARCH_ARM64, &source, size);
        struct uspi_table_entry entry;
        char text[RULE_TEXT];
        const char *got = at_place(&table, _i, &entry, text);
        const bool is_corrupt = strcmp(got, CORRUPT) == 0;
        ck_assert_msg(is_corrupt || strcmp(got, places[_i].expected) == 0, "%zu bytes, %#x: %s", size,
                      places[_i].offset, got);
        ck_assert(is_corrupt || size >= UI_REGULAR);
        corrupt += is_corrupt;
    }
    ck_assert_uint_ge(corrupt, UI_REGULAR);
    builder_free(&b);
}
END_TEST

static const struct {
    const char *what;
    uint32_t at;
    unsigned width;
    uint32_t value, offset; /* the value written; the offset looked up */
    const char *expected;
} patches[] = {
    {"another version", 0, 4, 2, 0x1000, CORRUPT},
    {"no index", 24, 4, 0, 0x1000, NOTHING},
    {"an index of nothing but its end", 24, 4, 1, 0x1000, NOTHING},
    {"an index that is too long", 24, 4, UINT32_MAX, 0x1000, CORRUPT},
    {"an index past the end", 20, 4, UINT32_MAX, 0x1000, CORRUPT},
    {"a page past the end", UI_INDEX + 4, 4, UI_SIZE, 0x1000, CORRUPT},
    {"a page that is not asked for", UI_INDEX + 4, 4, UI_SIZE, 0x3000, LEAF},
    {"a page of another kind", UI_REGULAR, 4, 4, 0x1000, CORRUPT},
    {"entries past the end", UI_REGULAR + 4, 2, 0xffff, 0x1000, CORRUPT},
    {"too many entries", UI_REGULAR + 6, 2, 0xffff, 0x1000, CORRUPT},
    {"a page without entries", UI_REGULAR + 6, 2, 0, 0x1000, NOTHING},
    {"a page that begins too late", UI_REGULAR + 8, 4, 0x1008, 0x1004, CORRUPT},
    {"too many entries, compressed", UI_COMPRESSED + 6, 2, 0xffff, 0x3000, CORRUPT},
    {"an encoding that is not there", UI_COMPRESSED + 12 + 7, 1, 3, 0x3004, CORRUPT},
    {"encodings past the end", UI_COMPRESSED + 8, 2, 0xffff, 0x3004, CORRUPT},
    {"encodings past the end that are not asked for", UI_COMPRESSED + 8, 2, 0xffff, 0x3000, LEAF},
    {"too many encodings", UI_COMPRESSED + 10, 2, 2, 0x3004, CORRUPT},
    {"common encodings past the end", 4, 4, UI_SIZE - 4, 0x3000, CORRUPT},
    {"common encodings that a regular page does without", 4, 4, UI_SIZE, 0x1000, FRAME},
    {"fewer common encodings", 8, 4, 1, 0x3000, BY_CFI},
    {"too many common encodings", 8, 4, UINT32_MAX, 0x3000, CORRUPT},
};

START_TEST(malformed) {
    struct builder b = build_unwind_info(of_arm64);
    const struct uspi_source source = {.name = "section", .base = b.bytes};
    const struct uspi_compact_table table = table_over(USP_ARCH_ARM64, &source, b.size);
    struct uspi_table_entry entry;
    struct uspi_error error = {0};
    char text[RULE_TEXT];
    patch(&b, patches[_i].at, patches[_i].width, patches[_i].value);
    enum uspi_described answer = uspi_compact_find(&table, IMAGE + patches[_i].offset, &entry, &error);
    const char *got = answer_text(USP_ARCH_ARM64, answer, &entry, text);
    ck_assert_msg(strcmp(got, patches[_i].expected) == 0, "%s: %s", patches[_i].what, got);
    if (answer == USPI_TABLE_CORRUPT) ck_assert_int_ne(error.text[0], 0);
    ck_assert_int_eq(uspi_compact_find(&table, IMAGE + patches[_i].offset, &entry, NULL), answer);
    builder_free(&b);
}
END_TEST

START_TEST(at_the_end_of_the_address_space) {
    struct builder b = build_unwind_info(of_arm64);
    const struct uspi_source source = {.name = "section", .base = b.bytes};
    struct uspi_compact_table table = table_over(USP_ARCH_ARM64, &source, b.size);
    struct uspi_table_entry entry;
    table.image = UINT64_MAX - 0x1010;
    ck_assert_int_eq(uspi_compact_find(&table, table.image + 0x1004, &entry, NULL), USPI_DESCRIBED);
    ck_assert_uint_eq(entry.end, UINT64_MAX);
    table.image++;
    ck_assert_int_eq(uspi_compact_find(&table, table.image + 0x1004, &entry, NULL), USPI_TABLE_CORRUPT);
    builder_free(&b);
}
END_TEST

/* Reads memory whose end is missing, as can happen in a process. */
static int read_below(void *context, uint64_t at, void *to, size_t n) {
    const struct builder *b = context;
    if (at >= b->size || n > b->size - at) return USP_ERROR_UNREADABLE;
    memcpy(to, b->bytes + at, n);
    return USP_OK;
}

START_TEST(unreadable) {
    struct builder b = build_unwind_info(of_arm64);
    struct builder cut = b;
    const struct uspi_source source = {.name = "memory", .read = read_below, .context = &cut, .memory = true};
    const struct uspi_compact_table table = table_over(USP_ARCH_ARM64, &source, UI_SIZE);
    struct uspi_table_entry entry;
    char text[RULE_TEXT];
    ck_assert_str_eq(at_place(&table, _i, &entry, text), places[_i].expected);
    for (cut.size = 0; cut.size < b.size; cut.size++) {
        const char *got = at_place(&table, _i, &entry, text);
        ck_assert(strcmp(got, CORRUPT) == 0 || strcmp(got, places[_i].expected) == 0);
        ck_assert(cut.size >= UI_COMMON || strcmp(got, CORRUPT) == 0);
    }
    builder_free(&b);
}
END_TEST

int main(void) {
    TCase *t = tcase_create("compact");
    tcase_add_loop_test(t, encodings, 0, ELEMENTS(rules));
    tcase_add_loop_test(t, permutations, 0, 14);
    add_loop_tests(t, 0, PLACES, functions, truncated);
    tcase_add_loop_test(t, malformed, 0, ELEMENTS(patches));
    tcase_add_test(t, at_the_end_of_the_address_space);
    tcase_add_loop_test(t, unreadable, 0, PLACES);
    return run_suite("compact", t);
}
