/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_compact and fuzz_ehabi into folders of these names below the given one: the tests'
 * tables. */
#include <sys/stat.h>

#include "tests/support/ehabi_table.h"
#include "tests/support/unwind_info.h"

static void write_seed(const char *parent, const char *fuzzer, unsigned number, struct builder *head,
                       struct builder *rest) {
    char path[1024];
    put_bytes(head, rest->bytes, rest->size);
    snprintf(path, sizeof path, "%s/%s", parent, fuzzer);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%u", parent, fuzzer, number);
    save(head, path);
    builder_free(head);
    builder_free(rest);
}

/* Compact encodings of each processor, in the order of enum usp_arch: each mode with all registers and with none. The
 * last three are invalid in every mode. */
#define ROWS 3
static const uint32_t encodings[5][ROWS][3] = {
    {{0x04000f1f, 0x02002003, 0x03000040}, {0x04000000, 0x02000000, 0x02010f1f}, {0x05000000, 0x04001000, 0x02001f1f}},
    {{0x04000001, 0x02001000, 0x03000000}, {0x04000f1f, 0x02000000, 0x02010f1f}, {0x01000000, 0x04001000, 0x02001f1f}},
    {{0x014000fa, 0x02000301, 0x04000020}, {0x01000000, 0x010000ff, 0x020007ff}, {0x03000000, 0x01800001, 0x0200ff00}},
    {{0x010558d1, 0x02071acf, 0x03032405}, {0x01000000, 0x02010000, 0x04000040}, {0x00000001, 0x01010007, 0x02010c00}},
    {{0x010300a3, 0x03032000, 0x02030405}, {0x01000000, 0x02010000, 0x04000040}, {0x05000000, 0x01010038, 0x02011fff}},
};

/* Programs of ARM's unwind instructions: each form at its limits, and some that must be refused. */
static const char *const programs[] = {
    "00 3f 40 7f b0",
    "84 08 b0",
    "80 00",
    "88 00 b0",
    "8f ff",
    "97 04 b0",
    "9b 42 ab b0",
    "9d",
    "9f",
    "a0 a8 af b0",
    "b1 01 b0",
    "b1 0f b0",
    "b1 00",
    "b1 10",
    "b2 00 b0",
    "b2 ff 7f b0",
    "b3 8f b0",
    "b4 b5 b0",
    "b2 ff ff ff ff 07 b0",
    "b6",
    "b8 bf b0",
    "c0 c5 b0",
    "c6 1f b0",
    "c7 0f b0",
    "c7 00",
    "c7 10",
    "c8 1f b0",
    "c9 8f b0",
    "ca",
    "d0 d7 b0",
    "d8",
    "82 00 00 7f b0",
    "82 00 a8 b0",
    "82 00 9b a8 b0",
};

int main(int argc, char **argv) {
    if (argc != 2) return EXIT_FAILURE;
    for (unsigned i = 0; i < 5 * ROWS; i++) {
        struct builder head = {0}, section = build_unwind_info(encodings[i / ROWS][i % ROWS]);
        put(&head, 1, i / ROWS);
        put(&head, 1, 8);
        put(&head, 8, UINT64_C(0x1238) << 24);
        write_seed(argv[1], "fuzz_compact", i, &head, &section);
    }
    struct builder head = {0}, table = build_ehabi_table();
    put(&head, 1, 0);
    put(&head, 1, FUNCTIONS * 2);
    write_seed(argv[1], "fuzz_ehabi", 0, &head, &table);
    for (unsigned i = 0; i < sizeof programs / sizeof programs[0]; i++) {
        struct builder program = {0};
        put(&head, 2, 0);
        put_hex(&program, programs[i]);
        write_seed(argv[1], "fuzz_ehabi", 1 + i, &head, &program);
    }
    return EXIT_SUCCESS;
}
