/* SPDX-License-Identifier: MIT */
/* Tests sparse cores of 10 GB whose stacks lie at the far end: memory and address space must not grow with the file.
 * Runs on a 64-bit host with a low limit, and on a 32-bit host. */
#define _FILE_OFFSET_BITS 64
#include "tests/support/address_space.h"
#include "tests/support/core_walk.h"
#include "tests/support/suite.h"

#include <sys/resource.h>

#define FAR    (UINT64_C(10) << 30)
#define LIMIT  (UINT64_C(512) << 20)
#define MEMORY (256 * 1024) /* KB that may be touched; an emulator needs some for translated code */

/* Builds a core of which most is one segment of zeros, a hole in the file. */
static void build_elf(uint32_t arch) {
    struct builder b = {0};
    struct elf_core core = {
        .arch = arch, .threads = 2, .path = "/nowhere/program", .build_id = BUILD_ID, .with_text = true};
    build_elf_core(&b, &core);
    patch(&b, elf_field(&core, ELF_STACK, 8, 4), 8, FAR + core.stack_at);
    patch(&b, elf_field(&core, ELF_IMAGE, 8, 4), 8, FAR + core.image_at);
    patch(&b, elf_field(&core, ELF_TEXT, 8, 4), 8, FAR + core.text_at);
    save_with_hole(&b, in_folder("core"), core.image_at, FAR);
    builder_free(&b);
}

static void build_macho(uint32_t arch) {
    struct builder b = {0};
    struct macho_core core = {.arch = arch, .threads = 2, .uuid = UUID, .platform = 1};
    build_macho_core(&b, &core);
    size_t head = core.threads_at + 2 * core.thread_size;
    for (unsigned i = 0; i < 2; i++) {
        size_t field = core.segments_at + i * core.segment_size + 40;
        patch(&b, field, 8, uspi_le64(b.bytes + field) + FAR);
    }
    save_with_hole(&b, in_folder("core"), head, FAR);
    builder_free(&b);
}

static void check_walk(uint32_t arch) {
    struct rusage before, after;
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &before), 0);
    struct uspi_core *core = open_core(in_folder("core"), NULL);
    expect_fixture_stacks(core, arch, 2);
    uspi_core_close(core);
    ck_assert_int_eq(getrusage(RUSAGE_SELF, &after), 0);
    ck_assert_msg(after.ru_maxrss - before.ru_maxrss < MEMORY, "%ld KB were touched",
                  after.ru_maxrss - before.ru_maxrss);
}

static void build_case(int i, uint32_t *arch) {
    static const uint32_t archs[] = {USP_ARCH_X86_64, USP_ARCH_ARM64};
    *arch = archs[i % 2];
    if (i < 2) {
        build_elf(*arch);
    } else {
        build_macho(*arch);
    }
}

START_TEST(far_away) {
    uint32_t arch;
    build_case(_i, &arch);
    check_walk(arch);
}
END_TEST

START_TEST(with_little_address_space) {
    uint32_t arch;
    struct rlimit limit = {LIMIT, LIMIT};
    if (needs_address_space()) return;
    build_case(_i, &arch);
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
    check_walk(arch);
}
END_TEST

int main(void) {
    TCase *large = tcase_create("10 GB");
    tcase_add_checked_fixture(large, make_folder, remove_folder);
    add_loop_tests(large, 0, 4, far_away, with_little_address_space);
    return run_suite("large cores", large);
}
