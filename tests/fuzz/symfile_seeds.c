/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_symfile into a folder of that name below the given one: GSYM in both byte orders, and
 * Breakpad symbols. */
#include "tests/support/symbol_files.h"

#include <sys/stat.h>

static void write_seed(struct builder *b, const char *parent, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/fuzz_symfile", parent);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/fuzz_symfile/%s", parent, name);
    save(b, path);
    builder_free(b);
}

int main(int argc, char **argv) {
    struct builder b;
    if (argc != 2) return 2;
    build_gsym(&b, false);
    write_seed(&b, argv[1], "gsym");
    build_gsym(&b, true);
    write_seed(&b, argv[1], "gsym-big-endian");
    build_breakpad(&b, "MODULE Linux x86_64 333231303534373638396162636465660 a", "\n");
    write_seed(&b, argv[1], "breakpad");
    build_breakpad(&b, "MODULE mac arm64e 333231303534373638396162636465660 a", "\r\n");
    write_seed(&b, argv[1], "breakpad-mac");
    return 0;
}
