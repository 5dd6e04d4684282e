/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_compact and fuzz_ehabi into two folders of these names below the one that is given: the tables
 * of the tests. */
#include <sys/stat.h>

#include "tests/ehabi_table.h"
#include "tests/unwind_info.h"

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

/* Encodings of each processor, in the order of enum usp_arch. */
static const uint32_t encodings[5][3] = {{0x04000f1f, 0x02002003, 0x03000040},
                                         {0x04000001, 0x02001000, 0x03000000},
                                         {0x014000fa, 0x02000301, 0x04000020},
                                         {0x010558d1, 0x02071acf, 0x03032405},
                                         {0x010300a3, 0x03032000, 0x02030405}};

int main(int argc, char **argv) {
    if (argc != 2) return EXIT_FAILURE;
    for (unsigned arch = 0; arch < 5; arch++) {
        struct builder head = {0}, section = build_unwind_info(encodings[arch]);
        put(&head, 1, arch);
        put(&head, 1, 8);
        put(&head, 8, UINT64_C(0x1238) << 24);
        write_seed(argv[1], "fuzz_compact", arch, &head, &section);
    }
    struct builder head = {0}, table = build_ehabi_table();
    put(&head, 1, 0);
    put(&head, 1, FUNCTIONS * 2);
    write_seed(argv[1], "fuzz_ehabi", 0, &head, &table);
    return EXIT_SUCCESS;
}
