/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_cfi into a folder of that name below the given one. For each processor: an image of three
 * functions that call each other, with every kind of instruction and both kinds of section. */
#include "tests/fuzz/cfi_input.h"
#include "tests/unwind/cfi_builder.h"

#include <sys/stat.h>

static const struct {
    uint32_t arch;
    const char *cie;  /* the CIE from the alignment factors on */
    const char *rows; /* the rows of the innermost function */
} processors[] = {
    {USP_ARCH_X86_64, "01 78 10 0c 07 08 90 01", "41 0e 10 83 02 0a 44 0e 20 0b 2e 10 10 0c 02 77 08 16 0d 02 77 10"},
    {USP_ARCH_I386, "01 7c 08 0c 04 04 88 01", "41 0e 08 85 02 42 0d 05 0a c5 0c 04 04 0b 09 03 01 13 7e"},
    {USP_ARCH_ARM64, "04 78 1e 0c 1f 00", "2d 41 0e 20 9d 04 9e 03 05 13 02 14 14 01 15 15 7f dd de"},
    {USP_ARCH_ARM64_32, "04 78 1e 0c 1f 00", "41 0e 20 9d 04 9e 03 0d 1d 11 13 02 2f 14 01"},
    {USP_ARCH_ARMV7, "02 7c 0e 0c 0d 00", "41 0e 08 87 02 8e 01 42 0d 07 08 04 07 05 02 08 03 08 00"},
};

/* CFI of the processor's procedure linkage table, as on x86. */
static const char plt[] = "0f 0b 77 08 80 00 3f 1a 3b 2a 33 24 22";

static void write_seed(const char *folder, unsigned i, uint8_t wishes) {
    struct cfi c;
    struct header h = {.arch = (uint8_t)(processors[i].arch - 1), .os = USP_OS_LINUX, .wishes = wishes, .pc = 4};
    char path[1024];
    cfi_begin(&c, processors[i].arch, true);
    unsigned word = c.section.backend->word;
    size_t cie = put_cie(&c, false, 1, "", processors[i].cie);
    size_t first = put_fde(&c, cie, CODE, 0x40, processors[i].rows);
    size_t second = put_fde(&c, cie, CODE + 0x40, 0x40, "0e 10");
    size_t third = put_fde(&c, cie, CODE + 0x80, 0x40, plt);
    size_t signal = put_cie(&c, true, 1, "zPLRS", "01 78 10 07 00 00 00 00 00 1b 1b");
    size_t at = begin_fde(&c, true, signal);
    put_hex(&c.bytes, "10 00 00 00 20 00 00 00 04 00 00 00 00");
    end_entry(&c, at, true);
    put(&c.bytes, 4, 0);
    h.eh_size = (uint16_t)c.bytes.size;
    c.section.is_eh = false;
    size_t debug = c.bytes.size;
    cie = put_cie(&c, false, 3, "", processors[i].cie) - debug;
    put_fde(&c, cie, 0x100, 0x40, processors[i].rows);
    h.debug_size = (uint16_t)(c.bytes.size - debug);
    size_t hdr = c.bytes.size;
    put_hex(&c.bytes, "01 1b 03 3b");
    put(&c.bytes, 4, 0 - (uint64_t)(hdr + 4));
    put(&c.bytes, 4, 3);
    put_sorted(&c.bytes, hdr, CODE, first);
    put_sorted(&c.bytes, hdr, CODE + 0x40, second);
    put_sorted(&c.bytes, hdr, CODE + 0x80, third);
    h.hdr_size = (uint16_t)(c.bytes.size - hdr);
    for (unsigned k = 0; k < 24; k++) put(&c.bytes, word, k % 3 == 0 ? CODE + 0x44 : STACK + 8 * k);

    struct builder file = {0};
    put_bytes(&file, &h, sizeof h);
    put_bytes(&file, c.bytes.bytes, c.bytes.size);
    snprintf(path, sizeof path, "%s/fuzz_cfi/%u_%u", folder, i, wishes);
    save(&file, path);
    builder_free(&file);
    builder_free(&c.bytes);
}

int main(int argc, char **argv) {
    char path[1024];
    if (argc != 2) return 2;
    snprintf(path, sizeof path, "%s/fuzz_cfi", argv[1]);
    (void)mkdir(path, 0777);
    for (unsigned i = 0; i < sizeof processors / sizeof processors[0]; i++) {
        for (unsigned wishes = 0; wishes < 16; wishes += 4) write_seed(argv[1], i, (uint8_t)(wishes | (wishes >> 2)));
    }
    return 0;
}
