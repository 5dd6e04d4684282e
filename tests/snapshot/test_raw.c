/* SPDX-License-Identifier: MIT */
/* Tests raw captures: data that is written must be read back; truncated, damaged and hostile files must be refused or
 * read in part; memory may run out. */
#include "tests/support/failing_alloc.h"
#include "tests/support/file_builder.h"
#include "tests/support/text_fixtures.h"

#include "lib/snapshot/raw.h"
#include "tests/support/suite.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static const struct made_image images_table[] = {
    {"/Apps/Demo.app/Demo", 0x100000000, 0x8000, USP_IMAGE_MAIN | USP_IMAGE_MACHO, "0123456789abcdef"},
    {"/usr/lib/libc.so.6", 0x200000000, 0x10000, 0, "12345678901234567890"},
    {"", 0x300000000, 0x1000, USP_IMAGE_KERNEL, NULL},
    {NULL, 0, 0, 0, NULL},
};

#define FRAMES 70u

/* Two threads of an arm64 process: one with registers and a long stack with a gap and async callers, one without. */
struct capture {
    struct usp_images *images;
    struct usp_frame frames[FRAMES];
    struct usp_stack stack;
    struct usp_registers registers;
    struct usp_thread_info infos[2];
    struct usp_raw_thread threads[2];
    struct usp_raw_capture raw;
};

static void make_capture(struct capture *c) {
    usp_addr pcs[FRAMES];
    memset(c, 0, sizeof *c);
    c->images = make_images(images_table, USP_ARCH_ARM64);
    for (uint32_t i = 0; i < FRAMES; i++) pcs[i] = 0x100000010 + i * 4;
    c->stack = make_stack(c->frames, pcs, FRAMES);
    c->frames[3].flags = USP_FRAME_SIGNED | USP_FRAME_EXTENDED;
    c->frames[3].fp = 0x16f000000;
    c->stack.physical = 60;
    c->stack.omitted = 1000000000000;
    c->stack.omitted_at = 40;
    c->stack.async_join = 3;
    c->stack.extended = 3;
    c->stack.async_stop = USP_STOP_FP_ZERO;
    c->stack.flags = USP_STACK_EXTENDED | USP_STACK_TASK_ID;
    c->stack.task_id = 7;
    c->stack.stop_address = 0x123456789abcdef0;
    c->stack.stopped_ns = 12345;
    c->stack.hash = 0xfedcba9876543210;
    usp_registers_init(&c->registers, USP_ARCH_ARM64);
    usp_registers_set_pc(&c->registers, pcs[0]);
    usp_registers_set_sp(&c->registers, 0x16f000100);
    c->registers.flags = 0x60000000;
    c->infos[0] = (struct usp_thread_info){.thread = {.id = 77},
                                           .name = "w\x1b\"\xff",
                                           .queue = "com.example.w\x1b\xff",
                                           .flags = USP_THREAD_REQUESTER,
                                           .run_state = 'S',
                                           .cpu_time = 99};
    c->infos[1] = (struct usp_thread_info){.thread = {.id = 42}, .flags = USP_THREAD_MAIN};
    c->threads[0] = (struct usp_raw_thread){.info = &c->infos[0], .registers = &c->registers, .stack = &c->stack};
    c->threads[1] = (struct usp_raw_thread){.info = &c->infos[1], .status = USP_ERROR_TIMEOUT};
    usp_raw_capture_init(&c->raw);
    c->raw.arch = USP_ARCH_ARM64;
    c->raw.os = USP_OS_DARWIN;
    c->raw.signal = 11;
    c->raw.pid = 42;
    c->raw.time = 1700000000123456789;
    c->raw.images = c->images;
    c->raw.threads = c->threads;
    c->raw.thread_count = 2;
}

static void free_capture(struct capture *c) { usp_images_free(c->images); }

/* Returns the file that usp_raw_write writes. */
static struct builder written(const struct usp_raw_capture *raw) {
    struct builder b = {0};
    char path[] = "/tmp/unspool-raw-XXXXXX";
    uint8_t piece[512];
    ssize_t n;
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    unlink(path);
    errno = 1234;
    ck_assert_int_eq(usp_raw_write(fd, raw), USP_OK);
    ck_assert_int_eq(errno, 1234);
    ck_assert_int_eq(lseek(fd, 0, SEEK_SET), 0);
    while ((n = read(fd, piece, sizeof piece)) > 0) put_bytes(&b, piece, (size_t)n);
    close(fd);
    return b;
}

static int read_bytes(const uint8_t *bytes, size_t n, uint64_t only, struct usp_snapshot **snapshot,
                      struct uspi_error *error) {
    struct usp_snapshot_options options;
    const struct uspi_source source = {.name = "file", .base = bytes};
    usp_snapshot_options_init(&options);
    options.only_thread = only;
    error->text[0] = '\0';
    return uspi_raw_read((struct uspi_bytes){&source, 0, n}, &options, snapshot, error);
}

