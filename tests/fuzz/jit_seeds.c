/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_jit into a folder of that name below the given one: a perf map, jitdumps of both byte
 * orders, and an object with functions. */
#include "tests/support/jit_files.h"

#include <sys/stat.h>

static void write_seed(struct builder *b, const char *parent, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/fuzz_jit", parent);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/fuzz_jit/%s", parent, name);
    save(b, path);
    builder_free(b);
}

int main(int argc, char **argv) {
    static const char map[] = "1000 10 f\n1008 20 g with blanks\n0x2000 0x10 h\nno line\n2000 8 over\n";
    struct builder b = {0};
    if (argc != 2) return 2;
    put(&b, 1, 0);
    put_bytes(&b, map, sizeof map - 1);
    write_seed(&b, argv[1], "map");
    for (unsigned i = 0; i < 2; i++) {
        put(&b, 1, 1);
        put_dump(&b, i == 1);
        write_seed(&b, argv[1], i == 1 ? "big" : "little");
        put(&b, 1, 2);
        put_jit_object(&b, i == 1, "");
        write_seed(&b, argv[1], i == 1 ? "linked" : "unlinked");
    }
    return 0;
}
