/* SPDX-License-Identifier: MIT */
/* Writes raw captures without allocation and locks, through a small buffer on the stack. See raw.h. */
#include "lib/snapshot/raw.h"

#include "arch/little_endian.h"
#include "lib/base/sized.h"
#include "lib/os/os.h"
#include "lib/snapshot/snapshot.h"

#include <string.h>

static void flush(struct uspi_raw_sink *sink) {
    if (sink->status == USP_OK && sink->used > 0) sink->status = sink->write(sink->to, sink->bytes, sink->used);
    sink->used = 0;
}

static void put(struct uspi_raw_sink *sink, const void *bytes, size_t n) {
    const uint8_t *next = bytes;
    sink->crc = uspi_crc32(sink->crc, next, n);
    while (n > 0) {
        size_t capacity = sizeof sink->bytes - sink->used, part = n < capacity ? n : capacity;
        memcpy(sink->bytes + sink->used, next, part);
        sink->used += part;
        next += part;
        n -= part;
        if (sink->used == sizeof sink->bytes) flush(sink);
    }
}

static void put_number(struct uspi_raw_sink *sink, uint64_t value, unsigned width) {
    uint8_t bytes[8];
    uspi_store_le(bytes, value, width);
    put(sink, bytes, width);
}

static void put32(struct uspi_raw_sink *sink, uint32_t value) { put_number(sink, value, 4); }
static void put64(struct uspi_raw_sink *sink, uint64_t value) { put_number(sink, value, 8); }

static void begin_record(struct uspi_raw_sink *sink, uint32_t type, size_t size) {
    sink->crc = UINT32_MAX;
    put32(sink, type);
    put32(sink, (uint32_t)size);
}

static void end(struct uspi_raw_sink *sink) {
    put32(sink, ~sink->crc);
    if (!sink->gathers) flush(sink);
    sink->records++;
}

/* Returns the length of a string, at most UINT16_MAX: longer strings are cut, so that a record's size stays in its
 * field. */
static size_t length_of(const char *string) {
    size_t n = string != NULL ? strlen(string) : 0;
    return n < UINT16_MAX ? n : UINT16_MAX;
}