static void check_images(const struct usp_snapshot *snapshot, const struct capture *c) {
    const struct usp_images *images = usp_snapshot_images(snapshot);
    ck_assert_uint_eq(usp_images_count(images), 3);
    for (size_t i = 0; i < 3; i++) {
        const struct usp_image *a = usp_images_get(images, i), *b = usp_images_get(c->images, i);
        ck_assert_str_eq(a->path, b->path);
        ck_assert_uint_eq(a->load_address, b->load_address);
        ck_assert_uint_eq(a->text_low, b->text_low);
        ck_assert_uint_eq(a->text_high, b->text_high);
        ck_assert_uint_eq(a->end, b->end);
        ck_assert_uint_eq(a->slide, b->slide);
        ck_assert_uint_eq(a->arch, b->arch);
        ck_assert_uint_eq(a->variant, b->variant);
        ck_assert_uint_eq(a->flags, b->flags);
        ck_assert_uint_eq(a->build_id_size, b->build_id_size);
        ck_assert_mem_eq(a->build_id, b->build_id, sizeof a->build_id);
    }
}

static void check_stack(const struct usp_stack *a, const struct usp_stack *b) {
    ck_assert_uint_eq(a->count, b->count);
    ck_assert_uint_eq(a->physical, b->physical);
    ck_assert_uint_eq(a->omitted_at, b->omitted_at);
    ck_assert_uint_eq(a->omitted, b->omitted);
    ck_assert_uint_eq(a->async_omitted, b->async_omitted);
    ck_assert_uint_eq(a->arch, b->arch);
    ck_assert_uint_eq(a->stop, b->stop);
    ck_assert_uint_eq(a->async_stop, b->async_stop);
    ck_assert_uint_eq(a->flags, b->flags);
    ck_assert_uint_eq(a->extended, b->extended);
    ck_assert_uint_eq(a->async_join, b->async_join);
    ck_assert_uint_eq(a->task_id, b->task_id);
    ck_assert_int_eq(a->status, b->status);
    ck_assert_uint_eq(a->stop_address, b->stop_address);
    ck_assert_uint_eq(a->stopped_ns, b->stopped_ns);
    ck_assert_uint_eq(a->hash, b->hash);
    ck_assert_mem_eq(a->frames, b->frames, a->count * sizeof *a->frames);
}

START_TEST(round_trip) {
    struct capture c;
    struct usp_snapshot *snapshot;
    struct uspi_error error;
    make_capture(&c);
    struct builder b = written(&c.raw);
    ck_assert_int_eq(read_bytes(b.bytes, b.size, 0, &snapshot, &error), USP_OK);
    const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
    ck_assert_uint_eq(info->arch, USP_ARCH_ARM64);
    ck_assert_uint_eq(info->os, USP_OS_DARWIN);
    ck_assert_uint_eq(info->signal, 11);
    ck_assert_int_eq(info->pid, 42);
    ck_assert_uint_eq(info->time, 1700000000123456789);
    ck_assert_uint_eq(info->flags, 0);
    ck_assert_str_eq(info->program, "/Apps/Demo.app/Demo");
    ck_assert_uint_eq(info->thread_count, 2);
    ck_assert_uint_eq(info->missed, 1);
    ck_assert_ptr_null(usp_snapshot_message(snapshot, 0));
    check_images(snapshot, &c);
    /* The main thread comes first. */
    const struct usp_snapshot_thread *main_thread = usp_snapshot_get_thread(snapshot, 0),
                                     *thread = usp_snapshot_get_thread(snapshot, 1);
    ck_assert_uint_eq(main_thread->info.thread.id, 42);
    ck_assert_int_eq(main_thread->status, USP_ERROR_TIMEOUT);
    ck_assert_uint_eq(main_thread->stack.count, 0);
    ck_assert_uint_eq(thread->info.thread.id, 77);
    ck_assert_str_eq(thread->info.name, c.infos[0].name);
    ck_assert_str_eq(thread->info.queue, c.infos[0].queue);
    ck_assert_str_eq(main_thread->info.queue, "");
    ck_assert_uint_eq(thread->info.run_state, 'S');
    ck_assert_uint_eq(thread->info.cpu_time, 99);
    ck_assert_uint_eq(thread->info.flags, USP_THREAD_REQUESTER);
    ck_assert_int_eq(thread->status, USP_OK);
    ck_assert_uint_eq(thread->registers.arch, USP_ARCH_ARM64);
    ck_assert_uint_eq(thread->registers.flags, 0x60000000);
    ck_assert_uint_eq(thread->registers.known, c.registers.known);
    ck_assert_mem_eq(thread->registers.value, c.registers.value, sizeof c.registers.value);
    check_stack(&thread->stack, &c.stack);

    /* The file does not hold its memory. */
    struct usp_target target;
    uint8_t byte;
    ck_assert_int_eq(usp_snapshot_target(snapshot, 1, &target), USP_OK);
    ck_assert_int_ne(target.memory.read(target.memory.context, 0x16f000000, &byte, 1), 0);
    ck_assert_int_eq(usp_snapshot_target(snapshot, 0, &target), USP_ERROR_TIMEOUT);

    /* The snapshot is written and read again, and must be unchanged. */
    struct usp_raw_capture again;
    usp_raw_capture_init(&again);
    again.snapshot = snapshot;
    struct builder second = written(&again);
    usp_snapshot_free(snapshot);
    ck_assert_int_eq(read_bytes(second.bytes, second.size, 0, &snapshot, &error), USP_OK);
    check_images(snapshot, &c);
    check_stack(&usp_snapshot_get_thread(snapshot, 1)->stack, &c.stack);
    again.snapshot = snapshot;
    struct builder third = written(&again);
    ck_assert_uint_eq(second.size, third.size);
    ck_assert_mem_eq(second.bytes, third.bytes, third.size);
    usp_snapshot_free(snapshot);

    ck_assert_int_eq(read_bytes(b.bytes, b.size, 77, &snapshot, &error), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->thread_count, 1);
    check_stack(&usp_snapshot_get_thread(snapshot, 0)->stack, &c.stack);
    usp_snapshot_free(snapshot);
    ck_assert_int_eq(read_bytes(b.bytes, b.size, 78, &snapshot, &error), USP_ERROR_NO_THREAD);
    ck_assert_ptr_null(snapshot);
    builder_free(&b);
    builder_free(&second);
    builder_free(&third);
    free_capture(&c);
}
END_TEST

