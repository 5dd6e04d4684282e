/* SPDX-License-Identifier: MIT */
/* Tests that a symbolizer for a snapshot gets what the snapshot knows: of a live process, of cores and of a raw
 * capture. usp_symbolizer_create is wrapped (-Wl,--wrap), so that the test sees the completed options. */
#define _GNU_SOURCE 1
#include "tests/support/core_fixtures.h"
#include "tests/support/folder.h"
#include "tests/support/linux_child.h"
#include "tests/support/suite.h"

#include <fcntl.h>
#include <sys/stat.h>

#define CACHE UINT64_C(0x180000000)
/* Code that a program generated, as a perf map names it. */
#define GENERATED UINT64_C(0x900000)

int __real_usp_symbolizer_create(const struct usp_images *images, const struct usp_symbolizer_options *options,
                                 struct usp_symbolizer **symbolizer);
int __wrap_usp_symbolizer_create(const struct usp_images *images, const struct usp_symbolizer_options *options,
                                 struct usp_symbolizer **symbolizer);

static struct usp_symbolizer_options got; /* what the symbolizer was created with */
static const struct usp_images *got_images;
static char got_sysroot[64];
static struct usp_snapshot *snapshot;
static struct usp_symbolizer *symbolizer;

int __wrap_usp_symbolizer_create(const struct usp_images *images, const struct usp_symbolizer_options *options,
                                 struct usp_symbolizer **made) {
    got = *options;
    got_images = images;
    snprintf(got_sysroot, sizeof got_sysroot, "%s", options->sysroot != NULL ? options->sysroot : "");
    return __real_usp_symbolizer_create(images, options, made);
}

static void make_symbolizer(const struct usp_symbolizer_options *options) {
    usp_symbolizer_free(symbolizer);
    ck_assert_int_eq(usp_symbolizer_create_for_snapshot(snapshot, options, &symbolizer), USP_OK);
    ck_assert_ptr_eq(got_images, usp_snapshot_images(snapshot));
}

static void tear_down(void) {
    usp_symbolizer_free(symbolizer);
    usp_snapshot_free(snapshot);
    symbolizer = NULL;
    snapshot = NULL;
    remove_folder();
}

static void open_core(const struct builder *b, const struct usp_snapshot_options *options) {
    char error[256];
    save(b, in_folder("core"));
    ck_assert_msg(usp_snapshot_open_core(in_folder("core"), options, &snapshot, error, sizeof error) == USP_OK, "%s",
                  error);
}

static void write_perf_map(const char *path) {
    FILE *file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "%llx 100 generated\n", (unsigned long long)GENERATED);
    fclose(file);
}

/* The perf map has the process's id in its name. */
static void expect_generated(void) {
    struct usp_symbol symbol;
    ck_assert_int_eq(usp_symbolize(symbolizer, GENERATED + 0x10, &symbol), USP_OK);
    ck_assert_str_eq(symbol.name, "generated");
    ck_assert_uint_eq(symbol.offset, 0x10);
}

/* The symbolizer's memory is the process's: the program's header is in it. */
static void expect_memory(usp_addr at, const void *bytes, size_t n) {
    uint8_t read[32];
    ck_assert_ptr_nonnull(got.memory);
    ck_assert_int_eq(got.memory->read(got.memory->context, at, read, n), USP_OK);
    ck_assert_mem_eq(read, bytes, n);
    ck_assert_int_ne(got.memory->read(got.memory->context, 0x10, read, n), USP_OK);
}

START_TEST(live_process) {
    struct usp_symbolizer_options options;
    char path[64], error[256];
    if (!can_trace()) return;
    const pid_t child = fork();
    ck_assert_int_ge(child, 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        for (;;) pause();
    }
    const int status = usp_snapshot_create_process(child, NULL, &snapshot, error, sizeof error);
    ck_assert_msg(status == USP_OK, "%s", error);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)child);
    write_perf_map(path);
    make_symbolizer(NULL);
    expect_generated();
    ck_assert_int_eq(got.process, child);
    ck_assert_ptr_null(got.memory);
    ck_assert_uint_eq(got.shared_cache, 0);
    /* The symbolizer itself finds out whether the process has another root. */
    ck_assert_str_eq(got_sysroot, "");
    usp_symbolizer_options_init(&options);
    options.sysroot = "/elsewhere";
    make_symbolizer(&options);
    ck_assert_str_eq(got_sysroot, "/elsewhere");
    ck_assert_int_eq(got.process, child);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", (int)child);
    unlink(path);
    kill(child, SIGKILL);
    ck_assert_int_eq(waitpid(child, NULL, 0), child);
}
END_TEST

