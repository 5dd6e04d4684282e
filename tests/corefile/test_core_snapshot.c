/* SPDX-License-Identifier: MIT */
/* Tests usp_snapshot_open_core: what the public snapshot says about a core, and that all memory is freed whatever
 * fails. */
#include "tests/support/core_walk.h"
#include "tests/support/failing_alloc.h"
#include "tests/support/suite.h"

#include <unspool/unspool.h>

static void save_elf_core(struct elf_core *core) {
    struct builder b = {0};
    build_elf_core(&b, core);
    save(&b, in_folder("core"));
    builder_free(&b);
}

static void save_elf_program(const char *path, uint32_t arch) {
    struct builder b = {0};
    build_elf_program(&b, arch, BUILD_ID);
    save(&b, path);
    builder_free(&b);
}

static struct usp_snapshot *open_snapshot(const struct usp_snapshot_options *options) {
    struct usp_snapshot *snapshot;
    char error[256];
    int status = usp_snapshot_open_core(in_folder("core"), options, &snapshot, error, sizeof error);
    ck_assert_msg(status == USP_OK, "%s: %s", usp_status_string(status), error);
    ck_assert_str_eq(error, "");
    return snapshot;
}

START_TEST(elf_core) {
    struct elf_core core = {.arch = USP_ARCH_ARM64,
                            .threads = 3,
                            .path = in_folder("program"),
                            .build_id = BUILD_ID,
                            .pac_mask = UINT64_C(0x007f000000000000)};
    struct usp_target target;
    save_elf_program(in_folder("program"), core.arch);
    save_elf_core(&core);
    struct usp_snapshot *snapshot = open_snapshot(NULL);
    const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
    ck_assert_uint_eq(info->arch, USP_ARCH_ARM64);
    ck_assert_uint_eq(info->os, USP_OS_LINUX);
    ck_assert_int_eq(info->pid, 1000);
    ck_assert_uint_eq(info->signal, 11);
    ck_assert_str_eq(usp_signal_string(info->os, info->signal), "SIGSEGV");
    ck_assert_uint_eq(info->crashed_thread, 1000);
    ck_assert_uint_eq(info->thread_count, 3);
    ck_assert_uint_eq(info->missed, 0);
    ck_assert_uint_eq(info->flags, 0);
    ck_assert_str_eq(info->program, in_folder("program"));
    ck_assert_ptr_null(usp_snapshot_message(snapshot, 0));
    ck_assert_uint_eq(usp_images_count(usp_snapshot_images(snapshot)), 1);
    for (unsigned t = 0; t < 3; t++) {
        const struct usp_snapshot_thread *thread = usp_snapshot_get_thread(snapshot, t);
        ck_assert_uint_eq(thread->info.thread.id, 1000 + t);
        ck_assert_uint_eq(thread->info.flags, t == 0 ? USP_THREAD_MAIN | USP_THREAD_CRASHED : 0);
        ck_assert_int_eq(thread->status, USP_OK);
        ck_assert_uint_eq(thread->stack_low, STACK);
        ck_assert_uint_eq(thread->stack_high, STACK + STACK_SIZE);
        ck_assert_uint_eq(thread->stack.count, 3);
        for (unsigned f = INNER; f <= OUTER; f++) {
            ck_assert_uint_eq(thread->stack.frames[f].pc, after_call(core.arch, (enum function)f));
        }
    }
    /* A walk by the caller must find the same frames. */
    struct usp_frame frames[8];
    struct usp_stack stack;
    usp_stack_init(&stack, frames, 8);
    ck_assert_int_eq(usp_snapshot_target(snapshot, 2, &target), USP_OK);
    ck_assert_uint_eq(target.pac_mask, core.pac_mask);
    ck_assert_int_eq(usp_unwind(&target, &usp_snapshot_get_thread(snapshot, 2)->registers, NULL, &stack), USP_OK);
    ck_assert_uint_eq(stack.count, 3);
    usp_snapshot_free(snapshot);
}
END_TEST

START_TEST(macho_core) {
    struct builder b = {0};
    struct macho_core core = {
        .arch = USP_ARCH_ARM64_32, .threads = 2, .uuid = UUID, .platform = 4, .says_arm = true, .unified = true};
    build_macho_core(&b, &core);
    save(&b, in_folder("core"));
    builder_free(&b);
    struct usp_snapshot *snapshot = open_snapshot(NULL);
    const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
    ck_assert_uint_eq(info->arch, USP_ARCH_ARM64_32);
    ck_assert_uint_eq(info->os, USP_OS_DARWIN);
    ck_assert_uint_eq(info->thread_count, 2);
    ck_assert_str_eq(info->program, "");
    ck_assert_uint_eq(usp_snapshot_get_thread(snapshot, 1)->stack.count, 3);
    usp_snapshot_free(snapshot);
}
END_TEST

/* Flags and messages must say what is missing, and stacks must continue without it. */
START_TEST(missing_file) {
    struct elf_core core = {.arch = USP_ARCH_X86_64, .threads = 1, .path = "/nowhere/program", .build_id = BUILD_ID};
    save_elf_core(&core);
    struct usp_snapshot *snapshot = open_snapshot(NULL);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->flags, USP_SNAPSHOT_FILES_MISSING);
    ck_assert_ptr_nonnull(strstr(usp_snapshot_message(snapshot, 0), "/nowhere/program"));
    ck_assert_ptr_null(usp_snapshot_message(snapshot, 1));
    ck_assert_uint_eq(usp_snapshot_get_thread(snapshot, 0)->stack.count, 3);
    usp_snapshot_free(snapshot);
}
END_TEST