/* Reading with room for fewer frames than were captured: the head and the tail of the frames must be kept, with one gap
 * that has grown, and no asynchronous callers if there is no room for them. */
static const struct {
    uint32_t max, tail, head;
} fewer[] = {
    {69, 5, 0},   /* the asynchronous callers lose only their end */
    {20, 5, 15},  /* the old gap lies in the new one */
    {30, 25, 10}, /* the old gap would lie in the tail: the head grows */
    {50, 0, 40},  /* the old gap would lie in the head: the tail grows */
    {5, 0, 5},    /* only the innermost frames */
};

START_TEST(options_hold) {
    const uint32_t max = fewer[_i].max, head = fewer[_i].head;
    struct capture c;
    struct usp_snapshot *snapshot;
    struct uspi_error error = {.text = ""};
    struct usp_snapshot_options options;
    make_capture(&c);
    struct builder b = written(&c.raw);
    const struct uspi_source source = {.name = "file", .base = b.bytes};
    usp_snapshot_options_init(&options);
    options.only_thread = 77;
    options.max_frames = max;
    options.unwind.tail = fewer[_i].tail;
    ck_assert_int_eq(uspi_raw_read((struct uspi_bytes){&source, 0, b.size}, &options, &snapshot, &error), USP_OK);
    const struct usp_stack *stack = &usp_snapshot_get_thread(snapshot, 0)->stack;
    ck_assert_uint_eq(stack->count, max);
    ck_assert_uint_eq(stack->async_omitted, max > 60 ? 70 - max : 10);
    if (head == 0) {
        ck_assert_uint_eq(stack->physical, 60);
        ck_assert_uint_eq(stack->omitted_at, 40);
        ck_assert_uint_eq(stack->omitted, c.stack.omitted);
        ck_assert_mem_eq(stack->frames, c.frames, max * sizeof *c.frames);
    } else {
        ck_assert_uint_eq(stack->physical, max);
        ck_assert_uint_eq(stack->omitted_at, head);
        ck_assert_uint_eq(stack->omitted, c.stack.omitted + 60 - max);
        ck_assert_mem_eq(stack->frames, c.frames, head * sizeof *c.frames);
        ck_assert_mem_eq(stack->frames + head, c.frames + 60 - (max - head), (max - head) * sizeof *c.frames);
    }
    ck_assert_uint_eq(stack->extended, 3);
    ck_assert_uint_eq(stack->stop, head == max ? USP_STOP_CAPACITY : c.stack.stop);
    ck_assert_uint_eq(stack->stop_address, head == max ? c.frames[max].pc : c.stack.stop_address);
    usp_snapshot_free(snapshot);
    builder_free(&b);
    free_capture(&c);
}
END_TEST

START_TEST(cut_off) {
    struct capture c;
    struct uspi_error error;
    make_capture(&c);
    struct builder b = written(&c.raw);
    uint32_t most_frames = 0;
    for (size_t n = 0; n < b.size; n++) {
        struct usp_snapshot *snapshot;
        uint8_t *exact = malloc(n + 1);
        memcpy(exact, b.bytes, n);
        int status = read_bytes(exact, n, 0, &snapshot, &error);
        if (n < USPI_RAW_MAGIC_SIZE) {
            ck_assert_int_eq(status, USP_ERROR_UNSUPPORTED);
        } else if (status != USP_OK) {
            ck_assert_int_eq(status, USP_ERROR_TRUNCATED);
            ck_assert_ptr_nonnull(strstr(error.text, "file: offset 0x"));
            ck_assert_uint_eq(most_frames, 0);
        } else {
            ck_assert_uint_ne(usp_snapshot_get_info(snapshot)->flags & USP_SNAPSHOT_TRUNCATED, 0);
            ck_assert_ptr_nonnull(strstr(usp_snapshot_message(snapshot, 0), "cut off or damaged at offset 0x"));
            const struct usp_snapshot_thread *thread = usp_snapshot_get_thread(snapshot, 0);
            if (thread != NULL && thread->info.thread.id == 77) {
                ck_assert_uint_ge(thread->stack.count, most_frames);
                most_frames = thread->stack.count;
                if (most_frames > 0) {
                    ck_assert_mem_eq(thread->stack.frames, c.frames, most_frames * sizeof *c.frames);
                }
                ck_assert_uint_le(thread->stack.physical, thread->stack.count);
            }
            usp_snapshot_free(snapshot);
        }
        free(exact);
    }
    ck_assert_uint_eq(most_frames, FRAMES);
    builder_free(&b);
    free_capture(&c);
}
END_TEST