void uspi_raw_put_process(struct uspi_raw_sink *sink, const struct usp_snapshot_info *info, size_t images) {
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

void uspi_raw_put_image(struct uspi_raw_sink *sink, const struct usp_image *image) {
    size_t length = length_of(image->path);
    begin_record(sink, USPI_RAW_IMAGE, USPI_RAW_IMAGE_SIZE + length);
    put64(sink, image->load_address);
    put64(sink, image->text_low);
    put64(sink, image->text_high);
    put64(sink, image->end);
    put64(sink, image->slide);
    put32(sink, image->arch | image->variant << 16);
    put32(sink, image->flags & ~(uint32_t)USP_IMAGE_TEXT_OFFSET); /* the offset has no place here */
    put32(sink, image->build_id_size);
    put32(sink, (uint32_t)length);
    put(sink, image->build_id, USP_BUILD_ID_MAX);
    put(sink, image->path, length);
    end(sink);
}

static void put_queue(struct uspi_raw_sink *sink, const struct usp_thread_info *info) {
    size_t length = strnlen(info->queue, sizeof info->queue);
    if (length == 0) return;
    begin_record(sink, USPI_RAW_QUEUE, USPI_RAW_QUEUE_SIZE + length);
    put32(sink, (uint32_t)length);
    put(sink, info->queue, length);
    end(sink);
}

/* Writes the owner of the lock that a thread waits for. */
static void put_lock(struct uspi_raw_sink *sink, const struct uspi_raw_about *about) {
    const struct usp_thread_info *info = about->info;
    if (info->lock_owner == 0) return;
    begin_record(sink, USPI_RAW_LOCK, USPI_RAW_LOCK_SIZE + 4);
    put64(sink, info->lock_owner);
    put64(sink, about->lock);
    put32(sink, info->lock_kind);
    put32(sink, info->deadlock);
    put32(sink, about->is_endless || info->deadlock != 0 ? USPI_RAW_LOCK_ENDLESS : 0);
    end(sink);
}

void uspi_raw_put_thread(struct uspi_raw_sink *sink, const struct uspi_raw_about *about) {
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
    put_lock(sink, about);
}

void uspi_raw_put_registers(struct uspi_raw_sink *sink, const struct usp_registers *registers) {
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

static void put_frame(struct uspi_raw_sink *sink, const struct usp_frame *frame) {
    put64(sink, frame->pc);
    put64(sink, frame->cfa);
    put64(sink, frame->fp);
    put_number(sink, frame->kind, 1);
    put_number(sink, frame->method, 1);
    put_number(sink, frame->flags, 2);
    put32(sink, 0);
}

void uspi_raw_put_stack(struct uspi_raw_sink *sink, const struct usp_stack *stack) {
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

static void put_given_thread(struct uspi_raw_sink *sink, const struct usp_raw_thread *thread) {
    static const struct usp_thread_info unknown;
    const struct uspi_raw_about about = {
        .info = thread->info != NULL ? thread->info : &unknown,
        .stopped_ns = thread->stack != NULL ? thread->stack->stopped_ns : 0,
        .status = thread->status,
    };
    uspi_raw_put_thread(sink, &about);
    if (thread->registers != NULL) uspi_raw_put_registers(sink, thread->registers);
    if (thread->stack != NULL) uspi_raw_put_stack(sink, thread->stack);
}

static void put_snapshot_thread(struct uspi_raw_sink *sink, const struct usp_snapshot_thread *thread) {
    const struct uspi_raw_about about = {
        .info = &thread->info,
        .stack_low = thread->stack_low,
        .stack_high = thread->stack_high,
        .stopped_ns = thread->stopped_ns,
        .status = thread->status,
        .lock = thread->lock,
    };
    uspi_raw_put_thread(sink, &about);
    uspi_raw_put_registers(sink, &thread->registers);
    if (thread->status == USP_OK) uspi_raw_put_stack(sink, &thread->stack);
}

void uspi_raw_put_crash(struct uspi_raw_sink *sink, const struct uspi_raw_crash *crash) {
    const bool has_exception = crash->mach_exception != 0;
    begin_record(sink, USPI_RAW_CRASH, USPI_RAW_CRASH_SIZE + (has_exception ? USPI_RAW_MACH_SIZE : 0));
    put32(sink, crash->signal);
    put32(sink, (uint32_t)crash->code);
    put32(sink, crash->flags);
    put32(sink, crash->access);
    put64(sink, crash->fault_address);
    put64(sink, crash->place_low);
    put64(sink, crash->place_high);
    put64(sink, crash->thread);
    put64(sink, crash->sender);
    put64(sink, crash->started);
    if (has_exception) {
        put32(sink, crash->mach_exception);
        put32(sink, 0);
        put64(sink, crash->mach_codes[0]);
        put64(sink, crash->mach_codes[1]);
    }
    end(sink);
}

void uspi_raw_put_note(struct uspi_raw_sink *sink, const struct usp_snapshot_note *note) {
    const size_t key = length_of(note->key), text = length_of(note->text);
    begin_record(sink, USPI_RAW_NOTE, USPI_RAW_NOTE_SIZE + key + text);
    put32(sink, note->kind);
    put32(sink, 0);
    put64(sink, note->time);
    put32(sink, (uint32_t)key);
    put32(sink, (uint32_t)text);
    put(sink, note->key, key);
    put(sink, note->text, text);
    end(sink);
}

static void begin_exception(struct uspi_raw_sink *sink, uint64_t thread, uint32_t count, uint64_t total) {
    begin_record(sink, USPI_RAW_EXCEPTION, USPI_RAW_EXCEPTION_SIZE + (size_t)count * 8);
    put64(sink, thread);
    put64(sink, total);
    put32(sink, count);
    put32(sink, 0);
}

void uspi_raw_put_exception(struct uspi_raw_sink *sink, uint64_t thread, const usp_addr *frames, uint32_t count,
                            uint64_t total) {
    begin_exception(sink, thread, count, total);
    for (uint32_t i = 0; i < count; i++) put64(sink, frames[i]);
    end(sink);
}

/* Writes the exception's stack of a snapshot. */
static void put_given_exception(struct uspi_raw_sink *sink, const struct usp_snapshot *snapshot) {
    const struct usp_stack *stack = usp_snapshot_exception(snapshot);
    if (stack == NULL) return;
    begin_exception(sink, usp_snapshot_get_info(snapshot)->crashed_thread, stack->count, stack->count + stack->omitted);
    for (uint32_t i = 0; i < stack->count; i++) put64(sink, stack->frames[i].pc);
    end(sink);
}

static void put_images(struct uspi_raw_sink *sink, const struct usp_images *images) {
    for (size_t i = 0; i < usp_images_count(images); i++) uspi_raw_put_image(sink, usp_images_get(images, i));
}

static const char *program_of(const struct usp_images *images) {
    for (size_t i = 0; i < usp_images_count(images); i++) {
        if ((usp_images_get(images, i)->flags & USP_IMAGE_MAIN) != 0) return usp_images_get(images, i)->path;
    }
    return "";
}

static void write_given(struct uspi_raw_sink *sink, const struct usp_raw_capture *raw) {
    const struct usp_snapshot_info info = {
        .arch = raw->arch,
        .os = raw->os,
        .pid = raw->pid,
        .time = raw->time,
        .signal = raw->signal,
        .thread_count = (uint32_t)raw->thread_count,
        .program = program_of(raw->images),
    };
    uspi_raw_put_process(sink, &info, usp_images_count(raw->images));
    put_images(sink, raw->images);
    for (size_t i = 0; i < raw->thread_count; i++) put_given_thread(sink, &raw->threads[i]);
}

static void write_snapshot(struct uspi_raw_sink *sink, const struct usp_snapshot *snapshot) {
    const struct usp_images *images = usp_snapshot_images(snapshot);
    const struct usp_snapshot_thread *thread;
    const struct usp_snapshot_note *note;
    struct uspi_raw_crash crash;
    uspi_raw_put_process(sink, usp_snapshot_get_info(snapshot), usp_images_count(images));
    if (uspi_snapshot_crash(snapshot, &crash)) uspi_raw_put_crash(sink, &crash);
    for (size_t i = 0; (note = usp_snapshot_get_note(snapshot, i)) != NULL; i++) uspi_raw_put_note(sink, note);
    put_given_exception(sink, snapshot);
    put_images(sink, images);
    for (size_t i = 0; (thread = usp_snapshot_get_thread(snapshot, i)) != NULL; i++) put_snapshot_thread(sink, thread);
}

void usp_raw_capture_init(struct usp_raw_capture *raw) {
    memset(raw, 0, sizeof *raw);
    raw->size = sizeof *raw;
    raw->arch = usp_arch_host();
    raw->os = uspi_os_kind();
}

void uspi_raw_begin(struct uspi_raw_sink *sink, int (*write)(void *to, const void *bytes, size_t n), void *to) {
    sink->write = write;
    sink->to = to;
    sink->status = USP_OK;
    sink->gathers = false;
    sink->used = sink->records = 0;
    put(sink, USPI_RAW_MAGIC, USPI_RAW_MAGIC_SIZE);
    put32(sink, USPI_RAW_VERSION);
    put32(sink, 0);
}

void uspi_raw_end(struct uspi_raw_sink *sink) {
    sink->gathers = false;
    begin_record(sink, USPI_RAW_END, USPI_RAW_END_SIZE);
    put32(sink, sink->records);
    put32(sink, 0);
    end(sink);
}

static int write_to_file(void *to, const void *bytes, size_t n) {
    const int *fd = to;
    return uspi_os_write(*fd, bytes, n);
}

int usp_raw_write(int fd, const struct usp_raw_capture *raw) {
    struct usp_raw_capture completed;
    struct uspi_raw_sink sink;
    usp_raw_capture_init(&completed);
    if (raw == NULL || !USPI_COMPLETE(&completed, raw)) return USP_ERROR_ARGUMENT;
    if (completed.threads == NULL && completed.thread_count > 0) return USP_ERROR_ARGUMENT;
    uspi_raw_begin(&sink, write_to_file, &fd);
    if (completed.snapshot != NULL) {
        write_snapshot(&sink, completed.snapshot);
    } else {
        write_given(&sink, &completed);
    }
    uspi_raw_end(&sink);
    return sink.status;
}
