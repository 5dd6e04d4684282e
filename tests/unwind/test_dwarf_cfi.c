/* SPDX-License-Identifier: MIT */
/* Tests call frame information by bytes: each pointer encoding, each kind of entry, each instruction, each sorted
 * table, and the errors of malformed ones. tests/unwind/cfi.sh tests whole files, test_cfi_reader.c tests walks. */
#include <check.h>
#include <stdlib.h>

#include "tests/support/suite.h"
#include "tests/unwind/cfi_builder.h"

/* code_align 1, data_align -8, return column 16; CFA = rsp + 8, ra at CFA - 8. */
#define CIE_X86_64 "01 78 10  0c 07 08 90 01"

static struct cfi c;

static void free_table(void) { builder_free(&c.bytes); }

/* ---- pointers ---- */

struct pointer_case {
    uint32_t arch;
    uint8_t encoding;
    const char *bytes;
    int status;
    usp_addr value;
    unsigned length;
};

static const struct pointer_case pointer_cases[] = {
    {USP_ARCH_X86_64, 0x00, "08 07 06 05 04 03 02 01", USP_OK, UINT64_C(0x102030405060708) + 0x10000000, 8},
    {USP_ARCH_I386, 0x00, "04 03 02 01 ff", USP_OK, 0x1020304 + 0x10000000, 4},
    {USP_ARCH_I386, 0x00, "00 00 00 f8", USP_OK, 0x8000000, 4}, /* wraps at the end of the address space */
    {USP_ARCH_ARM64_32, 0x00, "04 03 02 01 ff", USP_OK, 0x1020304 + 0x10000000, 4},
    {USP_ARCH_X86_64, 0x08, "f0 ff ff ff ff ff ff ff", USP_OK, 0x10000000 - 16, 8},
    {USP_ARCH_X86_64, 0x01, "80 02", USP_OK, 0x100 + 0x10000000, 2},
    {USP_ARCH_X86_64, 0x09, "70", USP_OK, 0x10000000 - 16, 1},
    {USP_ARCH_X86_64, 0x02, "f0 ff", USP_OK, 0xfff0 + 0x10000000, 2},
    {USP_ARCH_X86_64, 0x0a, "f0 ff", USP_OK, 0x10000000 - 16, 2},
    {USP_ARCH_X86_64, 0x03, "f0 ff ff ff", USP_OK, UINT64_C(0xfffffff0) + 0x10000000, 4},
    {USP_ARCH_X86_64, 0x0b, "f0 ff ff ff", USP_OK, 0x10000000 - 16, 4},
    {USP_ARCH_X86_64, 0x04, "01 00 00 00 01 00 00 00", USP_OK, UINT64_C(0x100000001) + 0x10000000, 8},
    {USP_ARCH_X86_64, 0x0c, "fe ff ff ff ff ff ff ff", USP_OK, 0x10000000 - 2, 8},
    {USP_ARCH_X86_64, 0x1b, "fc ff ff ff", USP_OK, TABLE - 4, 4},
    {USP_ARCH_X86_64, 0x1b, "00 00 00 00", USP_OK, 0, 4}, /* a null pointer, whatever its base */
    {USP_ARCH_X86_64, 0x2b, "10 00 00 00", USP_OK, 0x20000010, 4},
    {USP_ARCH_X86_64, 0x3b, "10 00 00 00", USP_OK, 0x30000010, 4},
    {USP_ARCH_X86_64, 0x4b, "10 00 00 00", USP_OK, 0x40000010, 4},
    {USP_ARCH_X86_64, 0x50, "10 00 00 00 00 00 00 00", USP_OK, 0x10000010, 8},
    {USP_ARCH_X86_64, 0x90, "08 00 00 00 00 00 00 00  aa bb 00 00 00 00 00 00", USP_OK, 0xbbaa, 8},
    {USP_ARCH_X86_64, 0x90, "09 00 00 00 00 00 00 00  aa bb 00 00 00 00 00 00", USP_ERROR_UNREADABLE, 0, 8},
    {USP_ARCH_X86_64, 0xff, "00", USP_ERROR_FORMAT, 0, 0},
    {USP_ARCH_X86_64, 0x05, "00 00 00 00 00 00 00 00", USP_ERROR_FORMAT, 0, 0},
    {USP_ARCH_X86_64, 0x6b, "01 00 00 00", USP_ERROR_FORMAT, 0, 4},
    {USP_ARCH_X86_64, 0x70, "01 00 00 00 00 00 00 00", USP_ERROR_FORMAT, 0, 8},
    {USP_ARCH_X86_64, 0x00, "01 02 03 04 05 06 07", USP_ERROR_TRUNCATED, 0, 0},
    {USP_ARCH_X86_64, 0x01, "80 80", USP_ERROR_TRUNCATED, 0, 0},
};

START_TEST(pointers) {
    const struct pointer_case *p = &pointer_cases[_i];
    uint64_t offset = 0;
    usp_addr value = 0;
    cfi_begin(&c, p->arch, true);
    put_hex(&c.bytes, p->bytes);
    c.section.slide = 0x10000000;
    c.section.text_base = 0x20000000;
    c.section.data_base = 0x30000000;
    int status = uspi_dwarf_pointer(cfi_section(&c), &offset, p->encoding, 0x40000000, &value);
    ck_assert_int_eq(status, p->status);
    if (status == USP_OK) ck_assert_uint_eq(value, p->value);
    ck_assert_uint_eq(offset, p->length);
}
END_TEST