START_TEST(elf_core) {
    const uint64_t pac_mask = UINT64_C(0x007f000000000000);
    struct elf_core core = {
        .arch = USP_ARCH_ARM64, .threads = 1, .build_id = BUILD_ID, .path = "/nowhere/program", .pac_mask = pac_mask};
    struct usp_snapshot_options wanted;
    struct usp_symbolizer_options options;
    struct usp_memory other;
    struct builder b = {0}, program = {0};
    build_elf_program(&program, core.arch, BUILD_ID);
    save(&program, in_folder("program"));
    build_elf_core(&b, &core);
    usp_snapshot_options_init(&wanted);
    wanted.program = in_folder("program");
    wanted.sysroot = folder;
    open_core(&b, &wanted);
    write_perf_map(in_folder("perf-1000.map"));
    make_symbolizer(NULL);
    expect_generated();
    expect_memory(IMAGE, "\177ELF", 4);
    ck_assert_uint_eq(got.pac_mask, pac_mask);
    ck_assert_str_eq(got.program, in_folder("program"));
    ck_assert_str_eq(got_sysroot, folder);
    ck_assert_str_eq(got.folder, in_folder(""));
    ck_assert_int_eq(got.process, 0);
    ck_assert_int_eq(got.recorded_process, 1000);
    ck_assert_uint_eq(got.shared_cache, 0);

    /* The caller's options are stronger. With other memory, the core's signature bits do not apply. */
    usp_symbolizer_options_init(&options);
    usp_memory_init_self(&other);
    options.memory = &other;
    options.program = "/another/program";
    options.sysroot = "/another";
    options.folder = "/another/folder";
    options.recorded_process = 7;
    options.shared_cache = CACHE;
    make_symbolizer(&options);
    ck_assert_ptr_eq(got.memory, &other);
    ck_assert_uint_eq(got.pac_mask, 0);
    ck_assert_str_eq(got.program, "/another/program");
    ck_assert_str_eq(got_sysroot, "/another");
    ck_assert_str_eq(got.folder, "/another/folder");
    ck_assert_int_eq(got.recorded_process, 7);
    ck_assert_uint_eq(got.shared_cache, CACHE);
    builder_free(&b);
    builder_free(&program);
}
END_TEST

/* Returns the offset of dyld's list in a core of build_macho_core: put_dyld has the library's name after it. */
static size_t find_dyld_list(const struct builder *b) {
    const void *name = memmem(b->bytes, b->size, "/usr/lib/libnamed.dylib", 24);
    ck_assert_ptr_nonnull(name);
    return (size_t)((const uint8_t *)name - b->bytes) - 0x9c0 + 0x800;
}

START_TEST(macho_core) {
    struct macho_core core = {.arch = USP_ARCH_ARM64,
                              .threads = 1,
                              .with_dyld = true,
                              .path = "/Apps/Demo.app/Demo",
                              .uuid = UUID,
                              .platform = 2};
    static const uint8_t magic[4] = {0xcf, 0xfa, 0xed, 0xfe};
    struct usp_symbolizer_options options;
    struct builder b = {0};
    build_macho_core(&b, &core);
    patch(&b, find_dyld_list(&b) + 176, 8, CACHE); /* sharedCacheBaseAddress (mach-o/dyld_images.h) */
    open_core(&b, NULL);
    make_symbolizer(NULL);
    expect_memory(IMAGE, magic, sizeof magic);
    ck_assert_uint_eq(got.shared_cache, CACHE);
    ck_assert_str_eq(got.folder, in_folder(""));
    ck_assert_ptr_null(got.program);
    ck_assert_int_eq(got.process, 0);
    usp_symbolizer_options_init(&options);
    options.shared_cache = CACHE + 0x4000;
    make_symbolizer(&options);
    ck_assert_uint_eq(got.shared_cache, CACHE + 0x4000);
    builder_free(&b);
}
END_TEST

START_TEST(raw_capture) {
    struct usp_raw_capture raw;
    struct usp_snapshot_options wanted;
    struct usp_images *images;
    char error[256];
    uint8_t byte;
    const struct usp_image image = {.path = "/nowhere/program",
                                    .load_address = IMAGE,
                                    .text_low = CODE,
                                    .text_high = CODE + 0x60,
                                    .end = IMAGE + 2 * PAGE,
                                    .arch = USP_ARCH_ARM64,
                                    .flags = USP_IMAGE_MAIN};
    ck_assert_int_eq(usp_images_create(&image, 1, &images), USP_OK);
    usp_raw_capture_init(&raw);
    raw.arch = USP_ARCH_ARM64;
    raw.os = USP_OS_LINUX;
    raw.pid = 4321;
    raw.images = images;
    const int fd = open(in_folder("raw"), O_WRONLY | O_CREAT | O_EXCL, 0600);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(usp_raw_write(fd, &raw), USP_OK);
    close(fd);
    usp_snapshot_options_init(&wanted);
    wanted.program = "/given/program";
    wanted.sysroot = folder;
    ck_assert_msg(usp_snapshot_open_raw(in_folder("raw"), &wanted, &snapshot, error, sizeof error) == USP_OK, "%s",
                  error);
    usp_images_free(images);
    ck_assert_int_eq(mkdir(in_folder("tmp"), 0700), 0);
    write_perf_map(in_folder("tmp/perf-4321.map"));
    make_symbolizer(NULL);
    ck_assert_str_eq(got.program, "/given/program");
    ck_assert_str_eq(got_sysroot, folder);
    ck_assert_int_eq(got.process, 0);
    ck_assert_int_eq(got.recorded_process, 4321);
    ck_assert_uint_eq(got.shared_cache, 0);
    ck_assert_ptr_null(got.folder);
    expect_generated();
    /* It contains no memory. */
    ck_assert_ptr_nonnull(got.memory);
    ck_assert_int_eq(got.memory->read(got.memory->context, CODE, &byte, 1), USP_ERROR_ABSENT);
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, make_folder, tear_down);
    add_tests(all, live_process, elf_core, macho_core, raw_capture);
    return run_suite("for snapshot", all);
}