/* A flipped bit must be noticed, wherever it is. */
START_TEST(damaged) {
    struct capture c;
    struct uspi_error error;
    make_capture(&c);
    struct builder b = written(&c.raw);
    for (size_t i = 0; i < b.size; i++) {
        struct usp_snapshot *snapshot;
        if (i >= 12 && i < USPI_RAW_HEADER_SIZE) continue; /* reserved */
        b.bytes[i] ^= (uint8_t)(1u << i % 8);
        int status = read_bytes(b.bytes, b.size, 0, &snapshot, &error);
        b.bytes[i] ^= (uint8_t)(1u << i % 8);
        if (i < USPI_RAW_MAGIC_SIZE) {
            ck_assert_int_eq(status, USP_ERROR_UNSUPPORTED);
        } else if (i < USPI_RAW_HEADER_SIZE) {
            ck_assert_int_eq(status, USP_ERROR_FORMAT);
            ck_assert_ptr_nonnull(strstr(error.text, "version"));
        } else if (status == USP_OK) {
            ck_assert_uint_ne(usp_snapshot_get_info(snapshot)->flags & USP_SNAPSHOT_TRUNCATED, 0);
            usp_snapshot_free(snapshot);
        } else {
            ck_assert_int_eq(status, USP_ERROR_TRUNCATED);
        }
    }
    builder_free(&b);
    free_capture(&c);
}
END_TEST

/* ---- records built by hand ---- */

static void begin_file(struct builder *b) {
    put_bytes(b, USPI_RAW_MAGIC, USPI_RAW_MAGIC_SIZE);
    put(b, 4, USPI_RAW_VERSION);
    put(b, 4, 0);
}

static size_t begin_record(struct builder *b, uint32_t type) {
    size_t start = b->size;
    put(b, 4, type);
    put(b, 4, 0);
    return start;
}

static void end_record(struct builder *b, size_t start) {
    size_t size = b->size - start - USPI_RAW_RECORD_HEADER;
    for (unsigned i = 0; i < 4; i++) b->bytes[start + 4 + i] = (uint8_t)(size >> 8 * i);
    put(b, 4, ~uspi_crc32(UINT32_MAX, b->bytes + start, b->size - start));
}

/* Appends a record of numbers of 4 and 8 bytes; `widths` gives the size of each. */
static void put_record(struct builder *b, uint32_t type, const char *widths, const uint64_t *values) {
    size_t start = begin_record(b, type);
    for (size_t i = 0; widths[i] != '\0'; i++) put(b, (unsigned)(widths[i] - '0'), values[i]);
    end_record(b, start);
}

#define RECORD(b, type, widths, ...) put_record(b, type, widths, (const uint64_t[]){__VA_ARGS__})

static void put_process(struct builder *b, uint32_t arch) {
    RECORD(b, USPI_RAW_PROCESS, "4444888444", arch, USP_OS_LINUX, 0, 0, 1, 0, 0, 1, 0, 0);
}

static void put_thread(struct builder *b) { RECORD(b, USPI_RAW_THREAD, "888884444", 1, 0, 0, 0, 0, 0, 0, 0, 0); }

static void put_stack(struct builder *b, uint64_t physical, uint64_t count) {
    RECORD(b, USPI_RAW_STACK, "44448844444444888", USP_ARCH_ARM64, physical, count, UINT32_MAX, 0, 0, 1, 0, 0, 9999,
           9999, 0, 0, 0, 0, 0, 0);
}

static void put_frames(struct builder *b, uint64_t first, uint64_t claimed, unsigned given) {
    size_t start = begin_record(b, USPI_RAW_FRAMES);
    put(b, 4, first);
    put(b, 4, claimed);
    for (unsigned i = 0; i < given; i++) {
        put(b, 8, 0x1000 + first + i);
        put(b, 8, 0);
        put(b, 8, 0);
        put(b, 8, USP_FRAME_KIND_RETURN_ADDRESS);
    }
    end_record(b, start);
}

static void put_end(struct builder *b) { RECORD(b, USPI_RAW_END, "44", 0, 0); }