START_TEST(aligned_pointer) {
    uint64_t offset = 1;
    usp_addr value;
    cfi_begin(&c, USP_ARCH_X86_64, true);
    put_hex(&c.bytes, "aa aa aa aa aa aa aa aa  34 12 00 00 00 00 00 00");
    ck_assert_int_eq(uspi_dwarf_pointer(cfi_section(&c), &offset, 0x50, 0, &value), USP_OK);
    ck_assert_uint_eq(value, 0x1234);
    ck_assert_uint_eq(offset, 16);
}
END_TEST

/* ---- entries ---- */

struct cie_case {
    unsigned version;
    const char *augmentation;
    const char *rest;
    int status;
    uint8_t encoding, lsda_encoding;
    unsigned flags;
};
enum { SIGNAL = 1, B_KEY = 2, DATA = 4 };

static const struct cie_case cie_cases[] = {
    {1, "", CIE_X86_64, USP_OK, 0, 0xff, 0},
    {3, "", CIE_X86_64, USP_OK, 0, 0xff, 0},
    {4, "", "08 00" CIE_X86_64, USP_OK, 0, 0xff, 0},
    {1, "zR", "01 78 10 01 1b 0c 07 08 90 01", USP_OK, 0x1b, 0xff, DATA},
    {1, "zPLR", "01 78 10 07 9b 11 22 33 44 1b 1b 0c 07 08 90 01", USP_OK, 0x1b, 0x1b, DATA},
    {1, "zPR", "01 78 10 02 ff 03 0c 07 08 90 01", USP_OK, 3, 0xff, DATA},
    {1, "zRS", "01 78 10 01 1b 0c 07 08 90 01", USP_OK, 0x1b, 0xff, DATA | SIGNAL},
    {1, "zRB", "01 78 10 01 1b 0c 07 08 90 01", USP_OK, 0x1b, 0xff, DATA | B_KEY},
    {1, "zRG", "01 78 10 01 1b 0c 07 08 90 01", USP_OK, 0x1b, 0xff, DATA},
    {1, "z", "01 78 10 03 aa bb cc 0c 07 08 90 01", USP_OK, 0, 0xff, DATA},
    {1, "S", CIE_X86_64, USP_OK, 0, 0xff, SIGNAL},
    {1, "eh", "11 22 33 44 55 66 77 88" CIE_X86_64, USP_OK, 0, 0xff, 0},
    {1, "zQR", "01 78 10 02 00 1b 0c 07 08 90 01", USP_ERROR_UNSUPPORTED, 0, 0, 0},
    {1, "Q", CIE_X86_64, USP_ERROR_UNSUPPORTED, 0, 0, 0},
    {1, "zRRRRRRRRRRRRRRRR", "01 78 10", USP_ERROR_UNSUPPORTED, 0, 0, 0},
    {2, "", CIE_X86_64, USP_ERROR_UNSUPPORTED, 0, 0, 0},
    {5, "", CIE_X86_64, USP_ERROR_UNSUPPORTED, 0, 0, 0},
    {4, "", "04 00" CIE_X86_64, USP_ERROR_UNSUPPORTED, 0, 0, 0},
    {4, "", "08 02" CIE_X86_64, USP_ERROR_UNSUPPORTED, 0, 0, 0},
    {1, "zR", "01 78 10 00 0c 07 08 90 01", USP_ERROR_FORMAT, 0, 0, 0},       /* R lies after the data */
    {1, "zR", "01 78 10 7f 1b 0c 07 08 90 01", USP_ERROR_TRUNCATED, 0, 0, 0}, /* the data ends after the entry */
    {1, "zR", "01 78 10 ff ff ff ff ff ff ff ff ff 01", USP_ERROR_TRUNCATED, 0, 0, 0},
    {1, "zP", "01 78 10 02 05 00 0c 07 08 90 01", USP_ERROR_FORMAT, 0, 0, 0},
    {1, "", "01 78", USP_ERROR_TRUNCATED, 0, 0, 0},
    {3, "", "01 78 90", USP_ERROR_TRUNCATED, 0, 0, 0},
};

START_TEST(cies) {
    const struct cie_case *t = &cie_cases[_i];
    struct uspi_dwarf_cie cie;
    cfi_begin(&c, USP_ARCH_X86_64, true);
    put_cie(&c, false, t->version, t->augmentation, t->rest);
    put(&c.bytes, 8, 0); /* not part of the entry */
    ck_assert_int_eq(uspi_dwarf_cie(cfi_section(&c), 0, &cie), t->status);
    if (t->status != USP_OK) return;
    ck_assert_uint_eq(cie.code_align, 1);
    ck_assert_int_eq(cie.data_align, -8);
    ck_assert_uint_eq(cie.return_column, 16);
    ck_assert_uint_eq(cie.encoding, t->encoding);
    ck_assert_uint_eq(cie.lsda_encoding, t->lsda_encoding);
    ck_assert_int_eq(cie.is_signal_frame, (t->flags & SIGNAL) != 0);
    ck_assert_int_eq(cie.signs_with_b_key, (t->flags & B_KEY) != 0);
    ck_assert_int_eq(cie.has_augmentation, (t->flags & DATA) != 0);
    ck_assert_uint_eq(cie.end - cie.instructions, 5);
    ck_assert_uint_eq(cie.end, c.bytes.size - 8);
}
END_TEST

