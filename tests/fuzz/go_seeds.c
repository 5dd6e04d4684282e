/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_go, and some for fuzz_dwarf, into folders of these names below the given one: Go's function
 * table in each layout, alone and in a program. */
#include "tests/support/go_table.h"

#include <sys/stat.h>

static const char *parent;

static void write_seed(const struct builder *b, const char *kind, const char *name, unsigned version) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", parent, kind);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s-%u", parent, kind, name, version);
    save(b, path);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    parent = argv[1];
    for (unsigned version = USPI_GO_1_2; version <= USPI_GO_1_20; version++) {
        struct go_table table;
        struct builder program;
        build_go_table(&table, (enum uspi_go_version)version, GO_TEXT);
        build_go_program(&program, &table, true);
        write_seed(&table.bytes, "fuzz_go", "table", version);
        write_seed(&program, "fuzz_go", "program", version);
        write_seed(&program, "fuzz_dwarf", "go", version);
        builder_free(&program);
        builder_free(&table.bytes);
    }
    return 0;
}
