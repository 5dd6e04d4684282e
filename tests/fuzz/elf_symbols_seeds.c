/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_elf_symbols into a folder of that name below the given one: the tests' ELF files, for each
 * processor. */
#include "tests/support/symbol_file.h"

#include <sys/stat.h>

int main(int argc, char **argv) {
    static const struct file_symbol symbols[] = {{"hidden", 0x1080, 0x20, FUNC, LOCAL, TEXT},
                                                 {"read@@V1", 0x1100, 0x40, FUNC, GLOBAL, TEXT},
                                                 {"__read", 0x1100, 0x40, FUNC, GLOBAL, TEXT},
                                                 {"inner", 0x1110, 0x10, IFUNC, WEAK, TEXT},
                                                 {"label", 0x1200, 0, NOTYPE, GLOBAL, TEXT},
                                                 {"$t", 0x1300, 0, NOTYPE, LOCAL, TEXT},
                                                 {0}};
    static const uint16_t machines[] = {3, 40, 62, 183};
    static const uint8_t build_id[4] = {1, 2, 3, 4};
    char path[1024];
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    mkdir(argv[1], 0777);
    snprintf(path, sizeof path, "%s/fuzz_elf_symbols", argv[1]);
    mkdir(path, 0777);
    for (unsigned i = 0; i < 4; i++) {
        struct symbol_file file = {.wide = i >= 2,
                                   .machine = machines[i],
                                   .symtab = symbols,
                                   .dynsym = symbols,
                                   .build_id = build_id,
                                   .build_id_size = sizeof build_id};
        struct builder b = build_symbol_file(&file);
        snprintf(path, sizeof path, "%s/fuzz_elf_symbols/machine-%u", argv[1], machines[i]);
        save(&b, path);
        builder_free(&b);
    }
    return 0;
}