/* Both lengths of entries, in both kinds of section. */
START_TEST(entry_formats) {
    bool wide = (_i & 1) != 0, is_eh = (_i & 2) != 0;
    struct uspi_dwarf_entry entry;
    struct uspi_dwarf_fde fde;
    cfi_begin(&c, USP_ARCH_X86_64, is_eh);
    put_fde(&c, 0, 0, 0, ""); /* so that the CIE is not the section's first entry */
    size_t cie = put_cie(&c, wide, 1, "", CIE_X86_64);
    size_t at = begin_fde(&c, wide, cie);
    put(&c.bytes, 8, CODE);
    put(&c.bytes, 8, 0x30);
    put_hex(&c.bytes, "44 0e 10");
    end_entry(&c, at, wide);
    ck_assert_int_eq(uspi_dwarf_entry(cfi_section(&c), at, &entry), USP_OK);
    ck_assert(!entry.is_cie && !entry.is_end && entry.is_wide == wide);
    ck_assert_uint_eq(entry.cie, cie);
    ck_assert_uint_eq(entry.next, c.bytes.size);
    ck_assert_int_eq(uspi_dwarf_fde(&c.section, &entry, &fde), USP_OK);
    ck_assert_uint_eq(fde.start, CODE);
    ck_assert_uint_eq(fde.end, CODE + 0x30);
    ck_assert_uint_eq(fde.instructions_end - fde.instructions, 3);
    ck_assert_int_eq(uspi_dwarf_entry(&c.section, cie, &entry), USP_OK);
    ck_assert(entry.is_cie && entry.cie == cie);
    ck_assert_int_eq(uspi_dwarf_fde(&c.section, &entry, &fde), USP_ERROR_FORMAT);
}
END_TEST

struct entry_case {
    const char *bytes;
    int status;
};
static const struct entry_case entry_cases[] = {
    {"00 00 00 00", USP_OK},                                                  /* the end */
    {"f0 ff ff ff 00 00 00 00", USP_ERROR_FORMAT},                            /* a reserved length */
    {"fe ff ff ff 00 00 00 00", USP_ERROR_FORMAT},                            /* another one */
    {"05 00 00 00 00 00 00 00", USP_ERROR_TRUNCATED},                         /* ends after the section */
    {"ff ff ff ff ff ff ff ff ff ff ff ff 00 00 00 00", USP_ERROR_TRUNCATED}, /* ends after the section */
    {"ff ff ff ff 04 00 00 00", USP_ERROR_TRUNCATED},                         /* without its 8-byte length */
    {"03 00 00 00 00 00 00 00", USP_ERROR_TRUNCATED},                         /* too short for a CIE pointer */
    {"04 00 00 00 05 00 00 00", USP_ERROR_FORMAT},                            /* a CIE before the section */
    {"04 00", USP_ERROR_TRUNCATED},
};

START_TEST(malformed_entries) {
    struct uspi_dwarf_entry entry;
    cfi_begin(&c, USP_ARCH_X86_64, true);
    put_hex(&c.bytes, entry_cases[_i].bytes);
    ck_assert_int_eq(uspi_dwarf_entry(cfi_section(&c), 0, &entry), entry_cases[_i].status);
    if (entry_cases[_i].status == USP_OK) ck_assert(entry.is_end);
}
END_TEST

START_TEST(malformed_fdes) {
    struct uspi_dwarf_entry entry;
    struct uspi_dwarf_fde fde;
    cfi_begin(&c, USP_ARCH_X86_64, true);
    size_t plain = put_cie(&c, false, 1, "", CIE_X86_64);
    size_t data = put_cie(&c, false, 1, "zR", "01 78 10 01 1b 0c 07 08 90 01");
    size_t wrapping = put_fde(&c, plain, UINT64_MAX - 15, 17, "");
    size_t of_fde = put_fde(&c, wrapping, CODE, 16, "");
    size_t cut = begin_fde(&c, false, plain);
    put(&c.bytes, 8, CODE);
    put(&c.bytes, 4, 16);
    end_entry(&c, cut, false);
    size_t long_data = begin_fde(&c, false, data);
    put_hex(&c.bytes, "10 00 00 00  10 00 00 00  01");
    end_entry(&c, long_data, false);
    const struct {
        size_t at;
        int status;
    } cases[] = {{wrapping, USP_ERROR_FORMAT},
                 {of_fde, USP_ERROR_FORMAT},
                 {cut, USP_ERROR_TRUNCATED},
                 {long_data, USP_ERROR_TRUNCATED}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(uspi_dwarf_entry(cfi_section(&c), cases[i].at, &entry), USP_OK);
        ck_assert_int_eq(uspi_dwarf_fde(&c.section, &entry, &fde), cases[i].status);
    }
}
END_TEST

/* ---- instructions ---- */