/* Builds what a hostile writer can write with right checksums. */
static int build_hostile(struct builder *b, int which) {
    static const char id_64[64];
    size_t start;
    begin_file(b);
    if (which != 0 && which != 2) put_process(b, USP_ARCH_ARM64);
    switch (which) {
    case 0: put_thread(b); return USP_ERROR_FORMAT;
    case 1: put_process(b, USP_ARCH_ARM64); return USP_ERROR_FORMAT;
    case 2: put_process(b, 99); return USP_ERROR_FORMAT;
    case 3: put_stack(b, 1, 1); return USP_ERROR_FORMAT;
    case 4:
        put_thread(b);
        put_frames(b, 0, 1, 1);
        return USP_ERROR_FORMAT;
    case 5:
        put_thread(b);
        put_stack(b, 2, 1);
        return USP_ERROR_FORMAT;
    case 6:
        put_thread(b);
        put_stack(b, 1, 1);
        put_frames(b, 0, 2, 2);
        return USP_ERROR_FORMAT;
    case 7:
        put_thread(b);
        put_stack(b, 4, 4);
        put_frames(b, 1, 1, 1);
        return USP_ERROR_FORMAT;
    case 8:
        put_thread(b);
        put_stack(b, 4, UINT32_MAX);
        put_frames(b, 0, UINT32_MAX, 3); /* more frames than the record holds */
        return USP_ERROR_TRUNCATED;
    case 9:
        put_thread(b);
        put_stack(b, 1, 1);
        put_stack(b, 1, 1);
        return USP_ERROR_FORMAT;
    case 10:
        put_thread(b);
        RECORD(b, USPI_RAW_REGISTERS, "448", 77, 0, 0);
        return USP_ERROR_FORMAT;
    case 11:
        put_thread(b);
        RECORD(b, USPI_RAW_REGISTERS, "448", USP_ARCH_ARM64, 0, UINT64_MAX);
        return USP_ERROR_FORMAT;
    case 12:
        put_thread(b);
        RECORD(b, USPI_RAW_REGISTERS, "448", USP_ARCH_ARM64, 0, 7);
        return USP_ERROR_TRUNCATED;
    case 13:
        start = begin_record(b, USPI_RAW_IMAGE);
        for (unsigned i = 0; i < 5; i++) put(b, 8, 0);
        put(b, 8, 0);
        put(b, 4, 64); /* build-id */
        put(b, 4, 0);
        put_bytes(b, id_64, sizeof id_64);
        end_record(b, start);
        return USP_ERROR_FORMAT;
    case 14: /* a name that reaches beyond the record */
        RECORD(b, USPI_RAW_THREAD, "888884444", 1, 0, 0, 0, 0, 0, 0, 0, UINT32_MAX);
        return USP_ERROR_TRUNCATED;
    case 15: RECORD(b, USPI_RAW_THREAD, "88", 1, 0); return USP_ERROR_TRUNCATED;
    case 16: /* a record that is longer than any file */
        put(b, 4, USPI_RAW_THREAD);
        put(b, 4, UINT32_MAX);
        return USP_OK;
    case 17:
        put_thread(b);
        put_stack(b, 1000000, 2000000); /* frames promised but never written */
        put_end(b);
        return USP_OK;
    case 18: RECORD(b, USPI_RAW_QUEUE, "4", 0); return USP_ERROR_FORMAT;
    case 19: /* a label that reaches beyond the record */
        put_thread(b);
        RECORD(b, USPI_RAW_QUEUE, "48", UINT32_MAX, 0);
        return USP_ERROR_TRUNCATED;
    case 20:
        put_thread(b);
        end_record(b, begin_record(b, USPI_RAW_QUEUE));
        return USP_ERROR_TRUNCATED;
    default: return 1;
    }
}

START_TEST(hostile) {
    struct builder b = {0};
    struct usp_snapshot *snapshot;
    struct uspi_error error;
    int expected = build_hostile(&b, _i);
    ck_assert_int_le(expected, 0);
    int status = read_bytes(b.bytes, b.size, 0, &snapshot, &error);
    ck_assert_int_eq(status, expected);
    if (status == USP_OK) {
        ck_assert_uint_ne(usp_snapshot_get_info(snapshot)->flags & USP_SNAPSHOT_TRUNCATED, 0);
        usp_snapshot_free(snapshot);
    } else {
        ck_assert_ptr_null(snapshot);
        ck_assert_ptr_nonnull(strstr(error.text, "file: offset 0x"));
    }
    builder_free(&b);
}
END_TEST

/* Records that a later version adds, and fields after the known ones, must be skipped. */
START_TEST(later_versions) {
    struct builder b = {0};
    struct usp_snapshot *snapshot;
    struct uspi_error error;
    begin_file(&b);
    put_process(&b, USP_ARCH_ARM64);
    RECORD(&b, 1000, "888", 1, 2, 3);
    put_thread(&b);
    put_stack(&b, 2, 2);
    put_frames(&b, 0, 1, 1);
    RECORD(&b, 1001, "4", 1);
    size_t start = begin_record(&b, USPI_RAW_FRAMES);
    put(&b, 4, 1);
    put(&b, 4, 1);
    for (unsigned i = 0; i < 3; i++) put(&b, 8, 0x2000);
    put(&b, 8, USP_FRAME_KIND_SIGNAL);
    put(&b, 8, 0x4242);
    end_record(&b, start);
    put_end(&b);
    put(&b, 8, 0xdeadbeef); /* after the end record: left from an older file */
    ck_assert_int_eq(read_bytes(b.bytes, b.size, 0, &snapshot, &error), USP_OK);
    ck_assert_uint_eq(usp_snapshot_get_info(snapshot)->flags, 0);
    const struct usp_stack *stack = &usp_snapshot_get_thread(snapshot, 0)->stack;
    ck_assert_uint_eq(stack->count, 2);
    ck_assert_uint_eq(stack->frames[1].pc, 0x2000);
    ck_assert_uint_eq(stack->frames[1].kind, USP_FRAME_KIND_SIGNAL);
    /* An index that refers to no frame must be read as none. */
    ck_assert_uint_eq(stack->extended, USP_NO_INDEX);
    ck_assert_uint_eq(stack->async_join, USP_NO_INDEX);
    usp_snapshot_free(snapshot);
    builder_free(&b);
}
END_TEST

/* A queue's label must be read, and cut if it is too long. Captures from before labels existed must be read too; type 8
 * was unknown then. */
