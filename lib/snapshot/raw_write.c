/* SPDX-License-Identifier: MIT */
/* Writes raw captures without allocation and locks, through a small buffer on the stack. See raw.h. */
#include "lib/snapshot/raw.h"

#include "arch/little_endian.h"
#include "lib/base/sized.h"
#include "lib/os/os.h"

#include <string.h>

#define GATHERED 1024u

/* The output. Each record is written to the file before the next one begins. */
struct sink {
    int fd, status;
    uint32_t crc, records;
    size_t used;
    uint8_t bytes[GATHERED];
};

static void flush(struct sink *sink) {
    if (sink->status == USP_OK && sink->used > 0) sink->status = uspi_os_write(sink->fd, sink->bytes, sink->used);
    sink->used = 0;
}

static void put(struct sink *sink, const void *bytes, size_t n) {
    const uint8_t *next = bytes;
    sink->crc = uspi_crc32(sink->crc, next, n);
    while (n > 0) {
        size_t capacity = GATHERED - sink->used, part = n < capacity ? n : capacity;
        memcpy(sink->bytes + sink->used, next, part);
        sink->used += part;
        next += part;
        n -= part;
        if (sink->used == GATHERED) flush(sink);
    }
}

static void put_number(struct sink *sink, uint64_t value, unsigned width) {
    uint8_t bytes[8];
    uspi_store_le(bytes, value, width);
    put(sink, bytes, width);
}

static void put32(struct sink *sink, uint32_t value) { put_number(sink, value, 4); }
static void put64(struct sink *sink, uint64_t value) { put_number(sink, value, 8); }

static void begin_record(struct sink *sink, uint32_t type, size_t size) {
    sink->crc = UINT32_MAX;
    put32(sink, type);
    put32(sink, (uint32_t)size);
}

static void end(struct sink *sink) {
    put32(sink, ~sink->crc);
    flush(sink);
    sink->records++;
}

/* Returns the length of a string, at most UINT16_MAX: longer strings are cut, so that a record's size stays in its
 * field. */
static size_t length_of(const char *string) {
    size_t n = string != NULL ? strlen(string) : 0;
    return n < UINT16_MAX ? n : UINT16_MAX;
}

static void put_process(struct sink *sink, const struct usp_snapshot_info *info, size_t images) {
    size_t length = length_of(info->program);
    begin_record(sink, USPI_RAW_PROCESS, USPI_RAW_PROCESS_SIZE + length);
    put32(sink, info->arch);
    put32(sink, info->os);
    put32(sink, info->signal);
    put32(sink, info->flags);
    put64(sink, (uint64_t)info->pid);
    put64(sink, info->time);
    put64(sink, info->stopped_ns);
    put32(sink, info->thread_count);
    put32(sink, (uint32_t)images);
    put32(sink, (uint32_t)length);
    put(sink, info->program, length);
    end(sink);
}

static void put_image(struct sink *sink, const struct usp_image *image) {
    size_t length = length_of(image->path);
    begin_record(sink, USPI_RAW_IMAGE, USPI_RAW_IMAGE_SIZE + length);
    put64(sink, image->load_address);
    put64(sink, image->text_low);
    put64(sink, image->text_high);
    put64(sink, image->end);
    put64(sink, image->slide);
    put32(sink, image->arch | image->variant << 16);
    put32(sink, image->flags);
    put32(sink, image->build_id_size);
    put32(sink, (uint32_t)length);
    put(sink, image->build_id, USP_BUILD_ID_MAX);
    put(sink, image->path, length);
    end(sink);
}

/* The data of a thread except its registers and its stack. */
struct about {
    const struct usp_thread_info *info;
    usp_addr stack_low, stack_high;
    uint64_t stopped_ns;
    int32_t status;
};

static void put_queue(struct sink *sink, const struct usp_thread_info *info) {
    size_t length = strnlen(info->queue, sizeof info->queue);
    if (length == 0) return;
    begin_record(sink, USPI_RAW_QUEUE, USPI_RAW_QUEUE_SIZE + length);
    put32(sink, (uint32_t)length);
    put(sink, info->queue, length);
    end(sink);
}

static void put_thread(struct sink *sink, const struct about *about) {
    const struct usp_thread_info *info = about->info;
    size_t length = strnlen(info->name, sizeof info->name);
    begin_record(sink, USPI_RAW_THREAD, USPI_RAW_THREAD_SIZE + length);
    put64(sink, info->thread.id);
    put64(sink, info->cpu_time);
    put64(sink, about->stopped_ns);
    put64(sink, about->stack_low);
    put64(sink, about->stack_high);
    put32(sink, info->flags);
    put32(sink, info->run_state);
    put32(sink, (uint32_t)about->status);
    put32(sink, (uint32_t)length);
    put(sink, info->name, length);
    end(sink);
    put_queue(sink, info);
}

static void put_registers(struct sink *sink, const struct usp_registers *registers) {
    size_t count = 0;
    for (unsigned i = 0; i < USP_REGISTERS_MAX; i++) count += registers->known >> i & 1;
    if (count == 0) return;
    begin_record(sink, USPI_RAW_REGISTERS, USPI_RAW_REGISTERS_SIZE + count * 8);
    put32(sink, registers->arch);
    put32(sink, registers->flags);
    put64(sink, registers->known & ((UINT64_C(1) << USP_REGISTERS_MAX) - 1));
    for (unsigned i = 0; i < USP_REGISTERS_MAX; i++) {
        if ((registers->known >> i & 1) != 0) put64(sink, registers->value[i]);
    }
    end(sink);
}

