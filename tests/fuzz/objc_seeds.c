/* SPDX-License-Identifier: MIT */
/* Writes the seeds of fuzz_objc and fuzz_fixups into folders of these names below the given one: the tests' images, one
 * of each form. */
#include "tests/support/objc_image.h"

#include <sys/stat.h>

#include "tests/fuzz/image_memory.h"

static const char *parent;

static void write_seed(const struct objc_image *image, const char *kind, const char *name) {
    char path[1024];
    struct builder b = build_objc_image(image, UUID);
    snprintf(path, sizeof path, "%s/%s", parent, kind);
    mkdir(path, 0777);
    snprintf(path, sizeof path, "%s/%s/%s-%u-%u-%d", parent, kind, name, image->arch, image->format,
             image->is_relative);
    save(&b, path);
    builder_free(&b);
}

static void write_files(void) {
    static const uint32_t formats[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 12};
    for (unsigned i = 0; i < sizeof formats / sizeof *formats; i++) {
        bool is_32 = formats[i] >= 3 && formats[i] <= 5;
        struct objc_image image = {.arch = is_32 ? USP_ARCH_ARMV7 : USP_ARCH_ARM64,
                                   .base = is_32 ? 0x4000 : UINT64_C(0x100000000),
                                   .format = formats[i],
                                   .imports = i % 4,
                                   .is_relative = i % 2 != 0};
        write_seed(&image, "fuzz_objc", "file");
        write_seed(&image, "fuzz_fixups", "file");
    }
}

static void write_processes(void) {
    static const uint32_t archs[] = {USP_ARCH_ARM64, USP_ARCH_ARM64_32, USP_ARCH_ARMV7, USP_ARCH_X86_64, USP_ARCH_I386};
    for (unsigned i = 0; i < 20; i++) {
        char name[32];
        struct objc_image image = {.arch = archs[i / 4],
                                   .base = IMAGE_LOAD,
                                   .linked = 0x4000,
                                   .is_loaded = true,
                                   .methods = (enum methods_kind)(i % 4),
                                   .is_relative = i % 2 != 0,
                                   .has_packed_isa = i == 1 || i == 13};
        snprintf(name, sizeof name, "process-%u", i);
        write_seed(&image, "fuzz_objc", name);
    }
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    parent = argv[1];
    write_files();
    write_processes();
    return 0;
}