START_TEST(queues) {
    struct usp_snapshot *snapshot;
    struct uspi_error error;
    char label[300];
    memset(label, 'q', sizeof label);
    for (uint32_t length = 0; length <= sizeof label; length += 150) {
        struct builder b = {0};
        begin_file(&b);
        put_process(&b, USP_ARCH_ARM64);
        put_thread(&b);
        if (length > 0) {
            size_t start = begin_record(&b, USPI_RAW_QUEUE);
            put(&b, 4, length);
            put_bytes(&b, label, length);
            end_record(&b, start);
        }
        put_end(&b);
        ck_assert_int_eq(read_bytes(b.bytes, b.size, 0, &snapshot, &error), USP_OK);
        const struct usp_thread_info *info = &usp_snapshot_get_thread(snapshot, 0)->info;
        ck_assert_uint_eq(strlen(info->queue), length == 0 ? 0 : sizeof info->queue - 1);
        usp_snapshot_free(snapshot);
        builder_free(&b);
    }
}
END_TEST

START_TEST(memory_runs_out) {
    struct capture c;
    struct uspi_error error;
    make_capture(&c);
    /* Writing must allocate no memory. */
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    fail_allocation(1);
    int written_status = usp_raw_write(fd, &c.raw);
    bool took_none = allocation_still_to_fail();
    fail_allocation(0);
    ck_assert_int_eq(written_status, USP_OK);
    ck_assert(took_none);
    close(fd);
    struct builder b = written(&c.raw);
    long held = allocations_held();
    for (long n = 1;; n++) {
        struct usp_snapshot *snapshot;
        fail_allocation(n);
        int status = read_bytes(b.bytes, b.size, 0, &snapshot, &error);
        bool done = allocation_still_to_fail();
        fail_allocation(0);
        if (done) {
            ck_assert_int_eq(status, USP_OK);
            usp_snapshot_free(snapshot);
            ck_assert_int_gt(n, 10);
            break;
        }
        /* If memory for a cache is lacking, reading succeeds without the cache. */
        if (status == USP_OK) usp_snapshot_free(snapshot);
        if (status != USP_OK) ck_assert_int_eq(status, USP_ERROR_NO_MEMORY);
        ck_assert_int_eq(allocations_held(), held);
    }
    ck_assert_int_eq(allocations_held(), held);
    builder_free(&b);
    free_capture(&c);
}
END_TEST

START_TEST(files) {
    char path[] = "/tmp/unspool-raw-XXXXXX", error[256];
    struct capture c;
    struct usp_snapshot *snapshot;
    make_capture(&c);
    int fd = mkstemp(path);
    ck_assert_int_eq(usp_snapshot_open_raw(path, NULL, &snapshot, error, sizeof error), USP_ERROR_UNSUPPORTED);
    ck_assert_str_eq(error, "");
    ck_assert_int_eq(usp_raw_write(fd, &c.raw), USP_OK);
    ck_assert_int_eq(usp_snapshot_open_raw(path, NULL, &snapshot, error, sizeof error), USP_OK);
    check_images(snapshot, &c);
    usp_snapshot_free(snapshot);
    ck_assert_int_eq(ftruncate(fd, 30), 0);
    ck_assert_int_eq(usp_snapshot_open_raw(path, NULL, &snapshot, error, sizeof error), USP_ERROR_TRUNCATED);
    ck_assert_ptr_nonnull(strstr(error, path));
    ck_assert_int_eq(usp_snapshot_open_raw(path, NULL, &snapshot, NULL, 0), USP_ERROR_TRUNCATED);
    close(fd);
    unlink(path);
    ck_assert_int_eq(usp_snapshot_open_raw(path, NULL, &snapshot, error, sizeof error), USP_ERROR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(error, path));
    /* A descriptor that is not open; one that accepts no data. */
    errno = 4321;
    ck_assert_int_eq(usp_raw_write(-1, &c.raw), USP_ERROR_SYSTEM);
    ck_assert_int_eq(errno, 4321);
    fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (fd >= 0) {
        ck_assert_int_eq(usp_raw_write(fd, &c.raw), USP_ERROR_SYSTEM);
        close(fd);
    }
    free_capture(&c);
}
END_TEST

static int add_bytes(void *to, const void *bytes, size_t n) {
    put_bytes(to, bytes, n);
    return USP_OK;
}

/* Return addresses of the stack that threw an exception. */
static const usp_addr thrown[] = {0x4010, UINT64_C(0xffffffffff004020)};