struct row_case {
    uint32_t arch;
    const char *instructions;
    usp_addr pc; /* offset from the FDE's start */
    const char *row;
    int status;
};

#define X86(instructions, row)        {USP_ARCH_X86_64, instructions, 0, row, USP_OK}
#define X86_AT(instructions, pc, row) {USP_ARCH_X86_64, instructions, pc, row, USP_OK}
#define X86_BAD(instructions, status) {USP_ARCH_X86_64, instructions, 0x80, NULL, status}
#define ARM(instructions, row)        {USP_ARCH_ARM64, instructions, 0, row, USP_OK}
#define BAD(instructions)             X86_BAD(instructions, USP_ERROR_FORMAT)
#define CUT(instructions)             X86_BAD(instructions, USP_ERROR_TRUNCATED)

static const struct row_case row_cases[] = {
    X86("", "rsp+8 ra=c-8"),
    X86("00 00", "rsp+8 ra=c-8"),
    X86("83 02", "rsp+8 rbx=c-16 ra=c-8"),
    X86("90 03", "rsp+8 ra=c-24"),
    X86("05 0c 02", "rsp+8 r12=c-16 ra=c-8"),
    X86("11 0c 7e", "rsp+8 r12=c+16 ra=c-8"),
    X86("2f 0c 02", "rsp+8 r12=c+16 ra=c-8"),
    X86("14 0c 02", "rsp+8 r12=v-16 ra=c-8"),
    X86("15 0c 7e", "rsp+8 r12=v+16 ra=c-8"),
    X86("08 03", "rsp+8 rbx=s ra=c-8"),
    X86("83 02 07 03", "rsp+8 ra=c-8"),
    X86("09 03 0c", "rsp+8 rbx=r12 ra=c-8"),
    X86("09 03 20", "rsp+8 ra=c-8"), /* in a register that no walk knows */
    X86("10 03 01 30", "rsp+8 rbx=exp ra=c-8"),
    X86("16 03 01 30", "rsp+8 rbx=vexp ra=c-8"),
    X86("c3", "rsp+8 ra=c-8"),
    X86("83 02 c3", "rsp+8 ra=c-8"),
    X86("90 03 d0", "rsp+8 ra=c-8"),
    X86("90 03 06 10", "rsp+8 ra=c-8"),
    X86("0c 06 10", "rbp+16 ra=c-8"),
    X86("12 06 7e", "rbp+16 ra=c-8"),
    X86("0d 06", "rbp+8 ra=c-8"),
    X86("0e 80 01", "rsp+128 ra=c-8"),
    X86("13 7e", "rsp+16 ra=c-8"),
    X86("0f 02 77 08", "exp ra=c-8"),
    X86("0f 02 77 08 0c 07 10", "rsp+16 ra=c-8"),
    X86("0a 0e 10 83 02 0b", "rsp+8 ra=c-8"),
    X86("0a 0a 0e 10 0b 0e 18 0a 0e 20 0b", "rsp+24 ra=c-8"),
    X86("2e 10", "rsp+8 ra=c-8"),
    X86("05 11 02", "rsp+8 ra=c-8"), /* xmm0 */
    X86_AT("44 0e 10", 3, "rsp+8 ra=c-8"),
    X86_AT("44 0e 10", 4, "rsp+16 ra=c-8"),
    X86_AT("44 0e 10 44 0e 18", 7, "rsp+16 ra=c-8"),
    X86_AT("44 0e 10 44 0e 18", 8, "rsp+24 ra=c-8"),
    X86_AT("02 10 0e 10", 0xf, "rsp+8 ra=c-8"),
    X86_AT("02 10 0e 10", 0x10, "rsp+16 ra=c-8"),
    X86_AT("03 10 00 0e 10", 0xf, "rsp+8 ra=c-8"),
    X86_AT("03 10 00 0e 10", 0x10, "rsp+16 ra=c-8"),
    X86_AT("04 10 00 00 00 0e 10", 0x10, "rsp+16 ra=c-8"),
    X86_AT("1d 10 00 00 00 00 00 00 00 0e 10", 0x10, "rsp+16 ra=c-8"),
    X86_AT("01 10 10 40 00 00 00 00 00 0e 10", 0xf, "rsp+8 ra=c-8"),
    X86_AT("01 10 10 40 00 00 00 00 00 0e 10", 0x10, "rsp+16 ra=c-8"),
    X86_AT("44 0e 10 3f", 3, "rsp+8 ra=c-8"), /* instructions for a later pc are not read */
    ARM("2d", "sp+0"),
    ARM("2c", "sp+0"),
    {USP_ARCH_ARM64, "41 0e 10 9d 02 9e 01", 4, "sp+16 x29=c-16 ra=c-8", USP_OK},
    {USP_ARCH_ARM64, "41 0e 10 9d 02 9e 01", 3, "sp+0", USP_OK},
    BAD("0b"),                                                    /* no row was remembered */
    BAD("0a 0a 0a 0a 0a 0a 0a"),                                  /* more than the stack of rows holds */
    BAD("0f 01 30 0e 10"),                                        /* an offset for a CFA that is an expression */
    BAD("0f 01 30 13 01"),                                        /* the same, factored */
    BAD("0f 01 30 0d 06"),                                        /* a register for a CFA that is an expression */
    BAD("01 00 10 40 00 00 00 00 00 01 ff 0f 40 00 00 00 00 00"), /* backwards */
    BAD("0e ff ff ff ff ff 7f"),                                  /* a frame cannot be that large */
    BAD("83 ff ff ff ff 7f"),
    BAD("2f 03 ff ff ff ff 7f"),
    BAD("13 80 80 80 80 40"),
    BAD("1d ff ff ff ff ff ff ff ff"),       /* beyond the address space */
    BAD("83 ff ff ff ff ff ff ff ff ff 7f"), /* more than 64 bits */
    X86_BAD("2d", USP_ERROR_UNSUPPORTED),    /* another processor's */
    X86_BAD("1c", USP_ERROR_UNSUPPORTED),
    X86_BAD("3f", USP_ERROR_UNSUPPORTED),
    X86_BAD("0c 11 10", USP_ERROR_UNSUPPORTED), /* CFA = xmm0 + 16 */
    CUT("83"),
    CUT("02"),
    CUT("03 01"),
    CUT("04 01 00 00"),
    CUT("1d 01 00 00 00 00 00 00"),
    CUT("01 01 00 00"),
    CUT("0c 07"),
    CUT("0c"),
    CUT("0d"),
    CUT("09 03"),
    CUT("10 03 02 30"), /* a block that ends after the entry */
    CUT("0f 7f"),
    CUT("2e"),
    CUT("05 80"),
};

