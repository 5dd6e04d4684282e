/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_core, fuzz_elf and fuzz_macho into folders of these names below the given one: the tests'
 * files. */
#include "tests/support/core_fixtures.h"

#include <sys/stat.h>

static const char *parent;

static void write_seed(struct builder *b, const char *kind, const char *name, uint32_t arch) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", parent, kind);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s-%s", parent, kind, name, usp_arch_string(arch));
    save(b, path);
    builder_free(b);
}

static void write_elf(uint32_t arch) {
    struct builder b = {0};
    struct elf_core cores[] = {
        {.arch = arch, .threads = 2, .path = "/nowhere/program", .build_id = BUILD_ID, .with_text = true},
        {.arch = arch, .threads = 1, .path = "/nowhere/program (deleted)", .build_id = NULL},
        {.arch = arch, .threads = 1, .build_id = BUILD_ID, .with_text = true, .pac_mask = UINT64_C(0x7f) << 48},
        {.arch = arch, .threads = 1, .without_image = true},
    };
    for (unsigned i = 0; i < sizeof cores / sizeof *cores; i++) {
        char name[32];
        snprintf(name, sizeof name, "elf-%u", i);
        build_elf_core(&b, &cores[i]);
        write_seed(&b, "fuzz_core", name, arch);
    }
    build_elf_program(&b, arch, BUILD_ID);
    write_seed(&b, "fuzz_elf", "program", arch);
    build_elf_core(&b, &cores[0]);
    write_seed(&b, "fuzz_elf", "core", arch);
}

static void write_macho(uint32_t arch) {
    struct builder b = {0}, thin = {0};
    struct macho_core cores[] = {
        {.arch = arch, .threads = 2, .uuid = UUID, .platform = 1, .with_dyld = true, .path = "/nowhere/program"},
        {.arch = arch, .threads = 1, .uuid = UUID, .platform = 2, .unified = true, .without_text = true},
        {.arch = arch, .threads = 1, .platform = 2, .says_arm = true, .address_bits = 39},
    };
    for (unsigned i = 0; i < sizeof cores / sizeof *cores; i++) {
        char name[32];
        snprintf(name, sizeof name, "macho-%u", i);
        build_macho_core(&b, &cores[i]);
        write_seed(&b, "fuzz_core", name, arch);
    }
    build_macho_core(&b, &cores[2]);
    write_seed(&b, "fuzz_macho", "core", arch);
    build_macho_program(&thin, arch, UUID, 2);
    put_be(&b, 4, 0xcafebabe);
    put_be(&b, 4, 1);
    put_be(&b, 4, macho_cpu(arch));
    put_be(&b, 4, 0);
    put_be(&b, 4, 0x100);
    put_be(&b, 4, thin.size);
    put_be(&b, 4, 8);
    pad_to(&b, 0x100);
    put_bytes(&b, thin.bytes, thin.size);
    write_seed(&b, "fuzz_macho", "fat", arch);
    write_seed(&thin, "fuzz_macho", "program", arch);
}

int main(int argc, char **argv) {
    if (argc != 2) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    parent = argv[1];
    mkdir(parent, 0777);
    for (uint32_t arch = USP_ARCH_ARM64; arch <= USP_ARCH_I386; arch++) {
        if (arch != USP_ARCH_ARM64_32) write_elf(arch);
        write_macho(arch);
    }
    return 0;
}