static void put_frame(struct sink *sink, const struct usp_frame *frame) {
    put64(sink, frame->pc);
    put64(sink, frame->cfa);
    put64(sink, frame->fp);
    put_number(sink, frame->kind, 1);
    put_number(sink, frame->method, 1);
    put_number(sink, frame->flags, 2);
    put32(sink, 0);
}

static void put_stack(struct sink *sink, const struct usp_stack *stack) {
    begin_record(sink, USPI_RAW_STACK, USPI_RAW_STACK_SIZE);
    put32(sink, stack->arch);
    put32(sink, stack->physical);
    put32(sink, stack->count);
    put32(sink, stack->omitted_at);
    put64(sink, stack->omitted);
    put64(sink, stack->async_omitted);
    put32(sink, stack->stop);
    put32(sink, stack->async_stop);
    put32(sink, stack->flags);
    put32(sink, stack->extended);
    put32(sink, stack->async_join);
    put32(sink, stack->task_id);
    put32(sink, (uint32_t)stack->status);
    put32(sink, 0);
    put64(sink, stack->stop_address);
    put64(sink, stack->stopped_ns);
    put64(sink, stack->hash);
    end(sink);
    for (uint32_t first = 0; first < stack->count;) {
        uint32_t left = stack->count - first, count = left < USPI_RAW_FRAMES_MAX ? left : USPI_RAW_FRAMES_MAX;
        begin_record(sink, USPI_RAW_FRAMES, USPI_RAW_FRAMES_SIZE + (size_t)count * USPI_RAW_FRAME_SIZE);
        put32(sink, first);
        put32(sink, count);
        for (uint32_t i = 0; i < count; i++) put_frame(sink, &stack->frames[first + i]);
        end(sink);
        first += count;
    }
}

static void put_given_thread(struct sink *sink, const struct usp_raw_thread *thread) {
    static const struct usp_thread_info unknown;
    const struct about about = {
        .info = thread->info != NULL ? thread->info : &unknown,
        .stopped_ns = thread->stack != NULL ? thread->stack->stopped_ns : 0,
        .status = thread->status,
    };
    put_thread(sink, &about);
    if (thread->registers != NULL) put_registers(sink, thread->registers);
    if (thread->stack != NULL) put_stack(sink, thread->stack);
}

static void put_snapshot_thread(struct sink *sink, const struct usp_snapshot_thread *thread) {
    const struct about about = {&thread->info, thread->stack_low, thread->stack_high, thread->stopped_ns,
                                thread->status};
    put_thread(sink, &about);
    put_registers(sink, &thread->registers);
    if (thread->status == USP_OK) put_stack(sink, &thread->stack);
}

static void put_images(struct sink *sink, const struct usp_images *images) {
    for (size_t i = 0; i < usp_images_count(images); i++) put_image(sink, usp_images_get(images, i));
}

static const char *program_of(const struct usp_images *images) {
    for (size_t i = 0; i < usp_images_count(images); i++) {
        if ((usp_images_get(images, i)->flags & USP_IMAGE_MAIN) != 0) return usp_images_get(images, i)->path;
    }
    return "";
}

static void write_given(struct sink *sink, const struct usp_raw_capture *raw) {
    const struct usp_snapshot_info info = {
        .arch = raw->arch,
        .os = raw->os,
        .pid = raw->pid,
        .time = raw->time,
        .signal = raw->signal,
        .thread_count = (uint32_t)raw->thread_count,
        .program = program_of(raw->images),
    };
    put_process(sink, &info, usp_images_count(raw->images));
    put_images(sink, raw->images);
    for (size_t i = 0; i < raw->thread_count; i++) put_given_thread(sink, &raw->threads[i]);
}

static void write_snapshot(struct sink *sink, const struct usp_snapshot *snapshot) {
    const struct usp_images *images = usp_snapshot_images(snapshot);
    const struct usp_snapshot_thread *thread;
    put_process(sink, usp_snapshot_get_info(snapshot), usp_images_count(images));
    put_images(sink, images);
    for (size_t i = 0; (thread = usp_snapshot_get_thread(snapshot, i)) != NULL; i++) put_snapshot_thread(sink, thread);
}

void usp_raw_capture_init(struct usp_raw_capture *raw) {
    memset(raw, 0, sizeof *raw);
    raw->size = sizeof *raw;
    raw->arch = usp_arch_host();
    raw->os = uspi_os_kind();
}

int usp_raw_write(int fd, const struct usp_raw_capture *raw) {
    struct usp_raw_capture completed;
    struct sink sink;
    usp_raw_capture_init(&completed);
    if (raw == NULL || !USPI_COMPLETE(&completed, raw)) return USP_ERROR_ARGUMENT;
    if (completed.threads == NULL && completed.thread_count > 0) return USP_ERROR_ARGUMENT;
    sink.fd = fd;
    sink.status = USP_OK;
    sink.used = sink.records = 0;
    put(&sink, USPI_RAW_MAGIC, USPI_RAW_MAGIC_SIZE);
    put32(&sink, USPI_RAW_VERSION);
    put32(&sink, 0);
    if (completed.snapshot != NULL) {
        write_snapshot(&sink, completed.snapshot);
    } else {
        write_given(&sink, &completed);
    }
    begin_record(&sink, USPI_RAW_END, USPI_RAW_END_SIZE);
    put32(&sink, sink.records);
    put32(&sink, 0);
    end(&sink);
    return sink.status;
}