START_TEST(options) {
    struct elf_core core = {.arch = USP_ARCH_I386, .threads = 4, .without_image = true};
    struct usp_snapshot_options wanted;
    struct usp_snapshot *snapshot;
    char error[256];
    save_elf_program(in_folder("given"), core.arch);
    save_elf_core(&core);
    usp_snapshot_options_init(&wanted);
    wanted.program = in_folder("given");
    wanted.only_thread = 1002;
    wanted.sp_bytes = 32;
    snapshot = open_snapshot(&wanted);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->thread_count, 1);
    const struct usp_snapshot_thread *thread = usp_snapshot_get_thread(snapshot, 0);
    ck_assert_uint_eq(thread->info.thread.id, 1002);
    ck_assert_uint_eq(thread->stack.count, 3);
    ck_assert_uint_eq(thread->sp_bytes_size, 32);
    ck_assert_uint_eq(thread->sp_bytes_address, thread_sp(2) - 16);
    usp_snapshot_free(snapshot);
    wanted.only_thread = 77;
    ck_assert_int_eq(usp_snapshot_open_core(in_folder("core"), &wanted, &snapshot, error, sizeof error),
                     USP_ERROR_NO_THREAD);
    ck_assert_ptr_null(snapshot);
    ck_assert_ptr_nonnull(strstr(error, in_folder("core")));
    wanted.max_frames = 0;
    ck_assert_int_eq(usp_snapshot_open_core(in_folder("core"), &wanted, &snapshot, error, sizeof error),
                     USP_ERROR_ARGUMENT);
    ck_assert_str_ne(error, "");
}
END_TEST

START_TEST(refusals) {
    struct usp_snapshot *snapshot;
    char error[8];
    ck_assert_int_eq(usp_snapshot_open_core(NULL, NULL, &snapshot, NULL, 0), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_snapshot_open_core("x", NULL, NULL, NULL, 0), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_snapshot_open_core(in_folder("none"), NULL, &snapshot, NULL, 0), USP_ERROR_NOT_FOUND);
    ck_assert_ptr_null(snapshot);
    /* A message that does not fit must be cut and terminated. */
    memset(error, 'x', sizeof error);
    ck_assert_int_eq(usp_snapshot_open_core(in_folder("none"), NULL, &snapshot, error, sizeof error),
                     USP_ERROR_NOT_FOUND);
    ck_assert_uint_eq(strlen(error), sizeof error - 1);
}
END_TEST

/* ---- each allocation failing in turn ---- */

static void save_case(int i) {
    struct builder b = {0};
    if (i < 2) {
        struct elf_core core = {
            .arch = USP_ARCH_X86_64, .threads = 5, .path = in_folder("program"), .build_id = BUILD_ID};
        if (i == 1) core.path = "/nowhere";
        save_elf_program(in_folder("program"), core.arch);
        build_elf_core(&b, &core);
    } else if (i == 2) {
        struct elf_core core = {.arch = USP_ARCH_ARMV7, .threads = 2, .without_image = true};
        save_elf_program(in_folder("program"), core.arch);
        build_elf_core(&b, &core);
    } else {
        struct macho_core core = {.arch = USP_ARCH_ARM64,
                                  .threads = 5,
                                  .uuid = UUID,
                                  .platform = 1,
                                  .with_dyld = true,
                                  .without_text = true,
                                  .path = in_folder("program")};
        struct builder program = {0};
        build_macho_program(&program, core.arch, i == 3 ? UUID : "ANOTHER-UUID-16b", 1);
        save(&program, in_folder("program"));
        builder_free(&program);
        build_macho_core(&b, &core);
    }
    save(&b, in_folder("core"));
    builder_free(&b);
}

START_TEST(every_allocation_fails) {
    struct usp_snapshot *snapshot;
    struct usp_snapshot_options wanted;
    char error[256];
    int status = USP_ERROR_NO_MEMORY;
    usp_snapshot_options_init(&wanted);
    wanted.sp_bytes = 64;
    save_case(_i);
    if (_i == 2) wanted.program = in_folder("program");
    long before = allocations_held(), failed = 0;
    for (long n = 1; status == USP_ERROR_NO_MEMORY; n++) {
        fail_allocation(n);
        status = usp_snapshot_open_core(in_folder("core"), &wanted, &snapshot, error, sizeof error);
        bool reached = !allocation_still_to_fail();
        fail_allocation(0);
        ck_assert_int_eq(status, reached ? USP_ERROR_NO_MEMORY : USP_OK);
        if (!reached) break;
        failed++;
        ck_assert_ptr_null(snapshot);
        ck_assert_ptr_nonnull(strstr(error, in_folder("core")));
        ck_assert_int_eq(allocations_held(), before);
    }
    ck_assert_int_gt(failed, 10);
    usp_snapshot_free(snapshot);
    ck_assert_int_eq(allocations_held(), before);
}
END_TEST

int main(void) {
    TCase *snapshots = tcase_create("snapshots"), *allocations = tcase_create("allocations");
    tcase_add_checked_fixture(snapshots, make_folder, remove_folder);
    tcase_add_checked_fixture(allocations, make_folder, remove_folder);
    add_tests(snapshots, elf_core, macho_core, missing_file, options, refusals);
    tcase_add_loop_test(allocations, every_allocation_fails, 0, 5);
    return run_suite("snapshots of cores", snapshots, allocations);
}