START_TEST(rows) {
    const struct row_case *t = &row_cases[_i];
    struct uspi_dwarf_entry entry;
    struct uspi_dwarf_fde fde;
    struct uspi_dwarf_row row;
    char text[256];
    cfi_begin(&c, t->arch, true);
    /* arm64: code_align 4, data_align -8, return column 30; CFA = sp. */
    size_t cie = put_cie(&c, false, 1, "", t->arch == USP_ARCH_ARM64 ? "04 78 1e  0c 1f 00" : CIE_X86_64);
    size_t at = put_fde(&c, cie, CODE, 0x100, t->instructions);
    put(&c.bytes, 8, 0); /* not part of the entry */
    ck_assert_int_eq(uspi_dwarf_entry(cfi_section(&c), at, &entry), USP_OK);
    ck_assert_int_eq(uspi_dwarf_fde(&c.section, &entry, &fde), USP_OK);
    ck_assert_msg(uspi_dwarf_row(&c.section, &fde, CODE + t->pc, &row) == t->status, "%s", t->instructions);
    if (t->status != USP_OK) return;
    row_text(&c.section, &fde.cie, &row, text, sizeof text);
    ck_assert_msg(strcmp(text, t->row) == 0, "%s: %s, not %s", t->instructions, text, t->row);
}
END_TEST

/* Computes the row of an FDE in a table of its own, whose CIE has the instructions `initial`. */
static int row_of(uint32_t arch, const char *initial, const char *instructions, struct uspi_dwarf_fde *fde,
                  struct uspi_dwarf_row *row) {
    struct uspi_dwarf_entry entry;
    free_table();
    struct uspi_dwarf_section kept = c.section;
    cfi_begin(&c, arch, true);
    c.section.swaps_sp_and_fp = kept.swaps_sp_and_fp;
    size_t cie = put_cie(&c, false, 1, "", initial);
    size_t at = put_fde(&c, cie, CODE, 0x100, instructions);
    ck_assert_int_eq(uspi_dwarf_entry(cfi_section(&c), at, &entry), USP_OK);
    ck_assert_int_eq(uspi_dwarf_fde(&c.section, &entry, fde), USP_OK);
    return uspi_dwarf_row(&c.section, fde, CODE, row);
}

static const struct {
    const char *instructions;
    enum uspi_dwarf_extent extent;
} extents[] = {
    {"", USPI_DWARF_WHOLE},                           /* no frame */
    {"44 0e 20 9d 04 9e 03", USPI_DWARF_BODY},        /* made and never undone */
    {"44 0e 20 9d 04 44 0e 00 dd", USPI_DWARF_WHOLE}, /* undone at the end */
    {"44 0e 20 0a 44 0e 00 0b", USPI_DWARF_WHOLE},    /* undone in between */
    {"44 0e 20 9d 04 44 dd", USPI_DWARF_WHOLE},       /* fp is restored, sp not */
    {"44 0e 20 44 0e 00 44 0e 20", USPI_DWARF_WHOLE}, /* undone before code that still has the frame */
    {"44 0e 20 44 0e 40 44 0e 20", USPI_DWARF_BODY},  /* arguments come and go */
    {"0e 20 9d 04 9e 03", USPI_DWARF_PART},           /* made in another function */
    {"0e 20 9d 04 44 0e 00 dd", USPI_DWARF_PART},     /* and undone here */
    {"44 0c 1d 10 9d 02", USPI_DWARF_BODY},           /* CFA = fp + 16 */
    {"44 0c 1d 10 44 0c 1f 00", USPI_DWARF_WHOLE},    /* and sp again */
    {"44 0e 20 3f", USPI_DWARF_WHOLE},                /* an unknown opcode */
};