/* A report as the crash kit writes it: the crash twice, notes, an exception, the crashed thread before the images. */
static struct builder crash_report(const struct capture *c) {
    struct builder b = {0};
    struct uspi_raw_sink sink;
    struct uspi_raw_crash crash = {
        .signal = 11, .code = 2, .flags = USPI_RAW_CRASH_ADDRESS, .fault_address = 0x5008, .thread = 7, .started = 99};
    const struct usp_snapshot_info info = {.arch = USP_ARCH_ARM64, .os = USP_OS_LINUX, .pid = 42, .program = "/bin/a"};
    const struct usp_thread_info thread = {.thread = {7, 7}, .flags = USP_THREAD_CRASHED};
    const struct uspi_raw_about about = {.info = &thread};
    const struct usp_snapshot_note notes[] = {{.kind = USP_NOTE_VALUE, .key = "user", .text = "anna"},
                                              {.kind = USP_NOTE_BREADCRUMB, .time = 5, .key = "", .text = "step"}};
    uspi_raw_begin(&sink, add_bytes, &b);
    uspi_raw_put_process(&sink, &info, 0);
    uspi_raw_put_crash(&sink, &crash);
    for (size_t i = 0; i < 2; i++) uspi_raw_put_note(&sink, &notes[i]);
    uspi_raw_put_exception(&sink, 7, thrown, 2, 3);
    uspi_raw_put_thread(&sink, &about);
    crash.flags |= USPI_RAW_CRASH_PLACE;
    crash.place_low = 0x5000;
    crash.place_high = 0x6000;
    crash.access = 1;
    /* Only a report of an Apple system has an exception, and a longer record. */
    crash.mach_exception = 1;
    crash.mach_codes[0] = 2;
    crash.mach_codes[1] = UINT64_C(0xfedcba9876543210);
    uspi_raw_put_crash(&sink, &crash);
    uspi_raw_put_stack(&sink, &c->stack);
    for (size_t i = 0; i < usp_images_count(c->images); i++) uspi_raw_put_image(&sink, usp_images_get(c->images, i));
    uspi_raw_end(&sink);
    ck_assert_int_eq(sink.status, USP_OK);
    return b;
}

static void check_crash(const struct usp_snapshot *snapshot, const struct capture *c) {
    const struct usp_snapshot_info *info = usp_snapshot_get_info(snapshot);
    ck_assert_uint_eq(info->signal, 11);
    ck_assert_int_eq(info->signal_code, 2);
    ck_assert_uint_eq(info->flags, USP_SNAPSHOT_FAULT);
    ck_assert_uint_eq(info->fault_address, 0x5008);
    ck_assert_uint_eq(info->crashed_thread, 7);
    ck_assert_str_eq(usp_mach_exception_string(info->mach_exception), "EXC_BAD_ACCESS");
    ck_assert_uint_eq(info->mach_codes[0], 2);
    ck_assert_uint_eq(info->mach_codes[1], UINT64_C(0xfedcba9876543210));
    ck_assert_str_eq(info->crash, "SIGSEGV, the memory does not permit the access (SEGV_ACCERR), fault address 0x5008: "
                                  "memory that is readable, not writable, not executable");
    const struct usp_snapshot_note *note = usp_snapshot_get_note(snapshot, 0);
    ck_assert_uint_eq(note->kind, USP_NOTE_VALUE);
    ck_assert_str_eq(note->key, "user");
    ck_assert_str_eq(note->text, "anna");
    note = usp_snapshot_get_note(snapshot, 1);
    ck_assert_uint_eq(note->time, 5);
    ck_assert_str_eq(note->text, "step");
    ck_assert_ptr_null(usp_snapshot_get_note(snapshot, 2));
    const struct usp_stack *exception = usp_snapshot_exception(snapshot);
    ck_assert_ptr_nonnull(exception);
    ck_assert_uint_eq(exception->arch, USP_ARCH_ARM64);
    ck_assert_uint_eq(exception->count, 2);
    ck_assert_uint_eq(exception->physical, 2);
    ck_assert_uint_eq(exception->omitted, 1);
    for (size_t i = 0; i < 2; i++) {
        ck_assert_uint_eq(exception->frames[i].pc, thrown[i]);
        ck_assert_uint_eq(exception->frames[i].kind, USP_FRAME_KIND_RETURN_ADDRESS);
    }
    check_images(snapshot, c);
    check_stack(&usp_snapshot_get_thread(snapshot, 0)->stack, &c->stack);
}

/* Counts what the writer of a capture is called for. */
struct counted {
    struct builder bytes;
    unsigned writes;
};

static int count_write(void *to, const void *bytes, size_t n) {
    struct counted *counted = to;
    counted->writes++;
    return add_bytes(&counted->bytes, bytes, n);
}

/* Writes a hundred notes, the last ninety of them gathered or not. */
static void put_hundred_notes(struct counted *counted, bool gathers) {
    const struct usp_snapshot_note note = {.kind = USP_NOTE_BREADCRUMB, .key = "", .text = "twenty bytes of text"};
    struct uspi_raw_sink sink;
    uspi_raw_begin(&sink, count_write, counted);
    for (unsigned i = 0; i < 100; i++) {
        if (i == 10) ck_assert_uint_eq(counted->writes, 10);
        sink.gathers = gathers && i >= 10;
        uspi_raw_put_note(&sink, &note);
    }
    uspi_raw_end(&sink);
    ck_assert_int_eq(sink.status, USP_OK);
}

/* Each record is written before the next one begins. Records that are gathered are the same bytes in far fewer writes. */
START_TEST(gathered) {
    struct counted each = {.writes = 0}, few = {.writes = 0};
    put_hundred_notes(&each, false);
    put_hundred_notes(&few, true);
    ck_assert_uint_eq(each.writes, 101);
    ck_assert_uint_lt(few.writes, 20);
    ck_assert_uint_eq(few.bytes.size, each.bytes.size);
    ck_assert_mem_eq(few.bytes.bytes, each.bytes.bytes, each.bytes.size);
    free(each.bytes.bytes);
    free(few.bytes.bytes);
}
END_TEST

