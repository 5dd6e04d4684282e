/* SPDX-License-Identifier: MIT */
/* Tests usp_snapshot_read_core: a core that is read once gives the stacks of the core as a file; with the process's
 * memory, the rest of the core is not read. */
#include "tests/support/core_walk.h"
#include "tests/support/each_allocation.h"
#include "tests/support/suite.h"

#include <unspool/unspool.h>

/* A core as the kernel writes it to a pipe. */
struct input {
    struct builder bytes;
    size_t at, piece; /* the next byte; how many bytes a read returns at most */
    size_t forbidden; /* no byte from here on may be read; 0: all may */
    struct usp_memory core;
};

static int64_t read_input(void *context, void *to, size_t n) {
    struct input *input = context;
    if (n > input->piece) n = input->piece;
    if (n > input->bytes.size - input->at) n = input->bytes.size - input->at;
    memcpy(to, (const char *)input->bytes.bytes + input->at, n);
    input->at += n;
    if (input->forbidden != 0) ck_assert_uint_le(input->at, input->forbidden);
    return (int64_t)n;
}

static struct usp_core_stream stream_of(struct input *input) {
    struct usp_core_stream stream;
    usp_core_stream_init(&stream);
    stream.read = read_input;
    stream.context = input;
    return stream;
}

static int open_stream(struct input *input, const struct usp_core_stream *stream, struct usp_snapshot **snapshot) {
    char error[256];
    input->at = 0;
    const int status = usp_snapshot_read_core(stream, NULL, snapshot, error, sizeof error);
    ck_assert_int_eq(status == USP_OK, error[0] == '\0');
    ck_assert_int_eq(status == USP_OK, *snapshot != NULL);
    return status;
}

static const uint32_t processors[] = {USP_ARCH_X86_64, USP_ARCH_I386, USP_ARCH_ARM64, USP_ARCH_ARMV7};

static struct elf_core core_of(uint32_t arch) {
    struct builder program = {0};
    build_elf_program(&program, arch, BUILD_ID);
    save(&program, in_folder("program"));
    builder_free(&program);
    return (struct elf_core){.arch = arch, .threads = 3, .path = in_folder("program"), .build_id = BUILD_ID};
}

static void expect_same_stacks(const struct usp_snapshot *a, const struct usp_snapshot *b) {
    const struct usp_snapshot_thread *x, *y;
    ck_assert_uint_eq(usp_snapshot_get_info(a)->thread_count, 3);
    ck_assert_uint_eq(usp_snapshot_get_info(b)->thread_count, 3);
    for (size_t i = 0; i < 3; i++) {
        x = usp_snapshot_get_thread(a, i);
        y = usp_snapshot_get_thread(b, i);
        ck_assert_uint_eq(x->info.thread.id, y->info.thread.id);
        ck_assert_uint_eq(x->info.flags, y->info.flags);
        ck_assert_uint_eq(x->stack.count, 3);
        ck_assert_uint_eq(y->stack.count, 3);
        for (uint32_t f = 0; f < 3; f++) ck_assert_uint_eq(x->stack.frames[f].pc, y->stack.frames[f].pc);
    }
}

/* In pieces of any size, as from a pipe. */
START_TEST(same_as_file) {
    struct input input = {.piece = _i % 2 == 0 ? 7 : SIZE_MAX};
    struct elf_core core = core_of(processors[_i / 2]);
    struct usp_snapshot *file, *read;
    build_elf_core(&input.bytes, &core);
    save(&input.bytes, in_folder("core"));
    const struct usp_core_stream stream = stream_of(&input);
    ck_assert_int_eq(usp_snapshot_open_core(in_folder("core"), NULL, &file, NULL, 0), USP_OK);
    ck_assert_int_eq(open_stream(&input, &stream, &read), USP_OK);
    expect_same_stacks(file, read);
    ck_assert_uint_eq(usp_snapshot_get_info(read)->flags, 0);
    ck_assert_ptr_null(usp_snapshot_message(read, 0));
    usp_snapshot_free(file);
    usp_snapshot_free(read);
    builder_free(&input.bytes);
}
END_TEST

static void name_thread(void *context, struct usp_thread_info *info) {
    (void)context;
    snprintf(info->name, sizeof info->name, "thread %u", (unsigned)info->thread.id);
}

/* Reads memory of the core as that of a process: a page that has some bytes has others too. */
static int read_pages(void *context, usp_addr from, void *to, size_t n) {
    const struct input *input = context;
    bool has_some = false;
    for (size_t i = 0; i < n; i++) {
        if (input->core.read(input->core.context, from + i, (uint8_t *)to + i, 1) == USP_OK) {
            has_some = true;
        } else {
            ((uint8_t *)to)[i] = 0;
        }
    }
    return has_some ? USP_OK : USP_ERROR_UNREADABLE;
}