START_TEST(extent) {
    struct uspi_dwarf_fde fde;
    struct uspi_dwarf_row row;
    cfi_begin(&c, USP_ARCH_ARM64, true);
    row_of(USP_ARCH_ARM64, "04 78 1e  0c 1f 00", extents[_i].instructions, &fde, &row);
    ck_assert_msg(uspi_dwarf_extent(&c.section, &fde) == extents[_i].extent, "%s", extents[_i].instructions);
}
END_TEST

START_TEST(signed_state) {
    struct uspi_dwarf_fde fde;
    struct uspi_dwarf_row row;
    static const struct {
        const char *instructions;
        bool is_signed;
    } cases[] = {{"", false}, {"2d", true}, {"2c", true}, {"2d 2d", false}, {"2d 0a 2d 0b", true}, {"41 2d", false}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ck_assert_int_eq(row_of(USP_ARCH_ARM64, "04 78 1e  0c 1f 00", cases[i].instructions, &fde, &row), USP_OK);
        ck_assert_int_eq(row.is_signed, cases[i].is_signed);
    }
}
END_TEST

/* In Darwin's i386, ebp has the number 4 and esp 5. */
START_TEST(swapped_registers) {
    struct uspi_dwarf_fde fde;
    struct uspi_dwarf_row row;
    char text[256];
    c.section.swaps_sp_and_fp = true;
    ck_assert_int_eq(row_of(USP_ARCH_I386, "01 7c 08  0c 05 04 88 01", "0e 08 84 02 0d 04", &fde, &row), USP_OK);
    row_text(&c.section, &fde.cie, &row, text, sizeof text);
    ck_assert_str_eq(text, "ebp+8 ebp=c-8 ra=c-4");
}
END_TEST

START_TEST(malformed_initial_rows) {
    struct uspi_dwarf_fde fde;
    struct uspi_dwarf_row row;
    struct uspi_rule rule;
    /* The CIE restores the register that it defines; and sets an offset without a register. */
    ck_assert_int_eq(row_of(USP_ARCH_X86_64, "01 78 10 c3", "", &fde, &row), USP_ERROR_FORMAT);
    ck_assert_int_eq(row_of(USP_ARCH_X86_64, "01 78 10 0e 10", "", &fde, &row), USP_ERROR_FORMAT);
    /* Without a CFA; without a return address. */
    ck_assert_int_eq(row_of(USP_ARCH_X86_64, "01 78 10", "", &fde, &row), USP_OK);
    ck_assert_int_eq(uspi_dwarf_rule(&c.section, &fde.cie, &row, &rule), USP_ERROR_FORMAT);
    ck_assert_int_eq(row_of(USP_ARCH_X86_64, "01 78 10 0c 07 08", "", &fde, &row), USP_OK);
    ck_assert_int_eq(uspi_dwarf_rule(&c.section, &fde.cie, &row, &rule), USP_ERROR_FORMAT);
    /* A data alignment of which no offset can be a multiple. */
    ck_assert_int_eq(row_of(USP_ARCH_X86_64, "01 80 80 80 80 80 01 10", "83 01", &fde, &row), USP_ERROR_FORMAT);
}
END_TEST

/* More instructions at one address than any function has: the reader must give up. */
START_TEST(endless_instructions) {
    struct uspi_dwarf_entry entry;
    struct uspi_dwarf_fde fde;
    struct uspi_dwarf_row row;
    cfi_begin(&c, USP_ARCH_X86_64, true);
    size_t cie = put_cie(&c, false, 1, "", CIE_X86_64);
    size_t at = begin_fde(&c, false, cie);
    put(&c.bytes, 8, CODE);
    put(&c.bytes, 8, 0x100);
    for (unsigned i = 0; i < 1u << 18; i++) put(&c.bytes, 1, 0);
    end_entry(&c, at, false);
    ck_assert_int_eq(uspi_dwarf_entry(cfi_section(&c), at, &entry), USP_OK);
    ck_assert_int_eq(uspi_dwarf_fde(&c.section, &entry, &fde), USP_OK);
    ck_assert_int_eq(uspi_dwarf_row(&c.section, &fde, CODE, &row), USP_ERROR_FORMAT);
}
END_TEST

/* ---- lookup ---- */

struct image {
    struct uspi_dwarf_image image;
    struct usp_memory memory;
    struct usp_unwind_tables tables;
    size_t hdr;
};

/* Builds three functions, the first two adjacent, a gap before the third; the sorted table comes after them. */
static struct image three_functions(const char *header, bool with_entries) {
    struct image i = {.hdr = 0};
    cfi_begin(&c, USP_ARCH_X86_64, true);
    size_t cie = put_cie(&c, false, 1, "", CIE_X86_64);
    size_t second = put_fde(&c, cie, CODE + 0x10, 0x10, "0e 20");
    size_t first = put_fde(&c, cie, CODE, 0x10, "0e 10");
    size_t third = put_fde(&c, cie, CODE + 0x40, 0x10, "0e 30");
    put_fde(&c, cie, 0, 0x10, ""); /* of code that the linker removed */
    put(&c.bytes, 4, 0);
    i.tables.eh_frame = (struct usp_memory_range){TABLE, c.bytes.size};
    i.hdr = c.bytes.size;
    put_hex(&c.bytes, header);
    if (with_entries) {
        put_sorted(&c.bytes, i.hdr, CODE, first);
        put_sorted(&c.bytes, i.hdr, CODE + 0x10, second);
        put_sorted(&c.bytes, i.hdr, CODE + 0x40, third);
    }
    i.tables.eh_frame_hdr = (struct usp_memory_range){TABLE + i.hdr, c.bytes.size - i.hdr};
    return i;
}

