/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_macho_symbols, fuzz_macho_exports and fuzz_archive into folders of these names below the
 * given one. */
#include "tests/support/archive_file.h"
#include "tests/support/macho_symbol_file.h"

#include <sys/stat.h>

static const char *parent;

static void write_seed(struct builder *b, const char *kind, const char *name) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", parent, kind);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s", parent, kind, name);
    save(b, path);
    builder_free(b);
}

static const struct macho_symbol symbols[] = {{"_outside", 0, UNDEFINED | EXT, 0, 0},
                                              {"/folder/", 0, SO, 0, 0},
                                              {"file.c", 0, SO, 0, 0},
                                              {"_one", 0x1000, FUN, IN_TEXT, 0},
                                              {"", 0x80, FUN, 0, 0},
                                              {"", 0, SO, 0, 0},
                                              {"_one", 0x1000, SECT | EXT, IN_TEXT, 0},
                                              {"_alias", 0x1000, SECT | PEXT, IN_TEXT, ALT_ENTRY},
                                              {"_two", 0x1100, SECT, IN_TEXT, THUMB},
                                              {"<redacted>", 0x1180, SECT, IN_TEXT, 0},
                                              {"ltmp0", 0x1180, SECT, IN_TEXT, 0},
                                              {"_more", 0x2300, SECT, IN_MORE, 0},
                                              {NULL, 0, 0, 0, 0}};
static const uint32_t starts[] = {0x1000, 0x1100, 0x1200, 0x2300, 0};
static const struct macho_export exports[] = {
    {"_one", 0, 0x1000}, {"_three", 0, 0x1200}, {"_four", 0x8, 1}, {"__ZN3oneEv", 0x4, 0x1280}, {NULL, 0, 0}};

static void write_files(uint32_t arch) {
    char name[32];
    for (unsigned i = 0; i < 16; i++) {
        const struct macho_file wanted = {.arch = arch,
                                          .type = i == 15 ? 10 : 0,
                                          .symbols = (i & 1) == 0 ? symbols : NULL,
                                          .starts = (i & 2) == 0 ? starts : NULL,
                                          .exports = (i & 4) == 0 || (i & 1) != 0 ? exports : NULL,
                                          .in_dyld_info = (i & 2) != 0,
                                          .unwind = (i & 2) != 0 ? starts : NULL,
                                          .unwind_regular = (i & 4) != 0,
                                          .with_stubs = (i & 8) == 0,
                                          .indirect = {0, 6, 0}};
        struct builder b = build_macho_symbol_file(&wanted);
        snprintf(name, sizeof name, "%s-%u", usp_arch_string(arch), i);
        write_seed(&b, "fuzz_macho_symbols", name);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    struct builder b = {0};
    parent = argv[1];
    mkdir(parent, 0777);
    for (uint32_t arch = USP_ARCH_ARM64; arch <= USP_ARCH_I386; arch++) write_files(arch);
    put_trie(&b, exports);
    write_seed(&b, "fuzz_macho_exports", "flat");
    static const uint8_t deep[] = {0, 1, '_', 0, 5, 0, 2, 'a', 0, 13, 'b', 0, 17, 2, 0, 1, 0, 2, 8, 1, 0};
    put_bytes(&b, deep, sizeof deep);
    write_seed(&b, "fuzz_macho_exports", "deep");
    put_archive_magic(&b);
    put_bsd_member_of(&b, "name", "xy", 2);
    put_member_of(&b, "//", "long/\n", 6);
    put_member_of(&b, "/0", "xy", 2);
    write_seed(&b, "fuzz_archive", "both");
    return 0;
}