/* The memory of the process is used, and what the stream has of it is not. */
START_TEST(memory_of_the_process) {
    struct input input = {.piece = SIZE_MAX};
    struct elf_core core = core_of(processors[_i]);
    struct usp_snapshot *file, *read;
    struct usp_target target;
    build_elf_core(&input.bytes, &core);
    save(&input.bytes, in_folder("core"));
    ck_assert_int_eq(usp_snapshot_open_core(in_folder("core"), NULL, &file, NULL, 0), USP_OK);
    ck_assert_int_eq(usp_snapshot_target(file, 0, &target), USP_OK);
    memset((char *)input.bytes.bytes + core.image_at, 0x5a, input.bytes.size - core.image_at);
    /* The rest of the core comes after the last block of 16 KB that has notes. */
    pad_to(&input.bytes, 100000);
    input.forbidden = 16384;
    patch(&input.bytes, elf_field(&core, ELF_STACK, 32, 16), arch_is_64(core.arch) ? 8 : 4, STACK_SIZE);
    struct usp_core_stream stream = stream_of(&input);
    input.core = target.memory;
    stream.memory = (struct usp_memory){read_pages, &input};
    stream.describe = name_thread;
    stream.time = 77;
    ck_assert_int_eq(open_stream(&input, &stream, &read), USP_OK);
    expect_same_stacks(file, read);
    ck_assert_uint_eq(usp_snapshot_get_info(read)->time, 77);
    ck_assert_str_eq(usp_snapshot_get_thread(read, 0)->info.name, "thread 1000");
    ck_assert_str_eq(usp_snapshot_get_thread(read, 2)->info.name, "thread 1002");
    usp_snapshot_free(read);
    usp_snapshot_free(file);
    builder_free(&input.bytes);
}
END_TEST

/* A stream may end anywhere. What is there is used; later bytes are never read as if they were there. */
START_TEST(ends_anywhere) {
    struct input input = {.piece = SIZE_MAX};
    struct elf_core core = core_of(USP_ARCH_X86_64);
    struct usp_snapshot *read;
    build_elf_core(&input.bytes, &core);
    const struct usp_core_stream stream = stream_of(&input);
    const size_t whole = input.bytes.size;
    for (size_t size = 0; size < whole; size += size < core.image_at ? 1 : 97) {
        input.bytes.size = size;
        const int status = open_stream(&input, &stream, &read);
        if (size >= core.image_at) ck_assert_int_eq(status, USP_OK);
        if (size < core.notes_at) ck_assert(status == USP_ERROR_FORMAT || status == USP_ERROR_TRUNCATED);
        if (status == USP_OK) ck_assert_uint_ne(usp_snapshot_get_info(read)->flags & USP_SNAPSHOT_TRUNCATED, 0);
        usp_snapshot_free(read);
    }
    input.bytes.size = whole;
    builder_free(&input.bytes);
}
END_TEST

static int64_t fail_to_read(void *context, void *to, size_t n) {
    (void)context;
    (void)to;
    (void)n;
    return USP_ERROR_SYSTEM;
}

START_TEST(refusals) {
    struct input input = {.piece = SIZE_MAX};
    struct elf_core core = core_of(USP_ARCH_X86_64);
    struct usp_snapshot *read;
    build_elf_core(&input.bytes, &core);
    struct usp_core_stream stream = stream_of(&input);
    ck_assert_int_eq(usp_snapshot_read_core(NULL, NULL, &read, NULL, 0), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_snapshot_read_core(&stream, NULL, NULL, NULL, 0), USP_ERROR_ARGUMENT);
    /* The notes come last, as gdb writes them. */
    patch(&input.bytes, elf_field(&core, ELF_NOTES, 8, 4), 8, input.bytes.size);
    ck_assert_int_eq(open_stream(&input, &stream, &read), USP_ERROR_UNSUPPORTED);
    /* Headers and notes that no process can have. */
    patch(&input.bytes, elf_field(&core, ELF_NOTES, 8, 4), 8, core.notes_at);
    patch(&input.bytes, elf_field(&core, ELF_NOTES, 32, 16), 8, UINT64_C(1) << 40);
    patch(&input.bytes, elf_field(&core, ELF_IMAGE, 8, 4), 8, UINT64_C(1) << 41);
    patch(&input.bytes, elf_field(&core, ELF_TEXT, 8, 4), 8, UINT64_C(1) << 41);
    patch(&input.bytes, elf_field(&core, ELF_STACK, 8, 4), 8, UINT64_C(1) << 41);
    ck_assert_int_eq(open_stream(&input, &stream, &read), USP_ERROR_FORMAT);
    patch(&input.bytes, 32, 8, UINT64_MAX - 8);
    ck_assert_int_eq(open_stream(&input, &stream, &read), USP_ERROR_FORMAT);
    stream.read = fail_to_read;
    ck_assert_int_eq(open_stream(&input, &stream, &read), USP_ERROR_SYSTEM);
    stream.read = NULL;
    ck_assert_int_eq(open_stream(&input, &stream, &read), USP_ERROR_ARGUMENT);
    builder_free(&input.bytes);
}
END_TEST

static int open_once(void *context) {
    struct input *input = context;
    struct usp_snapshot *read;
    const struct usp_core_stream stream = stream_of(input);
    input->at = 0;
    const int status = usp_snapshot_read_core(&stream, NULL, &read, NULL, 0);
    usp_snapshot_free(read);
    return status;
}

START_TEST(every_allocation_fails) {
    struct input input = {.piece = SIZE_MAX};
    struct elf_core core = core_of(USP_ARCH_ARM64);
    build_elf_core(&input.bytes, &core);
    fail_each_allocation(open_once, &input, 10, 0);
    builder_free(&input.bytes);
}
END_TEST

int main(void) {
    TCase *streams = tcase_create("streams");
    tcase_add_checked_fixture(streams, make_folder, remove_folder);
    tcase_add_loop_test(streams, same_as_file, 0, 8);
    tcase_add_loop_test(streams, memory_of_the_process, 0, 4);
    add_tests(streams, ends_anywhere, refusals, every_allocation_fails);
    return run_suite("cores that are read once", streams);
}