static int init_image(struct image *i) {
    i->memory = cfi_memory(&c);
    return uspi_dwarf_image_init(&i->image, &i->tables, &i->memory, &uspi_x86_64, USP_OS_LINUX);
}

/* Returns the CFA's offset, which identifies the function; 0: no function was found. */
static int found(struct image *i, usp_addr pc) {
    const struct uspi_dwarf_section *section;
    struct uspi_dwarf_fde fde;
    struct uspi_dwarf_row row;
    int status = uspi_dwarf_find(&i->image, pc, &section, &fde);
    if (status != USP_OK) return status == USP_ERROR_NOT_FOUND ? 0 : status;
    ck_assert_int_eq(uspi_dwarf_row(section, &fde, pc, &row), USP_OK);
    return row.cfa_offset;
}

static void expect_three(struct image *i) {
    ck_assert_int_eq(found(i, CODE - 1), 0);
    ck_assert_int_eq(found(i, CODE), 0x10);
    ck_assert_int_eq(found(i, CODE + 0xf), 0x10);
    ck_assert_int_eq(found(i, CODE + 0x10), 0x20);
    ck_assert_int_eq(found(i, CODE + 0x1f), 0x20);
    ck_assert_int_eq(found(i, CODE + 0x20), 0);
    ck_assert_int_eq(found(i, CODE + 0x3f), 0);
    ck_assert_int_eq(found(i, CODE + 0x40), 0x30);
    ck_assert_int_eq(found(i, CODE + 0x4f), 0x30);
    ck_assert_int_eq(found(i, CODE + 0x50), 0);
    ck_assert_int_eq(found(i, 0), 0);
    ck_assert_int_eq(found(i, UINT64_MAX), 0);
}

START_TEST(sorted_table) {
    struct image i = three_functions("01 1b 03 3b  00 00 00 00  03 00 00 00", true);
    patch(&c.bytes, i.hdr + 4, 4, 0 - (uint64_t)(i.hdr + 4));
    ck_assert_int_eq(init_image(&i), USP_OK);
    expect_three(&i);
    /* The section must be found by the sorted table if its address is not given. */
    i.tables.eh_frame.size = 0;
    ck_assert_int_eq(init_image(&i), USP_OK);
    expect_three(&i);
}
END_TEST

/* Without a sorted table, with an empty one, or with one that cannot be searched, the functions must be found by a
 * scan. */
START_TEST(no_sorted_table) {
    static const char *const headers[] = {"", "01 1b ff ff 04 00 00 00", "01 1b 03 01 04 00 00 00 03 00 00 00",
                                          "01 1b 03 3b 04 00 00 00 00 00 00 00"};
    struct image i = three_functions(headers[_i], false);
    ck_assert_int_eq(init_image(&i), USP_OK);
    expect_three(&i);
}
END_TEST

START_TEST(made_table) {
    struct image i = three_functions("", false);
    uint8_t *bytes;
    size_t size;
    ck_assert_int_eq(init_image(&i), USP_OK);
    ck_assert_int_eq(uspi_dwarf_make_index(&i.image.eh, &bytes, &size), USP_OK);
    i.tables.eh_frame_hdr = (struct usp_memory_range){TABLE + c.bytes.size, size};
    put_bytes(&c.bytes, bytes, size);
    free(bytes);
    ck_assert_uint_eq(size, 20 + 3 * 16);
    ck_assert_int_eq(init_image(&i), USP_OK);
    ck_assert_int_eq(i.image.eh_index.status, USP_OK);
    expect_three(&i);
}
END_TEST

START_TEST(malformed_sorted_tables) {
    static const struct {
        const char *header;
        int status;
    } cases[] = {
        {"02 1b 03 3b 04 00 00 00 03 00 00 00", USP_ERROR_UNSUPPORTED},
        {"01 1b 03 3b 04 00 00 00 04 00 00 00", USP_ERROR_TRUNCATED}, /* more entries than bytes */
        {"01 1b 04 3b 04 00 00 00 ff ff ff ff ff ff ff ff", USP_ERROR_TRUNCATED},
        {"01 1b 05 3b 04 00 00 00 03 00 00 00", USP_ERROR_FORMAT},
        {"01 05 03 3b 04 00 00 00 03 00 00 00", USP_ERROR_FORMAT},
    };
    for (unsigned k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        free_table();
        struct image i = three_functions(cases[k].header, true);
        ck_assert_int_eq(init_image(&i), USP_OK);
        ck_assert_int_eq(found(&i, CODE), cases[k].status);
        i.tables.eh_frame.size = 0;
        ck_assert_int_eq(init_image(&i), cases[k].status);
    }
}
END_TEST

/* Entries of the sorted table that point to the wrong FDE, before the section, or into the middle of an entry must be
 * refused. */