START_TEST(crash_reports) {
    struct capture c;
    struct uspi_error error;
    struct usp_snapshot *snapshot;
    make_capture(&c);
    struct builder b = crash_report(&c);
    ck_assert_int_eq(read_bytes(b.bytes, b.size, 0, &snapshot, &error), USP_OK);
    check_crash(snapshot, &c);
    /* Written again, it is the same report. */
    struct usp_raw_capture raw;
    usp_raw_capture_init(&raw);
    raw.snapshot = snapshot;
    struct builder again = written(&raw);
    usp_snapshot_free(snapshot);
    ck_assert_int_eq(read_bytes(again.bytes, again.size, 0, &snapshot, &error), USP_OK);
    check_crash(snapshot, &c);
    usp_snapshot_free(snapshot);
    builder_free(&again);
    /* Any byte may be damaged: the records before it are read, or nothing is. */
    const long held = allocations_held();
    for (size_t i = 0; i < b.size; i++) {
        /* The header's last word is not read. */
        if (i >= 12 && i < USPI_RAW_HEADER_SIZE) continue;
        b.bytes[i] ^= 0x5a;
        int status = read_bytes(b.bytes, b.size, 0, &snapshot, &error);
        if (status == USP_OK) ck_assert((usp_snapshot_get_info(snapshot)->flags & USP_SNAPSHOT_TRUNCATED) != 0);
        if (status == USP_OK) usp_snapshot_free(snapshot);
        b.bytes[i] ^= 0x5a;
        ck_assert_int_eq(allocations_held(), held);
    }
    for (long n = 1, status = USP_ERROR_NO_MEMORY; status != USP_OK && n < 1000; n++) {
        fail_allocation(n);
        status = read_bytes(b.bytes, b.size, 0, &snapshot, &error);
        fail_allocation(0);
        if (status == USP_OK) usp_snapshot_free(snapshot);
        if (status != USP_OK) ck_assert_int_eq(status, USP_ERROR_NO_MEMORY);
        ck_assert_int_eq(allocations_held(), held);
    }
    builder_free(&b);
    free_capture(&c);
}
END_TEST

/* An exception with impossible numbers of frames, a second one, and that of a thread that is not asked for. */
START_TEST(exceptions) {
    const struct usp_snapshot_info info = {.arch = USP_ARCH_ARM64, .os = USP_OS_LINUX, .pid = 42};
    const struct usp_thread_info thread = {.thread = {7, 7}};
    const struct uspi_raw_about about = {.info = &thread};
    static const struct {
        uint64_t total, only_thread;
        bool twice, is_wrong, is_shown;
    } cases[] = {{2, 0, false, false, true},
                 {1, 0, false, true, false},
                 {2, 0, true, true, false},
                 {2, 7, false, false, false},
                 {UINT64_MAX, 0, false, false, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct builder b = {0};
        struct uspi_raw_sink sink;
        struct usp_snapshot *snapshot = NULL;
        struct uspi_error error;
        uspi_raw_begin(&sink, add_bytes, &b);
        uspi_raw_put_process(&sink, &info, 0);
        for (unsigned n = 0; n < (cases[i].twice ? 2 : 1); n++)
            uspi_raw_put_exception(&sink, 8, thrown, 2, cases[i].total);
        uspi_raw_put_thread(&sink, &about);
        uspi_raw_end(&sink);
        const int status = read_bytes(b.bytes, b.size, cases[i].only_thread, &snapshot, &error);
        ck_assert_int_eq(status, cases[i].is_wrong ? USP_ERROR_FORMAT : USP_OK);
        ck_assert_int_eq(usp_snapshot_exception(snapshot) != NULL, cases[i].is_shown);
        if (cases[i].is_shown) ck_assert_uint_eq(usp_snapshot_exception(snapshot)->omitted, cases[i].total - 2);
        usp_snapshot_free(snapshot);
        builder_free(&b);
    }
}
END_TEST

START_TEST(arguments) {
    struct usp_raw_capture raw;
    struct usp_snapshot *snapshot;
    usp_raw_capture_init(&raw);
    ck_assert_uint_eq(raw.arch, usp_arch_host());
    ck_assert_int_eq(usp_raw_write(-1, NULL), USP_ERROR_ARGUMENT);
    raw.thread_count = 1;
    ck_assert_int_eq(usp_raw_write(-1, &raw), USP_ERROR_ARGUMENT);
    raw.thread_count = 0;
    raw.size = 8;
    ck_assert_int_eq(usp_raw_write(-1, &raw), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_snapshot_open_raw(NULL, NULL, &snapshot, NULL, 0), USP_ERROR_ARGUMENT);
    ck_assert_int_eq(usp_snapshot_open_raw("x", NULL, NULL, NULL, 0), USP_ERROR_ARGUMENT);
}
END_TEST

int main(void) {
    TCase *all = tcase_create("all");
    int hostile_count = 0;
    for (int status = USP_OK; status <= 0; hostile_count++) {
        struct builder b = {0};
        status = build_hostile(&b, hostile_count);
        builder_free(&b);
    }
    add_tests(all, round_trip, cut_off, damaged);
    tcase_add_loop_test(all, options_hold, 0, (int)(sizeof fewer / sizeof *fewer));
    tcase_add_loop_test(all, hostile, 0, hostile_count - 1);
    add_tests(all, later_versions, queues, memory_runs_out, files, gathered, crash_reports, exceptions, arguments);
    return run_suite("raw", all);
}