START_TEST(lying_sorted_table) {
    struct image i = three_functions("01 1b 03 3b 04 00 00 00 03 00 00 00", true);
    size_t first = i.hdr + 12;
    ck_assert_int_eq(init_image(&i), USP_OK);
    ck_assert_int_eq(found(&i, CODE), 0x10);
    uint64_t second_fde = uspi_le(c.bytes.bytes + first + 8 + 4, 4);
    patch(&c.bytes, first + 4, 4, second_fde);
    ck_assert_int_eq(found(&i, CODE), USP_ERROR_FORMAT);
    patch(&c.bytes, first + 4, 4, 0 - (uint64_t)i.hdr); /* the CIE */
    ck_assert_int_eq(found(&i, CODE), USP_ERROR_FORMAT);
    patch(&c.bytes, first + 4, 4, 0 - (uint64_t)i.hdr - 4);
    ck_assert_int_eq(found(&i, CODE), USP_ERROR_FORMAT);
    patch(&c.bytes, first + 4, 4, 0x1000);
    ck_assert_int_eq(found(&i, CODE), USP_ERROR_TRUNCATED);
}
END_TEST

/* .debug_frame must be used if .eh_frame does not cover the address. Its addresses are link addresses. */
START_TEST(debug_frame) {
    struct image i = three_functions("", false);
    struct cfi eh = c;
    memset(&c, 0, sizeof c);
    cfi_begin(&c, USP_ARCH_X86_64, false);
    put_bytes(&c.bytes, eh.bytes.bytes, eh.bytes.size);
    size_t at = c.bytes.size;
    size_t cie = put_cie(&c, false, 1, "", CIE_X86_64);
    put_fde(&c, cie - at, 0x20, 0x10, "0e 40");
    put_fde(&c, cie - at, 0x10, 0x10, "0e 50");
    put_fde(&c, cie - at, 0, 0x10, "0e 60");
    i.tables.debug_frame = (struct usp_memory_range){TABLE + at, c.bytes.size - at};
    i.tables.slide = CODE;
    ck_assert_int_eq(init_image(&i), USP_OK);
    ck_assert_int_eq(found(&i, CODE + 0x10), 0x20);
    ck_assert_int_eq(found(&i, CODE + 0x20), 0x40);
    ck_assert_int_eq(found(&i, CODE + 0x30), 0);
    i.tables.eh_frame.size = i.tables.eh_frame_hdr.size = 0;
    ck_assert_int_eq(init_image(&i), USP_OK);
    ck_assert_int_eq(found(&i, CODE + 0x10), 0x50);
    ck_assert_int_eq(found(&i, CODE), 0);
    /* By a sorted table that the library has made. */
    uint8_t *bytes;
    size_t size;
    ck_assert_int_eq(uspi_dwarf_make_index(&i.image.debug, &bytes, &size), USP_OK);
    i.tables.debug_frame_hdr = (struct usp_memory_range){TABLE + c.bytes.size, size};
    put_bytes(&c.bytes, bytes, size);
    free(bytes);
    ck_assert_int_eq(init_image(&i), USP_OK);
    ck_assert_int_eq(found(&i, CODE + 0x10), 0x50);
    ck_assert_int_eq(found(&i, CODE + 0x2f), 0x40);
    ck_assert_int_eq(found(&i, CODE + 0x30), 0);
    builder_free(&eh.bytes);
}
END_TEST

START_TEST(no_tables) {
    struct image i = {.hdr = 0};
    cfi_begin(&c, USP_ARCH_X86_64, true);
    ck_assert_int_eq(init_image(&i), USP_ERROR_NOT_FOUND);
    /* A section that wraps around the address space must be refused. */
    i.tables.eh_frame = (struct usp_memory_range){UINT64_MAX, 2};
    ck_assert_int_eq(init_image(&i), USP_ERROR_NOT_FOUND);
    i.tables.eh_frame = (struct usp_memory_range){TABLE, 16};
    ck_assert_int_eq(init_image(&i), USP_OK);
    ck_assert_int_eq(found(&i, CODE), USP_ERROR_UNREADABLE);
}
END_TEST

int main(void) {
    TCase *tests = tcase_create("bytes");
    tcase_add_checked_fixture(tests, NULL, free_table);
    tcase_add_loop_test(tests, pointers, 0, ELEMENTS(pointer_cases));
    tcase_add_test(tests, aligned_pointer);
    tcase_add_loop_test(tests, cies, 0, ELEMENTS(cie_cases));
    tcase_add_loop_test(tests, entry_formats, 0, 4);
    tcase_add_loop_test(tests, malformed_entries, 0, ELEMENTS(entry_cases));
    tcase_add_test(tests, malformed_fdes);
    tcase_add_loop_test(tests, rows, 0, ELEMENTS(row_cases));
    tcase_add_loop_test(tests, extent, 0, ELEMENTS(extents));
    add_tests(tests, signed_state, swapped_registers, malformed_initial_rows, endless_instructions, sorted_table);
    tcase_add_loop_test(tests, no_sorted_table, 0, 4);
    add_tests(tests, made_table, malformed_sorted_tables, lying_sorted_table, debug_frame, no_tables);
    return run_suite("dwarf_cfi", tests);
}
